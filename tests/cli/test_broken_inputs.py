"""Broken inputs to every command: one sentence on stderr, exit code 2, nothing written."""

import gzip
import io
import json
import os
import pickle
import re
import zipfile

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

TABLE = "width,height,colour,ok\n" + "".join(
    f"{8 + i % 5},{i % 7 - 3},{'red' if i % 3 else 'green'},{bool(i % 2)}\n" for i in range(40)
)
LABELLED = "a,b,status\n" + "".join(
    f"{i % 7},{i % 5},{'fraud' if i < 6 else ''}\n" for i in range(40)
)


def text(content, name="d.csv", encoding="utf-8"):
    """A text file."""
    return lambda folder: (folder / name).write_text(content, encoding=encoding, newline="")


def data(content, name="d.csv"):
    """A file of bytes."""
    return lambda folder: (folder / name).write_bytes(content)


def parquet(table, cut=None):
    def write(folder):
        pq.write_table(table, folder / "d.parquet")
        content = (folder / "d.parquet").read_bytes()
        (folder / "d.parquet").write_bytes(content[:cut])

    return write


def changed_model(change):
    """The model with other bytes."""

    def write(folder):
        path = folder / "model.skops"
        path.write_bytes(change(path.read_bytes()))

    return write


def other_member(change):
    """The model with its own description changed."""

    def replaced(content):
        new = io.BytesIO()
        with zipfile.ZipFile(io.BytesIO(content)) as old, zipfile.ZipFile(new, "w") as archive:
            for name in old.namelist():
                member = old.read(name)
                if name == "fewlabels.json":
                    member = json.dumps(change(json.loads(member)))
                archive.writestr(name, member)
        return new.getvalue()

    return changed_model(replaced)


def flipped(content):
    middle = len(content) // 2
    return content[:middle] + bytes(b ^ 255 for b in content[middle : middle + 64]) + content[
        middle + 64 :
    ]  # fmt: skip


def foreign_zip(content):
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr("word/document.xml", "<w/>")
    return buffer.getvalue()


def npz(**arrays):
    return lambda folder: np.savez(folder / "d.npz", **arrays)


FIT = ["fit", "d.csv", "-o", "new.model"]
PREDICT = ["predict", "model.skops", "d.csv", "-o", "out.csv"]
EXPLAIN = ["explain", "model.skops", "d.csv", "--row", "1"]
PRIOR = ["prior", "d.csv", "--target", "status"]


def of(command, name):
    """The command with another file."""
    return [name if word == "d.csv" else word for word in command]


NOISE = bytes(np.random.default_rng(0).integers(0, 256, 5000, dtype=np.uint8))
UNEVEN = TABLE + "10,1,red\n"
OPEN_QUOTE = TABLE + '10,1,"red,True\n' + TABLE[23:]
PAIRS = {"width": [1.0] * 3, "height": [[1, 2]] * 3, "colour": ["red"] * 3, "ok": ["True"] * 3}

