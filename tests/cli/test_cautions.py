"""Cautions of positive and unlabelled rows, in every command that shows their figures."""

import json
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_breast_cancer

from fewlabels import S3VM
from fewlabels._util.deadline import Deadline
from fewlabels.pipeline.options.flags import as_flags
from fewlabels.pipeline.summary import _over_budget, answer
from fewlabels.pipeline.training.comparison import comparison_facts
from fewlabels.pipeline.training.figures import explain_settings
from fewlabels.pipeline.training.schedule import Schedule

SAMPLE = "the labelled rows are a random sample of the positives"


@pytest.fixture(scope="module")
def obvious(tmp_path_factory):
    """A table in which the most obvious positive rows are labelled, and their share otherwise."""
    rng = np.random.default_rng(1)
    positive = rng.random(700) < 0.4
    X = rng.normal(size=(700, 3)) + 1.5 * positive[:, None]
    own, labels = np.flatnonzero(positive), np.full(700, "", dtype=object)
    labels[own[np.argsort(-X[own].sum(axis=1))[:60]]] = "yes"
    path = tmp_path_factory.mktemp("obvious") / "t.csv"
    pd.DataFrame(X, columns=list("abc")).assign(t=labels).to_csv(path, index=False)
    return path, positive[labels == ""].mean()


@pytest.fixture(scope="module")
def top(tmp_path_factory):
    """A table whose prior is estimated as nearly zero, as only extreme rows are labelled."""
    rng = np.random.default_rng(0)
    positive = rng.random(500) < 0.3
    X = rng.normal(size=(500, 5)) + 1.2 * positive[:, None]
    X[:, 4] = rng.normal(size=500) + positive * rng.choice([0.0, 4.0], 500, p=[0.7, 0.3])
    own, labels = np.flatnonzero(positive), np.full(500, "", dtype=object)
    labels[own[np.argsort(-X[own, 4])][:30]] = "yes"
    path = tmp_path_factory.mktemp("top") / "t.csv"
    pd.DataFrame(X, columns=list("abcde")).assign(t=labels).to_csv(path, index=False)
    return path


def test_labels_that_are_no_random_sample(run, obvious, tmp_path, monkeypatch):
    monkeypatch.setattr(Schedule, "deadline", lambda *given: Deadline())  # on a busy machine
    data, prior = obvious
    model = tmp_path / "m"
    done = run("fit", data, "--target", "t", "-o", model, "--prior", f"{prior:.3f}", "--report",
               tmp_path / "r.html", "--time-budget", 0)  # fmt: skip
    assert done.code == 0, done.err
    assert f"{SAMPLE} (for precision and recall), which the test rejects" in done.out
    assert done.out.index("  recall  ") < done.out.index("  assumes  ")
    assert done.out.count("), probably too high\n") == 2
    scored = run("predict", model, data, "-o", tmp_path / "scored.csv")
    assert "not a random sample of the positives ('fewlabels inspect" in scored.err
    assert "The labelled rows are not a random sample of 'yes'" in run("inspect", model).out


def test_a_prior_that_contradicts_the_labels(run, top, tmp_path):
    model = tmp_path / "m"
    assert run("fit", top, "--target", "t", "-o", model, "--time-budget", 0).code == 0
    scored = run("predict", model, top, "-o", tmp_path / "scored.csv", "--json")
    assert "estimated prior contradicts the labels" in json.loads(scored.out)["reminders"][0]


def test_an_estimate_of_no_positive_row(run, tmp_path):
    X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    largest = (y == 0) & (X["worst area"] > X["worst area"][y == 0].quantile(0.7))
    path = tmp_path / "t.csv"
    X.assign(t=np.where(largest, "yes", "")).to_csv(path, index=False)
    told = json.loads(run("prior", path, "--target", "t", "--json").out)
    assert told["prior"] * told["rows_unlabeled"] < 0.75 and "less than one row" in told["caution"]
    shown = run("prior", path, "--target", "t").out
    assert shown.startswith("Caution: the class prior is estimated as ") and "assumes" in shown


