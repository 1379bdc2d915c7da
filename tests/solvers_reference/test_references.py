"""SVDD by the papers' solvers: what they reached is reported, and their settings are users'."""

import warnings

import numpy as np
import pytest
from reference import kernel_matrix
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from fewlabels import PUSVM, SVDD
from fewlabels.solvers import REFERENCE_SOLVERS, Status
from fewlabels.solvers.run import Result, check_gap

PAPERS = ["lagrangian", "projected", "interior-point"]
OPTIONS = [(name, option) for name in PAPERS for option in REFERENCE_SOLVERS[name].options]


def fitted(X, **parameters):
    """A model and whether it warned about convergence."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model = SVDD(**parameters).fit(X)
    return model, any(w.category is ConvergenceWarning for w in caught)


def variance(model, X):
    """Total variance of the rows in the kernel's feature space."""
    centred = X - X.mean(axis=0) if model.kernel == "linear" else X
    kind = ("linear",) if model.kernel == "linear" else ("rbf", model.gamma_)
    K = kernel_matrix(kind, centred)
    return np.trace(K) / len(X) - K.mean()


def random_case(seed):
    """Rows of any size, and settings."""
    rng = np.random.default_rng(seed)
    n, d = rng.integers(5, 80), rng.integers(1, 20)
    X = rng.normal(size=(n, d)) * 10.0 ** rng.uniform(-2, 2) + rng.normal(size=d)
    settings = {
        "kernel": rng.choice(["rbf", "linear"]),
        "C": 10.0 ** rng.uniform(-2, 1.5),
        "tol": 10.0 ** rng.uniform(-6, -1),
        "max_iter": int(rng.choice([3, 300, 2000])),
    }
    return X, {k: v.item() if isinstance(v, np.generic) else v for k, v in settings.items()}


@pytest.mark.parametrize("seed", range(25))
def test_status_0_means_that_the_gap_is_within_the_tolerance(seed):
    X, settings = random_case(seed)
    for solver in PAPERS:
        model, warned = fitted(X, solver=solver, **settings)
        # The optimum lies within the gap, and the gap within what tol allows.
        is_within = model.duality_gap_ <= settings["tol"] * variance(model, X) * (1 + 1e-6) + 1e-9
        assert model.fit_status_ == (not is_within)
        # A ball that has shrunk to a point warns as well.
        assert warned == (model.fit_status_ == 1 or model.radius_ == 0.0)


def test_both_outcomes_occur_among_these_cases():
    outcomes = {
        fitted(X, solver=solver, **settings)[0].fit_status_
        for X, settings in map(random_case, range(6))
        for solver in ("lagrangian", "projected")
    }
    assert outcomes == {0, 1}


def test_the_projected_solver_says_that_it_stopped_far_from_the_optimum():
    X = np.random.default_rng(0).normal(size=(300, 20))
    with pytest.warns(ConvergenceWarning, match=r"gap of 0\.\d+ .* pass solver='decomposition'"):
        model = SVDD(solver="projected").fit(X)
    best = SVDD().fit(X)
    assert model.fit_status_ == 1
    assert model.objective_ > best.objective_ + 0.01
    assert model.objective_ - model.duality_gap_ <= best.objective_ + 1e-9


@pytest.mark.parametrize(
    ("status", "gap", "expected"),
    [
        (Status.CONVERGED, 1.0, Status.CONVERGED),
        (Status.CONVERGED, 1.1, Status.INEXACT),
        (Status.MAX_ITER, 1.0, Status.CONVERGED),
        (Status.MAX_ITER, 1.1, Status.MAX_ITER),
        (Status.STOPPED, 0.1, Status.STOPPED),
        (Status.INTERRUPTED, 0.1, Status.INTERRUPTED),
        (Status.CONVERGED, np.nan, Status.CONVERGED),
    ],
)
def test_the_status_follows_from_the_gap(status, gap, expected):
    result = Result(np.ones(1), np.ones(1), 0.0, 0.0, gap, 0.0, status, 1)
    assert check_gap(result, gap, 1.0).status is expected


@pytest.mark.parametrize("seed", range(10))
def test_usmo_with_status_0_is_within_its_tolerance(seed):
    rng = np.random.default_rng(seed)
    n, tol = int(rng.integers(20, 120)), 10.0 ** rng.uniform(-5, -1)
    X = rng.normal(size=(n, 3)) * 10.0 ** rng.uniform(-1, 1)
    y = np.r_[np.ones(8), np.zeros(n - 8)]
    X[:8] += 1.0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        limit = int(rng.choice([-1, 5]))
        lam = 10.0 ** rng.uniform(-3, 0)
        model = PUSVM(0.3, lam=lam, solver="usmo", tol=tol, max_iter=limit).fit(X, y)
    if model.fit_status_ == 0:
        assert model.duality_gap_ <= tol * (1 + 1e-9) + 1e-12
    else:
        assert limit == 5


