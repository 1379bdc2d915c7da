"""Tables and matrices of more than --memory, by the job behind ``fewlabels fit``."""

import re
import tempfile
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.datasets import dump_svmlight_file

from fewlabels import SVDD
from fewlabels._util.messages import Interrupted, UserError
from fewlabels.pipeline.formatting import number
from fewlabels.pipeline.observer import Observer
from fewlabels.pipeline.scoring.score import score
from fewlabels.pipeline.summary import details
from fewlabels.pipeline.table import fit_table
from fewlabels.pipeline.training import cost, large
from fewlabels.pipeline.training.fit import fit_file
from fewlabels.pipeline.updating import update
from fewlabels.tables import limits
from fewlabels.tables.formats import blocks
from fewlabels.tables.formats.matrices import numpy_files


@pytest.fixture
def frame(rng):
    n = 3000
    frame = pd.DataFrame(rng.normal(size=(n, 3)), columns=["a", "b", "c"])
    frame["site"] = rng.choice(["x", "y"], n)
    frame["fraud"] = np.where((frame.a > 1.0) & (rng.random(n) < 0.5), "yes", "")
    return frame


@pytest.mark.parametrize("form", ["csv", "parquet", "jsonl"])
def test_the_machine_has_learnt_from_all_rows(form, frame, tmp_path, monkeypatch):
    monkeypatch.setattr(large, "_MAX_UNLABELLED_ROWS", 500)
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    path = tmp_path / f"table.{form}"
    write = {"csv": frame.to_csv, "parquet": frame.to_parquet, "jsonl": frame.to_json}[form]
    write(path, **dict(orient="records", lines=True) if form == "jsonl" else dict(index=False))
    options = dict(drop=["fraud"], method="svdd", time_budget=0, target_fpr="none", gamma=0.2)
    options["random_state"] = 0
    told = fit_file(path, tmp_path / "large", memory="10K", **options)["training"]
    whole = fit_file(path, tmp_path / "whole", memory="1G", **options)["training"]
    assert told["rows"] == told["rows_read"] == 3000
    assert told["notes"][0].startswith("the table does not fit in memory (memory='10K'): settings")
    assert "500 random rows" in told["notes"][0]
    assert not any("memory" in note for note in whole["notes"])
    # Scaled by a sample of the rows, the ball is nearly that of all.
    assert told["objective"] == pytest.approx(whole["objective"], rel=0.05)
    here, there = (score(tmp_path / name, path)["score"] for name in ("whole", "large"))
    assert np.corrcoef(here, there)[0, 1] > 0.99
    assert not list(tmp_path.glob("fewlabels-rows-*"))


def test_columns_that_become_sparse(frame, rng, tmp_path):
    frame = frame.head(1200).copy()  # time grows with their square in so small a cache
    frame["town"] = rng.choice(list("abcdefghijklmnop"), len(frame))
    frame.to_csv(tmp_path / "table.csv", index=False)
    options = dict(drop=["fraud", "a", "b"], method="svdd", time_budget=0, cache_size=0.01)
    told = fit_file(tmp_path / "table.csv", tmp_path / "model", memory="10K", **options)
    assert told["training"]["rows"] == 1200 == len(score(tmp_path / "model", frame))


@pytest.mark.parametrize("cache_size", [200, 0.01])
def test_labels_of_all_rows(cache_size, frame, tmp_path, monkeypatch):
    monkeypatch.setattr(large, "_MAX_UNLABELLED_ROWS", 500)
    frame.to_csv(tmp_path / "table.csv", index=False)
    told = fit_file(
        tmp_path / "table.csv", tmp_path / "model", target="fraud", method="pusvm",
        time_budget=0, memory="10K", prior=0.1, cache_size=cache_size,
    )["training"]  # fmt: skip
    assert told["rows"] == 3000 == told["rows_labeled"] + told["rows_unlabeled"]
    assert told["rows_labeled"] == np.sum(frame.fraud == "yes")
    found = score(tmp_path / "model", tmp_path / "table.csv")
    assert found["positive"][frame.fraud == "yes"].mean() > 0.5


