"""Columns that do not tell the labels: that is the headline, and no figure about rows is given."""

import json
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from fewlabels import PUSVM, fit_table, pipeline
from fewlabels._util.deadline import Deadline
from fewlabels.cli import app
from fewlabels.model_selection import LabelledAtRandomTest
from fewlabels.model_selection.permutation import PermutationTest
from fewlabels.pipeline.training import evidence as training_evidence
from fewlabels.pipeline.training import schedule
from fewlabels.pipeline.training.evidence import contradiction_words
from fewlabels.pipeline.training.schedule import Schedule
from fewlabels.report.evidence import model_tests as evidence
from fewlabels.report.evidence.model_tests import _find_contradiction
from fewlabels.tables.models.cautions import describe_label_test, list_cautions
from fewlabels.tables.models.files import read_metadata

pytestmark = pytest.mark.usefixtures("few_trees")

HEADLINE = "No signal: the features do not separate "
FAST = {"time_budget": 0, "random_state": 0}


def noise(kind, n_labels=250):
    """A table without information, as the labels of a kind mark some of its rows."""
    # Noise in every part of the labels, as time may be short for models of some parts.
    rng = np.random.default_rng(9)
    table = pd.DataFrame(rng.normal(size=(500, 4)), columns=list("abcd"))
    names = ["yes"] if kind == "positive" else ["u", "v"]
    labels = np.resize(np.array(names, dtype=object), 500)
    labels[rng.permutation(500)[n_labels:]] = ""
    return table.assign(t=labels)


@pytest.fixture(scope="module", params=["positive", "classes"])
def without(request, tmp_path_factory):
    """A model of noise and its report, as the command line writes them, and what it said."""
    folder = tmp_path_factory.mktemp(request.param)
    table = noise(request.param)
    table.to_csv(folder / "d.csv", index=False)
    arguments = [
        "fit",
        folder / "d.csv",
        "--target",
        "t",
        "-o",
        folder / "m",
        "--time-budget",
        "0",
    ]
    told = CliRunner().invoke(app, [*map(str, arguments), "--report", str(folder / "m.html")])
    assert told.exit_code == 0, told.output
    return folder, told, table


def test_the_headline_and_nothing_else(without):
    folder, told, _ = without
    training = read_metadata(folder / "m")["training"]
    headline = training["signal"]["headline"]
    assert headline.startswith(HEADLINE) and not training["signal"]["found"]
    assert f"no signal  {' ' * 6}" in told.stdout and headline[len("No signal: ") :] in told.stdout
    assert training.get("prior") is None and training.get("prior_low") is None
    assert training.get("unlabeled_predicted_positive") is None
    assert training.get("unlabeled_predicted") is None
    assert "class prior" not in told.output and "predicted" not in told.stdout
    page = (folder / "m.html").read_text(encoding="utf-8")
    assert HEADLINE in page
    for section in ("rows", "scores", "rates", "baselines"):
        assert f'<section id="{section}"' not in page


def test_probabilities_are_blank(without, tmp_path):
    folder, _, table = without
    found = pipeline.score(folder / "m", table)
    assert found["score"].notna().all() and found["probability"].isna().all()
    arguments = ["predict", folder / "m", folder / "d.csv", "-o", tmp_path / "o.csv"]
    told = CliRunner().invoke(app, list(map(str, arguments)))
    assert HEADLINE in told.stderr and "%" not in told.stdout
    told = CliRunner().invoke(app, [*map(str, arguments), "--json"])
    told = json.loads(told.stdout)
    assert told["no_signal"].startswith(HEADLINE) and told["cautions"] == [told["no_signal"]]
    told = CliRunner().invoke(app, ["inspect", str(folder / "m")])
    assert told.exit_code == 0 and "no signal" in told.stdout


def test_an_update_brings_no_figures_back(tmp_path):
    table = noise("classes")
    fit_table(table, "t", report=False, **FAST).save(tmp_path / "m")
    told = pipeline.update(tmp_path / "m", table.iloc[:5])
    assert told["rows_after"] == 505
    assert read_metadata(tmp_path / "m")["training"]["unlabeled_predicted"] is None


