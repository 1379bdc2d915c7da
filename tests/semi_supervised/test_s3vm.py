"""S3VM against the papers' formulation, scikit-learn's SVC and its own definition."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from reference import kernel_matrix, solve_qp
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import SVC
from sklearn.utils.estimator_checks import parametrize_with_checks

from fewlabels import S3VM
from fewlabels.kernels import RBF
from fewlabels.kernels.operators import BorderedGram, make_gram
from fewlabels.semi_supervised.problem import s3vm_step
from fewlabels.solvers import solve_decomposition


def clouds(rng, n=120, labels=6, d=3, apart=1.0):
    """Two clouds, a few labels of each, NaN for the others."""
    truth = np.where(np.arange(n) % 2 == 0, 1.0, 0.0)
    X = rng.normal(size=(n, d)) + apart * (2 * truth[:, None] - 1)
    y = np.full(n, np.nan)
    y[:labels] = truth[:labels]
    return X, y, truth


@parametrize_with_checks([S3VM(), S3VM(kernel="linear", balance=False, annealing=False)])
def test_estimator_checks(estimator, check):
    check(estimator)


@pytest.mark.parametrize("balanced", [False, True])
def test_merged_variables_are_the_papers_doubled_ones(rng, balanced):
    """Gu et al. (2018), eqs. (6)-(8): unlabelled rows entered twice, as +1 and as -1."""
    n, C, C_star, r = 24, 2.0, 0.7, 0.2
    X = rng.normal(size=(n, 2))
    label = np.where(np.arange(n) < 8, rng.choice([-1.0, 1.0], n), 0.0)
    sign = rng.choice([-1.0, 1.0], n)
    gram, K = make_gram(RBF(0.7), X), kernel_matrix(("rbf", 0.7), X)
    unlabeled = np.flatnonzero(label == 0)
    if balanced:
        mean = np.zeros(n)
        mean[unlabeled] = 1.0 / len(unlabeled)
        gram = BorderedGram.mean_of(gram, unlabeled)
        edge = K @ mean
        K = np.block([[K, edge[:, None]], [edge[None, :], np.array([[mean @ edge]])]])
    problem = s3vm_step(gram, label, sign, C, C_star, r if balanced else None)
    ours = solve_decomposition(problem, tol=1e-9)

    # Labelled rows, unlabelled ones as +1, the same as -1, and the virtual row.
    rows = np.concatenate([np.flatnonzero(label), unlabeled, unlabeled])
    y = np.concatenate([label[label != 0], np.ones(len(unlabeled)), -np.ones(len(unlabeled))])
    mu = np.where(np.arange(len(y)) < 8, 0.0, np.where(y * sign[rows] < 0, C_star, 0.0))
    price = np.where(np.arange(len(y)) < 8, C, C_star)
    lower = np.where(y > 0, -mu, mu - price)
    upper = np.where(y > 0, price - mu, mu)
    slope = -y
    if balanced:
        rows = np.append(rows, n)
        lower, upper = np.append(lower, -np.inf), np.append(upper, np.inf)
        slope = np.append(slope, -r)
    penalty = (lower, lower, upper, slope, slope)
    doubled, _ = solve_qp(K[np.ix_(rows, rows)], penalty, 0.0)
    merged = np.zeros(len(K))
    np.add.at(merged, rows, doubled)
    assert np.abs(K @ merged - K @ ours.a).max() < 1e-4
    assert np.abs(merged - ours.a).max() < 1e-3


@pytest.mark.parametrize("balance", [True, 0.1, False])
@pytest.mark.parametrize("annealing", [True, False])
def test_a_local_minimum(rng, balance, annealing):
    """Value of (1), its decrease and its optimality, from data and coefficients alone."""
    X, y, _ = clouds(rng, apart=0.6)
    model = S3VM(gamma=0.3, balance=balance, annealing=annealing, tol=1e-6).fit(X, y)
    K = kernel_matrix(("rbf", 0.3), X)
    coef = np.zeros(len(X))
    coef[model.support_] = model.dual_coef_[0]
    f = K @ coef + model.intercept_[0]
    assert np.allclose(model.decision_function(X), f, atol=1e-8)
    labelled = ~np.isnan(y)
    margin = np.where(labelled, 2 * np.nan_to_num(y) - 1, 1.0) * f
    hinge = 10.0 * np.maximum(0, 1 - margin[labelled]).sum()
    hat = 5.0 * np.maximum(0, 1 - np.abs(f[~labelled])).sum()
    assert model.objective_ == pytest.approx(0.5 * coef @ K @ coef + hinge + hat, rel=1e-9)
    assert np.all(np.diff(model.objectives_) <= 1e-9 * np.abs(model.objectives_[:-1]))
    assert abs(coef.sum()) < 1e-9
    if balance is not False:
        target = balance if balance is not True else np.mean(2 * y[labelled] - 1)
        assert f[~labelled].mean() == pytest.approx(target, abs=1e-5)
        # Take the virtual row's part out: it is the same for all unlabelled rows.
        parts = coef[~labelled][np.abs(f[~labelled]) > 1 + 1e-4]
        assert np.ptp(parts) < 1e-9
        coef[~labelled] -= parts[0]
    s = np.where(labelled, 2 * np.nan_to_num(y) - 1, np.where(f >= 0, 1.0, -1.0))
    price = np.where(labelled, 10.0, 5.0)
    at = s * coef
    assert np.all(at >= -1e-9) and np.all(at <= price + 1e-9)
    assert np.all((s * f >= 1 - 1e-5)[at < 1e-9])
    assert np.all((s * f <= 1 + 1e-5)[at > price - 1e-9])
    between = (at > 1e-9) & (at < price - 1e-9)
    assert np.allclose((s * f)[between], 1.0, atol=1e-5)
    assert model.kkt_violation_ <= 1e-5


def test_all_labels_make_an_svc(rng):
    X, _, truth = clouds(rng, apart=0.5)
    ours = S3VM(gamma=0.4, tol=1e-6, unlabeled=None).fit(X, truth)
    theirs = SVC(C=10.0, gamma=0.4, tol=1e-6).fit(X, truth)
    assert np.allclose(ours.decision_function(X), theirs.decision_function(X), atol=1e-3)


def test_few_labels_are_enough_when_classes_are_clusters(rng):
    X, y, truth = clouds(rng, n=400, labels=4, apart=1.5)
    assert np.mean(S3VM().fit(X, y).transduction_ == truth) > 0.97


@pytest.mark.filterwarnings("ignore:One of rtol or atol is not valid")
def test_storage_does_not_matter(rng):
    X, y, _ = clouds(rng)
    X = np.round(X, 1)
    fitted = S3VM(gamma=0.2, tol=1e-6).fit(X, y)
    f = fitted.decision_function(X)
    sparse = S3VM(gamma=0.2, tol=1e-6).fit(sp.csr_array(X), y)
    assert np.allclose(sparse.decision_function(sp.csr_array(X)), f, atol=1e-5)
    K = kernel_matrix(("rbf", 0.2), X)
    given = S3VM(kernel="precomputed", tol=1e-6).fit(K, y)
    assert np.allclose(given.decision_function(K), f, atol=1e-5)
    single = S3VM(gamma=0.2, tol=1e-6).fit(X.astype(np.float32), y)
    assert np.allclose(single.decision_function(X.astype(np.float32)), f, atol=1e-3)
    linear = S3VM(kernel="linear").fit(X + 1e5, y)
    assert np.allclose(
        linear.decision_function(X + 1e5), linear.transduction_ * 2 - 1, atol=np.inf
    )
    assert linear.coef_.shape == (1, 3)
    assert np.array_equal(linear.predict(X + 1e5)[6:], linear.transduction_[6:])


CODINGS = {
    "minus one": (np.array([0, 1, -1, -1]), {}),
    "missing": (np.array([0.0, 1.0, np.nan, np.nan]), {}),
    "words": (np.array(["a", "b", None, None], dtype=object), {}),
    "a word as mark": (np.array(["a", "b", "?", "?"], dtype=object), {"unlabeled": "?"}),
    "minus one is a class": (np.array([-1.0, 1.0, np.nan, np.nan]), {"unlabeled": None}),
    "nullable": (pd.array([0, 1, pd.NA, pd.NA], dtype="Int64"), {}),
}


@pytest.mark.parametrize("coding", CODINGS)
def test_codings_of_y(rng, coding):
    values, parameters = CODINGS[coding]
    X, y, _ = clouds(rng, n=40)
    code = np.where(np.isnan(y), 2, np.nan_to_num(y)).astype(int)
    given = pd.array([values[c] for c in code], dtype="Int64") if coding == "nullable" else None
    given = np.array([values[c] for c in code], dtype=values.dtype) if given is None else given
    expected = S3VM().fit(X, y)
    model = S3VM(**parameters).fit(X, given)
    assert model.classes_.tolist() == [values[0], values[1]]
    assert np.array_equal(model.decision_function(X), expected.decision_function(X))
    assert np.array_equal(model.predict(X) == model.classes_[1], expected.predict(X) == 1)


@pytest.mark.parametrize(
    ("y", "words"),
    [
        (np.full(10, np.nan), "no labels"),
        (np.full(10, -1), "no labels"),
        (np.array([1.0] + [np.nan] * 9), "one class only"),
        (np.array([-1.0, 1.0] + [np.nan] * 8), "is -1 a class or the mark"),
        (None, "requires y"),
    ],
)
def test_hopeless_labels_are_refused(y, words):
    with pytest.raises(ValueError, match=words):
        S3VM().fit(np.random.default_rng(0).normal(size=(10, 2)), y)


def test_two_values_are_two_classes(rng):
    X, _, truth = clouds(rng, n=30)
    with pytest.warns(UserWarning, match="only two values"):
        model = S3VM().fit(X, np.where(truth > 0, 1, -1))
    assert model.classes_.tolist() == [-1, 1]


def test_limits_stop_the_whole_fit(rng):
    X, y, _ = clouds(rng, n=300, apart=0.2)
    seen = []
    with pytest.warns(ConvergenceWarning, match="callback"):
        S3VM().fit(X, y, callback=lambda entry: seen.append(entry) or len(seen) >= 3)
    assert len(seen) == 3
    with pytest.warns(ConvergenceWarning, match="max_time"):
        model = S3VM(max_time=1e-9).fit(X, y)
    assert model.fit_status_ == 1 and np.all(np.isfinite(model.decision_function(X)))


@pytest.mark.parametrize("n_classes", [2, 3])
def test_the_certificate_of_a_fit_includes_the_balance(n_classes):
    rng = np.random.default_rng(2)
    side = rng.integers(0, n_classes, 80)
    X = rng.normal(size=(80, 3)) + 1.5 * side[:, None]
    y = np.where(rng.random(80) < 0.3, side, -1)
    y[:6] = np.arange(6) % n_classes
    known, missed = y != -1, []
    for steps in range(140, 260, 10):  # which end far from a solution
        model = S3VM(balance=True, gamma=0.1, annealing=False, max_iter=steps, n_jobs=1)
        with pytest.warns(ConvergenceWarning):
            model.fit(X, y)
        coef = np.zeros((len(np.atleast_1d(model.intercept_)), 80))
        coef[:, model.support_] = model.dual_coef_
        f = coef @ kernel_matrix(("rbf", 0.1), X) + np.reshape(model.intercept_, (-1, 1))
        kinds = model.classes_[1:] if n_classes == 2 else model.classes_
        target = [np.where(y[known] == kind, 1.0, -1.0).mean() for kind in kinds]
        off = np.abs(f[:, ~known].mean(axis=1) - target)
        assert (off <= model.kkt_violation_ + 1e-6).all()
        missed.append(off.max())
    assert max(missed) > 1e-4
