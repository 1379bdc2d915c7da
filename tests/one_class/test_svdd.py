"""SVDD keeps its contract, checked from the definition of the ball."""

import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from reference import kernel_matrix, solve_qp
from sklearn.datasets import load_breast_cancer, load_digits
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics.pairwise import laplacian_kernel
from sklearn.svm import OneClassSVM as LibsvmOneClass

from fewlabels import SVDD

KERNELS = {
    "rbf": (dict(kernel="rbf", gamma=0.1), ("rbf", 0.1)),
    "poly": (dict(kernel="poly", gamma=0.1, degree=2, coef0=1.0), ("poly", 0.1, 2, 1.0)),
    "linear": (dict(kernel="linear"), ("linear",)),
    "sigmoid": (dict(kernel="sigmoid", gamma=0.02, coef0=0.1), ("sigmoid", 0.02, 0.1)),
}
SLACKS = {
    "squared": dict(slack="squared", C=0.6),
    "linear": dict(slack="linear", nu=0.23),
    "linear-C": dict(slack="linear", C=0.031),
}


def squared_distances(machine, K_support, K_cross, diagonal):
    """||phi(x) - centre||^2 from kernel values alone."""
    alpha = machine.dual_coef_[0]
    return diagonal - 2 * K_cross @ alpha + alpha @ K_support @ alpha


@pytest.mark.filterwarnings("ignore:.*not positive semi-definite")
@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("slack", SLACKS)
def test_decision_is_the_distance_to_the_sphere(kernel, slack, real_data):
    parameters, definition = KERNELS[kernel]
    X = real_data("wine")
    new = np.vstack([X[::7] + 0.3, 3 * X[::11]])
    machine = SVDD(**parameters, **SLACKS[slack], tol=1e-6).fit(X)
    vectors = X[machine.support_]
    np.testing.assert_array_equal(machine.support_vectors_, vectors)
    alpha = machine.dual_coef_
    assert alpha.shape == (1, len(machine.support_)) and np.all(alpha > 0)
    assert alpha.sum() == pytest.approx(1.0, abs=1e-12)

    K_support = kernel_matrix(definition, vectors)
    diagonal = np.array([kernel_matrix(definition, row[None])[0, 0] for row in new])
    distance = squared_distances(
        machine, K_support, kernel_matrix(definition, new, vectors), diagonal
    )
    size = diagonal.max()
    decision = machine.decision_function(new)
    np.testing.assert_allclose(decision, machine.radius_**2 - distance, atol=1e-9 * size)
    inner = 2 * kernel_matrix(definition, new, vectors) @ alpha[0]
    score = inner if machine.kernel == "rbf" else -distance
    np.testing.assert_allclose(machine.score_samples(new), score, atol=1e-9 * size)
    # scikit-learn compares these without an absolute tolerance.
    np.testing.assert_allclose(
        machine.score_samples(X) - machine.offset_,
        machine.decision_function(X),
        rtol=1e-7,
        atol=1e-9 * size,
    )
    on_ball = -(machine.radius_**2)
    if machine.kernel == "rbf":
        on_ball += 1.0 + alpha[0] @ K_support @ alpha[0]
    assert machine.offset_ == pytest.approx(on_ball, abs=1e-9 * size)
    np.testing.assert_allclose(
        inner - diagonal + machine.intercept_[0], decision, atol=1e-9 * size
    )
    np.testing.assert_array_equal(machine.predict(new), np.where(decision >= 0, 1, -1))


@pytest.mark.parametrize("kernel", ["rbf", "poly", "linear"])
@pytest.mark.parametrize("slack", SLACKS)
def test_optimality_of_the_ball(kernel, slack, real_data, rng):
    # The conditions of the primal problem, not of the dual: every row outside pays
    # exactly what its alpha says, every row inside pays nothing.
    parameters, _ = KERNELS[kernel]
    X = real_data("cancer")[:300]
    weight = rng.integers(1, 4, len(X)).astype(float)
    machine = SVDD(**parameters, **SLACKS[slack], tol=1e-8).fit(X, sample_weight=weight)
    alpha = np.zeros(len(X))
    alpha[machine.support_] = machine.dual_coef_[0]
    excess = -machine.decision_function(X)  # distance^2 - radius^2
    size = machine.radius_**2
    if slack == "squared":
        # xi_i = alpha_i / (2 C w_i)
        np.testing.assert_allclose(
            np.maximum(excess, 0.0), alpha / (2 * machine.C * weight), atol=1e-6 * size
        )
    else:
        C = machine.C if machine.nu is None else 1 / (machine.nu * weight.sum())
        assert np.all(alpha <= C * weight * (1 + 1e-12))
        at_bound = alpha >= C * weight * (1 - 1e-9)
        assert np.all(excess[at_bound] >= -1e-6 * size)
        assert np.all(excess[alpha == 0] <= 1e-6 * size)
        free = (alpha > 0) & ~at_bound
        assert free.any()
        np.testing.assert_allclose(excess[free], 0.0, atol=1e-6 * size)