def test_a_looser_tolerance_is_less_work_with_algorithm_1():
    X = np.random.default_rng(0).normal(size=(120, 5))
    runs = [fitted(X, solver="lagrangian", tol=tol)[0] for tol in (1e-1, 1e-2, 1e-3, 1e-4)]
    steps, gaps = [m.n_iter_ for m in runs], [m.duality_gap_ for m in runs]
    assert steps == sorted(set(steps))
    assert gaps == sorted(set(gaps), reverse=True)
    assert all(m.fit_status_ == 0 for m in runs)
    # The default is the paper's rule, 1e-5.
    paper = fitted(X, solver="lagrangian", solver_options={"epsilon": 1e-5})[0]
    assert paper.n_iter_ == steps[2]


def as_printed(K, C, rho, rate, epsilon):
    """Algorithm 1: its vector and the number of iterations."""
    n = len(K)
    Q, v = np.eye(n) / (2 * C) + 2 * K + 2 * rho, np.diag(K) + 2 * rho
    inverse, gamma = np.linalg.inv(Q), rate / C
    a = inverse @ v
    for k in range(1, 3001):
        before, a = a, inverse @ (v + np.maximum(Q @ a - v - gamma * a, 0.0))
        if np.linalg.norm(a - before) <= epsilon:
            return a, k
    return a, 3000


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"rho": 2.0},
        {"rate": 0.3},
        {"epsilon": 1e-3},
        {"rho": 50, "rate": 0.9, "epsilon": 1e-6},
    ],
)
def test_the_settings_of_algorithm_1_are_the_papers(options):
    X = np.random.default_rng(1).normal(size=(60, 3))
    model = fitted(X, solver="lagrangian", gamma=0.2, solver_options=options)[0]
    used = {"rho": 200.0, "rate": 0.95, "epsilon": 1e-5, **options}
    a, n_iter = as_printed(kernel_matrix(("rbf", 0.2), X), 2.0, **used)
    assert model.n_iter_ == n_iter
    coef = np.zeros(len(X))
    coef[model.support_] = model.dual_coef_[0]
    np.testing.assert_allclose(coef, np.maximum(a, 0) / np.maximum(a, 0).sum(), atol=1e-4)


def test_the_step_of_eq_25_can_be_set():
    X = np.random.default_rng(2).normal(size=(40, 3))
    steps = [
        fitted(X, solver="projected", solver_options={"step": s, "rho": 2.0, "epsilon": 1e-9})[0]
        for s in (0.2, 0.9)
    ]
    assert steps[0].n_iter_ > 2 * steps[1].n_iter_
    assert all(m.fit_status_ == 0 for m in steps)


@pytest.mark.parametrize(("solver", "option"), OPTIONS)
@pytest.mark.parametrize("value", [0, -1.0, np.nan, np.inf, "1", None, True])
def test_values_that_an_option_does_not_allow(solver, option, value):
    model = SVDD(solver=solver, solver_options={option: value})
    with pytest.raises(ValueError, match=rf"solver_options=.*{option}.*pass a number"):
        model.fit(np.eye(4))


@pytest.mark.parametrize(
    ("solver", "options", "message"),
    [
        ("lagrangian", {"rhoo": 1.0}, "did you mean 'rho'"),
        ("lagrangian", {"step": 0.5}, "'rho', 'rate', 'epsilon'"),
        ("qp", {"rho": 1.0}, "none"),
        ("auto", {"rho": 1.0}, "solver='lagrangian', 'projected', 'interior-point'"),
    ],
)
def test_options_of_other_solvers_are_refused(solver, options, message):
    with pytest.raises(ValueError, match=message):
        SVDD(solver=solver, solver_options=options).fit(np.eye(4))


def test_options_are_a_parameter_like_others(tmp_path):
    X = np.random.default_rng(0).normal(size=(50, 2))
    options = {"rho": 20.0, "rate": 0.5}
    model = SVDD(solver="lagrangian").set_params(solver_options=options).fit(X)
    copy = clone(model)
    assert copy.solver_options == options
    assert copy.fit(X).n_iter_ == model.n_iter_
    assert options == {"rho": 20.0, "rate": 0.5}
    assert SVDD(solver_options={}).fit(X).fit_status_ == 0
