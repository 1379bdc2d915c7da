"""The commands predict and inspect, where they succeed."""

import io
import json
import re
import sys
import time
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest
import scipy.sparse as sp
from sklearn.datasets import dump_svmlight_file

from fewlabels.cli import progress
from fewlabels.pipeline import Observer, score_file
from fewlabels.tables.formats import blocks as tables
from fewlabels.tables.models.files import load_model

# pandas 2 may miss a number by its last bit otherwise.
read_csv = partial(pd.read_csv, float_precision="round_trip")


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
        back = read_csv(out, sep="," if into == "csv" else "\t")
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
    observer = Observer()
    observer.rows = lambda *now: seen.append(now)
    score_file(model, data, tmp_path / "pieces.csv", chunk_rows=7, observer=observer)
    assert len(seen) >= 600 / 7
    assert seen == sorted(seen)
    assert seen[-1] == (600, 1.0)
    whole, pieces = (read_csv(tmp_path / f"{name}.csv") for name in ("whole", "pieces"))
    np.testing.assert_allclose(pieces.pop("score"), whole.pop("score"), rtol=1e-9)
    pd.testing.assert_frame_equal(pieces, whole)


def test_unknown_and_blank_categories_are_no_error(run, tmp_path, table, model):
    data, out = tmp_path / "in.csv", tmp_path / "out.csv"
    table.assign(colour="ultraviolet", ok="").to_csv(data, index=False)
    result = run("predict", model, data, "-o", out, "--json")
    assert result.code == 0
    assert "don't occur in the training rows" in result.err
    assert "'ultraviolet' (120) in 'colour', blanks (120) in 'ok'" in result.err
    told = json.loads(result.out)
    assert told["unseen_categories"] == {"colour": 120, "ok": 120}
    assert told["unseen_values"] == {"colour": {"ultraviolet": 120}, "ok": {"": 120}}
    assert (read_csv(out)["label"] == "outside").all()


def test_rows_with_missing_numbers_can_be_skipped(run, tmp_path, table, model, expected):
    data, out = tmp_path / "in.csv", tmp_path / "out.csv"
    width = table["width"].where(np.arange(120) % 10 != 3)
    table.assign(width=width).to_csv(data, index=False)
    result = run("predict", model, data, "-o", out, "--skip-missing", "--json")
    summary = json.loads(result.out)
    assert (summary["rows"], summary["skipped"]) == (120, 12)
    assert summary["inside"] + summary["outside"] == 108
    back = read_csv(out)
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
    assert list(read_csv(out).columns)[-3:] == ["label", "svdd_score", "svdd_label"]


def test_safe_cells(run, tmp_path, table, model):
    data, out = tmp_path / "in.csv", tmp_path / "out.csv"
    table.assign(link='=HYPERLINK("x")').to_csv(data, index=False)
    assert run("predict", model, data, "-o", out).code == 0
    assert set(read_csv(out)["link"]) == {'=HYPERLINK("x")'}
    assert run("predict", model, data, "-o", out, "--safe-cells").code == 0
    back = read_csv(out)
    assert set(back["link"]) == {'\'=HYPERLINK("x")'}
    assert back["width"].tolist() == table["width"].tolist()


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
        assert list(read_csv(out).columns) == ["score", "label", "p_value"]
        scores.append(read_csv(out)["score"])
    for other in scores[1:]:
        np.testing.assert_allclose(other, scores[0], rtol=1e-9)


def test_an_existing_output_is_replaced(run, tmp_path, data, model):
    out = tmp_path / "out.csv"
    out.write_text("old")
    assert run("predict", model, data, "-o", out).code == 0
    assert out.read_text().startswith("name,")


@pytest.fixture
def calibrated(run, tmp_path, table):
    """A model with a rate of false alarms."""
    table.drop(columns=["name", "class"]).to_csv(tmp_path / "train.csv", index=False)
    model = tmp_path / "calibrated"
    result = run("fit", tmp_path / "train.csv", "-o", model, "--target-fpr", "0.1")
    assert result.code == 0, result.err
    return model