@pytest.mark.parametrize("slack", SLACKS)
def test_objective_against_an_independent_solver(slack, real_data):
    X = real_data("iris")
    K = kernel_matrix(("rbf", 0.1), X)
    n, one = len(X), np.ones(len(X))
    machine = SVDD(gamma=0.1, **SLACKS[slack], tol=1e-7).fit(X)
    if slack == "squared":
        Q, upper = 2 * K + np.eye(n) / (2 * machine.C), np.inf * one
    else:
        C = machine.C if machine.nu is None else 1 / (machine.nu * n)
        Q, upper = 2 * K, C * one
    penalty = (0 * one, 0 * one, upper, -np.diag(K), -np.diag(K))
    _, value = solve_qp(Q, penalty, 1.0)
    assert machine.objective_ == pytest.approx(value, rel=1e-6)
    assert 0 <= machine.duality_gap_ + 1e-12 and machine.duality_gap_ < 1e-6 * abs(value)


@pytest.mark.parametrize("nu", [0.07, 0.41, 0.83])
def test_linear_slack_with_rbf_is_the_one_class_svm(nu, real_data):
    X = real_data("cancer")
    theirs = LibsvmOneClass(nu=nu, gamma=0.04, tol=1e-8).fit(X)
    ours = SVDD(slack="linear", nu=nu, gamma=0.04, tol=1e-8).fit(X)
    mass = nu * len(X)
    # decision = 2/mass (f - rho): same boundary, same order.
    np.testing.assert_allclose(
        ours.decision_function(X) * mass / 2, theirs.decision_function(X), atol=1e-5 * mass
    )
    by_C = SVDD(slack="linear", C=1 / mass, gamma=0.04, tol=1e-8).fit(X)
    np.testing.assert_allclose(by_C.decision_function(X), ours.decision_function(X), atol=1e-9)
    assert np.mean(ours.predict(X) < 0) <= nu


def test_linear_kernel_is_the_smallest_ball_of_the_points(rng):
    # C large: the smallest enclosing ball; of the corners of a square it is known.
    corners = np.array([[0.0, 0], [2, 0], [0, 2], [2, 2]])
    X = np.vstack([corners, 0.5 + rng.random((50, 2))])
    machine = SVDD(kernel="linear", slack="linear", C=1.0, tol=1e-9).fit(X)
    assert machine.radius_ == pytest.approx(np.sqrt(2), rel=1e-9)
    centre = machine.dual_coef_[0] @ machine.support_vectors_
    np.testing.assert_allclose(centre, [1.0, 1.0], atol=1e-7)


@pytest.mark.parametrize("slack", SLACKS)
@pytest.mark.parametrize("shift", [0.0, 100.0, 1e4])
def test_linear_ball_moves_with_the_rows(slack, shift, blob):
    # Distances do not change when all rows move, so neither may radius nor decisions,
    # at the default tolerance as well.
    at_home = SVDD(kernel="linear", **SLACKS[slack]).fit(blob)
    moved = SVDD(kernel="linear", **SLACKS[slack]).fit(blob + shift)
    assert moved.radius_ == pytest.approx(at_home.radius_, rel=1e-2)
    np.testing.assert_allclose(
        moved.decision_function(blob + shift),
        at_home.decision_function(blob),
        atol=2e-2 * at_home.radius_**2,
    )


@pytest.mark.parametrize("slack", SLACKS)
def test_radius_without_free_support_vectors(slack, rng):
    # Two far clouds of duplicated points: all support vectors of a cloud are alike, and
    # the radius must not depend on which of them the solver happened to use.
    points = rng.normal(size=(4, 2))
    X = np.repeat(points, 25, axis=0)
    machine = SVDD(gamma=0.5, **SLACKS[slack], tol=1e-8).fit(X)
    shuffled = rng.permutation(len(X))
    again = SVDD(gamma=0.5, **SLACKS[slack], tol=1e-8).fit(X[shuffled])
    assert again.radius_ == pytest.approx(machine.radius_, rel=1e-6)
    np.testing.assert_allclose(
        again.decision_function(points), machine.decision_function(points), atol=1e-6
    )


