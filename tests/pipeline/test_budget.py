"""The time budget: one clock for a whole fit, and as many rows as it allows for."""

import math
import time

import numpy as np
import pandas as pd
import pytest

from fewlabels import PUSVM, SVDDEnsemble, fit_table
from fewlabels.one_class.task import ONE_CLASS
from fewlabels.pipeline.training import cost
from fewlabels.pipeline.training.budget import Budget, describe_cut
from fewlabels.pipeline.training.cost import (
    CostModel,
    choose_sample,
    count_affordable_rows,
    count_encodable_rows,
    estimate_cost,
)
from fewlabels.positive_unlabelled.task import POSITIVE_UNLABELLED
from fewlabels.semi_supervised.task import SEMI_SUPERVISED


def since(seconds):
    return time.perf_counter() - seconds


def test_shares_of_a_budget():
    at_first = Budget(60.0, reported=True)
    assert 20.0 < at_first.to_choose() < at_first.to_fit() < 60.0
    alone = Budget(60.0, baselines=False, reported=True)
    assert alone.to_choose() > at_first.to_choose() and alone.to_compare() == 0.0
    # What was used before comes off, and something is left for the report.
    late = Budget(60.0, reported=True, started=since(45.0))
    assert late.to_choose() < 4.0 and 5.0 < late.to_compare() < 6.1
    assert 14.0 < late.to_report().left() <= 15.0


def test_labels_are_tested_before_methods_are_compared():
    budget = Budget(20.0, reported=True, started=since(7.0))
    assert 4.9 < budget.test_labels().left() <= 5.0
    assert Budget(20.0, reported=True, started=since(16.0)).test_labels().left() <= 1.0
    assert 1.9 < Budget(0.0).test_labels().left() <= 2.0
    # A few draws are often enough, so a busy machine doesn't take all of its time.
    assert 0.3 < Budget(5.0, reported=True, started=since(9.0)).test_labels().left() < 0.5


def test_what_is_missing_without_a_budget_is_not_blamed_on_it():
    assert describe_cut("no rates", 20.0).startswith("the time budget was too short: no rates")
    assert "too short" not in describe_cut("no rates", 0.0)


def test_a_budget_that_is_spent():
    spent = Budget(60.0, reported=True, started=since(80.0))
    assert spent.seconds_left == 0.0 and spent.to_compare() == 0.0
    # The rest takes no more than a fifth of the budget and three seconds.
    rest = spent.for_fits() + spent.test().left() + spent.to_report().left()
    assert 0.0 < rest < 15.0
    assert Budget(60.0, baselines=True, started=since(80.0)).to_compare() == 10.0


def test_no_budget_ends_what_can_be_cut_short():
    nothing = Budget(0.0, reported=True)
    assert nothing.to_compare() == 0.0
    for end in (nothing.calibration(0.0), nothing.test(), nothing.to_report()):
        assert 0.0 < end.left() <= 2.0
    # Probabilities of a long fit may take a part of its time.
    assert 19.0 < nothing.calibration(100.0).left() <= 20.0
    assert Budget(0.0, baselines=True).to_compare() == 10.0


def test_the_clock_of_the_command_counts(tmp_path):
    table = pd.DataFrame(np.random.default_rng(0).normal(size=(300, 3)), columns=list("abc"))
    from fewlabels.pipeline.training.train import train

    training = train(table, time_budget=5.0, reported=True, started=since(100.0))
    assert training.comparison is None
    assert any("not compared" in note for note in training.metadata["training"]["notes"])


def test_rows_by_the_pace_of_fits():
    model = CostModel(1000, 1.0, 2.0)
    assert model.predict_seconds(4000) == pytest.approx(16.0)
    assert model.max_rows_within(16.0) == 4000
    assert count_affordable_rows(model, 2000, 100.0, "pusvm") == 2000
    # Two fits of all rows have to be made.
    assert count_affordable_rows(model, 100_000, 32.0, "pusvm") == 4000
    assert count_affordable_rows(None, 100_000, 0.1, "pusvm") == 100_000
    before = model._replace(before=16.0)
    assert count_affordable_rows(before, 100_000, 48.0, "pusvm") == 4000


