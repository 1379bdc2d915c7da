"""Labelled rows that are unlike the rest, and honest ones that are not."""

import numpy as np
import pandas as pd
import pytest

from fewlabels import fit_table
from fewlabels._util.deadline import Deadline
from fewlabels.pipeline.summary import findings
from fewlabels.report.evidence.covariate_shift import find_covariate_shift, find_shift_of_positives

NONE = np.empty((0, 2))


def rows(seed, n_classes=2, n=30, n_free=500, gap=2.0):
    """Gaussian rows of some classes; the first ``n`` are labelled, equally many of each class."""
    rng = np.random.default_rng(seed)
    truth = np.r_[np.arange(n) % n_classes, rng.integers(0, n_classes, n_free)]
    X = rng.normal(size=(len(truth), 6))
    X[np.arange(len(truth)), truth] += gap
    return rng, X, np.where(np.arange(len(truth)) < n, truth, -1)


def compare(X, y, draws=NONE):
    draws = draws if draws.shape[1] == y.max() + 1 else np.empty((0, y.max() + 1))
    return find_covariate_shift(X, X, y, draws, Deadline())


@pytest.mark.parametrize("n_classes", [2, 4])
def test_rows_of_one_batch(n_classes):
    for seed in range(3):
        rng, X, y = rows(seed, n_classes)
        batch = np.where(y >= 0, 3, rng.integers(0, 10, len(y))).astype(float)
        found = compare(np.column_stack([X, batch]), y)
        assert found.is_significant and found.is_one_column and found.column == "x6"
        # The batch isn't in the table, but all its measurements are off.
        found = compare(X + rng.normal(size=(10, 6))[batch.astype(int)] * 2.0, y)
        assert found.is_significant


def test_a_date_that_decided_who_was_labelled():
    for seed in range(3):
        rng, X, y = rows(seed)
        date = np.where(y >= 0, rng.uniform(0, 0.1, len(y)), rng.uniform(0, 1, len(y)))
        found = compare(np.column_stack([X, date]), y)
        assert found.is_significant and found.column == "x6"


@pytest.mark.parametrize("kind", ["gaussian", "categories", "copies"])
def test_honest_labels_are_like_the_rest(kind):
    for seed in range(8):
        _, X, y = rows(seed, n_classes=2 + seed % 3, gap=[0.0, 2.0, 5.0][seed % 3])
        if kind == "categories":
            X = np.floor(X)
        if kind == "copies":  # forests know copies by heart
            known = np.flatnonzero(y >= 0)
            X, y = np.vstack([X, X[known], X[known]]), np.r_[y, y[known], y[known]]
        found = compare(X, y)
        assert found is None or not found.is_significant


def test_equal_labels_of_a_rare_class_are_like_the_rest():
    """Half the labels are of a class of 2 %, which the shares allow for."""
    rng = np.random.default_rng(0)
    truth = np.r_[np.arange(40) % 2, rng.random(500) < 0.02].astype(int)
    X = rng.normal(size=(len(truth), 3)) + 8.0 * truth[:, None]
    y = np.where(np.arange(len(truth)) < 40, truth, -1)
    assert compare(X, y, np.array([[0.98, 0.02]])).area < 0.65
    assert not compare(X, y, rng.dirichlet([1, 1], 500)).is_significant


def test_no_time_is_said():
    _, X, y = rows(0)
    deadline = Deadline(0)
    assert find_covariate_shift(X, X, y, NONE, deadline) is not None and not deadline.cut
    X = np.tile(X, 1000)  # takes longer than there always is
    assert find_covariate_shift(X, X, y, NONE, deadline) is None and deadline.cut


def positives(seed, share=0.1, n=40):
    rng = np.random.default_rng(seed)
    truth = np.r_[np.ones(n, bool), rng.random(800) < share]
    frame = pd.DataFrame(rng.normal(size=(len(truth), 3)) + 4.0 * truth[:, None])
    frame.columns = list("abc")
    return rng, frame, (np.arange(len(truth)) < n).astype(int)


def test_positives_of_one_period_or_place():
    for seed in range(4):
        rng, frame, y = positives(seed)
        day = np.where(y == 1, rng.integers(0, 200, len(y)), rng.integers(0, 700, len(y)))
        found = find_shift_of_positives(frame.assign(day=day.astype(float)), y, {"day"})
        assert found.is_significant and found.column == "day"
        number = np.r_[rng.permutation(300)[: y.sum()], 300 + np.arange(len(y) - y.sum())]
        assert find_shift_of_positives(frame.assign(number=number), y).column == "number"
        sensor = np.where(y == 1, 30.0, 0.0) + rng.normal(size=len(y))
        assert find_shift_of_positives(frame.assign(sensor=sensor), y).column == "sensor"


@pytest.mark.parametrize("share", [0.02, 0.3, 0.9])
def test_columns_that_hidden_positives_explain(share):
    """Positives lie apart, and there are few or many: that is the signal."""
    for seed in range(6):
        rng, frame, y = positives(seed, share)
        frame["age"] = np.round(40 + 10 * frame["a"])
        frame["day"] = rng.integers(0, 700, len(y)).astype(float)
        frame["number"] = rng.permutation(len(y))
        frame["town"] = np.where(frame["b"] > 3.0, "x", "y")
        assert find_shift_of_positives(frame, y, {"day"}) is None


def test_a_fit_names_the_column():
    rng, X, y = rows(0, gap=3.0)
    frame = pd.DataFrame(X, columns=list("abcdef"))
    batch = np.where(y >= 0, 3, rng.integers(0, 10, len(y)))
    frame["batch"] = [f"B{k}" for k in batch]
    frame["answer"] = np.where(y < 0, None, np.where(y == 1, "yes", "no"))
    found = fit_table(frame, "answer", method="logistic", time_budget=0)
    facts = found.metadata["training"]
    assert facts["labelled_rows"]["unlike"] and facts["labelled_rows"]["column"] == "batch"
    assert "unlike the unlabelled ones: column 'batch' alone separates them" in repr(found)
    assert found.report.contents.findings.headline.startswith("The labelled rows are unlike")


def test_error_rates_hold_for_rows_like_the_labelled_ones():
    facts = {
        "classes": ["no", "yes"],
        "labelled_rows": {"unlike": True, "caution": "x"},
        "expected": {"accuracy": {"value": 0.9, "low": 0.8, "high": 0.95}},
        "converged": True,
    }
    lines = dict(findings({"training": facts}))
    assert lines["accuracy"] == "0.9 (90 % CI 0.8 to 0.95), on rows like the labelled ones"
    assert lines["assumes"].endswith("which the columns contradict")


def test_positives_of_one_period_in_a_fit():
    rng, frame, y = positives(0, 0.3)
    frame["number"] = np.r_[rng.permutation(300)[: y.sum()], 300 + np.arange(len(y) - y.sum())]
    frame["answer"] = np.where(y == 1, "yes", None)
    frame = frame.sample(frac=1.0, random_state=0)
    found = fit_table(frame, "answer", keep=["number"], time_budget=0)
    facts = found.metadata["training"]["labelled_rows"]
    assert facts["unlike"] and facts["column"] == "number"
    assert "column 'number' alone" in repr(found)
