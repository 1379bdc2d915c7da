"""Every way to go wrong: one sentence, exit code 2, and nothing overwritten."""

import os

import numpy as np
import pandas as pd
import pytest

from fewlabels import SVDD
from fewlabels.pipeline.scoring.scorer import Scorer

GOOD = "a,b\n" + "\n".join(f"{i % 7},{i % 5}" for i in range(20)) + "\n"


def _csv(text):
    return lambda folder: (folder / "d.csv").write_text(text)


def _rows(column, *cells):
    """The good table with other cells at the start of a column."""
    frame = pd.read_csv(pd.io.common.StringIO(GOOD)).astype(object)
    frame.loc[: len(cells) - 1, column] = cells
    return _csv(frame.to_csv(index=False))


def _array(array):
    return lambda folder: np.save(folder / "d.npy", array)


FIT = {
    "missing file": (lambda f: None, ["d.csv"], "data file .*d.csv does not exist"),
    "folder": (lambda f: (f / "d.csv").mkdir(), ["d.csv"], "is a folder"),
    "unknown extension": (
        lambda f: (f / "d.ods").write_text("x"),
        ["d.ods"],
        r"Unknown extension '.ods' of .*; data can be .csv, .tsv, .parquet",
    ),
    "empty file": (_csv(""), ["d.csv"], "is empty"),
    "header only": (_csv("a,b\n"), ["d.csv"], "no rows"),
    "duplicate columns": (_csv("a,b,a\n1,2,3\n"), ["d.csv"], "share a name .'a'."),
    "ragged": (_csv(GOOD + "1,2,3\n"), ["d.csv"], "Expected 2 columns, got 3"),
    "target missing": (_csv(GOOD), ["d.csv", "--target", "c"], "no column 'c'; it has 'a', 'b'"),
    "several classes": (
        _csv("a,t\n1,x\n2,y\n"),
        ["d.csv", "--target", "t"],
        r"2 values: 'x' \(1\), 'y' \(1\); pass --positive VALUE if the other value marks rows of "
        r"unknown class, or --normal VALUE to learn one class alone",
    ),
    "several classes for svdd": (
        _csv("a,t\n1,x\n2,y\n"),
        ["d.csv", "--target", "t", "--method", "svdd"],
        r"2 values: 'x' \(1\), 'y' \(1\); pass the normal one as --normal",
    ),
    "three classes": (
        _csv("a,t\n1,x\n2,y\n3,z\n4,\n"),
        ["d.csv", "--target", "t"],
        r"3 values: .* and 1 blanks; pass --normal VALUE",
    ),
    "zero and one": (
        _csv("a,t\n1,0\n2,1\n3,0\n"),
        ["d.csv", "--target", "t"],
        r"'0' \(2\), '1' \(1\); pass --method pusvm if '0' marks rows of unknown class, "
        "or --normal",
    ),
    "two classes, no blanks": (
        _csv("a,t\n1,x\n2,y\n3,x\n"),
        ["d.csv", "--target", "t"],
        "two known classes in all rows are a task for a classifier, .* add rows with a blank "
        "target for an s3vm",
    ),
    "one class for s3vm": (
        _csv("a,t\n1,x\n2,\n"),
        ["d.csv", "--target", "t", "--method", "s3vm"],
        r"1 value: 'x' \(1\), but a semi-supervised model needs two or more classes.*"
        r"One class and blanks are for --method pu-ensemble\.",
    ),
    "missing numbers leave one class": (
        _csv("a,t\n1,x\n,y\n3,\n4,\n"),
        ["d.csv", "--target", "t", "--missing", "skip"],
        "No row of .* without missing numbers is of class 'y'; fill in",
    ),
    "s3vm without target": (
        _csv(GOOD),
        ["d.csv", "--method", "s3vm"],
        "needs two or more classes and other rows; pass the column .* as --target",
    ),
    "unlabeled without target": (
        _csv(GOOD),
        ["d.csv", "--unlabeled", "0"],
        "pass that column as --target",
    ),
    "unlabeled that is not there": (
        _csv("a,t\n1,x\n2,y\n3,\n"),
        ["d.csv", "--target", "t", "--unlabeled", "z"],
        "No row .* unlabelled value 'z'",
    ),
    "unlabeled for svdd": (
        _csv(GOOD),
        ["d.csv", "--target", "a", "--method", "svdd", "--unlabeled", "2"],
        "--unlabeled needs --method pusvm or pu-ensemble or s3vm, but the model is svdd",
    ),
    "normal and unlabeled": (
        _csv(GOOD),
        ["d.csv", "--target", "a", "--unlabeled", "1", "--normal", "2"],
        "omit --unlabeled",
    ),
    "rows for what cannot be updated": (
        _csv("a,t\n1,x\n2,\n3,\n"),
        ["d.csv", "--target", "t", "--method", "pu-ensemble", "--rows"],
        "can't update pu-ensemble models; omit the option",
    ),
    "balance of words": (
        _csv(GOOD),
        ["d.csv", "--balance", "x"],
        "it must be 'auto', 'labels', 'none'",
    ),
    "C-star": (_csv(GOOD), ["d.csv", "--C-star", "-1"], "--C-star -1 is out of range"),
    "C-star for svdd": (
        _csv(GOOD),
        ["d.csv", "--C-star", "1"],
        "--C-star needs --method s3",
    ),
    "bags for svdd": (
        _csv(GOOD),
        ["d.csv", "--method", "svdd", "--bags", "3"],
        "--bags needs --method svdd-ensemble or pu-ensemble, but",
    ),
    "bags": (_csv(GOOD), ["d.csv", "--bags", "0"], "--bags 0 is out of range"),
    "max-iter for the ensemble": (
        _csv("a,t\n1,x\n2,\n3,\n"),
        ["d.csv", "--target", "t", "--method", "pu-ensemble", "--max-iter", "3"],
        "--max-iter needs --method svdd or one-class or pusvm or s3vm",
    ),
    "blank target": (
        _csv("a,t\n1,\n2,\n"),
        ["d.csv", "--target", "t"],
        "blank in every row; label some rows, or omit --target",
    ),
    "no normal row": (
        _csv("a,t\n1,x\n2,x\n"),
        ["d.csv", "--target", "t", "--normal", "z"],
        r"No row .* normal value 'z'.*'x' \(2\)",
    ),
    "no positive row": (
        _csv("a,t\n1,x\n2,\n"),
        ["d.csv", "--target", "t", "--positive", "z"],
        r"No row .* positive value 'z'.*'x' \(1\)",
    ),
    "no unlabelled row": (
        _csv("a,t\n1,x\n2,x\n"),
        ["d.csv", "--target", "t", "--method", "pusvm"],
        "'x' in every row, .*leave their target blank, or pass --method svdd",
    ),
    "negatives and blanks": (
        _csv("a,t\n1,0\n2,\n"),
        ["d.csv", "--target", "t"],
        "'0' usually marks negatives; pass --positive 0 .* or --normal 0",
    ),
    "three marks": (
        _csv("a,t\n1,x\n2,y\n3,\n"),
        ["d.csv", "--target", "t", "--positive", "x"],
        "only one other value can mark unlabelled rows",
    ),
    "positive without target": (
        _csv(GOOD),
        ["d.csv", "--positive", "1"],
        "pass that column as --target",
    ),
    "pusvm without target": (
        _csv(GOOD),
        ["d.csv", "--method", "pusvm"],
        "pass the column that distinguishes them as --target",
    ),
    "normal and positive": (
        _csv(GOOD),
        ["d.csv", "--target", "a", "--positive", "1", "--normal", "2"],
        "pass one of them",
    ),
    "normal for pusvm": (
        _csv(GOOD),
        ["d.csv", "--target", "a", "--method", "pusvm", "--normal", "2"],
        "--normal needs --method svdd or svdd-ensemble or one-class, but the model is ",
    ),
    "positive for svdd": (
        _csv(GOOD),
        ["d.csv", "--target", "a", "--method", "svdd", "--positive", "2"],
        "--positive needs --method pusvm or pu-ensemble, but the model is svdd; omit one",
    ),
    "nu for what the labels chose": (
        _csv("a,t\n1,x\n2,\n3,x\n"),
        ["d.csv", "--target", "t", "--nu", "0.1"],
        r"--nu needs --method svdd or one-class, but the model is pusvm \('t' holds one "
        r"class, 'x', and blanks; quicker than a pu-ensemble \(--time-budget 0\)\); omit the "
        r"option or pass another --method",
    ),
    "prior for svdd": (
        _csv(GOOD),
        ["d.csv", "--prior", "0.5"],
        "--prior needs --method pusvm",
    ),
    "prior out of range": (_csv(GOOD), ["d.csv", "--prior", "1"], "--prior 1 is out of range"),
    "prior not a number": (_csv(GOOD), ["d.csv", "--prior", "nan"], "--prior nan is out of range"),
    "prior of words": (_csv(GOOD), ["d.csv", "--prior", "few"], "--prior 'few' is not valid"),
    "lam": (_csv(GOOD), ["d.csv", "--lam", "0"], "--lam 0 is out of range"),
    "lam of words": (_csv(GOOD), ["d.csv", "--lam", "big"], "--lam 'big' is not valid"),
    "loss": (_csv(GOOD), ["d.csv", "--loss", "hinge"], "'hinge' is not one of"),
    "one positive row": (
        _csv("a,t\n1,x\n2,\n3,\n4,\n"),
        ["d.csv", "--target", "t"],
        "too few to estimate a prior from",
    ),
    "normal without target": (
        _csv(GOOD),
        ["d.csv", "--normal", "1"],
        "pass that column as --target",
    ),
    "missing numbers": (
        _rows("b", "", "NA", "nan"),
        ["d.csv", "--missing", "refuse"],
        r"3 values in 1 column .* are missing \('b': 3; first in row 1\); fill them in, or pass "
        "--missing skip",
    ),
    "infinite": (
        _rows("a", 1, "inf"),
        ["d.csv"],
        r"is infinite or too large \('a': 1; first in row 2\)",
    ),
    "text among numbers": (
        _rows("a", 1, 2, "three"),
        ["d.csv"],
        "mixes numbers and text: 19 numbers, but row 3 has 'three'",
    ),
    "identifiers": (
        _csv("n,a\n" + "".join(f"part {i},{i}\n" for i in range(99))),
        ["d.csv"],
        r"no column to learn from: 'n' \(an identifier: a different text in every row\), "
        r"'a' \(counts the rows\); keep one with --keep",
    ),
    "one row": (_csv("a,b\n1,2\n"), ["d.csv"], "1 training row .*at least 2"),
    "one row left": (
        _csv("a,t\n1,x\n2,y\n3,y\n"),
        ["d.csv", "--target", "t", "--normal", "x"],
        "1 training row",
    ),
    "all constant": (
        _csv("a,b\n1,x\n1,x\n1,x\n"),
        ["d.csv"],
        r"no column to learn from: 'a' \(constant\), 'b' \(constant\)",
    ),
    "no columns": (
        _csv("t\nx\nx\n"),
        ["d.csv", "--target", "t"],
        "no columns left to learn from",
    ),
    "too large": (
        _csv("a\n1e308\n-1e308\n3\n"),
        ["d.csv"],
        "2 values .* are infinite or too large",
    ),
    "npy of one dimension": (_array(np.zeros(3)), ["d.npy"], "1 dimension"),
    "npy with NaN": (
        _array(np.array([[1, np.nan], [2, np.inf]])),
        ["d.npy", "--missing", "refuse"],
        r"1 value in 1 column .* is missing \('1': 1; first in row 1\)",
    ),
    "nu out of range": (_csv(GOOD), ["d.csv", "--nu", "1.5"], "--nu 1.5 is out of range"),
    "nu zero": (_csv(GOOD), ["d.csv", "--nu", "0"], "--nu 0 is out of range"),
    "C out of range": (_csv(GOOD), ["d.csv", "--C", "-1"], "--C -1 is out of range"),
    "C below what can be divided by": (
        _csv(GOOD),
        ["d.csv", "--C", "1e-320"],
        r"--C 9.9\d+e-321 is out of range; it must be greater than 0 .at least 1e-100",
    ),
    "nu below what can be divided by": (
        _csv(GOOD),
        ["d.csv", "--nu", "1e-320"],
        r"--nu 9.9\d+e-321 is out of range; it must be greater than 0 .at least 1e-30",
    ),
    "C not a number": (_csv(GOOD), ["d.csv", "--C", "nan"], "--C nan is out of range"),
    "tol": (_csv(GOOD), ["d.csv", "--tol", "0"], "--tol 0 is out of range"),
    "jobs": (_csv(GOOD), ["d.csv", "--n-jobs", "0"], "--n-jobs 0 is out of range"),
    "seed": (_csv(GOOD), ["d.csv", "--seed", "-1"], "--seed -1 is out of range"),
    "gamma": (_csv(GOOD), ["d.csv", "--gamma", "wide"], "'scale', 'auto', with s3vm"),
    "nu and C": (_csv(GOOD), ["d.csv", "--nu", "0.1", "--C", "1"], "pass one of them"),
    "nu and squared": (
        _csv(GOOD),
        ["d.csv", "--nu", "0.1", "--slack", "squared"],
        "--nu needs --slack linear",
    ),
    "C for one-class": (
        _csv(GOOD),
        ["d.csv", "--method", "one-class", "--C", "1"],
        "--C needs --method svdd or svdd-ensemble or s3vm, but the model is one-class",
    ),
    "clean for pusvm": (
        _csv("a,t\n1,x\n2,\n3,x\n"),
        ["d.csv", "--target", "t", "--clean"],
        "--clean is for one-class models, but the model is pusvm",
    ),
    "clean without a search": (
        _csv(GOOD),
        ["d.csv", "--clean", "--time-budget", "0"],
        r"--clean affects the choice of settings, but they are defaults \(--time-budget 0\)",
    ),
    "clean beside settings": (
        _csv(GOOD),
        ["d.csv", "--clean", "--gamma", "1", "--time-budget", "9"],
        "but they are set with --gamma",
    ),
    "time-budget": (
        _csv(GOOD),
        ["d.csv", "--time-budget", "-1"],
        "--time-budget -1 is out of range; it must be 0 .settings as given. or a number of sec",
    ),
    "endless time": (_csv(GOOD), ["d.csv", "--max-time", "inf"], "--max-time inf is out of range"),
    "cache": (_csv(GOOD), ["d.csv", "--cache-size", "inf"], "--cache-size inf is out of range"),
    "coef0": (_csv(GOOD), ["d.csv", "--coef0", "nan"], "--coef0 nan is out of range"),
    "tiny rate": (
        _csv(GOOD),
        ["d.csv", "--target-fpr", "1e-300"],
        "--target-fpr 1e-300 needs at least",
    ),
    "target-fpr": (_csv(GOOD), ["d.csv", "--target-fpr", "1"], "--target-fpr 1 is out of range"),
    "target-fpr for few rows": (
        _csv(GOOD),
        ["d.csv", "--target-fpr", "0.001"],
        "--target-fpr 0.001 needs at least 999 training rows",
    ),
    "target-fpr of words": (
        _csv(GOOD),
        ["d.csv", "--target-fpr", "few"],
        "--target-fpr 'few' is not valid; it must be 'none' or a number between 0 and 1",
    ),
    "target-fpr for pusvm": (
        _csv("a,t\n1,x\n2,\n3,x\n"),
        ["d.csv", "--target", "t", "--target-fpr", "0.1"],
        "--target-fpr needs --method svdd or svdd-ensemble or one-class",
    ),
    "column to keep": (_csv(GOOD), ["d.csv", "--keep", "c"], "no column 'c'; it has 'a', 'b'"),
    "columns of a matrix": (
        _array(np.zeros((3, 2))),
        ["d.npy", "--keep", "a"],
        "--drop, --keep, --text, --dates, --groups and --categorical need column names, .* none",
    ),
    "missing": (_csv(GOOD), ["d.csv", "--missing", "guess"], "'guess' is not one of"),
    "report and none": (
        _csv(GOOD),
        ["d.csv", "--report", "r.html", "--no-report"],
        "--report and --no-report contradict each other; pass one",
    ),
    "report in no folder": (_csv(GOOD), ["d.csv", "--report", "no/r.html"], "no does not exist"),
    "unknown kernel": (_csv(GOOD), ["d.csv", "--kernel", "cosine"], "'cosine' is not one of"),
    "unknown machine": (_csv(GOOD), ["d.csv", "--method", "tree"], "'tree' is not one of"),
    "no such option": (_csv(GOOD), ["d.csv", "--tree"], "No such option"),
}