def test_the_pace_is_measured(monkeypatch):
    X = np.random.default_rng(0).normal(size=(9000, 2))
    y = (np.arange(9000) < 500).astype(int)
    sizes = []

    def seconds(machine, X, y):
        sizes.append(X.shape[0])
        assert machine.prior == 0.3 or len(sizes) == 0
        return 3.0 if len(sizes) == 1 else 1e-6 * X.shape[0] ** 1.5

    monkeypatch.setattr(cost, "_time_fit", seconds)
    monkeypatch.setattr(cost, "_time_prior", lambda *given: 2.5)
    model = estimate_cost(PUSVM(), X, y, 10.0)
    assert sizes == [500, 1000, 2000, 4000]
    # The first fit loads what others find in memory.
    assert model.power == pytest.approx(1.5) and model.before == 2.5
    assert math.isclose(model.predict_seconds(9000), 1e-6 * 9000**1.5)
    assert estimate_cost(PUSVM(), X[:1000], y[:1000], 10.0) is None


def test_short_fits_do_not_measure_the_pace_for_long(monkeypatch):
    X, sizes = np.zeros((200_000, 2)), []

    def seconds(machine, X, y):
        sizes.append(X.shape[0])
        return 1e-5 * X.shape[0]

    monkeypatch.setattr(cost, "_time_fit", seconds)
    # Even if the seconds grew as fast as they can, a fit of all rows would be short.
    model = estimate_cost(SVDDEnsemble(), X, None, 1000.0)
    assert sizes == [500, 2000, 8000]
    assert model.predict_seconds(200_000) == pytest.approx(2.0)


def test_rows_that_can_be_encoded():
    assert count_encodable_rows(1000, 10, 0.1, 20.0) == 1000
    assert count_encodable_rows(200_000, 50, 4.0, 20.0) == 100_000
    assert count_encodable_rows(200_000, 50, 4.0, 0.0) == 5000


@pytest.mark.parametrize("task", [POSITIVE_UNLABELLED, SEMI_SUPERVISED, ONE_CLASS])
def test_rows_that_are_drawn(task):
    rng = np.random.default_rng(0)
    y = {
        POSITIVE_UNLABELLED: (np.arange(1000) < 100).astype(int),
        SEMI_SUPERVISED: np.where(np.arange(1000) < 100, rng.integers(0, 5, 1000), -1),
        ONE_CLASS: None,
    }[task]
    rows = choose_sample(y, 1000, 400, task)
    assert len(np.unique(rows)) == 400 and (np.diff(rows) > 0).all()
    if y is not None:
        assert (rows < 100).sum() == 100  # all that have a label
        few = choose_sample(y, 1000, 40, task)
        assert (few < 100).sum() == 20
    if task is SEMI_SUPERVISED:
        assert (np.bincount(y[few[few < 100]], minlength=5) >= 2).all()
    np.testing.assert_array_equal(choose_sample(y, 1000, 2000, task), np.arange(1000))


def test_a_sample_is_said_to_be_one(monkeypatch):
    monkeypatch.setattr(cost, "_time_fit", lambda machine, X, y: 1e-6 * X.shape[0] ** 2)
    rng = np.random.default_rng(0)
    table = pd.DataFrame(rng.normal(size=(6000, 2)), columns=["a", "b"])
    table["state"] = np.where(np.arange(6000) < 60, "ill", "")
    found = fit_table(table, "state", time_budget=4, prior=0.3, report=False, method="pusvm")
    training = found.metadata["training"]
    assert training["rows"] < 6000 == training["rows_read"] and training["rows_labeled"] == 60
    assert any(
        note.startswith("the time budget of 4 s is enough for 1,") and "time_budget" in note
        for note in training["notes"]
    )
    # Without a budget all rows are learnt from.
    found = fit_table(table, "state", time_budget=0, prior=0.3, report=False)
    assert found.metadata["training"]["rows"] == 6000