def test_a_machine_of_samples_learns_from_the_sample(frame, tmp_path, monkeypatch):
    monkeypatch.setattr(large, "_MAX_UNLABELLED_ROWS", 500)
    frame.to_csv(tmp_path / "table.csv", index=False)
    options = dict(drop=["fraud"], time_budget=0, memory="10K")
    told = fit_file(tmp_path / "table.csv", tmp_path / "model", **options)["training"]
    assert told["rows"] == 500 and told["rows_read"] == 3000
    assert "svdd-ensemble was trained on 500 random rows of 3000" in told["notes"][0].replace(
        ",", ""
    )


def test_what_is_no_size_is_refused(frame, tmp_path):
    frame.to_csv(tmp_path / "table.csv", index=False)
    with pytest.raises(UserError, match="half' is not a size; write it like 500M or 32G"):
        fit_file(tmp_path / "table.csv", tmp_path / "model", memory="half")


def sparse(X):
    return sp.csr_array(np.where(np.abs(X) > 1.3, X, 0.0))


# Writers of rows and their labels, and whether rows are sparse.
MATRICES = {
    "npy": (lambda path, X, y: np.save(path, X), False),
    "npy by columns": (lambda path, X, y: np.save(path, np.asfortranarray(X)), False),
    "npz": (lambda path, X, y: np.savez(path, X=X, y=y, more=np.zeros((2, 2))), False),
    "npz compressed": (lambda path, X, y: np.savez_compressed(path, X=X, y=y), False),
    "npz sparse": (lambda path, X, y: sp.save_npz(path, sparse(X)), True),
    "svm": (lambda path, X, y: dump_svmlight_file(sparse(X), y, str(path)), True),
}


@pytest.mark.parametrize("form", MATRICES)
def test_matrices(form, rng, tmp_path, monkeypatch):
    monkeypatch.setattr(large, "_MAX_UNLABELLED_ROWS", 500)
    monkeypatch.setattr(blocks, "BLOCK_BYTES", 5_000)
    monkeypatch.setattr(numpy_files, "_LARGE", 0)
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    X, y = rng.normal(size=(3000, 8)), rng.integers(0, 2, 3000)
    write, is_sparse = MATRICES[form]
    path = tmp_path / f"rows.{form.split()[0]}"
    write(path, X, y)
    options = dict(method="svdd", time_budget=0, target_fpr="none", gamma=0.1, scale=False,
                   cache_size=0.01)  # fmt: skip
    told = fit_file(path, tmp_path / "large", memory="10K", **options)["training"]
    whole = fit_file(path, tmp_path / "whole", memory="1G", **options)["training"]
    assert told["rows"] == told["rows_read"] == 3000 and told["converged"]
    assert told["notes"][0].startswith("the rows do not fit in memory (memory='10K'): settings")
    # Rows are left as they are, so that the machines are the same.
    assert told["objective"] == pytest.approx(whole["objective"], rel=1e-3)
    rows = sparse(X) if is_sparse else X
    here = score(tmp_path / "large", path)["score"]
    np.testing.assert_allclose(score(tmp_path / "large", rows)["score"], here, atol=1e-9)
    assert np.corrcoef(here, score(tmp_path / "whole", path)["score"])[0, 1] > 0.9999
    assert not list(tmp_path.glob("fewlabels-rows-*"))


@pytest.mark.parametrize("form", ["npz", "svm"])
def test_labels_of_matrices(form, rng, tmp_path, monkeypatch):
    monkeypatch.setattr(large, "_MAX_UNLABELLED_ROWS", 500)
    monkeypatch.setattr(large, "_MAX_ROWS_PER_LABEL", 200)
    X = rng.normal(size=(3000, 8))
    y = (X[:, 0] > 1.0) & (rng.random(3000) < 0.7)
    path = tmp_path / f"rows.{form}"
    MATRICES[form][0](path, X, y.astype(int))
    told = fit_file(
        path, tmp_path / "model", target="y", method="pusvm", time_budget=0, memory="10K",
        prior=0.05, cache_size=0.01,
    )["training"]  # fmt: skip
    assert told["rows"] == 3000 and told["rows_labeled"] == y.sum()
    assert f"{200 + 200} random rows" in told["notes"][0]
    found = score(tmp_path / "model", path)
    assert found["positive"][y].mean() > 0.5 > found["positive"].mean()