@pytest.mark.parametrize("case", FIT, ids=str)
def test_fit(run, tmp_path, model_bytes, case):
    make, arguments, message = FIT[case]
    make(tmp_path)
    model = tmp_path / "model.skops"
    model.write_bytes(model_bytes)
    result = run("fit", tmp_path / arguments[0], *arguments[1:], "-o", model)
    _check(result, message)
    assert model.read_bytes() == model_bytes
    assert not [name for name in os.listdir(tmp_path) if name.endswith(".tmp")]


TABLE = "width,height,colour,ok\n10,0,red,True\n11,1,green,False\n"

PREDICT = {
    "missing file": (None, "data file .* does not exist"),
    "missing columns": (
        "Width,colour,ok\n1,red,True\n",
        r"lacks the columns 'width', 'height' .*\(is 'Width' meant\?\); it has 'Width'",
    ),
    "text among numbers": (
        TABLE + "12,tall,red,True\n",
        "Column 'height' holds numbers in the model but row 3 of .* has 'tall'",
    ),
    "missing numbers": (
        TABLE + ",,red,True\nNA,1,red,True\n",
        r"3 values in 2 columns .* \('width': 2, 'height': 1; first in row 3\); .*--skip-missing",
    ),
    "infinite": (TABLE + "-inf,1,red,True\n", "is infinite"),
    "too large": (TABLE + "1e308,1e308,red,True\n", "2 values .* infinite or too large"),
}