def test_p_values(run, tmp_path, table, calibrated):
    far = table.assign(width=table["width"].where(table.index != 3, 1e3))
    far.to_csv(tmp_path / "in.csv", index=False)
    result = run("predict", calibrated, tmp_path / "in.csv", "-o", tmp_path / "out.csv")
    assert result.code == 0, result.err
    back = read_csv(tmp_path / "out.csv")
    assert list(back.columns)[-3:] == ["score", "label", "p_value"]
    pipeline = load_model(calibrated)[0]
    rows = far.astype({"ok": str})
    np.testing.assert_array_equal(back["score"], pipeline.decision_function(rows))
    np.testing.assert_array_equal(
        back["p_value"], pipeline[-1].p_values(pipeline[:-1].transform(rows))
    )
    assert ((back["p_value"] <= 0.1) == (back["label"] == "outside")).all()
    assert back["p_value"][3] == pytest.approx(1 / 121)


@pytest.mark.parametrize("machine", ["pusvm", "s3vm", "pu-ensemble"])
def test_probabilities(run, tmp_path, machine):
    rng = np.random.default_rng(0)
    side = rng.random(160) < 0.5
    frame = pd.DataFrame(rng.normal(size=(160, 2)) + 2.0 * side[:, None], columns=["a", "b"])
    names = np.where(side, "yes", "no" if machine == "s3vm" else "")
    frame["t"] = np.where(np.arange(160) < 60, names, "")
    frame.to_csv(tmp_path / "d.csv", index=False)
    fit = ["fit", tmp_path / "d.csv", "--target", "t", "--method", machine, "--prior", "0.5"]
    fit = fit[: -2 if machine == "s3vm" else None] + (["--bags", 3] if "en" in machine else [])
    assert run(*fit, "-o", tmp_path / "m").code == 0
    result = run("predict", tmp_path / "m", tmp_path / "d.csv", "-o", tmp_path / "o.csv",
                 "--prefix", "new_", "--json")  # fmt: skip
    assert result.code == 0, result.err
    back = read_csv(tmp_path / "o.csv")
    assert json.loads(result.out)["columns"][-1] == "new_probability" == back.columns[-1]
    pipeline = load_model(tmp_path / "m")[0]
    np.testing.assert_array_equal(
        back["new_probability"], pipeline.predict_proba(frame[["a", "b"]])[:, 1]
    )
    assert back["new_probability"][side].mean() > 0.7 > 0.3 > back["new_probability"][~side].mean()


def test_other_cells_come_out_as_they_went_in(run, tmp_path, table, model):
    """Quotes, leading zeros, line breaks in cells and what else a table may have."""
    lines = table.to_csv(index=False).splitlines()
    lines[0] += ",code,remark"
    odd = ['"0,07"', "007", '"a ""b"""', '"two\nlines"', " x ", "", "1e5", "ü"]
    lines[1:] = [f"{line},{odd[k % 8]},{odd[(k + 3) % 8]}" for k, line in enumerate(lines[1:])]
    (tmp_path / "in.csv").write_text("\n".join(lines), encoding="utf-8")
    assert run("predict", model, tmp_path / "in.csv", "-o", tmp_path / "o.csv").code == 0
    out = (tmp_path / "o.csv").read_text(encoding="utf-8")
    assert out.endswith("\n")
    scores = read_csv(tmp_path / "o.csv", dtype=str)[["score", "label"]]
    back = out
    for score, label in scores.itertuples(index=False):
        assert f",{score},{label}\n" in back
        back = back.replace(f",{score},{label}\n", "\n", 1)
    assert back.replace(",score,label\n", "\n", 1) == "\n".join(lines) + "\n"


def test_compressed_files(run, tmp_path, table, model, expected):
    table.to_csv(tmp_path / "in.csv.gz", index=False)
    out, again = tmp_path / "out.csv.gz", tmp_path / "again.csv.gz"
    for path in (out, again):
        assert run("predict", model, tmp_path / "in.csv.gz", "-o", path).code == 0
    assert out.read_bytes() == again.read_bytes()
    np.testing.assert_allclose(read_csv(out)["score"], expected, rtol=1e-12)