def test_a_notebook_is_told():
    found = fit_table(noise("positive"), "t", **FAST)
    assert HEADLINE in repr(found) and repr(found.report).startswith(HEADLINE)
    findings = found.report.contents.findings
    assert not findings.rates and not findings.rankings and findings.prior is None


def test_methods_are_compared_only_if_asked_for():
    found = fit_table(noise("classes"), "t", time_budget=4, max_iter=50, random_state=0)
    assert found.comparison is None


def test_columns_that_tell_the_labels(monkeypatch):
    monkeypatch.setattr(schedule, "_SECONDS_AFTER_FIT", 60.0)  # on a busy machine
    table = noise("classes", 150)  # enough for a verdict if there is time for one fold only
    is_u = (table["t"] == "u") | ((table["t"] == "") & (np.arange(500) % 2 == 0))
    table["a"] += np.where(is_u, 4.0, 0.0)
    found = fit_table(table, "t", baselines=True, **FAST)
    signal = found.metadata["training"]["signal"]
    assert signal["found"] and "headline" not in signal and "No signal" not in repr(found)
    # One figure for how many answers are right, on the page and in the comparison.
    ours = found.comparison.table[found.comparison.table["ours"]].iloc[0]
    right = found.report.contents.findings.rates[0]
    assert (right.name, right.value) == ("Accuracy", ours["score"])
    assert right.interval == (ours["low"], ours["high"])


def test_the_headline_says_up_to_which_share_it_holds():
    table = noise("positive")
    signal = fit_table(table, "t", **FAST).metadata["training"]["signal"]
    up_to = f"{100 * signal['up_to']:.0f} %"
    assert (
        f"chance, unless more than {up_to} of the unlabelled rows are 'yes' too ("
        in (signal["headline"])
    )
    assert "against unlabelled rows" in signal["headline"] and signal["best"] is None
    assert "pass prior=SHARE if you know the share of 'yes'" in signal["headline"]
    # So many that they hide any signal.
    found = fit_table(table, "t", prior=0.9, **FAST)
    signal = found.metadata["training"]["signal"]
    assert signal["outcome"] == "too few labels" and signal["up_to"] is None
    assert "a perfect model has 0.55" in signal["caution"] and "SHARE" not in signal["caution"]
    assert found.predict(table)["probability"].notna().all()


def test_rows_that_are_all_alike_are_no_evidence():
    table = noise("positive")[["a", "t"]].assign(a=(np.arange(500) == 3).astype(float))
    signal = fit_table(table, "t", keep=["a"], **FAST).metadata["training"]["signal"]
    assert signal["outcome"] == "too few labels" and signal["low"] < 0.1 and signal["high"] > 0.9


def test_a_column_that_came_with_the_labels_is_named():
    table = noise("positive", 60)
    own = (table["t"] == "yes").to_numpy()
    table["reviewed"] = np.where(own, 3.0, -3.0) + np.random.default_rng(0).normal(size=500)
    found = fit_table(table, "t", **FAST)
    told = found.metadata["training"]["prior_contradiction"]
    assert "The column 'reviewed' alone separates the labelled from the unlabelled rows" in told
    assert "Pass drop=['reviewed']" in told and "SHARE" not in told and "random sample" not in told
    assert list_cautions(found.metadata["training"]) == [told]


def test_two_columns_that_separate_together():
    facts = {"positive": "yes"}
    told = contradiction_words((60, 60), 0.0005, facts, ["a", "b"])
    assert (
        told.endswith("so they probably came with the labels") and "'a' and 'b' together" in told
    )
    assert "random sample of 'yes'" in contradiction_words((60, 60), 0.0005, facts)


def test_misspelt_values_come_first():
    table = noise("classes").replace({"t": {"u": "yes", "v": "no"}})
    table.loc[np.flatnonzero(table["t"] == "")[0], "t"] = "yess"
    found = fit_table(table, "t", **FAST)
    assert "'yess' (row " in list_cautions(found.metadata["training"])[0]
    assert "a misspelt 'yes'" in repr(found).partition("\n")[0]


