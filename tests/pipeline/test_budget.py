"""The time budget: one clock for a whole fit, and as many rows as it allows for."""

import math
import time

import numpy as np
import pandas as pd
import pytest
from outcomes import fit_outcome

from fewlabels import PUSVM, SVDDEnsemble, fit_table
from fewlabels.one_class.task import ONE_CLASS
from fewlabels.pipeline.training import cost
from fewlabels.pipeline.training.cost import (
    CostModel,
    choose_sample,
    count_affordable_rows,
    count_encodable_rows,
    estimate_cost,
)
from fewlabels.pipeline.training.schedule import STEPS, Schedule
from fewlabels.positive_unlabelled.task import POSITIVE_UNLABELLED
from fewlabels.semi_supervised.task import SEMI_SUPERVISED


def since(seconds):
    return time.perf_counter() - seconds


def test_shares_of_a_budget():
    at_first = Schedule(60.0, has_report=True)
    assert 20.0 < at_first.seconds_for("settings") < at_first.seconds_for("training") < 60.0
    alone = Schedule(60.0, baselines=False, has_report=True)
    assert alone.seconds_for("settings") > at_first.seconds_for("settings")
    assert alone.seconds_to_compare() == 0.0
    # What was used before comes off, and something is left for the report.
    late = Schedule(60.0, has_report=True, started=since(45.0))
    assert late.seconds_for("settings") < 4.0 and 5.0 < late.seconds_to_compare() < 6.1
    assert 14.0 < late.deadline("report").left() <= 15.0


def test_labels_are_tested_before_methods_are_compared():
    def seconds(budget, used):
        schedule = Schedule(budget, has_report=True, started=since(used))
        return schedule.deadline("test of the labels").left()

    assert 4.9 < seconds(20.0, used=7.0) <= 5.0
    assert seconds(20.0, used=16.0) <= 1.0
    assert 1.9 < seconds(0.0, used=0.0) <= 2.0
    # A few draws are often enough, so a busy machine doesn't take all of its time.
    assert 0.3 < seconds(5.0, used=9.0) < 0.5


@pytest.mark.parametrize("step", list(STEPS))
@pytest.mark.parametrize("used", [0.0, 10.0, 19.9, 25.0])
def test_no_step_takes_more_than_is_left_or_granted(step, used):
    schedule = Schedule(20.0, has_report=True, started=since(used))
    assert 0.0 <= schedule.seconds_for(step) <= max(20.0 - used, 2.5)
    schedule.expire()  # Ctrl-C
    assert schedule.seconds_for(step) <= 0.5


def test_the_parts_of_a_fit_add_up():
    schedule = Schedule(20.0, started=since(3.0))
    schedule.record("reading")
    schedule.record("encoding")
    assert list(schedule.spent) == ["reading", "encoding"]
    assert 3.0 <= sum(schedule.spent.values()) <= schedule.used


def test_what_is_missing_without_a_budget_is_not_blamed_on_it():
    cut = Schedule(20.0).describe_cut("no rates")
    assert cut.startswith("the time budget was too short: no rates")
    assert "too short" not in Schedule(0.0).describe_cut("no rates")


def test_a_budget_that_is_spent():
    spent = Schedule(60.0, has_report=True, started=since(80.0))
    assert spent.seconds_left == 0.0 and spent.seconds_to_compare() == 0.0
    # The rest takes no more than a fifth of the budget and three seconds.
    rest = sum(spent.seconds_for(step) for step in ("trial fits", "test against chance", "report"))
    assert 0.0 < rest < 15.0
    assert Schedule(60.0, baselines=True, started=since(80.0)).seconds_to_compare() == 10.0


def test_no_budget_ends_what_can_be_cut_short():
    nothing = Schedule(0.0, has_report=True)
    assert nothing.seconds_to_compare() == 0.0
    ends = (nothing.deadline(step) for step in ("test against chance", "report"))
    for end in (nothing.calibration_deadline(0.0), *ends):
        assert 0.0 < end.left() <= 2.0
    # Probabilities of a long fit may take a part of its time.
    assert 19.0 < nothing.calibration_deadline(100.0).left() <= 20.0
    assert Schedule(0.0, baselines=True).seconds_to_compare() == 10.0


def test_the_clock_of_the_command_counts(tmp_path):
    table = pd.DataFrame(np.random.default_rng(0).normal(size=(300, 3)), columns=list("abc"))
    training = fit_outcome(table, time_budget=5.0, has_report=True, started=since(100.0))
    assert training.evidence.comparison is None
    assert any("not compared" in note for note in training.facts["notes"])


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