def training(**more):
    return {
        "converged": True, "rows_unlabeled": 100, "rows_labeled": 20, "rows": 120,
        "rows_read": 120, "unlabeled_predicted_positive": 30, "prior": 0.3,
        "prior_estimated": False, "prior_low": None, "prior_high": None, "prior_confidence": None,
        "expected": {"precision": {"value": 0.8, "low": 0.7, "high": 0.9}}, **more,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("more", "expected"),
    [
        ({}, f"{SAMPLE} (for precision and recall)"),
        ({"expected": {}}, None),
        ({"weighted_by_propensities": True},
         f"{SAMPLE} (for precision and recall, which don't use the propensities)"),
        ({"weighted_by_propensities": True, "prior_estimated": True, "expected": {},
          "prior_low": 0.2, "prior_high": 0.4, "prior_confidence": 0.9}, None),
        ({"labels_at_random": {"rejected": True, "outcome": "rejected"}},
         f"{SAMPLE} (for precision and recall), which the test rejects"),
        ({"prior_estimated": True, "prior_low": 0.2, "prior_high": 0.4, "prior_confidence": 0.9},
         f"{SAMPLE} (if not, pass --prior)"),
        ({"prior_estimated": True, "prior_low": 0.2, "prior_high": 0.4, "prior_confidence": 0.9,
          "labels_at_random": {"outcome": "can't tell"}},
         f"{SAMPLE}, which the test could not decide (if not, pass --prior)"),
        ({"prior_estimated": True, "prior_low": 0.2, "prior_high": 0.4, "prior_confidence": 0.9,
          "labels_at_random": {"outcome": "not tested", "why": "there was no time"}},
         f"{SAMPLE}, which was not tested (if not, pass --prior)"),
        ({"labels_at_random": {"outcome": "not rejected"}},
         f"{SAMPLE} (for precision and recall), which the test does not reject"),
    ],
)  # fmt: skip
def test_what_figures_assume(more, expected):
    lines = answer({"method": "pusvm", "training": training(**more)})
    assumed = dict(line for line in lines if line[0] == "assumes")["assumes"]
    assert (assumed and as_flags(assumed)) == expected


@pytest.mark.parametrize("doubtful", [{"labels_at_random": {"rejected": True}},
                                      {"prior_contradiction": "It does."},
                                      {"weighted_by_propensities": True}])  # fmt: skip
def test_scores_on_doubtful_labels_are_called_so(doubtful):
    comparison = SimpleNamespace(
        measure="ROC AUC, these against those", verdict="Better than 2 baselines.", worse_than=[],
        offer="", outcome="better", table=pd.DataFrame({"name": ["a"]}),
    )  # fmt: skip
    assert comparison_facts(comparison, {})["caution"] is None
    facts = comparison_facts(comparison, doubtful)
    lines = answer({"method": "pusvm", "training": training(baselines=facts)})
    at = [name for name, _ in lines].index("comparison")
    assert [words for _, words in lines[at : at + 3]] == [
        "Better than 2 baselines.", "Measured: ROC AUC, these against those.",
        "All methods are scored on labelled rows that may not be a random sample, so another one "
        "may rank the other positives best.",
    ]  # fmt: skip


def test_what_took_longer_than_the_budget():
    spent = {"reading": 1.5, "settings and fit": 5.0, "comparison": 2.5, "report": 3.0}
    budget = {"seconds": 10.0, "spent": spent}
    assert _over_budget({"budget": budget, "seconds_in_all": 13.0}) == (
        "13 of 10 s: reading 1.5, settings and fit 5, comparison 2.5, report 3, the rest 1"
    )
    assert _over_budget({"budget": budget, "seconds_in_all": 10.9}) is None
    assert _over_budget({"budget": {"seconds": 0.0}, "seconds_in_all": 5.0}) is None
    assert _over_budget({}) is None  # a model fitted to a larger file


def test_a_model_of_the_labels_alone_is_called_so():
    X, y = np.arange(6.0)[:, None], np.array([0, 0, -1, -1, 1, 1])
    model = S3VM(C_star=0.0, kernel="linear").fit(X, y)
    words = explain_settings(model, None, "defaults")
    assert "trained on the labelled rows only (C_star 0): defaults" in words
