"""PUSVM keeps its contract, checked from the definition of the risk (4)."""

import warnings

import numpy as np
import pytest
from reference import kernel_matrix
from reference.pu import (
    clouds,
    double_hinge,
    dual_value,
    kkt_excess,
    ramp,
    regularised_risk,
    shares,
    smallest_risk,
)
from sklearn.metrics.pairwise import laplacian_kernel

from fewlabels import PUSVM

KERNELS = {
    "rbf": (dict(kernel="rbf", gamma=0.5), ("rbf", 0.5)),
    "narrow": (dict(kernel="rbf", gamma=20.0), ("rbf", 20.0)),
    "poly": (dict(kernel="poly", gamma=0.2, degree=2, coef0=1.0), ("poly", 0.2, 2, 1.0)),
    "linear": (dict(kernel="linear"), ("linear",)),
}


def coefficients(machine, n):
    coef = np.zeros(n)
    coef[machine.support_] = machine.dual_coef_[0]
    return coef


def assert_optimal(machine, K, y, tol, weight=None):
    """Every number that a fit reports, recomputed from data and coefficients."""
    positive, lam, prior = y == 1, machine.lam_, machine.prior_
    in_p, in_u = shares(positive, weight)
    coef, c2 = coefficients(machine, len(y)), in_u / (2.0 * lam)
    size = 1.0 + float(np.abs(coef).max() * np.abs(K).max())
    np.testing.assert_allclose(coef[positive], prior * in_p[positive] / (2 * lam), rtol=1e-9)
    sigma = np.where(positive, 0.0, -coef)
    assert abs(coef.sum()) <= 1e-9 * np.abs(coef).sum()

    value = regularised_risk(K, positive, coef, machine.risk_intercept_, prior, lam, weight)
    bound = dual_value(K, positive, sigma, prior, lam, weight)
    best = smallest_risk(K, positive, prior, lam, weight)
    assert machine.objective_ == pytest.approx(value, abs=1e-8 * size)
    assert -1e-7 * size <= value - best <= tol + 1e-7 * size
    assert bound <= best + 1e-7 * size
    assert machine.duality_gap_ == pytest.approx(value - bound, abs=1e-8 * size)
    assert machine.fit_status_ == 0
    used = in_u > 0
    f = K @ coef + machine.risk_intercept_
    if machine.solver != "qp":  # whose tolerance is on the gap
        assert kkt_excess(f[used], sigma[used], c2[used]) <= tol * (1 + 1e-6) + 1e-9 * size


@pytest.mark.parametrize("lam", [1e-3, 0.05, 1.0])
@pytest.mark.parametrize("solver", ["decomposition", "usmo", "qp"])
@pytest.mark.parametrize("kernel", KERNELS)
def test_optimal_by_an_independent_solver(kernel, solver, lam, rng):
    parameters, definition = KERNELS[kernel]
    X, y = clouds(rng, 60, 20, distance=1.0)
    machine = PUSVM(0.37, lam, solver=solver, tol=1e-5, threshold="risk", **parameters).fit(X, y)
    assert_optimal(machine, kernel_matrix(definition, X), y, 1e-5)


@pytest.mark.parametrize("solver", ["decomposition", "usmo", "qp"])
def test_precomputed_and_callable_kernels(solver, rng):
    X, y = clouds(rng, 50, 15)
    order = rng.permutation(len(X))  # positives anywhere
    X, y = X[order], y[order]
    K = laplacian_kernel(X, gamma=0.3)
    new = rng.normal(size=(30, 3))
    decisions = []
    for kernel, rows, scored in (
        ("precomputed", K, laplacian_kernel(new, X, gamma=0.3)),
        (lambda A, B: laplacian_kernel(A, B, gamma=0.3), X, new),
    ):
        machine = PUSVM(0.4, kernel=kernel, solver=solver, tol=1e-6).fit(rows, y)
        assert_optimal(machine, K, y, 1e-6)
        decisions.append(machine.decision_function(scored))
        np.testing.assert_array_equal(machine.transduction_[y == 0], machine.predict(rows)[y == 0])
    np.testing.assert_allclose(decisions[0], decisions[1], atol=1e-5)


def test_decision_function_is_the_expansion(rng):
    X, y = clouds(rng)
    new = rng.normal(size=(40, 3)) * 2
    for name, (parameters, definition) in KERNELS.items():
        machine = PUSVM(0.4, tol=1e-5, **parameters).fit(X, y)
        np.testing.assert_array_equal(machine.support_vectors_, X[machine.support_])
        expected = kernel_matrix(definition, new, X[machine.support_]) @ machine.dual_coef_[0]
        expected += machine.intercept_[0]
        decision = machine.decision_function(new)
        np.testing.assert_allclose(decision, expected, atol=1e-9 * (1 + np.abs(expected).max()))
        np.testing.assert_array_equal(machine.predict(new), np.where(decision > 0, 1.0, 0.0))
        among = machine.support_ < 40
        np.testing.assert_array_equal(machine.n_support_, [np.sum(~among), np.sum(among)])
        if name == "linear":
            assert machine.coef_.shape == (1, 3)
            np.testing.assert_allclose(new @ machine.coef_[0] + machine.intercept_, decision)
        else:
            assert not hasattr(machine, "coef_")


