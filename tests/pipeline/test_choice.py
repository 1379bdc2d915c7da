"""Which machine a table gets: rows of one class, clean or not, and positives and a pile."""

import json

import numpy as np
import pandas as pd
import pytest

from fewlabels import fit_table
from fewlabels.pipeline.options.fit import FitOptions
from fewlabels.pipeline.options.flags import as_flags
from fewlabels.pipeline.training.method import choose_method
from fewlabels.tables.columns.target import Labels

pytestmark = pytest.mark.usefixtures("few_trees")

QUICK = {"time_budget": 0, "report": False}


@pytest.fixture
def healthy(seed):
    X = np.random.default_rng(seed).normal(size=(120, 2))
    return pd.DataFrame(X, columns=["a", "b"])


@pytest.mark.parametrize(
    ("given", "machine", "said"),
    [
        ({}, "svdd-ensemble", "as one class$"),
        ({"clean": True, "seconds": 60.0}, "svdd", "no anomalies .--clean.$"),
        ({"clean": True}, "svdd-ensemble", "as one class$"),
        ({"clean": False}, "svdd-ensemble", "as one class$"),
        ({"gamma": 0.1}, "svdd", "a single model, because --gamma is given"),
        (
            {"target_fpr": "none"},
            "svdd",
            "a single model, because --target-fpr none is given",
        ),
        ({"target_fpr": 0.1, "tol": 1e-4}, "svdd-ensemble", "as one class$"),
        ({"n_bags": 9, "C": 0.2}, "svdd-ensemble", "as one class$"),
        ({"n_rows": 39}, "svdd", "39 rows are too few for an ensemble"),
        ({"method": "one-class"}, "one-class", "set with --method"),
    ],
)
def test_rows_of_one_class(given, machine, said):
    about = {name: given[name] for name in given.keys() & {"n_rows", "seconds"}}
    options = FitOptions(**{name: given[name] for name in given.keys() - about.keys()})
    choice = choose_method(None, options, **about)
    assert choice.method == machine
    assert pd.Series([as_flags(choice.why)]).str.contains(said).all()


@pytest.mark.parametrize(
    ("given", "trim", "said"),
    [
        ({}, "auto", "if the data suggest it; pass clean=True if"),
        ({"clean": False}, "auto", "bags drop their most distant rows"),
        ({"clean": True}, 0.0, "none (clean=True); all rows are used for training"),
        ({"trim": 0.1}, 0.1, "each bag drops its most distant 10 %"),
    ],
)
def test_what_becomes_of_odd_rows_is_told(healthy, given, trim, said):
    found = fit_table(healthy, **QUICK, **given)
    training = found.metadata["training"]
    assert found.choice.method == "svdd-ensemble" and found.model[-1].trim == trim
    assert said in training["odd_rows"]
    assert training["clean"] is given.get("clean")
    assert ("clean=True if" in training["odd_rows"]) == (trim != 0 and "clean" not in given)


def test_clean_rows_get_one_ball(healthy):
    found = fit_table(healthy, time_budget=4, report=False, clean=True)
    assert found.choice.method == "svdd" and found.model[-1].training_rows_.weight.all()
    assert found.metadata["training"]["odd_rows"].startswith("none (clean=True)")


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
    assert found.choice.method == machine
    assert " takes about " not in found.choice.why


def test_many_positives_are_dear():
    labels = Labels("state", "f", ["ill"], [3000], np.repeat([0, -1], [3000, 9000]))
    assert choose_method(labels, FitOptions(), seconds=60.0).method == "pusvm"
    assert choose_method(labels, FitOptions(), seconds=6000.0).method == "pu-ensemble"


def test_one_budget(healthy):
    """JSON tells what was used."""
    training = fit_table(healthy, time_budget=6).metadata["training"]
    budget = json.loads(json.dumps(training["budget"]))
    spent = budget["spent"]
    assert list(spent) == ["reading", "encoding", "settings and fit", "tests", "comparison"]
    assert budget["seconds"] == 6 and all(seconds >= 0 for seconds in spent.values())


@pytest.mark.parametrize(
    ("scored", "words"),
    [
        (0, "defaults; no others were compared until Ctrl-C"),
        (1, "defaults; no others were compared until Ctrl-C"),
        (3, "best of 3 candidates (held-out positives vs. unlabelled rows) until Ctrl-C"),
    ],
)
def test_candidates_that_a_search_never_scored_are_not_counted(scored, words):
    from types import SimpleNamespace

    from fewlabels.pipeline.tasks.positive_unlabelled import explain_tuning

    table = pd.DataFrame({"gamma": [0.1, 0.2, 0.3, 0.4], "chosen": [True, False, False, False]})
    table["folds"] = [2] * scored + [0] * (4 - scored)
    tuning = SimpleNamespace(candidates=table, stopped="Ctrl-C", chosen={"gamma": 0.1})
    assert explain_tuning(tuning) == words
