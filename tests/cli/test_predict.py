"""The commands predict and inspect, where they succeed."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest
import scipy.sparse as sp
from sklearn.datasets import dump_svmlight_file

from fewlabels.cli.predict import score_file
from fewlabels.io import tables
from fewlabels.io.models import load_model


@pytest.fixture
def expected(model, table):
    """Scores from the loaded pipeline itself."""
    return load_model(model)[0].decision_function(table.astype({"ok": str}))


@pytest.mark.parametrize("into", ["csv", "tsv", "parquet"])
@pytest.mark.parametrize("source", ["csv", "tsv", "parquet"])
def test_every_table_format(run, tmp_path, table, model, expected, source, into):
    data, out = tmp_path / f"in.{source}", tmp_path / f"out.{into}"
    shuffled = table[["ok", "class", "height", "name", "width", "colour"]]
    if source == "parquet":
        shuffled.to_parquet(data)
    else:
        shuffled.to_csv(data, index=False, sep="," if source == "csv" else "\t")
    result = run("predict", model, data, "-o", out)
    assert result.code == 0, result.err
    if into == "parquet":
        back = pd.read_parquet(out)
        assert pq.read_schema(out).field("width").type == "double"
    else:
        back = pd.read_csv(out, sep="," if into == "csv" else "\t")
    assert list(back.columns) == [*shuffled.columns, "score", "label"]
    np.testing.assert_allclose(back["score"], expected, rtol=1e-12)
    np.testing.assert_array_equal(back["label"], np.where(expected >= 0, "inside", "outside"))
    np.testing.assert_array_equal(back["name"], table["name"])
    np.testing.assert_array_equal(back["width"], table["width"])
    assert f"{(expected < 0).sum()} (" in result.out


def test_labels_are_those_of_the_estimator(model, table):
    pipeline, _, _ = load_model(model)
    rows = table.astype({"ok": str})
    inside = pipeline.decision_function(rows) >= 0
    np.testing.assert_array_equal(pipeline.predict(rows), np.where(inside, 1, -1))


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_pieces_give_the_same_file(tmp_path, table, model, monkeypatch, suffix):
    data = tmp_path / f"in.{suffix}"
    large = pd.concat([table] * 5, ignore_index=True)
    getattr(large, f"to_{suffix}")(data, index=False)
    score_file(model, data, tmp_path / "whole.csv")
    monkeypatch.setattr(tables, "BLOCK_BYTES", 2000)
    seen = []
    score_file(model, data, tmp_path / "pieces.csv", chunk_rows=7, update=seen.append)
    assert len(seen) >= 600 / 7
    assert seen[-1] == 600
    whole, pieces = (pd.read_csv(tmp_path / f"{name}.csv") for name in ("whole", "pieces"))
    np.testing.assert_allclose(pieces.pop("score"), whole.pop("score"), rtol=1e-9)
    pd.testing.assert_frame_equal(pieces, whole)


def test_unknown_and_blank_categories_are_no_error(run, tmp_path, table, model):
    data, out = tmp_path / "in.csv", tmp_path / "out.csv"
    table.assign(colour="ultraviolet", ok="").to_csv(data, index=False)
    result = run("predict", model, data, "-o", out, "--json")
    assert result.code == 0
    assert "do not occur in the training rows" in result.err
    assert json.loads(result.out)["unseen_categories"] == {"colour": 120, "ok": 120}
    assert (pd.read_csv(out)["label"] == "outside").all()


def test_rows_with_missing_numbers_can_be_skipped(run, tmp_path, table, model, expected):
    data, out = tmp_path / "in.csv", tmp_path / "out.csv"
    width = table["width"].where(np.arange(120) % 10 != 3)
    table.assign(width=width).to_csv(data, index=False)
    result = run("predict", model, data, "-o", out, "--skip-missing", "--json")
    summary = json.loads(result.out)
    assert (summary["rows"], summary["skipped"]) == (120, 12)
    assert summary["inside"] + summary["outside"] == 108
    back = pd.read_csv(out)
    assert back["score"].isna().to_numpy().tolist() == width.isna().to_list()
    assert back["label"].isna().sum() == 12
    kept = width.notna().to_numpy()
    np.testing.assert_allclose(back["score"][kept], expected[kept], rtol=1e-9)


def test_prefix_where_the_names_are_taken(run, tmp_path, table, model):
    data, out = tmp_path / "in.csv", tmp_path / "out.csv"
    table.assign(label="x").to_csv(data, index=False)
    result = run("predict", model, data, "-o", out)
    assert result.code == 2
    assert "already has a column 'label'; pass --prefix" in result.err
    assert run("predict", model, data, "-o", out, "--prefix", "svdd_").code == 0
    assert list(pd.read_csv(out).columns)[-3:] == ["label", "svdd_score", "svdd_label"]


@pytest.mark.parametrize("fitted_to", ["npy", "svm"])
def test_matrices_give_scores(run, tmp_path, table, fitted_to):
    X = table[["width", "height"]].to_numpy(copy=True)
    X[:, 1] = np.maximum(X[:, 1], 0)
    np.save(tmp_path / "d.npy", X)
    np.savez(tmp_path / "d.npz", X=X, y=np.ones(120))
    sp.save_npz(tmp_path / "s.npz", sp.csr_array(X))
    dump_svmlight_file(X, np.ones(120), str(tmp_path / "d.svm"), zero_based=False)
    model, out = tmp_path / "m", tmp_path / "out.csv"
    assert run("fit", tmp_path / f"d.{fitted_to}", "-o", model).code == 0
    scores = []
    for name in ("d.npy", "d.npz", "s.npz", "d.svm"):
        result = run("predict", model, tmp_path / name, "-o", out, "--n-jobs", 1)
        assert result.code == 0, result.err
        assert list(pd.read_csv(out).columns) == ["score", "label"]
        scores.append(pd.read_csv(out)["score"])
    for other in scores[1:]:
        np.testing.assert_allclose(other, scores[0], rtol=1e-9)


def test_an_existing_output_is_replaced(run, tmp_path, data, model):
    out = tmp_path / "out.csv"
    out.write_text("old")
    assert run("predict", model, data, "-o", out).code == 0
    assert out.read_text().startswith("name,")


def test_inspect(run, data, tmp_path):
    model = tmp_path / "m"
    run("fit", data, "--target", "class", "--normal", "good", "--drop", "name", "-o", model)
    text = run("inspect", model).out
    for words in (
        "svdd, created",
        "fewlabels 0.",
        "C=2.0",
        "normal value           good",
        "colour  category, 2 values",
        "width   number",
        "support vectors",
        "duality gap",
    ):
        assert words in text
    metadata = json.loads(run("inspect", model, "--json").out)
    assert metadata == load_model(model)[2]
    assert metadata["schema"]["columns"][0] == {
        "name": "width",
        "kind": "number",
        "categories": None,
    }


def test_a_model_of_format_1(run, tmp_path):
    old = Path(__file__).parents[1] / "io" / "models" / "svdd-format-1.skops"
    result = run("inspect", old)
    assert result.code == 0, result.err
    for words in ("svdd, created", "training rows outside  2 (5.0 %)", "radius"):
        assert words in result.out
    assert "machine" not in result.out
    np.save(tmp_path / "d.npy", np.zeros((3, 2)))
    result = run("predict", old, tmp_path / "d.npy", "-o", tmp_path / "o.csv", "--json")
    assert result.code == 0, result.err
    assert json.loads(result.out)["outside"] == 3