def test_radius_when_all_support_vectors_are_at_the_bound():
    # nu * n = n_bound: see the twin in test_one_class.py; the middle of the interval.
    n, n_bound = 30, 12
    u = np.where(np.arange(n) < n_bound, 1.0, 3.0) / np.sqrt(n_bound)
    K = np.eye(n) * 20 + np.outer(u, u)
    np.fill_diagonal(K, 20.0)  # constant diagonal: linear slack is the one-class SVM
    machine = SVDD(kernel="precomputed", slack="linear", nu=n_bound / n, tol=1e-10).fit(K)
    distance = machine.radius_**2 - machine.decision_function(K)
    at_bound = np.isin(np.arange(n), machine.support_)
    if at_bound.sum() == n_bound:
        low, high = distance[~at_bound].max(), distance[at_bound].min()
        assert machine.radius_**2 == pytest.approx((low + high) / 2)
    else:
        free = machine.dual_coef_[0] < machine.dual_coef_.max() * (1 - 1e-9)
        np.testing.assert_allclose(
            machine.decision_function(K)[machine.support_[free]], 0, atol=1e-9
        )


@pytest.mark.parametrize("slack", SLACKS)
@pytest.mark.parametrize("kernel", ["rbf", "linear", "poly"])
def test_sparse_equals_dense(slack, kernel, real_data):
    parameters, _ = KERNELS[kernel]
    X = np.where(real_data("digits")[:250] > 0.8, real_data("digits")[:250], 0.0)
    dense = SVDD(**parameters, **SLACKS[slack], tol=1e-7).fit(X)
    for container in (sp.csr_matrix, sp.csr_array, sp.csc_array):
        sparse = SVDD(**parameters, **SLACKS[slack], tol=1e-7).fit(container(X))
        assert sp.issparse(sparse.support_vectors_)
        assert sparse.radius_ == pytest.approx(dense.radius_, rel=1e-6)
        expected = dense.decision_function(X)
        atol = 1e-5 * dense.radius_**2
        np.testing.assert_allclose(sparse.decision_function(container(X)), expected, atol=atol)
        np.testing.assert_allclose(sparse.decision_function(X), expected, atol=atol)


@pytest.mark.parametrize("slack", SLACKS)
def test_precomputed_and_callable_equal_the_kernel(slack, real_data):
    X, new = real_data("wine")[:120], real_data("wine")[120:]
    parameters = dict(tol=1e-7, **SLACKS[slack])
    function = SVDD(kernel=laplacian_kernel, **parameters).fit(X)
    K, K_new = laplacian_kernel(X), laplacian_kernel(new, X)
    matrix = SVDD(kernel="precomputed", **parameters).fit(K)
    np.testing.assert_allclose(
        matrix.decision_function(K_new), function.decision_function(new), atol=1e-7
    )
    # A varying diagonal: K(x, x) of new rows has to be told.
    D, D_new = X @ X.T, new @ X.T
    diagonal = np.einsum("ij,ij->i", new, new)
    matrix = SVDD(kernel="precomputed", **parameters).fit(D)
    linear = SVDD(kernel="linear", **parameters).fit(X)
    with pytest.raises(ValueError, match="diagonal"):
        matrix.predict(D_new)
    expected = linear.decision_function(new)
    np.testing.assert_allclose(
        matrix.decision_function(D_new, diagonal=diagonal), expected, atol=1e-5 * linear.radius_**2
    )
    np.testing.assert_array_equal(
        matrix.predict(D_new, diagonal=diagonal), np.where(expected >= 0, 1, -1)
    )


@pytest.mark.parametrize("slack", SLACKS)
@pytest.mark.parametrize("kernel", ["rbf", "linear"])
def test_weights_are_repetitions(slack, kernel, real_data, rng):
    X = real_data("iris")
    count = rng.integers(0, 4, len(X))
    parameters = {**SLACKS[slack], "kernel": kernel, "tol": 1e-8}  # gamma="scale" too
    weighted = SVDD(**parameters).fit(X, sample_weight=count)
    repeated = SVDD(**parameters).fit(np.repeat(X, count, axis=0))
    assert weighted.radius_ == pytest.approx(repeated.radius_, rel=1e-6)
    np.testing.assert_allclose(
        weighted.decision_function(X),
        repeated.decision_function(X),
        atol=1e-6 * repeated.radius_**2,
    )


