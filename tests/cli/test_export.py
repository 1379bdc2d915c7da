"""The command export."""

import json
import zipfile

import numpy as np
import onnx
import onnxruntime
import pandas as pd
import pytest

from fewlabels.tables.models.files import load_model


def scores_of(path, table):
    """Label and score of a graph, fed by the columns of a table."""
    session = onnxruntime.InferenceSession(path.read_bytes())
    feed = {}
    for value in session.get_inputs():
        column = table[[value.name]]
        is_text = value.type == "tensor(string)"
        column = column.astype(str if is_text else float)
        feed[value.name] = column.to_numpy(object if is_text else float)
    return session.run(["label", "score"], feed)


def test_table(run, model, table, tmp_path):
    out = tmp_path / "m.onnx"
    result = run("export", model, "-o", out)
    assert result.code == 0 and result.err == ""
    assert "svdd as an ONNX graph" in result.out and "colour" in result.out
    label, score = scores_of(out, table)
    pipeline = load_model(model)[0]
    wanted = pipeline.decision_function(table.astype({"ok": str}))
    np.testing.assert_allclose(score, wanted, rtol=0, atol=1e-12)
    np.testing.assert_array_equal(label, np.where(wanted >= 0, "inside", "outside"))
    about = {p.key: p.value for p in onnx.load(out).metadata_props}
    assert about["model"] == "model.skops"
    kinds = {column["name"]: column["kind"] for column in json.loads(about["columns"])}
    assert kinds["width"] == "number" and kinds["colour"] == "category"


def test_json_and_quiet(run, model, tmp_path):
    out = tmp_path / "m.onnx"
    summary = json.loads(run("export", model, "-o", out, "--json", "--dtype", "float32").out)
    assert summary["method"] == "svdd" and summary["bytes"] == out.stat().st_size
    width = next(value for value in summary["inputs"] if value["name"] == "width")
    assert width == {"name": "width", "type": "float", "shape": [None, 1], "kind": "number"}
    assert summary["outputs"][0] == {"name": "label", "type": "string", "shape": [None]}
    assert run("export", model, "-o", out, "--quiet").out == ""


def test_missing_numbers_and_dates(run, table, tmp_path):
    table = table.assign(day=pd.date_range("2026-01-01", periods=30).astype(str).repeat(4))
    table.loc[[3, 8], "height"] = np.nan
    table.to_csv(tmp_path / "rows.csv", index=False)
    model, out = tmp_path / "m.skops", tmp_path / "m.onnx"
    options = ["--drop", "name", "--drop", "class", "--keep", "day", "--C", "0.5"]
    assert run("fit", tmp_path / "rows.csv", "-o", model, *options).code == 0
    result = run("export", model, "-o", out)
    assert "days since 1970-01-01" in result.out
    days = (pd.to_datetime(table["day"]) - pd.Timestamp("1970-01-01")).dt.days
    _, score = scores_of(out, table.assign(day=days))
    run("predict", model, tmp_path / "rows.csv", "-o", tmp_path / "scores.csv")
    wanted = pd.read_csv(tmp_path / "scores.csv")["score"]
    np.testing.assert_allclose(score, wanted, rtol=0, atol=1e-9)


@pytest.mark.parametrize("machine", ["pusvm", "s3vm"])
def test_labels_are_those_of_predict(run, table, tmp_path, machine):
    if machine == "s3vm":
        known = np.where(np.arange(len(table)) < 12, table["colour"], "")
    else:
        known = np.where((np.arange(len(table)) < 40) & (table["width"] > 10), "wide", "")
    table[["width", "height"]].assign(y=known).to_csv(tmp_path / "rows.csv", index=False)
    options = ["--target", "y", "--method", machine]
    if machine == "pusvm":
        options += ["--prior", "0.4"]
    model, out = tmp_path / "m.skops", tmp_path / "m.onnx"
    result = run("fit", tmp_path / "rows.csv", "-o", model, *options)
    assert result.code == 0, result.err
    assert run("export", model, "-o", out).code == 0
    label, _ = scores_of(out, table)
    run("predict", model, tmp_path / "rows.csv", "-o", tmp_path / "scores.csv")
    wanted = pd.read_csv(tmp_path / "scores.csv", keep_default_na=False)["label"]
    np.testing.assert_array_equal(label, wanted)
    assert len(set(label)) == 2


def test_spellings_that_the_graph_does_not_know_are_said(run, table, tmp_path):
    for name, colours in (
        ("messy", ["red", "Red", "green"]),
        ("clean", ["red", "green", "green"]),
    ):
        frame = table.drop(columns=["name", "class", "ok"])
        frame["colour"] = [colours[k % 3] for k in range(len(frame))]
        frame.to_csv(tmp_path / "d.csv", index=False)
        assert run("fit", tmp_path / "d.csv", "-o", tmp_path / "m").code == 0
        said = run("export", tmp_path / "m", "-o", tmp_path / "m.onnx").err
        assert ("the categories of 'colour' only in the model's spelling" in said) == (
            name == "messy"
        )


def test_refusals(run, model, tmp_path, monkeypatch):
    result = run("export", model, "-o", tmp_path / "m.bin")
    assert (result.code, result.err.count("\n")) == (2, 1)
    assert "must end in .onnx, not '.bin'" in result.err
    result = run("export", tmp_path / "none.skops", "-o", tmp_path / "m.onnx")
    assert result.code == 2 and "does not exist" in result.err
    monkeypatch.setitem(__import__("sys").modules, "onnx", None)
    result = run("export", model, "-o", tmp_path / "m.onnx")
    assert result.code == 2 and "pip install 'fewlabels[onnx]'" in result.err
    assert not (tmp_path / "m.onnx").exists()


def test_a_model_of_an_odd_date_is_refused(run, model, tmp_path):
    with zipfile.ZipFile(model) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    facts = json.loads(members["fewlabels.json"])
    members["fewlabels.json"] = json.dumps({**facts, "created": 17})
    with zipfile.ZipFile(tmp_path / "odd", "w") as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    result = run("export", tmp_path / "odd", "-o", tmp_path / "m.onnx")
    assert result.code == 2 and "is damaged or truncated" in result.err
    assert not (tmp_path / "m.onnx").exists()