@pytest.mark.parametrize("case", PREDICT, ids=str)
def test_predict(run, tmp_path, model, case):
    text, message = PREDICT[case]
    data, out = tmp_path / "d.csv", tmp_path / "out.csv"
    if text is not None:
        data.write_text(text)
    out.write_text("old")
    result = run("predict", model, data, "-o", out)
    _check(result, message)
    assert out.read_text() == "old"


def test_later_pieces_are_counted_too(run, tmp_path, model, monkeypatch):
    from fewlabels.tables.reading import chunks

    monkeypatch.setattr(chunks, "_ROWS", 256)
    monkeypatch.setattr(chunks, "_VALUES", 1)
    data, out = tmp_path / "d.csv", tmp_path / "out.csv"
    rows = ["10,0,red,True"] * 1000
    rows[300] = rows[900] = ",0,red,True"
    data.write_text("width,height,colour,ok\n" + "\n".join(rows) + "\n")
    result = run("predict", model, data, "-o", out)
    _check(result, r"2 values .* \('width': 2; first in row 301\)")
    assert not out.exists()


@pytest.mark.parametrize(
    ("name", "array", "message"),
    [
        ("d.npy", np.zeros((3, 5)), "has 5 columns but the model was fitted to 2"),
        ("d.csv", None, "without names"),
    ],
)
def test_model_of_a_matrix(run, tmp_path, name, array, message):
    np.save(tmp_path / "train.npy", np.random.default_rng(0).normal(size=(20, 2)))
    model = tmp_path / "m"
    assert run("fit", tmp_path / "train.npy", "-o", model).code == 0
    if array is None:
        (tmp_path / name).write_text(GOOD)
    else:
        np.save(tmp_path / name, array)
    _check(run("predict", model, tmp_path / name, "-o", tmp_path / "o.csv"), message)


