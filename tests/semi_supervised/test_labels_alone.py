"""S3VM of the labelled rows alone (C_star=0), and intercepts that follow a class ratio."""

import pickle

import numpy as np
import pytest
from scipy.special import expit, softmax
from sklearn.svm import SVC

from fewlabels import S3VM


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(0)
    truth = rng.choice(3, 300, p=[0.6, 0.3, 0.1])
    X = rng.normal(size=(300, 3)) + np.eye(3)[truth] * 2.0
    return X, truth


def labelled(truth, n_classes, n_each=12):
    given = np.full(len(truth), np.nan)
    truth = np.minimum(truth, n_classes - 1)
    for number in range(n_classes):
        given[np.flatnonzero(truth == number)[:n_each]] = number
    return given


@pytest.mark.parametrize("solver", ["auto", "path", "branch-and-bound"])
def test_without_a_cost_of_unlabelled_rows_it_is_the_svm_of_the_labels(rows, solver):
    X, given = rows[0], labelled(rows[1], 2)
    known = ~np.isnan(given)
    model = S3VM(C=2.0, C_star=0, gamma=0.3, balance=False, solver=solver, tol=1e-8).fit(X, given)
    other = SVC(C=2.0, gamma=0.3, tol=1e-9).fit(X[known], given[known])
    assert np.abs(model.decision_function(X) - other.decision_function(X)).max() < 1e-6
    assert model.objective_ == pytest.approx(_primal(other, X[known], given[known]), rel=1e-7)


def _primal(svc, X, y):
    coef, values = (
        svc.dual_coef_[0],
        np.exp(
            -0.3 * ((svc.support_vectors_[:, None] - svc.support_vectors_[None]) ** 2).sum(axis=2)
        ),
    )
    loss = np.maximum(0.0, 1.0 - (2.0 * y - 1.0) * svc.decision_function(X))
    return 0.5 * coef @ values @ coef + svc.C * loss.sum()


def test_branch_and_bound_proves_the_convex_problem_at_once(rows):
    X, given = rows[0], labelled(rows[1], 2)
    model = S3VM(C_star=0, solver="branch-and-bound").fit(X, given)
    assert model.optimality_gap_ == 0.0 and model.n_nodes_ == 0


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("balance", [True, False])
def test_updates_end_where_a_fit_does(rows, n_classes, balance):
    X, given = rows[0], labelled(rows[1], n_classes)
    settings = {"C": 1.0, "C_star": 0.0, "balance": balance, "gamma": 0.3, "tol": 1e-8}
    model = S3VM(**settings).fit(X[:280], given[:280])
    model.partial_fit(X[280:], np.where(np.arange(20) % 2, np.nan, 1.0)).forget([3])
    then = np.concatenate([given[:280], np.where(np.arange(20) % 2, np.nan, 1.0)])
    again = S3VM(**settings).fit(np.delete(X, 3, axis=0), np.delete(then, 3))
    assert np.abs(model.decision_function(X) - again.decision_function(X)).max() < 1e-5
    model.reprice(C_star=0.5).reprice(C_star=0.0)
    assert np.max(model.kkt_violation_) < 1e-9
    assert np.abs(model.decision_function(X) - again.decision_function(X)).max() < 1e-5


@pytest.mark.parametrize("C, C_star", [(0.0, 1.0), (1.0, -0.5), (1.0, np.inf)])
def test_prices_out_of_range_are_refused(rows, C, C_star):
    model = S3VM().fit(rows[0], labelled(rows[1], 2))
    with pytest.raises(ValueError, match="is not a cost; pass a number >"):
        model.reprice(C=C, C_star=C_star)


@pytest.mark.parametrize("solver", ["auto", "path"])
def test_a_ratio_without_a_constraint_moves_the_intercept(rows, solver):
    X, given = rows[0], labelled(rows[1], 2)
    settings = {"C": 1.0, "C_star": 0.0, "balance": False, "probability": "sigmoid"}
    plain = S3VM(**settings, solver=solver).fit(X, given)
    model = S3VM(**settings, solver=solver, class_ratio=0.2).fit(X, given)
    offset = model.decision_function(X) - plain.decision_function(X)
    assert np.ptp(offset) < 1e-6 and offset[0] < -0.1
    free = np.isnan(given)
    p = model.predict_proba(X)[:, 1]
    assert p[free].mean() == pytest.approx(0.2, abs=1e-9)
    assert np.array_equal(p > 0.5, model.decision_function(X) > 0.0)
    curve = model.curve_
    slope, moved = curve.slope, plain.decision_function(X) + offset[0]
    assert p == pytest.approx(expit(slope * moved), abs=1e-6)
    assert np.array_equal(model.transduction_[free], model.predict(X)[free])
    assert model.training_decisions_ == pytest.approx(model.decision_function(X), abs=1e-6)
    kept = model.left_out_decisions_[~free, 0] - plain.decision_function(X)[~free]
    assert np.median(kept) < 0.5 * offset[0]


def test_several_classes_are_moved_to_their_shares(rows):
    X, given = rows[0], labelled(rows[1], 3)
    settings = {"C": 1.0, "C_star": 0.0, "balance": False, "probability": "sigmoid"}
    model = S3VM(**settings, class_ratio=[0.6, 0.3, 0.1]).fit(X, given)
    plain = S3VM(**settings).fit(X, given)
    free, p = np.isnan(given), model.predict_proba(X)
    assert p[free].mean(axis=0) == pytest.approx([0.6, 0.3, 0.1], abs=1e-6)
    decision = model.decision_function(X)
    # One intercept stands for the curves of a cross-fit: it is right but for a small change.
    assert p == pytest.approx(softmax(model.curve_.slope * decision, axis=1), abs=0.02)
    truth = rows[1]
    assert np.mean(model.predict(X) == truth) > np.mean(plain.predict(X) == truth)


def test_updates_and_files_keep_the_intercept(rows):
    X, given = rows[0], labelled(rows[1], 2)
    settings = {"C": 1.0, "C_star": 0.0, "balance": False}
    model = S3VM(**settings, class_ratio=0.2).fit(X, given)
    plain = S3VM(**settings).fit(X, given)
    offset = model.decision_function(X[:1]) - plain.decision_function(X[:1])
    for one in (model, plain):
        one.partial_fit(X[:3] + 0.2, [0.0, np.nan, 1.0])
    again = pickle.loads(pickle.dumps(model))
    for one in (model, again):
        assert one.decision_function(X) - offset == pytest.approx(
            plain.decision_function(X), abs=1e-6
        )
        assert one.training_decisions_[:300] == pytest.approx(one.decision_function(X), abs=1e-6)