@pytest.mark.parametrize("kind", ["positive", "classes"])
def test_too_few_labels_to_tell(kind):
    table = noise(kind, 12)
    found = fit_table(table, "t", **FAST)
    signal = found.metadata["training"]["signal"]
    assert signal["outcome"] == "too few labels" and not signal["found"]
    assert signal["low"] <= 0.5 and signal["high"] >= 0.7 and "headline" not in signal
    caution = "Too few labels to tell whether the model separates held-out rows of "
    assert signal["caution"].startswith(caution)
    assert repr(found).startswith(caution) and repr(found.report).startswith(caution)
    # Nothing else is withheld.
    assert found.predict(table)["probability"].notna().all()
    assert found.report.contents.findings.rankings


def test_a_prior_that_contradicts_the_labels():
    rng = np.random.default_rng(0)
    positive = rng.random(500) < 0.3
    X = rng.normal(size=(500, 5)) + 1.2 * positive[:, None]
    # Labelled rows are the most extreme ones in one column: no random sample.
    X[:, 4] = rng.normal(size=500) + positive * rng.choice([0.0, 4.0], 500, p=[0.7, 0.3])
    own = np.flatnonzero(positive)
    labels = np.full(500, "", dtype=object)
    labels[own[np.argsort(-X[own, 4])][:30]] = "yes"
    table = pd.DataFrame(X, columns=list("abcde")).assign(t=labels)
    found = fit_table(table, "t", **FAST)
    training = found.metadata["training"]
    assert training["prior"] < 0.02 < positive[labels == ""].mean()
    assert training["prior_low"] < training["prior"] < training["prior_high"]
    start = "The estimated prior contradicts the labels: "
    assert training["prior_contradiction"].startswith(start) and "prior=SHARE" in repr(found)
    assert repr(found).startswith(start) and repr(found.report).startswith(start)
    findings = found.report.contents.findings
    assert [one.title for one in findings.rankings] == ["Unlabelled rows most like 'yes'"]
    assert "probability" not in findings.rankings[0].rows and not findings.rates
    given = fit_table(table, "t", prior=0.25, **FAST)
    assert given.metadata["training"]["prior_contradiction"] is None


def test_obvious_labels_are_called_biased_if_the_prior_is_known(monkeypatch):
    monkeypatch.setattr(Schedule, "deadline", lambda *given: Deadline())  # on a busy machine
    rng = np.random.default_rng(1)
    positive = rng.random(700) < 0.4
    X = rng.normal(size=(700, 3)) + 1.5 * positive[:, None]
    own, labels = np.flatnonzero(positive), np.full(700, "", dtype=object)
    labels[own[np.argsort(-X[own].sum(axis=1))[:60]]] = "yes"
    table = pd.DataFrame(X, columns=list("abc")).assign(t=labels)
    found = fit_table(table, "t", prior=positive[labels == ""].mean(), **FAST)
    told = found.metadata["training"]["labels_at_random"]
    assert told["rejected"] and told["p_value"] <= 0.05 and told["prior_is_known"]
    start = "The labelled rows are not a random sample of 'yes' (p = 0.0"
    assert told["caution"].startswith(start) and "obvious ones" in told["caution"]
    assert repr(found).startswith(start) and repr(found.report).startswith(start)
    assert found.report.contents.findings.rates
    sample = "the labelled rows are a random sample of the positives"
    assert f"assumes: {sample} (for precision and recall), which the test rejects" in repr(found)
    assert f", if {sample}." in found.report.contents.findings.headline


def test_random_labels_are_not_called_biased():
    rng = np.random.default_rng(1)
    positive = rng.random(600) < 0.3
    X = rng.normal(size=(600, 3)) + 3.0 * positive[:, None]
    labels = np.where(positive & (rng.random(600) < 0.3), "yes", "")
    table = pd.DataFrame(X, columns=list("abc")).assign(t=labels)
    found = fit_table(table, "t", prior=positive[labels == ""].mean(), **FAST)
    told = found.metadata["training"]["labels_at_random"]
    assert not told["rejected"] and "caution" not in told
    assert "random sample of 'yes'" not in repr(found)