CASES = {
    # Files that are not what their name says.
    "fit: empty file": (text(""), FIT, "d.csv is empty; it needs"),
    "predict: blank lines only": (text("\n\n  \n"), PREDICT, "no rows"),
    "fit: binary file": (data(NOISE), FIT, "can't be read"),
    "predict: binary file": (data(NOISE), PREDICT, "can't be read"),
    "prior: binary file": (data(NOISE), PRIOR, "can't be read"),
    "predict: Parquet named .csv": (
        lambda f: pq.write_table(pa.table({"a": [1.5] * 99}), f / "d.csv"),
        PREDICT,
        "can't be read",
    ),
    "fit: CSV named .parquet": (
        text(TABLE, "d.parquet"), of(FIT, "d.parquet"), "it isn't a Parquet file",
    ),
    "predict: Parquet cut short": (
        parquet(pa.table({"width": range(999)}), cut=-30),
        of(PREDICT, "d.parquet"),
        "it isn't a Parquet file, or it is truncated",
    ),
    "explain: Parquet without rows": (
        parquet(pa.table({name: [] for name in ("width", "height", "colour", "ok")})),
        of(EXPLAIN, "d.parquet"),
        "no rows",
    ),
    "predict: gzip cut short": (
        data(gzip.compress(TABLE.encode())[:-20], "d.csv.gz"),
        of(PREDICT, "d.csv.gz"),
        "truncated or damaged",
    ),
    "fit: no gzip": (text(TABLE, "d.csv.gz"), of(FIT, "d.csv.gz"), "Not a gzipped file"),
    "fit: spreadsheet": (data(b"PK\3\4", "d.xlsx"), of(FIT, "d.xlsx"), "it isn't an .xlsx file"),
    "fit: folder": (lambda f: (f / "d.csv").mkdir(), FIT, "is a folder; pass the data file in"),
    "predict: no such file": (lambda f: None, PREDICT, "d.csv does not exist; check the name"),
    # Text that no table can be made of.
    "fit: semicolons": (
        text(TABLE.replace(",", ";")), [*FIT, "--sep", ","], "separated by semicolons, not as",
    ),
    "fit: a separator of two characters": (text(TABLE), [*FIT, "--sep", ";;"], "pass one char"),
    "fit: an unknown encoding": (text(TABLE), [*FIT, "--encoding", "utf-9"], "Unknown --enc"),
    "fit: no text encoding": (text(TABLE), [*FIT, "--encoding", "hex"], "Unknown --encoding"),
    "predict: a decimal mark": (text(TABLE), [*PREDICT, "--decimal", "x"], "can be '.' or ','"),
    "fit: classes in two ways of writing": (
        text(LABELLED.replace("fraud", "Fraud", 2)), [*FIT, "--target", "status"],
        r"'fraud' \(4\) and 'Fraud' \(2\); pass --merge-case if",
    ),
    "fit: names given twice": (text("a,b,a\n1,2,3\n2,3,4\n"), FIT, r"share a name \('a'\)"),
    "predict: a row too short": (text(UNEVEN), PREDICT, "Expected 4 columns, got 3"),
    "fit: a row too long": (text(TABLE + "1,2,red,True,9\n"), FIT, "Expected 4 columns, got 5"),
    "predict: quote never closed": (text(OPEN_QUOTE), PREDICT, "can't be read"),
    "predict: Latin-1": (
        text(TABLE.replace("green", "grün"), encoding="latin-1"),
        [*PREDICT, "--encoding", "utf-8"], "text is not UTF-8",
    ),
    "fit: UTF-16": (data(TABLE.encode("utf-16")[:-1]), FIT, "text is not UTF-16"),
    "predict: UTF-16": (data(TABLE.encode("utf-16")[:-1]), PREDICT, "text is not UTF-16"),
    "predict: NUL bytes": (data(TABLE.encode() + b"\0\0,1,red,True\n"), PREDICT, "row 41 of"),
    # Tables that do not fit the task.
    "fit: one row": (text("a,b\n1,2\n"), FIT, "at least 2|to learn from"),
    "fit: nothing but blanks": (text("a,b\n" + ",\n" * 9), FIT, r"\.$"),
    "fit: all columns constant": (text("a,b\n" + "1,x\n" * 9), FIT, "constant"),
    "predict: words among numbers": (
        text(TABLE + "12,tall,red,True\n"), PREDICT, "row 41 of .* has 'tall'",
    ),
    "predict: a column is missing": (
        text(TABLE.replace("height", "Height")),
        PREDICT,
        r"lacks the column 'height' .*\(is 'Height' meant\?\)",
    ),
    "explain: columns of another table": (text(LABELLED), EXPLAIN, "lacks the columns 'width'"),
    "predict: infinite": (text(TABLE + "inf,1,red,True\n"), PREDICT, "infinite or too large"),
    "predict: a number of 400 digits": (
        text(TABLE + "9" * 400 + ",1,red,True\n"), PREDICT, "infinite or too large",
    ),
    "predict: lists in a column": (
        parquet(pa.table(PAIRS)), of(PREDICT, "d.parquet"), "'height' .* holds list<",
    ),
    "predict: column named like a new one": (
        text(TABLE.replace("ok", "ok,score").replace("\n", ",1\n").replace("score,1", "score")),
        PREDICT,
        "already has a column 'score'; pass --prefix",
    ),
    # Targets.
    "fit: no such target": (text(LABELLED), [*FIT, "--target", "class"], "no column 'class'"),
    "fit: target blank in all rows": (
        text(LABELLED.replace("fraud", "")), [*FIT, "--target", "status"], "blank in every row",
    ),
    "fit: one class": (
        text("a,t\n1,x\n2,x\n3,x\n4,\n"),
        [*FIT, "--target", "t", "--method", "s3vm"],
        "1 value: .*needs two or more classes",
    ),
    "prior: no unlabelled row": (
        text(LABELLED.replace(",\n", ",fraud\n")), PRIOR, "'fraud' in every row",
    ),
    # Matrices.
    "fit: Python objects in npz": (
        npz(X=np.array([[1, "a"], [2, None]], dtype=object)), of(FIT, "d.npz"), "Python objects",
    ),
    "fit: npz without rows": (npz(A=np.ones(3), B=np.ones(2)), of(FIT, "d.npz"), "named 'X'"),
    "fit: three dimensions": (
        lambda f: np.save(f / "d.npy", np.zeros((2, 2, 2))), of(FIT, "d.npy"), "3 dimensions",
    ),
    "fit: words in npy": (
        lambda f: np.save(f / "d.npy", np.array([["a"], ["b"]])),
        of(FIT, "d.npy"),
        "needs numbers",
    ),
    "fit: npy cut short": (
        lambda f: (np.save(f / "d.npy", np.ones((9, 9))),
                   (f / "d.npy").write_bytes((f / "d.npy").read_bytes()[:200])),
        of(FIT, "d.npy"),
        "damaged or truncated",
    ),
    "fit: svmlight of words": (
        text("1 1:2 2:3\n-1 1:two\n", "d.svm"), of(FIT, "d.svm"), "can't be read as svmlight",
    ),
    "predict: a matrix for a model of a table": (
        lambda f: np.save(f / "d.npy", np.zeros((9, 4))),
        of(PREDICT, "d.npy"),
        "fitted to a table with named columns",
    ),
    "predict: a matrix of other width": (
        lambda f: np.save(f / "d.npy", np.zeros((9, 5))),
        ["predict", "matrix.skops", "d.npy", "-o", "out.csv"],
        "has 5 columns but the model was fitted to 2",
    ),
    # Models.
    "inspect: a table": (text(TABLE), ["inspect", "d.csv"], "is not a fewlabels model"),
    "predict: model and data exchanged": (
        text(TABLE), ["predict", "d.csv", "model.skops", "-o", "out.csv"], r"\.$",
    ),
    "predict: model cut short": (
        lambda f: (text(TABLE)(f), changed_model(lambda content: content[:-200])(f)),
        PREDICT,
        "damaged or truncated",
    ),
    "inspect: bytes of the model changed": (
        changed_model(flipped), ["inspect", "model.skops"], "damaged",
    ),
    "explain: bytes of the model changed": (
        lambda f: (text(TABLE)(f), changed_model(flipped)(f)), EXPLAIN, "damaged",
    ),
    "inspect: another zip archive": (
        changed_model(foreign_zip), ["inspect", "model.skops"], "is not a fewlabels model",
    ),
    "predict: a pickle": (
        lambda f: (text(TABLE)(f), changed_model(lambda _: pickle.dumps({"a": 1}))(f)),
        PREDICT,
        "is not a fewlabels model",
    ),
    "predict: model of a newer version": (
        lambda f: (text(TABLE)(f), other_member(lambda m: {**m, "format_version": 99})(f)),
        PREDICT,
        "in model format 99, .*update fewlabels",
    ),
    "inspect: model without a schema": (
        other_member(lambda m: {k: v for k, v in m.items() if k != "schema"}),
        ["inspect", "model.skops"],
        "damaged",
    ),
    "inspect: model with an emptied description": (
        other_member(lambda m: {}), ["inspect", "model.skops"], "damaged",
    ),
    "inspect: model with nothing said of its fit": (
        other_member(lambda m: {**m, "training": {}}), ["inspect", "model.skops"], "damaged",
    ),
    "inspect: model whose number of rows is a text": (
        other_member(lambda m: {**m, "training": {**m["training"], "rows": "all"}}),
        ["inspect", "model.skops"],
        "damaged",
    ),
    "update: no model": (text(TABLE), ["update", "d.csv", "d.csv"], "is not a fewlabels model"),
    "update: model without rows": (
        text(TABLE), ["update", "model.skops", "d.csv"], "doesn't store its training rows",
    ),
    "export: no model": (text(TABLE), ["export", "d.csv", "-o", "o.onnx"], "not a fewlabels mod"),
    # Outputs and options.
    "predict: folder of the output missing": (
        text(TABLE), [*PREDICT[:-1], "no/out.csv"], "folder .*no does not exist; create it",
    ),
    "predict: output is the input": (text(TABLE), [*PREDICT[:-1], "d.csv"], "is an input of this"),
    "predict: output is a spreadsheet": (text(TABLE), [*PREDICT[:-1], "o.xlsx"], "use .csv, .tsv"),
    "fit: output is another file": (
        text(TABLE), ["fit", "d.csv", "-o", "matrix.npy"], "exists and is not a fewlabels model",
    ),
    "fit: negative C": (text(TABLE), [*FIT, "--C", "-1"], "--C -1 is out of range; it must be"),
    "predict: no threads": (text(TABLE), [*PREDICT, "--n-jobs", "0"], "--n-jobs 0 is out of ran"),
    "explain: row 0": (text(TABLE), [*EXPLAIN[:-1], "0"], "--row 0 is out of range; rows are cou"),
    "explain: no such row": (text(TABLE), [*EXPLAIN[:-1], "41"], "has 40 rows, so there is no ro"),
    "explain: nothing to compare with": (
        text("width,height,colour,ok\n1,2,red,True\n"), EXPLAIN, "has 0 rows to compare with",
    ),
    "explain: background of another table": (
        lambda f: (text(TABLE)(f), text(LABELLED, "other.csv")(f)),
        [*EXPLAIN, "--background", "other.csv"],
        "other.csv lacks the columns 'width'",
    ),
    "explain: row with a gap": (
        text("width,height,colour,ok\n,2,red,True\n" + TABLE[23:]),
        EXPLAIN,
        "Row 1 of .* has missing numbers",
    ),
    "prior: level of 2": (text(LABELLED), [*PRIOR, "--confidence", "2"], "--confidence 2 is out"),
}  # fmt: skip


