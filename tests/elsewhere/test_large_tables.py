"""Tables of more than --memory, by the job behind ``fewlabels fit``."""

import numpy as np
import pandas as pd
import pytest

from fewlabels.io.errors import UserError
from fewlabels.jobs.scoring import score
from fewlabels.jobs.training import large
from fewlabels.jobs.training.train import train_file


@pytest.fixture
def frame(rng):
    n = 3000
    frame = pd.DataFrame(rng.normal(size=(n, 3)), columns=["a", "b", "c"])
    frame["site"] = rng.choice(["x", "y"], n)
    frame["fraud"] = np.where((frame.a > 1.0) & (rng.random(n) < 0.5), "yes", "")
    return frame


@pytest.mark.parametrize("form", ["csv", "parquet"])
def test_the_machine_has_learnt_from_all_rows(form, frame, tmp_path, monkeypatch):
    monkeypatch.setattr(large, "_SAMPLE", 500)
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    path = tmp_path / f"table.{form}"
    getattr(frame, f"to_{form}")(path, index=False)
    options = dict(drop=["fraud"], machine="svdd", time_budget=0, target_fpr="none", gamma=0.2)
    told = train_file(path, tmp_path / "large", memory="10K", **options)["training"]
    whole = train_file(path, tmp_path / "whole", memory="1G", **options)["training"]
    assert told["rows"] == told["rows_read"] == 3000
    assert told["notes"][0].startswith("the table does not fit in memory: settings, columns")
    assert "500 rows drawn at random" in told["notes"][0]
    assert not any("memory" in note for note in whole["notes"])
    # Scaled by a sample of the rows, the ball is nearly that of all.
    assert told["objective"] == pytest.approx(whole["objective"], rel=0.05)
    here, there = (score(tmp_path / name, path)["score"] for name in ("whole", "large"))
    assert np.corrcoef(here, there)[0, 1] > 0.99
    assert not list(tmp_path.glob("fewlabels-rows-*"))


@pytest.mark.parametrize("cache_size", [200, 0.01])
def test_labels_of_all_rows(cache_size, frame, tmp_path, monkeypatch):
    monkeypatch.setattr(large, "_SAMPLE", 500)
    frame.to_csv(tmp_path / "table.csv", index=False)
    told = train_file(
        tmp_path / "table.csv", tmp_path / "model", target="fraud", machine="pusvm",
        time_budget=0, memory="10K", prior=0.1, cache_size=cache_size,
    )["training"]  # fmt: skip
    assert told["rows"] == 3000 == told["rows_labeled"] + told["rows_unlabeled"]
    assert told["rows_labeled"] == np.sum(frame.fraud == "yes")
    found = score(tmp_path / "model", tmp_path / "table.csv")
    assert found["positive"][frame.fraud == "yes"].mean() > 0.5


def test_a_machine_of_samples_learns_from_the_sample(frame, tmp_path, monkeypatch):
    monkeypatch.setattr(large, "_SAMPLE", 500)
    frame.to_csv(tmp_path / "table.csv", index=False)
    options = dict(drop=["fraud"], time_budget=0, memory="10K")
    told = train_file(tmp_path / "table.csv", tmp_path / "model", **options)["training"]
    assert told["rows"] == 500 and told["rows_read"] == 3000
    assert "svdd-ensemble learnt from 500 of 3000 rows" in told["notes"][0].replace(",", "")


def test_what_is_no_size_is_refused(frame, tmp_path):
    frame.to_csv(tmp_path / "table.csv", index=False)
    with pytest.raises(UserError, match="half is no size; write it as 500M or 32G"):
        train_file(tmp_path / "table.csv", tmp_path / "model", memory="half")
