"""Model files of an ensemble of balls."""

import json

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

from fewlabels import SVDD, SVDDEnsemble
from fewlabels._util.messages import UserError
from fewlabels.pipeline.training.settings import count_different_rows
from fewlabels.tables.models.files import load_model, read_metadata


@pytest.fixture
def table(tmp_path, seed):
    path = tmp_path / "d.csv"
    X = np.random.default_rng(seed).normal(size=(150, 3))
    pd.DataFrame(X, columns=["a", "b", "c"]).to_csv(path, index=False)
    return path


def test_saved_updated_and_exported(run, table, tmp_path):
    model, more = tmp_path / "m", tmp_path / "more.csv"
    quick = ("--time-budget", 0, "--no-report", "--bags", 5)
    assert run("fit", table, "-o", model, "--rows", *quick).code == 0
    # The same bits: a row of other digits is another row, and in other bags.
    rows = pd.read_csv(table, float_precision="round_trip")
    pipeline, _, metadata = load_model(model)
    assert (metadata["method"], metadata["format_version"]) == ("svdd-ensemble", 1)
    X = pipeline[:-1].transform(rows)
    # The last column marks blanks, of which there are none.
    scaled = (rows - rows.mean()) / rows.std(ddof=0)
    np.testing.assert_allclose(X, np.column_stack([scaled, np.zeros(len(X))]), atol=1e-12)
    machine = SVDDEnsemble(n_bags=5).fit(X)
    np.testing.assert_allclose(pipeline.score_samples(rows), machine.score_samples(X), atol=1e-6)

    rows[:20].to_csv(more, index=False)
    updated = run("update", model, more, "--json")
    assert updated.code == 0, updated.err
    assert json.loads(updated.out)["rows_after"] == 170
    machine.partial_fit(X[:20])
    loaded = load_model(model)[0]
    np.testing.assert_allclose(loaded.score_samples(rows), machine.score_samples(X), atol=1e-6)

    out = tmp_path / "scored.csv"
    assert run("predict", model, table, "-o", out).code == 0
    scored = pd.read_csv(out)
    np.testing.assert_allclose(scored["score"], machine.decision_function(X), atol=1e-6)
    np.testing.assert_allclose(scored["p_value"], machine.p_values(X), atol=1e-9)
    exported = run("export", model, "-o", tmp_path / "m.onnx")
    assert exported.code == 0, exported.err
    assert "no solution could" not in run("inspect", model).out


def test_without_rows_and_cut_short(run, table, tmp_path):
    model = tmp_path / "m"
    assert run("fit", table, "-o", model, "--time-budget", 0, "--no-report").code == 0
    refused = run("update", model, table)
    assert refused.code == 2 and "doesn't store its training rows" in refused.err
    whole = model.read_bytes()
    model.write_bytes(whole[: len(whole) // 2])
    with pytest.raises(UserError, match="damaged or truncated"):
        read_metadata(model)


def test_a_threshold_of_its_own_is_refused(run, table, tmp_path):
    result = run("fit", table, "-o", tmp_path / "m", "--method", "svdd-ensemble",
                 "--target-fpr", "none")  # fmt: skip
    assert result.code == 2
    assert "svdd-ensemble has none; pass a rate, or --method svdd." in result.err


def test_few_different_rows_leave_no_threshold(run, tmp_path):
    rows = pd.DataFrame(np.random.default_rng(0).normal(size=(4, 2)), columns=["a", "b"])
    pd.concat([rows] * 50).to_csv(tmp_path / "d.csv", index=False)
    usual = ["fit", tmp_path / "d.csv", "-o", tmp_path / "m", "--time-budget", 0]
    for options in (["--target-fpr", 0.05], ["--method", "svdd-ensemble"]):
        refused = run(*usual, *options)
        assert "too small for 4 different rows of calibration data" in refused.err
    assert refused.code == 2 and not (tmp_path / "m").exists()
    assert "too small for 4 different rows of calibration data" in refused.err


@pytest.mark.parametrize("options", [(), ("--method", "svdd")])
def test_few_different_rows_get_the_machine_s_own_threshold(run, tmp_path, options):
    rows = pd.DataFrame(np.random.default_rng(0).normal(size=(4, 2)), columns=["a", "b"])
    pd.concat([rows] * 50).to_csv(tmp_path / "d.csv", index=False)
    model = tmp_path / "m"
    result = run("fit", tmp_path / "d.csv", "-o", model, "--time-budget", 0, *options)
    assert result.code == 0, result.err
    assert result.err.count("4 different rows are too few to calibrate") == 1
    machine = load_model(model)[0][-1]
    assert isinstance(machine, SVDD)
    assert machine.target_fpr is None and np.isfinite(machine.offset_)
    if not options:
        chosen = run("fit", tmp_path / "d.csv", "-o", model, "--time-budget", 2)
        assert chosen.code == 0 and "4 different rows are too few for an ensemble" in chosen.out


def test_different_rows_are_counted():
    rows = np.array([[0.0, 1.0], [-0.0, 1.0], [2.0, 0.0], [0.0, 0.0]])
    sparse = sp.csr_array(rows)
    sparse.data[0] = 1.0
    for X in (rows, sparse, np.repeat(rows, 3000, 0)):
        assert count_different_rows(X) == 3
    assert count_different_rows(np.arange(100.0)[:, None]) == 19
