"""Fitting a data frame, which is what ``fewlabels fit`` does with a file."""

import html
import json
import re

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse as sp
from typer.testing import CliRunner

import fewlabels
from fewlabels import fit_table, pipeline
from fewlabels.cli import app
from fewlabels.pipeline.training import schedule
from fewlabels.report import is_report
from fewlabels.tables.models.files import load_model

pytestmark = pytest.mark.usefixtures("few_trees")

N = 90
QUICK = {"time_budget": 0, "report": False}


def people(seed, labels):
    """Numbers, texts, dates, gaps and an identifier; ``labels`` are known of some rows."""
    rng = np.random.default_rng(seed)
    kind = np.arange(N) % 2
    frame = pd.DataFrame(
        {
            "case": [f"C{k:03d}" for k in rng.permutation(N)],
            "age": rng.normal(40, 5, N) + 20 * kind,
            "weight": np.where(rng.random(N) < 0.1, np.nan, rng.normal(70, 8, N)),
            "town": np.where(kind, rng.choice(["a", "b"], N), rng.choice(["b", "c"], N)),
            "smoker": rng.random(N) < 0.3,
            "code": rng.choice(["007", "12"], N),
            "children": rng.integers(0, 4, N),
            "seen": pd.date_range("2025-01-01", periods=N),
        },
        index=rng.permutation(N) + 1000,
    )
    if labels is not None:
        known = np.arange(N) < 40
        names = np.where(kind, "ill", "well")
        frame["state"] = np.where(known & np.isin(names, labels), names, None)
    return frame


SITUATIONS = {
    "svdd-ensemble": (None, {}),
    "pusvm": (["ill"], {}),
    "s3vm": (["ill", "well"], {}),
    "one-class": (["ill", "well"], {"method": "one-class", "normal": "well", "nu": 0.2}),
}


def run_fit(folder, frame, target, *options):
    path, model = folder / "people.csv", folder / "m.fewlabels"
    frame.to_csv(path, index=False)
    words = ["fit", path, "-o", model, "--json", "--no-report", *options]
    if target:
        words += ["--target", target]
    result = CliRunner().invoke(app, [str(word) for word in words])
    assert result.exit_code == 0, result.output
    return path, model, json.loads(result.stdout)


@pytest.mark.parametrize("kind", ["pandas", "polars", "arrow"])
@pytest.mark.parametrize("machine", SITUATIONS)
def test_as_the_command_line_on_the_same_table(tmp_path, monkeypatch, seed, machine, kind):
    monkeypatch.setattr(schedule, "_SECONDS_AFTER_FIT", 60.0)  # on a busy machine
    labels, options = SITUATIONS[machine]
    frame = people(seed, labels)
    target = None if labels is None else "state"
    words = [w for name, value in options.items() for w in (f"--{name}", value)]
    path, model, summary = run_fit(tmp_path, frame, target, "--time-budget", 0, *words)
    arrow = pa.Table.from_pandas(frame, preserve_index=False)
    table = {"pandas": frame, "polars": pl.from_pandas(frame), "arrow": arrow}[kind]
    found = fit_table(table, target, **QUICK, **options)

    facts = summary["training"]
    assert found.choice.method == summary["method"] == machine
    if machine != "one-class":
        why = found.choice.why.replace("target", "--target", labels is None)
        assert why.replace("time_budget=0", "--time-budget 0") == facts["choice"]
    assert found.metadata["parameters"] == summary["parameters"]
    assert json.loads(json.dumps(found.metadata["schema"])) == summary["schema"]
    names = ["name", "kind", "missing", "distinct", "note"]
    assert found.profile[names].to_dict("records") == [
        {name: column[name] for name in names} for column in facts["profile"]
    ]

    CliRunner().invoke(app, ["predict", str(model), str(path), "-o", str(tmp_path / "scored.csv")])
    scored = pd.read_csv(tmp_path / "scored.csv")
    predicted = found.predict(table)
    if kind == "polars":
        assert isinstance(predicted, pl.DataFrame)
        predicted = predicted.to_pandas()
    else:
        expected = frame.index if kind == "pandas" else pd.RangeIndex(N)
        pd.testing.assert_index_equal(predicted.index, expected)
    assert list(predicted.columns) == list(scored.columns)[frame.shape[1] :]
    for name in predicted:
        if predicted[name].dtype.kind == "f":
            np.testing.assert_allclose(predicted[name], scored[name], rtol=1e-12)
        else:
            assert predicted[name].fillna("").tolist() == scored[name].fillna("").tolist()


def test_settings_are_chosen_as_on_the_command_line(tmp_path, seed):
    frame = people(seed, None)
    _, model, summary = run_fit(tmp_path, frame, None, "--time-budget", 60)
    found = fit_table(frame, report=False)
    assert found.metadata["parameters"]["gamma"] == summary["parameters"]["gamma"]
    assert found.comparison is None and found.report is None
    rows = frame.drop(columns=["case", "seen"]).astype({"smoker": str})
    np.testing.assert_array_equal(
        found.model.decision_function(rows), load_model(model)[0].decision_function(rows)
    )