def test_model_of_a_table_and_a_matrix(run, tmp_path, model):
    np.save(tmp_path / "d.npy", np.zeros((3, 4)))
    result = run("predict", model, tmp_path / "d.npy", "-o", tmp_path / "o.csv")
    _check(result, "fitted to a table with named columns")


@pytest.mark.parametrize(
    ("out", "message"),
    [
        ("no/o.csv", "folder .*no does not exist"),
        ("o.xlsx", "extension '.xlsx' .* use .csv, .tsv, .parquet"),
        ("d.csv", "d.csv is an input of this command"),
        (".", "extension"),
    ],
)
def test_outputs(run, tmp_path, model, out, message):
    (tmp_path / "d.csv").write_text(TABLE)
    _check(run("predict", model, tmp_path / "d.csv", "-o", tmp_path / out), message)
    assert (tmp_path / "d.csv").read_text() == TABLE


@pytest.mark.parametrize(
    ("out", "message"),
    [
        ("no/m", "folder .*no does not exist"),
        ("d.csv", "is an input of this command"),
        ("other.csv", "exists and is not a fewlabels model.*--force"),
        ("folder", "is a folder"),
        ("/dev/null", "not a regular file"),
    ],
)
def test_outputs_of_fit(run, tmp_path, out, message):
    (tmp_path / "d.csv").write_text(GOOD)
    (tmp_path / "other.csv").write_text("old")
    (tmp_path / "folder").mkdir()
    _check(run("fit", tmp_path / "d.csv", "-o", tmp_path / out), message)
    assert (tmp_path / "other.csv").read_text() == "old"