def test_progress_tells_the_time_left(monkeypatch):
    terminal = io.StringIO()
    terminal.isatty = lambda: True
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "120")
    with progress.observe_progress("reading", timed=True) as observer:
        for k in range(1, 4):
            observer.rows(1000 * k, k / 4)
            time.sleep(0.15)
    shown = terminal.getvalue()
    assert "3,000 rows scored" in shown and "75%" in shown
    assert re.search(r"gone, .*\d:\d\d:\d\d.* left", shown)
    before = terminal.getvalue()
    with progress.observe_progress("reading", quiet=True, timed=True) as observer:
        observer.rows(1000, 0.5)
    assert terminal.getvalue() == before


def test_inspect(run, data, tmp_path):
    model = tmp_path / "m"
    run("fit", data, "--target", "class", "--normal", "good", "--drop", "name", "-o", model,
        "--method", "svdd")  # fmt: skip
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


def test_a_stored_model(run, tmp_path):
    """It fills gaps in, takes dates and texts, and has probabilities."""
    folder = Path(__file__).parents[1] / "tables" / "models"
    result = run("inspect", folder / "table.skops")
    assert result.code == 0, result.err
    for words in ("pusvm, created", "format", "category, 3 values", "text, 23 terms", "boolean"):
        assert words in result.out
    (tmp_path / "d.csv").write_text(
        "size,colour,day,since,note,tested\n"
        "0.5,red,2026-01-10,2025-06-01,the pump leaks oil again,yes\n"
        ",green,2026-03-05,,all quiet at night,no\n"
        "-3.0,violet,2030-01-01,2025-01-01,,no\n"
        "2.0,,2026-02-01,2025-12-24,the pump hums,yes\n"
    )
    model, out = folder / "table.skops", tmp_path / "o.csv"
    result = run("predict", model, tmp_path / "d.csv", "-o", out)
    assert result.code == 0, result.err
    wanted, back = json.loads((folder / "answers.json").read_text())["table"], read_csv(out)
    for name in ("score", "probability"):
        np.testing.assert_allclose(back[name], wanted[name], rtol=1e-9)


def test_inspect_tells_of_the_search(run, tmp_path, data):
    model = tmp_path / "m"
    fit = ["fit", data, "--target", "class", "--normal", "good", "-o", model]
    assert run(*fit, "--time-budget", 5).code == 0
    text = run("inspect", model).out
    assert re.search(r"search +\d+ settings tried in \d+ fits", text)
    assert re.search(r"threshold +at most about 5 % of new normal rows expected outside", text)
    run(*fit, "--time-budget", 0)
    assert "settings tried" not in run("inspect", model).out


def test_the_counts_of_positive_rows_say_what_they_count(run, tmp_path):
    """``fit`` counts unlabelled rows, and ``predict`` all rows: labelled ones apart."""
    rng = np.random.default_rng(0)
    positive = np.arange(300) < 120
    frame = pd.DataFrame({"a": rng.normal(size=300) + 2.0 * positive, "b": rng.normal(size=300)})
    frame["kind"] = np.where(np.arange(300) < 40, "yes", "")
    frame.to_csv(tmp_path / "rows.csv", index=False)
    options = ["--method", "pusvm", "--prior", 0.3, "--time-budget", 0, "--no-report"]
    run("fit", tmp_path / "rows.csv", "--target", "kind", "-o", tmp_path / "m", *options)
    found = run("predict", tmp_path / "m", tmp_path / "rows.csv", "-o", tmp_path / "out.csv")
    out = pd.read_csv(tmp_path / "out.csv")
    known = out["kind"] == "yes"
    alike = int(out["positive"][known].sum())
    others = int(out["positive"][~known].sum())
    assert alike < 40  # some labelled rows lie among negative ones
    share = f"{(alike + others) / 3:.1f} %"
    assert f"{alike + others} ({share}): {others} without a label, {alike} labelled" in found.out
    assert f"the model contradicts {40 - alike} of 40 rows labelled 'yes'" in found.err