@pytest.mark.parametrize("known", [True, False])
def test_what_a_rejected_test_says(known):
    result = LabelledAtRandomTest(True, 0.02, 0.01, 0.5, 0.3, 0.2, known, 0.05, 50, 500, 99)
    signal = PermutationTest(0.9, 0.8, 0.95, "signal", 50)
    facts = training_evidence.tests_facts(
        evidence.Tests(signal, labels=result), PUSVM(), {"positive": "yes"}
    )
    told = facts["labels_at_random"].get("caution") or facts["prior_contradiction"]
    assert "unusual ones were labelled more often" in told
    assert (
        facts["labels_at_random"]["outcome"] == "rejected" and describe_label_test(facts) is None
    )
    assert (facts["prior_contradiction"] is None) == known
    assert ("SHARE" in told) != known
    assert list_cautions(facts) == [told]


@pytest.mark.parametrize(
    "rejected, known, why, says",
    [
        (False, True, "", "the test found nothing against the assumption that the labelled rows"),
        (False, False, "", "The test could not tell whether the labelled rows are a random"),
        (None, None, "there was no time", "It was not tested whether the labelled rows are"),
        (True, True, "", None),
        (None, None, "", None),
    ],
)
def test_what_a_test_of_the_labels_leaves_open(rejected, known, why, says):
    signal, result = PermutationTest(0.9, 0.8, 0.95, "signal", 50), None
    if rejected is not None:
        result = LabelledAtRandomTest(
            rejected, 0.02, 0.01, 0.5, 0.3, 0.2, known, 0.05, 50, 500, 99
        )
    facts = training_evidence.tests_facts(
        evidence.Tests(signal, labels=result, labels_untested=why), PUSVM(), {"positive": "yes"}
    )
    told = describe_label_test(facts)
    assert told is None if says is None else says in told
    assert why in (told or "") and bool(list_cautions(facts)) == bool(rejected)


def test_labels_are_tested_once_for_all_models(monkeypatch):
    signal = PermutationTest(0.9, 0.8, 0.95, "signal", 50)
    result = LabelledAtRandomTest(False, 0.5, 0.5, 0.5, 0.5, 0.2, False, 0.05, 50, 500, 9)
    made = []
    monkeypatch.setattr(
        evidence, evidence.run_tests.__name__, lambda *given: evidence.Tests(signal)
    )
    monkeypatch.setattr(
        evidence, evidence.check_labels.__name__, lambda *given: made.append(given) or (result, "")
    )
    model, schedule = SimpleNamespace(estimator=PUSVM(), seconds=1.0), Schedule(20.0)
    found = SimpleNamespace(y=np.array([1, 0]))
    rows = SimpleNamespace(X=np.zeros((2, 1)), found=found, groups=None)
    tests, _ = training_evidence.test_model(rows, model, schedule)
    again, _ = training_evidence.test_model(rows, model, schedule, before=tests)
    assert tests.labels is again.labels is result and len(made) == 1


@pytest.mark.parametrize(
    "interval, hits, contradicts",
    [
        ((0.0014, 0.041), 22, True),  # may be none, and almost half of the labelled rows missed
        ((0.0014, 0.041), 23, False),
        ((0.01, 0.041), 22, False),  # some rows are positive
        ((0.0014, 0.2), 22, False),  # may be many
        ((0.01, 0.3), 12, True),  # most labelled rows missed, whatever the interval
        (None, 12, False),  # a prior that somebody gave
    ],
)
def test_which_priors_contradict_held_out_labels(interval, hits, contradicts):
    kinds = np.repeat([1, 0], [40, 360])
    scores = np.where(np.arange(400) < hits, 1.0, -1.0)
    held, signal = SimpleNamespace(scores=scores), SimpleNamespace(area=0.9)
    found = _find_contradiction(0.02, interval, held, kinds, signal)
    assert found == ((hits, 40) if contradicts else None)
    if contradicts:
        told = contradiction_words(found, 0.02, {"positive": "yes"})
        assert f"would miss {40 - hits} of 40 held-out labelled rows" in told