def test_sigmoid_is_indefinite_and_still_answered(rng):
    X, y = clouds(rng)
    machine = PUSVM(0.4, kernel="sigmoid", gamma=0.1, coef0=0.0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        machine.fit(X, y)
    assert np.isfinite(machine.decision_function(X)).all()
    assert np.mean(machine.predict(X[:40])) > 0.5
    with pytest.raises(ValueError, match="semi-definite"):
        PUSVM(0.4, kernel="sigmoid", gamma=1.0, coef0=-1.0, solver="qp").fit(X, y)


@pytest.mark.parametrize("n, p", [(1, 1), (1, 5), (2, 1), (5, 1), (30, 1)])
@pytest.mark.parametrize("solver", ["decomposition", "usmo", "qp"])
@pytest.mark.parametrize("prior", [0.02, 0.5, 0.98])
def test_few_rows(n, p, solver, prior, rng):
    X, y = clouds(rng, n, p, 2)
    machine = PUSVM(prior, 0.1, gamma=0.5, solver=solver, tol=1e-6).fit(X, y)
    assert_optimal(machine, kernel_matrix(("rbf", 0.5), X), y, 1e-6)


@pytest.mark.parametrize("n, p", [(1, 1), (1, 5), (5, 1), (40, 15)])
@pytest.mark.parametrize("solver", ["decomposition", "usmo", "qp"])
def test_bias_without_free_rows_is_the_middle_of_the_interval(n, p, solver, rng):
    # prior n = a whole number of halves and a heavy norm: every sigma on a breakpoint.
    X, y = clouds(rng, n, p, 2)
    machine = PUSVM(0.5, 50.0, gamma=0.5, solver=solver, tol=1e-6, threshold="risk").fit(X, y)
    coef = coefficients(machine, len(y))
    tau = -coef[y == 0] * 2 * 50.0 * n
    np.testing.assert_allclose(tau, 0.5, atol=1e-9)
    # (11) leaves -1 <= f <= 1 at all unlabelled rows.
    f = (kernel_matrix(("rbf", 0.5), X) @ coef)[y == 0]
    assert machine.risk_intercept_ == pytest.approx(-0.5 * (f.min() + f.max()), abs=1e-7)


@pytest.mark.parametrize("n", [900, 1700, 2300])
@pytest.mark.parametrize("prior", [0.25, 0.4])
def test_bias_is_optimal_although_rounding_leaves_a_row_beside_its_kink(n, prior, rng):
    # All sigma sit on breakpoints but for 1e-11 of one, from which no bias may come.
    X, y = clouds(rng, n, 100, 2, prior, distance=1.0)
    for lam in (0.5, 1.0):
        machine = PUSVM(prior, lam, gamma=0.3).fit(X, y)
        coef = coefficients(machine, len(y))
        K = kernel_matrix(("rbf", 0.3), X)
        at = [
            regularised_risk(K, y == 1, coef, b, prior, lam)
            for b in (machine.risk_intercept_, *np.linspace(-2, 2, 41))
        ]
        assert at[0] <= min(at) + 1e-3
        assert machine.duality_gap_ <= 1e-3
        assert machine.objective_ == pytest.approx(at[0], abs=1e-5)


@pytest.mark.parametrize("lam", [1e-9, 1e-6, 1e4, 1e9])
def test_extreme_lambda(lam, rng):
    X, y = clouds(rng, 60, 20)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        machine = PUSVM(0.4, lam, gamma=0.5).fit(X, y)
    K, coef = kernel_matrix(("rbf", 0.5), X), coefficients(machine, len(y))
    value = regularised_risk(K, y == 1, coef, machine.risk_intercept_, 0.4, lam)
    best = smallest_risk(K, y == 1, 0.4, lam)
    assert machine.objective_ == pytest.approx(value, abs=1e-4)
    assert value <= best + 1e-3


def test_large_fit_is_certified_by_other_code(rng):
    # More than a thousand rows: float32 kernel values, coarse start, working sets.
    X, y = clouds(rng, 1600, 150, 4, distance=1.0)
    K = kernel_matrix(("rbf", 0.3), X)
    for lam in (1e-4, 1e-2, 0.2):
        machine = PUSVM(0.4, lam, gamma=0.3, tol=1e-4).fit(X, y)
        coef = coefficients(machine, len(y))
        value = regularised_risk(K, y == 1, coef, machine.risk_intercept_, 0.4, lam)
        bound = dual_value(K, y == 1, np.where(y == 1, 0.0, -coef), 0.4, lam)
        assert 0 <= value - bound + 1e-12 <= 1e-4
        assert machine.objective_ == pytest.approx(value, abs=1e-5)
        assert machine.duality_gap_ == pytest.approx(value - bound, abs=1e-5)


def test_initialiser_alone(rng):
    X, y = clouds(rng, 200, 50)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        start = PUSVM(0.4, threshold="prior", solver="usmo", max_iter=0).fit(X, y)
    assert start.fit_status_ == 1
    full = PUSVM(0.4, solver="usmo").fit(X, y)
    assert start.objective_ > full.objective_
    coef = coefficients(start, len(y))
    K = kernel_matrix(("rbf", start.gamma_), X)
    value = regularised_risk(K, y == 1, coef, start.risk_intercept_, 0.4, start.lam_)
    assert start.objective_ == pytest.approx(value, abs=1e-9)
    assert start.predict(X)[y == 0].mean() == pytest.approx(0.4, abs=1 / 200)


# -- ramp ------------------------------------------------------------------------------------


@pytest.mark.parametrize("lam", [1e-3, 0.03])
@pytest.mark.parametrize("tol", [1e-3, 1e-7])
def test_ramp_is_stationary_and_never_rises(lam, tol, rng):
    for distance in (0.3, 1.0, 2.0):
        X, y = clouds(rng, 90, 30, 2, distance=distance)
        positive = y == 1
        K = kernel_matrix(("rbf", 0.7), X)
        machine = PUSVM(0.37, lam, "ramp", gamma=0.7, tol=tol).fit(X, y)
        steps = np.array(machine.objectives_)
        assert np.all(np.diff(steps) <= 1e-12 + 1e-3 * tol)
        coef, b = coefficients(machine, len(y)), machine.risk_intercept_
        value = regularised_risk(K, positive, coef, b, 0.37, lam, loss=ramp)
        assert machine.objective_ == steps[-1] == pytest.approx(value, abs=1e-9)
        assert abs(coef.sum()) <= 1e-9 * np.abs(coef).sum()
        # Where the ramp is flat a row has no pull, on the slope all of its price.
        in_p, in_u = shares(positive)
        price = np.where(positive, 0.37 * in_p / (2 * lam), in_u / (4 * lam))
        sign = np.where(positive, 1.0, -1.0)
        margin, pull = sign * (K @ coef + b), sign * coef / price
        assert np.all((pull >= -1e-9) & (pull <= 1 + 1e-9))
        edge = 1.01 * tol + 1e-9
        np.testing.assert_allclose(pull[np.abs(margin) > 1 + edge], 0.0, atol=1e-9)
        np.testing.assert_allclose(pull[np.abs(margin) < 1 - edge], 1.0, atol=1e-9)


def test_ramp_by_qp_and_engine(rng):
    X, y = clouds(rng, 80, 30, 2, distance=1.0)
    for lam in (1e-3, 1e-2, 0.1):
        ours = PUSVM(0.4, lam, "ramp", "risk", tol=1e-8).fit(X, y)
        theirs = PUSVM(0.4, lam, "ramp", "risk", tol=1e-8, solver="qp").fit(X, y)
        # The first step is the same convex problem; so are all, as long as none is degenerate.
        assert ours.objectives_[0] == pytest.approx(theirs.objectives_[0], abs=1e-6)
        assert ours.objective_ == pytest.approx(theirs.objective_, abs=1e-6)
        np.testing.assert_allclose(
            ours.decision_function(X), theirs.decision_function(X), atol=1e-4
        )


def test_ramp_beats_the_double_hinge_in_its_own_risk(rng):
    for _ in range(5):
        X, y = clouds(rng, 90, 30, 2, distance=1.0)
        K, positive = kernel_matrix(("rbf", 0.5), X), y == 1
        hinge = PUSVM(0.4, 1e-3, gamma=0.5).fit(X, y)
        other = PUSVM(0.4, 1e-3, "ramp", gamma=0.5).fit(X, y)
        coef = coefficients(hinge, len(y))
        value = regularised_risk(K, positive, coef, hinge.risk_intercept_, 0.4, 1e-3, loss=ramp)
        assert other.objective_ <= value + 1e-6


@pytest.mark.parametrize(("scale", "offset"), [(1.0, 0.0), (1e3, 0.0), (1e6, 0.0), (1e6, 3e9)])
@pytest.mark.parametrize("max_iter", [20, 200])
@pytest.mark.filterwarnings("ignore")
def test_the_objective_of_an_early_stop_is_that_of_the_function(scale, offset, max_iter, rng):
    X, known = clouds(rng, n=300)[:2]
    machine = PUSVM(kernel="linear", prior=0.4, max_iter=max_iter).fit(X * scale + offset, known)
    f = machine.decision_function(X * scale + offset)
    f += machine.risk_intercept_ - machine.intercept_
    in_p, in_u = shares(known)
    value = float(
        machine.lam_ * np.square(machine.coef_).sum() - 0.4 * in_p @ f + in_u @ double_hinge(-f)
    )
    assert machine.objective_ == pytest.approx(value, rel=1e-6, abs=1e-9)
    best = PUSVM(kernel="linear", prior=0.4, lam=machine.lam_ * scale**2, tol=1e-8)
    assert machine.objective_ - machine.duality_gap_ <= best.fit(X, known).objective_ + 1e-9