@pytest.fixture(scope="module")
def matrix_model(run, tmp_path_factory):
    """A model of a matrix of two columns."""
    folder = tmp_path_factory.mktemp("matrix")
    np.save(folder / "d.npy", np.random.default_rng(0).normal(size=(30, 2)))
    result = run("fit", folder / "d.npy", "-o", folder / "m", "--missing", "refuse")
    assert result.code == 0, result.err
    return (folder / "m").read_bytes()


@pytest.mark.parametrize("case", CASES, ids=str)
def test_broken_input(run, tmp_path, model, matrix_model, monkeypatch, case):
    make, command, message = CASES[case]
    monkeypatch.chdir(tmp_path)
    (tmp_path / "matrix.skops").write_bytes(matrix_model)
    (tmp_path / "matrix.npy").write_bytes(b"something else")
    (tmp_path / "out.csv").write_text("old")
    make(tmp_path)
    before = _contents(tmp_path)
    result = run(*command)
    _check(result, message)
    assert _contents(tmp_path) == before


def test_without_permission(run, tmp_path, model):
    if os.geteuid() == 0:
        pytest.skip("the superuser may read everything")
    path = tmp_path / "d.csv"
    path.write_text(TABLE)
    path.chmod(0)
    _check(run("fit", path, "-o", tmp_path / "m"), "can't be read; check its permissions")
    path.chmod(0o600)
    model.chmod(0)
    _check(run("predict", model, path, "-o", tmp_path / "o.csv"), "check its permissions")