def test_mapped_rows_of_a_notebook(rng, tmp_path):
    X = rng.normal(size=(3000, 3))
    np.save(tmp_path / "rows.npy", X)
    X = np.load(tmp_path / "rows.npy", mmap_mode="r")
    found = fit_table(X, method="svdd", time_budget=0, memory="10K", cache_size=0.01)
    assert found.metadata["training"]["rows"] == 3000
    assert "on disk" in found.metadata["training"]["notes"][0]


def test_sparse_rows_by_columns_are_refused(rng, tmp_path):
    sp.save_npz(tmp_path / "rows.npz", sparse(rng.normal(size=(3000, 8))).tocsc())
    with pytest.raises(
        UserError, match=r"in csc format, which can't be read in pieces; save it in CSR format"
    ):
        fit_file(tmp_path / "rows.npz", tmp_path / "model", memory="10K")


def test_a_disk_that_is_full(frame, tmp_path, monkeypatch):
    frame.to_csv(tmp_path / "table.csv", index=False)
    usage = limits.shutil.disk_usage
    monkeypatch.setattr(
        limits.shutil, "disk_usage", lambda place: usage(place)._replace(free=1000)
    )
    with pytest.raises(
        UserError, match=r"temporary file of .*, but only 0.001 MB are free in .*TMPDIR"
    ):
        fit_file(
            tmp_path / "table.csv", tmp_path / "model", memory="10K", method="svdd",
            time_budget=0, drop=["fraud"],
        )  # fmt: skip


class Stopping(Observer):
    """Presses Ctrl-C when a step begins, or when rows or rounds are told of in it."""

    def __init__(self, wanted, within):
        self.wanted, self.within, self.now = wanted, within, ""

    def report_stage(self, text):
        self.now = text
        self._press(not self.within)

    def rows(self, done, share, total=None, what=""):
        self._press(self.within)

    def round(self, entry):
        self._press(self.within)

    def _press(self, here):
        if here and self.now.startswith(self.wanted):
            raise KeyboardInterrupt


@pytest.mark.parametrize(
    ("wanted", "within"),
    [("drawing", True), ("encoding", False), ("encoding", True), ("training on", False),
     ("training on", True), ("counting", False)],
)  # fmt: skip
def test_ctrl_c_leaves_nothing(wanted, within, frame, tmp_path, monkeypatch):
    monkeypatch.setenv("TMPDIR", str(tmp_path / "temporary"))
    monkeypatch.setattr(tempfile, "tempdir", None)
    (tmp_path / "temporary").mkdir()
    frame.to_csv(tmp_path / "table.csv", index=False)
    model = tmp_path / "model"
    model.write_bytes(b"")
    told = f"no model was written, and {model} is unchanged"
    with pytest.raises(Interrupted, match=re.escape(told)):
        fit_file(
            tmp_path / "table.csv", model, target="fraud", method="pusvm", time_budget=0,
            memory="10K", prior=0.1, cache_size=0.01, force=True,
            observer=Stopping(wanted, within),
        )  # fmt: skip
    assert model.read_bytes() == b"" and not list((tmp_path / "temporary").iterdir())
    assert sorted(path.name for path in tmp_path.iterdir()) == ["model", "table.csv", "temporary"]


def test_ctrl_c_names_a_file_only_if_there_is_one(frame, tmp_path):
    path, observer = tmp_path / "table.csv", Stopping("drawing", True)
    frame.to_csv(path, index=False)
    with pytest.raises(Interrupted, match=r"^no model was written\.$"):
        fit_table(path, "fraud", method="pusvm", memory="10K", observer=observer)