@pytest.fixture(scope="module")
def reported(seed=0):
    """A fit with all that belongs to it, in little time."""
    # Asked for, methods are compared however slow the computer is.
    options = dict(time_budget=10, random_state=0, baselines=True)
    return fit_table(people(seed, ["ill", "well"]), "state", **options)


def test_everything_there(reported):
    assert reported.choice == ("s3vm", "'state' holds two classes, 'ill' and 'well', and blanks")
    assert reported.comparison.verdict and reported.comparison.verdict in repr(reported)
    assert set(reported.profile["kind"]) == {"left out", "number", "category", "boolean"}
    assert any("keep=[COLUMN] keeps one" in note for note in reported.notes)
    assert not any("--" in note for note in reported.notes)
    assert reported.metadata["training"]["data"] == "the data frame"
    lines = repr(reported).split("\n")
    assert lines[0].startswith("predicted: 'ill' ")  # the answer first
    assert any(line.startswith("s3vm: 'state' holds two classes") for line in lines)
    assert repr(reported.report) == reported.report.contents.findings.headline


def test_the_report_is_a_document_of_its_own(reported, tmp_path):
    shown = reported._repr_html_()
    assert shown == reported.report._repr_html_()
    (source,) = re.findall(
        r'^<iframe srcdoc="([^"]*)" sandbox title="Report" style="[^"]*">', shown
    )
    assert shown.endswith('"></iframe>') and shown.count("<") == 2
    text = html.unescape(source)
    assert text.startswith("<!doctype html>") and "<script" not in text
    assert "fewlabels report: the data frame" in text
    assert "found.save(" in text and "fewlabels predict" not in text
    assert 'href="#' not in text
    option = re.search(r"<(?:p|li|dd)>[^<]*(?:<code[^>]*>)?--[a-z]", text)
    assert option is None, option
    page = tmp_path / "r.html"
    reported.report.save(page)
    assert is_report(page) and 'href="#' in page.read_text()
    page.write_text("mine")
    with pytest.raises(pipeline.UserError, match="or force=True to replace it"):
        reported.report.save(page)
    reported.report.save(page, force=True)
    assert is_report(page)


def test_what_is_saved_is_a_model_of_the_command_line(reported, tmp_path, seed):
    path = tmp_path / "m.fewlabels"
    reported.save(path)
    frame = people(seed + 1, None)
    pd.testing.assert_frame_equal(pipeline.score(path, frame), reported.predict(frame))
    more = people(seed + 2, ["ill", "well"])
    summary = pipeline.update(path, more, tmp_path / "more.fewlabels", probability=False)
    assert summary["rows_after"] == 2 * N and summary["rows_labeled"] == {"ill": 20, "well": 20}
    (tmp_path / "other").write_text("old")
    with pytest.raises(pipeline.UserError, match=r"not a fewlabels model.*force=True"):
        reported.save(tmp_path / "other")


def test_other_jobs_take_frames_too(reported, seed, tmp_path):
    frame = people(seed + 1, None)
    frame.to_csv(tmp_path / "people.csv", index=False)
    told, of_file = (
        pipeline.explain(reported, data, [2]) for data in (frame, tmp_path / "people.csv")
    )
    assert told["rows"][0]["score"] == pytest.approx(reported.predict(frame)["score"].iloc[1])
    one, two = (
        {line["column"]: line["contribution"] for line in found["rows"][0]["contributions"]}
        for found in (told, of_file)
    )
    assert one == pytest.approx(two, rel=1e-9)
    summary = pipeline.score_file(reported, frame, tmp_path / "scored.csv")
    assert (summary["data"], summary["rows"]) == ("the data frame", N)
    labelled = people(seed, ["ill"])
    labelled.to_csv(tmp_path / "labelled.csv", index=False)
    one, two = (pipeline.prior(data, "state") for data in (labelled, tmp_path / "labelled.csv"))
    assert (one["prior"], one["positive"]) == (two["prior"], "ill")


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array, sp.coo_matrix])
def test_a_matrix(form, seed):
    X = np.random.default_rng(seed).normal(size=(60, 3))
    found = fit_table(form(X), scale=False, **QUICK)
    assert found.choice.method == "svdd-ensemble" and found.profile.empty
    expected = fewlabels.SVDDEnsemble().fit(X).decision_function(X)
    scores = found.predict(form(X))["score"]
    np.testing.assert_allclose(scores, expected, atol=1e-9)
    with pytest.raises(pipeline.UserError, match="The matrix has no target 'y'"):
        fit_table(form(X), "y", **QUICK)


