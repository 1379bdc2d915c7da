"""Training rows of one-class models are judged as new rows are."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

from fewlabels import SVDD, OneClassSVM, SVDDEnsemble, fit_table
from fewlabels.baselines import OneClassBaseline
from fewlabels.one_class.base import count_outside, predict_left_out

RATE = 0.05
MODELS = [
    SVDD(target_fpr=RATE, n_jobs=1),
    OneClassSVM(target_fpr=RATE, nu=0.05, n_jobs=1),
    SVDDEnsemble(n_bags=20, n_jobs=1),
    OneClassBaseline("root-neighbours"),
]
IDS = [type(model).__name__ for model in MODELS]


@pytest.fixture(scope="module")
def wide():
    """Sparse rows of many columns, none of which is like another."""
    return sp.random(400, 6000, density=0.004, random_state=0, format="csr")


@pytest.mark.parametrize("model", MODELS, ids=IDS)
def test_as_many_are_outside_as_of_new_rows(model, wide):
    X = wide if not isinstance(model, OneClassBaseline) else wide.toarray()
    train, new = X[:200], X[200:]
    model.fit(train)
    found = count_outside(model, train)
    assert found.left_out and found.counted == 200
    fresh = float((model.predict(new) < 0).mean())
    assert found.share == pytest.approx(RATE, abs=0.011)
    assert abs(found.share - fresh) < 4 * np.sqrt(RATE * (1 - RATE) * 2 / 200)
    labels = predict_left_out(model, train)
    assert np.count_nonzero(labels < 0) == found.outside


@pytest.mark.parametrize("model", MODELS[:3], ids=IDS[:3])
def test_fit_predict_of_wide_rows(model, wide):
    labels = model.fit_predict(wide[:200])
    assert labels.dtype.kind == "i" and set(labels) == {-1, 1}
    assert (labels < 0).mean() == pytest.approx(RATE, abs=0.011)
    # What predict says of the same rows is no measure of new ones.
    assert abs((model.predict(wide[:200]) < 0).mean() - RATE) > 0.03


@pytest.mark.parametrize("model", MODELS[:3], ids=IDS[:3])
def test_the_labels_are_those_of_models_without_the_row(model):
    rng = np.random.default_rng(0)
    X = np.concatenate([rng.normal(size=(57, 3)), rng.normal(size=(3, 3)) + 9.0])
    model.fit(X)
    labels = predict_left_out(model, X)
    assert (labels[57:] == -1).sum() == np.count_nonzero(labels < 0) == 2  # of 60 rows at 5 %
    conformal = model.conformal_
    if isinstance(model, SVDDEnsemble):
        assert len(set(conformal.rows)) == len(conformal.rows) >= 55  # a row may be in all bags
        return
    assert sorted(conformal.rows) == list(range(60))
    from sklearn.base import clone

    for k in (0, 20, 58):
        other = clone(model).set_params(gamma=model.gamma_).fit(np.delete(X, k, axis=0))
        score = other._solution_now.comparable(other.function_(X[[k]]))[0]
        known = conformal.scores[np.flatnonzero(conformal.rows == k)[0]]
        assert known == pytest.approx(score, rel=1e-3, abs=1e-4)


def test_the_usual_definition_where_predict_is_honest():
    X = np.random.default_rng(0).normal(size=(300, 2))
    for model in (SVDD(), OneClassSVM(nu=0.1), SVDD(target_fpr=0.1), SVDDEnsemble(n_bags=6)):
        np.testing.assert_array_equal(model.fit_predict(X), model.fit(X).predict(X))


def test_rows_that_a_split_holds_out_are_counted():
    X = np.random.default_rng(0).normal(size=(300, 30))
    model = SVDD(target_fpr=RATE, calibration="split", gamma=1.0, n_jobs=1).fit(X)
    found = count_outside(model, X)
    assert found.left_out and found.counted == 150 and found.share <= RATE
    held = model.conformal_.rows
    np.testing.assert_array_equal(predict_left_out(model, X)[held], model.predict(X)[held])


def test_numbers_of_rows_follow_updates():
    X = np.random.default_rng(0).normal(size=(80, 2))
    model = SVDD(target_fpr=0.1, n_jobs=1).fit(X).forget([0, 3])
    rows = model.conformal_.rows
    assert sorted(rows) == list(range(78))
    again = SVDD(target_fpr=0.1, gamma=model.gamma_, n_jobs=1).fit(np.delete(X, [0, 3], axis=0))
    X = model.training_rows_.X
    np.testing.assert_array_equal(predict_left_out(model, X), predict_left_out(again, X))


def test_the_summary_of_a_fit_counts_rows_as_left_out():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(150, 60))
    options = {"time_budget": 0, "report": False, "method": "svdd"}
    table = pd.DataFrame(X, columns=[f"c{k}" for k in range(60)])
    facts = fit_table(table, target_fpr=0.1, **options).metadata["training"]
    assert facts["rows_left_out"] and facts["rows_counted"] == 150
    assert facts["rows_outside"] == 14
    own = fit_table(X, target_fpr="none", rows=True, **options)
    facts = own.metadata["training"]
    decisions = own.model[-1].leave_one_out_decisions()
    assert facts["rows_outside"] == np.count_nonzero(decisions < 0)