@pytest.mark.parametrize(
    ("machine", "n_rows"), [(SVDD(), 64_000), (SVDD(slack="linear", nu=0.05), 64_000)]
)
def test_what_a_fit_of_all_rows_takes(machine, n_rows, rng, monkeypatch):
    monkeypatch.setattr(cost, "_TIMED_ROWS", 1000)
    X = rng.normal(size=(n_rows, 4))
    found = cost.predict_cost(machine, X[:20_000], n_rows)
    exact = len(clone(machine).fit(X).support_)
    assert 0.5 < found.support_vectors / exact < 2.0
    assert found.seconds > 0.0 and "support vectors)" in found.words()


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (0.3, "less than a second"), (80.0, "about 80 s"), (100.0, "about 2 min"),
        (8000.0, "about 2 h"), (9e5, "about 10 days"), (1e9, "about 30 years"),
    ],
)  # fmt: skip
def test_costs_in_words(seconds, words):
    told = cost.Cost(1234.0, seconds).words()
    assert told == f"{words} (about 1,000 support vectors)"


def test_seconds_of_choosing_are_those_of_the_sample(rng, tmp_path, monkeypatch):
    monkeypatch.setattr(large, "_MAX_UNLABELLED_ROWS", 200)
    np.save(tmp_path / "rows.npy", rng.normal(size=(900, 4)))
    with monkeypatch.context() as patched:
        # A fit of all rows, on disk, takes far longer than the search on a sample.
        fit = large.fit_model
        slow = lambda *a, **k: replace(fit(*a, **k), seconds=50.0)  # noqa: E731
        patched.setattr(large, "fit_model", slow)
        metadata = fit_file(
            tmp_path / "rows.npy", tmp_path / "model", memory="10K", method="svdd",
            time_budget=3, baselines=False,
        )  # fmt: skip
    training = metadata["training"]
    assert training["in_pieces"] and training["seconds"] == 50.0
    tuning = training["tuning"]
    choosing = tuning["seconds"] - tuning["fit_seconds"]
    assert choosing > 0.0
    shown = f"50, choosing settings {number(choosing)}, total "
    assert dict(details(metadata))["seconds"].startswith(shown)


@pytest.mark.parametrize("given", [{}, {"gamma": 5.0, "C": 0.1}])
def test_settings_of_a_sample_that_never_end(given, rng, tmp_path, monkeypatch):
    monkeypatch.setattr(large, "_LONG_FIT_SECONDS", 0.0)
    monkeypatch.setattr(cost, "_TIMED_ROWS", 1000)
    np.save(tmp_path / "rows.npy", rng.normal(size=(12_000, 4)))
    told = fit_file(
        tmp_path / "rows.npy", tmp_path / "model", memory="10K", method="svdd", cache_size=0.3,
        time_budget=2, baselines=False, **given,
    )["training"]  # fmt: skip
    with pytest.raises(UserError, match=r"read in pieces.*no model can store") as refused:
        update(tmp_path / "model", tmp_path / "rows.npy")
    assert "rows=True" in str(refused.value) and "fits in memory" in str(refused.value)
    notes = told["notes"][1:]
    if given:
        assert any(note.startswith("a fit to all rows takes ") for note in notes)
        assert told["support_vectors"] > 3000
    else:
        assert any(
            note.startswith("settings are defaults, because the chosen ones") for note in notes
        )
        assert re.match(
            r"defaults, which take .+ \(about [\d,]+ support vectors\) for all rows$",
            told["settings"],
        )
        assert told["tuning"] is None
        assert told["support_vectors"] < 1000


@pytest.mark.parametrize(("seconds", "defaults"), [(100.0, True), (1.0, False)])
def test_a_fit_of_all_rows_keeps_to_the_time_budget(seconds, defaults, rng, tmp_path, monkeypatch):
    def expected(estimator, X, n_rows):
        chosen = estimator.gamma != SVDD().gamma or estimator.C != SVDD().C
        return cost.Cost(100.0, seconds if chosen else seconds / 100.0)

    monkeypatch.setattr(large, "predict_cost", expected)
    np.save(tmp_path / "rows.npy", rng.normal(size=(12_000, 4)))
    training = fit_file(
        tmp_path / "rows.npy", tmp_path / "model", memory="10K", method="svdd", cache_size=0.3,
        time_budget=3, baselines=False,
    )["training"]  # fmt: skip
    told = any(note.startswith("settings are defaults") for note in training["notes"])
    assert told == defaults