@pytest.mark.parametrize("command", ["predict", "inspect"])
@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (lambda path: path.unlink(), "model file .* does not exist"),
        (lambda path: path.write_text(TABLE), "is not a fewlabels model"),
        (lambda path: path.write_bytes(path.read_bytes()[:-100]), "damaged or truncated"),
    ],
)
def test_models(run, tmp_path, model, command, spoil, message):
    spoil(model)
    (tmp_path / "d.csv").write_text(TABLE)
    rest = [tmp_path / "d.csv", "-o", tmp_path / "o.csv"] if command == "predict" else []
    _check(run(command, model, *rest), message)


def test_what_the_estimator_refuses_is_a_sentence_too(run, tmp_path, monkeypatch):
    def fit(self, X, y=None, sample_weight=None, callback=None):
        raise ValueError("C is too small for these rows; raise it.")

    monkeypatch.setattr(SVDD, "fit", fit)
    (tmp_path / "d.csv").write_text(GOOD)
    result = run("fit", tmp_path / "d.csv", "-o", tmp_path / "m", "--method", "svdd")
    _check(result, "C is too small for these rows; raise it.")


def test_a_failing_predict_leaves_the_output(run, tmp_path, model, monkeypatch):
    def fail(self, chunk, data, done):
        raise RuntimeError("the roof fell in")

    monkeypatch.setattr(Scorer, "score", fail)
    (tmp_path / "d.csv").write_text(TABLE)
    (tmp_path / "o.csv").write_text("old")
    with pytest.raises(RuntimeError):
        run("predict", model, tmp_path / "d.csv", "-o", tmp_path / "o.csv")
    assert (tmp_path / "o.csv").read_text() == "old"
    assert sorted(os.listdir(tmp_path)) == ["d.csv", "model.skops", "o.csv"]