SETS = {
    "digit 0": load_digits().data[load_digits().target == 0] / 4.0,
    "benign": load_breast_cancer().data[load_breast_cancer().target == 1][:200] / 100.0,
}


@pytest.mark.parametrize("name", SETS)
@pytest.mark.parametrize("slack", ["squared", "linear"])
def test_solvers_agree(name, slack):
    X = SETS[name]
    parameters = dict(gamma="scale", **SLACKS[slack])
    default = SVDD(tol=1e-6, **parameters).fit(X)
    names = ["decomposition", "qp"]
    if slack == "squared":
        names += ["interior-point", "lagrangian"]
    for solver in names:
        other = SVDD(solver=solver, tol=1e-6 if solver in names[:2] else 1e-3, **parameters).fit(X)
        # The penalised ones deviate by their rho = 200.
        rel = {"decomposition": 1e-6, "qp": 1e-6}.get(solver, 1e-2)
        assert other.objective_ == pytest.approx(default.objective_, rel=rel)
        assert other.radius_ == pytest.approx(default.radius_, rel=rel)
        assert other.duality_gap_ >= -1e-9
        assert other.dual_coef_.sum() == pytest.approx(1.0, abs=1e-9)
        np.testing.assert_allclose(
            other.decision_function(X), default.decision_function(X), atol=2 * rel
        )


def test_lagrangian_is_for_squared_slack(blob):
    for solver in ("lagrangian", "projected", "interior-point"):
        with pytest.raises(ValueError, match="slack='squared'"):
            SVDD(solver=solver, slack="linear", nu=0.1).fit(blob)


def test_small_C_shrinks_the_ball_to_a_point(blob):
    with pytest.warns(ConvergenceWarning, match="radius is 0"):
        machine = SVDD(C=1e-7).fit(blob)
    assert machine.radius_ == 0.0
    # Scores still rank: the centre is the mean, the farthest rows score lowest.
    score = machine.score_samples(np.vstack([blob.mean(axis=0), blob.mean(axis=0) + 9.0]))
    assert score[0] > score[1]
    assert np.all(machine.predict(blob) == -1)


@pytest.mark.parametrize("slack", SLACKS)
@pytest.mark.parametrize("kernel", ["rbf", "linear"])
@pytest.mark.parametrize("n", [1, 2, 40])
def test_equal_rows(slack, kernel, n):
    # Whatever the ball is, these rows lie in its centre.
    X = np.full((n, 3), 2.5)
    parameters = {**SLACKS[slack], "kernel": kernel}
    if slack == "linear-C":
        parameters["C"] = 1.0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        machine = SVDD(**parameters).fit(X)
    assert machine.radius_ == pytest.approx(0.0, abs=1e-5)
    assert machine.dual_coef_.sum() == pytest.approx(1.0)
    assert np.isfinite(machine.decision_function(X)).all()
    assert machine.decision_function(X + 1.0).max() < 0
    assert np.all(machine.predict(X + 1.0) == -1)
    assert machine.fit_status_ == 0


@pytest.mark.parametrize("nu", [0.1, 0.5, 1.0])
def test_share_outside_is_at_most_nu(nu, real_data):
    X = real_data("diabetes")
    machine = SVDD(slack="linear", nu=nu, tol=1e-8).fit(X)
    assert np.mean(machine.predict(X) < 0) <= nu
    assert len(machine.support_) >= nu * len(X) * (1 - 1e-12)


@pytest.mark.parametrize("scale", [1e-9, 1e-6, 1e6])
def test_scores_of_rows_close_together(scale, rng):
    """Where the price of slack outweighs all kernel values, the centre's norm has digits."""
    X = scale * rng.normal(size=(30, 2))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # a ball of radius 0
        machine = SVDD(C=0.5, kernel="linear").fit(X)
    center = machine.dual_coef_[0] @ machine.support_vectors_
    expected = -np.sum((X - center) ** 2, axis=1)
    np.testing.assert_allclose(machine.score_samples(X), expected, rtol=1e-9)
