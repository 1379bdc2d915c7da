"""Which machine a table gets: rows of one class, clean or not, and positives and a pile."""

import json

import numpy as np
import pandas as pd
import pytest

from fewlabels import fit_table
from fewlabels.jobs.training.choice import choose_machine
from fewlabels.jobs.training.comparison import (
    comparison_seconds,
    deadline_of_report,
    seconds_to_choose,
    seconds_to_fit,
)

QUICK = {"time_budget": 0, "report": False}


@pytest.fixture
def healthy(seed):
    X = np.random.default_rng(seed).normal(size=(120, 2))
    return pd.DataFrame(X, columns=["a", "b"])


@pytest.mark.parametrize(
    ("given", "machine", "said"),
    [
        ({}, "svdd-ensemble", "of one class$"),
        ({"clean": True, "time_budget": 60.0}, "svdd", "none of them an anomaly, as --clean says"),
        ({"clean": True}, "svdd-ensemble", "of one class$"),
        ({"clean": False}, "svdd-ensemble", "of one class$"),
        ({"given": {"gamma": 0.1}}, "svdd", "one ball, as --gamma is given"),
        ({"given": {"target_fpr": "none"}}, "svdd", "one ball, as --target-fpr none is given"),
        ({"given": {"target_fpr": 0.1, "tol": 1e-4}}, "svdd-ensemble", "of one class$"),
        ({"given": {"n_bags": 9, "C": 0.2}}, "svdd-ensemble", "of one class$"),
        ({"n_rows": 39}, "svdd", "39 rows are too few for bags"),
        ({"machine": "one-class"}, "one-class", "as --machine says"),
    ],
)
def test_rows_of_one_class(given, machine, said):
    choice = choose_machine(None, **given)
    assert choice.machine == machine
    assert pd.Series([choice.why]).str.contains(said).all()


@pytest.mark.parametrize(
    ("given", "trim", "said"),
    [
        ({}, 0.2, "each bag is learnt without the 20 % of its rows farthest out; clean=True if"),
        ({"clean": False}, 0.2, "without the 20 % of its rows farthest out"),
        ({"clean": True}, 0.0, "none, as clean=True says; all rows are learnt from"),
        ({"trim": 0.1}, 0.1, "each bag is learnt without the 10 %"),
    ],
)
def test_what_becomes_of_odd_rows_is_told(healthy, given, trim, said):
    found = fit_table(healthy, **QUICK, **given)
    training = found.metadata["training"]
    assert found.choice.machine == "svdd-ensemble" and found.model[-1].trim == trim
    assert said in training["odd_rows"]
    assert training["clean"] is given.get("clean")
    assert ("clean=True if" in training["odd_rows"]) == (trim > 0 and "clean" not in given)


def test_clean_rows_get_one_ball(healthy):
    found = fit_table(healthy, time_budget=4, report=False, clean=True)
    assert found.choice.machine == "svdd" and found.model[-1].training_rows_.weight.all()
    assert found.metadata["training"]["odd_rows"].startswith("none, as clean=True says")


def pile(seed, n, n_positive):
    rng = np.random.default_rng(seed)
    state = np.full(n, "", dtype=object)
    state[:n_positive] = "ill"
    X = rng.normal(size=(n, 2)) + 2.0 * (np.arange(n) < 2 * n_positive)[:, None]
    return pd.DataFrame(X, columns=["a", "b"]).assign(state=state)


@pytest.mark.parametrize(
    ("given", "machine"),
    [
        ({"time_budget": 15}, "pu-ensemble"),
        ({"time_budget": 0}, "pusvm"),
        ({"time_budget": 15, "rows": True}, "pusvm"),
        ({"time_budget": 15, "threshold": "prior"}, "pusvm"),
        ({"time_budget": 0, "n_bags": 3}, "pu-ensemble"),
        ({"time_budget": 0, "positive": "ill"}, "pusvm"),
    ],
)
def test_positives_and_a_pile(seed, given, machine):
    found = fit_table(pile(seed, 80, 20), "state", report=False, prior=0.3, **given)
    assert found.choice.machine == machine
    assert ("about 1 s" in found.choice.why) == (given == {"time_budget": 15})


def test_many_positives_are_dear():
    class Labels:
        column, names, counts, mark, n_blank = "state", ["ill"], [3000], "", 9000
        index = np.repeat([0, -1], [3000, 9000])

        def find(self, wanted, role):
            return 0

    assert choose_machine(Labels(), time_budget=60.0).machine == "pusvm"
    assert choose_machine(Labels(), time_budget=6000.0).machine == "pu-ensemble"


def test_one_budget(healthy):
    """Shares add up to the budget, and JSON tells what was used."""
    choice = seconds_to_choose(None, True, 60.0)
    assert choice + comparison_seconds(None, True, 60.0, choice) < 60.0
    assert comparison_seconds(None, True, 60.0, 58.0) == pytest.approx(1.8)
    assert comparison_seconds(True, False, 0.0, 1.0) == 10.0
    assert comparison_seconds(None, False, 60.0, 1.0) == 0.0
    assert seconds_to_choose(None, False, 60.0) > choice
    # Reading and weighing columns come off the choice, but a tenth of the budget is left to it.
    assert seconds_to_choose(None, True, 60.0, 5.0) == pytest.approx(choice - 5.0)
    assert seconds_to_choose(None, True, 60.0, 500.0) == 6.0
    assert choice < seconds_to_fit(None, True, 60.0, 0.0) < seconds_to_fit(None, False, 60.0, 0.0)
    # The report has what is left, a share at least; without a budget there is no end.
    assert 19.0 < deadline_of_report(60.0, 40.0).left() <= 20.0
    assert 2.0 < deadline_of_report(60.0, 500.0).left() <= 3.0
    assert deadline_of_report(0, 5.0).left() == np.inf
    training = fit_table(healthy, time_budget=6).metadata["training"]
    budget = json.loads(json.dumps(training["budget"]))
    assert budget["seconds"] == 6 and budget["fitting"] > 0 and budget["comparing"] > 0
