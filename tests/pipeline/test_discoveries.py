"""Lists of anomalies with a bounded false discovery rate, and rows that have a label already."""

import numpy as np
import pandas as pd
import pytest

from fewlabels import fit_table, pipeline
from fewlabels._util.messages import UserError
from fewlabels.metrics import benjamini_hochberg

OPTIONS = dict(time_budget=0, report=False)


@pytest.fixture(scope="module")
def detector():
    rng = np.random.default_rng(0)
    return fit_table(pd.DataFrame(rng.normal(size=(800, 2)), columns=["a", "b"]), **OPTIONS)


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(1)
    values = np.concatenate([rng.normal(size=(450, 2)), rng.normal(8.0, 1.0, size=(50, 2))])
    return pd.DataFrame(values, columns=["a", "b"])


def test_discoveries_are_those_of_benjamini_and_hochberg(detector, rows, tmp_path):
    answers = detector.predict(rows, fdr=0.1)
    expected = benjamini_hochberg(detector.predict(rows)["p_value"], q=0.1)
    assert answers["discovery"].tolist() == expected.tolist()
    assert expected[450:].all() and expected[:450].mean() < 0.05
    # The list depends on all rows, however few are held at a time.
    summary = pipeline.score_file(detector, rows, tmp_path / "out.csv", fdr=0.1, chunk_rows=7)
    assert pd.read_csv(tmp_path / "out.csv")["discovery"].tolist() == expected.tolist()
    assert summary["discoveries"] == expected.sum() and summary["rows"] == 500


def test_rows_without_a_score_are_no_discoveries(rows, tmp_path):
    rng = np.random.default_rng(0)
    normal = pd.DataFrame(rng.normal(size=(800, 2)), columns=["a", "b"])
    detector = fit_table(normal, missing="refuse", **OPTIONS)
    rows = rows.copy()
    rows.loc[460, "a"] = np.nan
    answers = detector.predict(rows, fdr=0.1, skip_missing=True)
    assert pd.isna(answers["discovery"][460]) and answers["discovery"][470]


def test_an_empty_list_says_why(detector, tmp_path):
    rng = np.random.default_rng(2)
    rows = pd.DataFrame(rng.normal(size=(500, 2)), columns=["a", "b"])
    summary = pipeline.score_file(detector, rows, tmp_path / "out.csv", fdr=0.001)
    assert summary["discoveries"] == 0
    assert "no p-value is below 0.0013, so a list from 500 rows needs" in summary["too_few"]
    assert not pd.read_csv(tmp_path / "out.csv")["discovery"].any()


def test_rates_and_models_that_are_refused(detector, rows):
    with pytest.raises(UserError, match="fdr=2 is out of range"):
        detector.predict(rows, fdr=2)
    labels = np.where(np.arange(500) >= 480, "yes", "")
    found = fit_table(rows.assign(kind=labels), "kind", method="pusvm", **OPTIONS)
    with pytest.raises(UserError, match=r"fdr needs p-values.*of type pusvm without p-values"):
        found.predict(rows, fdr=0.1)


@pytest.mark.parametrize("form", ["csv", "parquet"])
def test_rows_with_a_label_are_counted(form, tmp_path):
    rng = np.random.default_rng(0)
    truth = np.repeat(["a", "b"], 100)
    frame = pd.DataFrame(
        {"x": rng.normal(size=200) + 6.0 * (truth == "b"), "z": rng.normal(size=200)}
    )
    frame["kind"] = np.where(np.arange(200) % 10 == 0, truth, "")
    found = fit_table(frame, "kind", **OPTIONS)
    frame.loc[[0, 50], "kind"] = "b"  # wrong, and the model hasn't seen them
    frame.loc[5, "kind"] = "c"  # no class of the model
    path = tmp_path / f"rows.{form}"
    frame.to_csv(path, index=False) if form == "csv" else frame.to_parquet(path)
    summary = pipeline.score_file(found, path, tmp_path / f"out.{form}")
    assert summary["labeled"] == {
        "a": {"rows": 8, "agreeing": 8},
        "b": {"rows": 12, "agreeing": 10},
    }
    read = pd.read_csv if form == "csv" else pd.read_parquet
    assert read(tmp_path / f"out.{form}")["kind"][0] == "b"  # the file's label stays
    without = pipeline.score_file(found, frame.drop(columns="kind"), tmp_path / "without.csv")
    assert without["labeled"] == {}
