"""A model file in Python: loaded, changed and saved, it describes what it holds."""

import numpy as np
import pandas as pd
import pytest

from fewlabels import fit_table, load
from fewlabels.pipeline import UserError, update


def table(kind, n=120):
    rng = np.random.default_rng(0)
    rows = pd.DataFrame(rng.normal(size=(n, 2)), columns=["a", "b"])
    group = np.arange(n) % 3
    rows += 3.0 * np.array([[0, 0], [1, 0], [0, 1]])[group]
    known = np.arange(n) % 5 == 0
    if kind == "svdd":
        return rows, {}
    if kind == "pusvm":
        return rows.assign(y=np.where(known & (group == 1), "yes", None)), {"target": "y"}
    names = np.array(["plum", "apple", "pear"])[np.minimum(group, 1 if kind == "two" else 2)]
    return rows.assign(y=np.where(known, names, None)), {"target": "y"}


@pytest.mark.parametrize("kind", ["svdd", "pusvm", "two", "three"])
def test_a_changed_model_describes_itself(kind, tmp_path):
    rows, options = table(kind)
    machine = kind if kind in ("svdd", "pusvm") else "s3vm"
    path = tmp_path / "model"
    fit_table(rows, method=machine, rows=True, time_budget=0, report=False, **options).save(path)
    loaded = load(path)
    loaded.save(path)
    assert load(path).metadata["training"] == loaded.metadata["training"]  # as nothing changed
    before = loaded.metadata["training"]
    gone = [0, 1, 5]  # two of them may have labels
    loaded.model[-1].forget(gone)
    loaded.save(path)
    after = load(path).metadata["training"]
    assert after["rows"] == before["rows"] - 3
    assert after["updates"]["count"] == 1
    assert after["support_vectors"] == len(loaded.model[-1].support_)
    if kind != "svdd":
        labels = rows["y"].drop(index=gone)
        counts = after["rows_labeled"]
        known = labels.value_counts().to_dict()
        assert counts == (known["yes"] if kind == "pusvm" else known)
        assert after["rows_unlabeled"] == int(labels.isna().sum())
    pd.testing.assert_frame_equal(load(path).predict(rows), loaded.predict(rows))
    # The command adds rows to it as to any other model.
    found = update(path, rows.head(2).drop(columns="y", errors="ignore"))
    assert found["rows_before"] == after["rows"] and found["rows_after"] == after["rows"] + 2


def test_a_model_without_its_rows(tmp_path):
    rows, _ = table("svdd")
    fit_table(rows, time_budget=0, report=False).save(tmp_path / "model")
    loaded = load(tmp_path / "model")
    assert loaded.choice.method == "svdd-ensemble" and loaded.report is None
    assert list(loaded.profile["name"]) == ["a", "b"]
    loaded.save(tmp_path / "again")
    assert load(tmp_path / "again").metadata["training"] == loaded.metadata["training"]


def test_what_is_no_model(tmp_path):
    (tmp_path / "text").write_text("no model")
    with pytest.raises(UserError, match="not a fewlabels model"):
        load(tmp_path / "text")
    with pytest.raises(UserError, match="nowhere"):
        load(tmp_path / "nowhere")