def test_a_disk_that_is_full(run, tmp_path, model, monkeypatch):
    from fewlabels.tables.formats import delimited

    def full(*arguments):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(delimited, "_format_rows", full)
    (tmp_path / "d.csv").write_text(TABLE)
    result = run("predict", model, tmp_path / "d.csv", "-o", tmp_path / "o.csv")
    _check(result, "No space left on device; it is unchanged")
    assert sorted(os.listdir(tmp_path)) == ["d.csv", "model.skops"]


def test_the_good_table_is_good(run, tmp_path, model):
    """What the broken ones are made from passes."""
    (tmp_path / "d.csv").write_text(TABLE)
    assert run("predict", model, tmp_path / "d.csv", "-o", tmp_path / "o.csv").code == 0
    assert run("explain", model, tmp_path / "d.csv", "--row", 1).code == 0
    assert len(pd.read_csv(tmp_path / "o.csv")) == 40


def _contents(folder):
    return {
        str(path.relative_to(folder)): path.read_bytes() if path.is_file() else None
        for path in folder.rglob("*")
    }


def _check(result, message):
    assert result.code == 2, (result.out, result.err)
    assert result.out == ""
    lines = result.err.splitlines()
    assert len(lines) == 1, lines
    assert lines[0].startswith("Error: ") and lines[0].endswith(".")
    assert len(lines[0]) < 400
    assert re.search(message, lines[0]), lines[0]