def _check(result, message):
    import re

    assert result.code == 2
    assert result.out == ""
    assert "Traceback" not in result.err
    words = " ".join(result.err.replace("│", " ").split())
    assert re.search(message, words), words
    if words.startswith("Error: "):
        assert words.endswith(".")
        assert len(result.err.splitlines()) == 1


def test_long_names_and_cells_are_cut(run, tmp_path):
    long, data = "n" * 50_000, tmp_path / "d.csv"
    frame = pd.read_csv(pd.io.common.StringIO(GOOD)).rename(columns={"a": long})
    frame["t"] = np.where(frame["b"] > 2, "c" * 50_000, "")
    frame.to_csv(data, index=False)
    out = ["-o", tmp_path / "m"]
    assert run("fit", data, *out, "--target", "t", "--prior", 0.2, "--method", "pusvm").code == 0
    frame.rename(columns={long: "a"}).to_csv(data, index=False)
    lacking = run("predict", tmp_path / "m", data, "-o", tmp_path / "s.csv")
    endless = frame.assign(**{long: [np.inf] * 3 + [1] * (len(frame) - 3)})
    endless.to_csv(data, index=False)
    infinite = run("predict", tmp_path / "m", data, "-o", tmp_path / "s.csv")
    frame.assign(**{long: ["w" * 50_000] * len(frame)}).to_csv(data, index=False)
    mixed = run("predict", tmp_path / "m", data, "-o", tmp_path / "s.csv")
    wanted = run("fit", data, *out, "--target", "t", "--positive", "p" * 50_000)
    for answer in (lacking, infinite, mixed, wanted):
        assert answer.code == 2 and "..." in answer.err and len(answer.err) < 1000
    assert lacking.err.count("n" * 97) == 1 and "n" * 98 not in lacking.err