def test_columns_that_a_file_would_hold_as_text(seed):
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            0: rng.normal(size=N),
            "mixed": [k if k % 2 else "x" for k in rng.integers(0, 4, N)],
            "sparse": pd.arrays.SparseArray(rng.integers(0, 2, N).astype(float)),
            "kind": pd.Categorical(rng.choice(["p", "q"], N)),
            "span": pd.to_timedelta(np.arange(N), unit="h"),
            "parts": [[1, 2]] * N,
            "number": pd.array(rng.integers(0, 9, N), dtype="Int64"),
            "state": np.where(np.arange(N) < 40, 1, 0),
        }
    )
    found = fit_table(frame, "state", positive=1, drop="number", categorical=("mixed",), **QUICK)
    kinds = dict(zip(found.profile["name"], found.profile["kind"], strict=True))
    assert kinds == {"0": "number", "mixed": "category", "sparse": "number", "kind": "category",
                     "span": "left out", "parts": "left out"}  # fmt: skip
    why = "positive selects the class '1'; quicker than a pu-ensemble (time_budget=0)"
    assert found.choice == ("pusvm", why)
    assert len(found.predict(frame)) == N


@pytest.mark.parametrize(
    ("change", "options", "words"),
    [
        (lambda f: f, {"target": "stat"}, "^The data frame has no column 'stat'"),
        (lambda f: f, {"normal": 3}, r"the normal value '3' in the target column"),
        (lambda f: f, {"tol": 0}, "^tol=0 is out of range"),
        (lambda f: f, {"gama": 2}, "^Unknown option 'gama'; is 'gamma' meant"),
        (lambda f: f, {"method": "tree"}, "^Unknown method='tree'; choose svdd, "),
        (lambda f: f, {"clean": True}, "^clean=True is for one-class models"),
        (lambda f: f.fillna({"state": "old"}), {}, "pass normal=VALUE for .*, or unlabeled=V"),
        (lambda f: f.iloc[:0], {}, "has column names but no rows"),
        (lambda f: f[["state"]], {}, "no columns left to learn from"),
        (lambda f: pd.concat([f, f["age"]], axis=1), {}, r"share a name \('age'\)"),
        (lambda f: f.to_dict(), {}, "not dict; pandas.DataFrame"),
        (lambda f: "there-is-none.csv", {}, "there-is-none.csv does not exist"),
    ],
)
def test_what_cannot_be_done_is_said_in_arguments(change, options, words, seed):
    with pytest.raises(pipeline.UserError, match=words) as caught:
        fit_table(change(people(seed, ["ill", "well"])), **{"target": "state", **QUICK, **options})
    assert "--" not in str(caught.value)


def test_an_observer_hears_what_is_done(seed):
    class Told(pipeline.Observer):
        def __init__(self):
            self.heard = []

        def report_stage(self, text):
            self.heard.append(text)

        def round(self, entry):
            self.heard.append("round")

    observer = Told()
    fit_table(people(seed, None), time_budget=0, observer=observer)
    heard = list(dict.fromkeys(observer.heard))
    assert heard == ["reading", "round", "writing the report"]


def test_ctrl_c_in_the_report_keeps_the_model(monkeypatch, seed):
    def interrupted(**parts):
        raise KeyboardInterrupt

    monkeypatch.setattr("fewlabels.report.collect", interrupted)
    found = fit_table(people(seed, None), time_budget=0)
    assert found.report is None and found._repr_html_() is None
    assert found.notes[-1] == "there is no report, as Ctrl-C ended it"


def test_print_says_what_was_found_and_how_certain():
    frame = people(3, ["ill", "well"])
    text = repr(fit_table(frame, "state", **QUICK))
    shares = re.search(
        r"predicted: 'ill' (\d+) \(.* %\), 'well' (\d+) \(.*of the unlabelled rows", text
    )
    assert sum(map(int, shares.groups())) == 50
    assert re.search(r"accuracy: 0\.\d+ |held-out ROC AUC: [01]\.?\d* \(99 % CI", text)
    text = repr(fit_table(people(3, ["ill"]), "state", method="pusvm", **QUICK))
    assert re.search(r"predicted positive: \d+ \(.* %\) of the unlabelled rows", text)
    assert re.search(r"class prior: \d.* of all rows\), estimated; 90 % CI \d", text)
    assert re.search(
        r"assumes: the labelled rows are a random sample .*\(if not, pass prior\)", text
    )
    text = repr(fit_table(people(3, None), method="svdd", target_fpr=0.2, **QUICK))
    assert re.search(r"training rows outside: \d+ \(\d+\.\d %\)", text)
    assert (
        "threshold: at most about 20 % of new normal rows expected outside; calibrated on" in text
    )


def test_rates_of_the_report_are_printed_too():
    found = fit_table(people(3, ["ill", "well"]), "state", time_budget=1, baselines=False)
    expected = found.metadata["training"]["expected"]
    assert "accuracy" in expected and "accuracy: " in repr(found)
