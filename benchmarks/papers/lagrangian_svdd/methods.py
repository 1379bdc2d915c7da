"""The methods side by side: what each does with rows, and what is measured.

Every reference gets the kernel matrix made by one matrix product and one exponential in
place (``rbf_matrix``): nothing faster is available in NumPy. Its seconds are counted
apart, as the paper does, and added where ours is compared, since ours never forms that
matrix. Seconds are the fastest of a few runs.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from shared.common import fastest, timed

from fewlabels import SVDD
from fewlabels.kernels.operators import PrecomputedGram
from fewlabels.one_class.problem import svdd_squared
from fewlabels.solvers.papers.interior_point import solve_interior_point
from fewlabels.solvers.papers.lagrangian import solve_lagrangian
from fewlabels.solvers.papers.projected import solve_projected
from fewlabels.solvers.qp import solve_qp

from .published import GAMMA, MAX_ITER, RHO, TOL
from .published import C as PAPER_C

QP, PRINTED, LAGRANGIAN = "qp", "lagrangian-as-printed", "lagrangian"
PROJECTED, INTERIOR, OURS, OURS_TIGHT = "projected", "interior-point", "ours", "ours-tight"
TITLES = {
    QP: "QP-SVDD (Clarabel)",
    PRINTED: "L-SVDD, as printed",
    LAGRANGIAN: "L-SVDD",
    PROJECTED: "projected (25)",
    INTERIOR: "interior point (13)",
    OURS: "ours",
    OURS_TIGHT: "ours, tol 1e-6",
}
TIGHT = 1e-6


def rbf_matrix(X, Z=None, gamma=GAMMA):
    """``exp(-gamma ||x - z||^2)`` in float64, with one temporary matrix."""
    Z = X if Z is None else Z
    K = X @ Z.T
    K *= 2.0
    K -= np.einsum("ij,ij->i", X, X)[:, None]
    K -= np.einsum("ij,ij->i", Z, Z)
    K *= gamma
    return np.exp(K, out=K)


@dataclass
class Run:
    """What one method did on one training set.

    ``a`` scores test rows: the paper's alpha as it comes. ``support``, ``objective``
    and ``gap`` belong to the feasible point.
    """

    method: str
    a: np.ndarray
    support: np.ndarray
    objective: float
    gap: float
    iterations: int
    converged: bool
    seconds: float
    kernel_seconds: float
    extra: dict = field(default_factory=dict)

    @property
    def total_seconds(self):
        return self.seconds + self.kernel_seconds

    @property
    def n_sv(self):
        return len(self.support)


def as_printed(K, C=PAPER_C, rho=RHO, tol=TOL, max_iter=MAX_ITER):
    """Algorithm 1 line by line: a general inverse, two general products per iteration."""
    n = len(K)
    Q = 2.0 * K + 2.0 * rho
    Q[np.diag_indices(n)] += 1.0 / (2.0 * C)
    v = np.diagonal(K) + 2.0 * rho
    gamma = 0.95 / C
    inverse = np.linalg.inv(Q)
    before = inverse @ v
    k, change = 0, np.inf
    while k < max_iter and change > tol:
        k += 1
        a = inverse @ (v + np.maximum(Q @ before - v - gamma * before, 0.0))
        change = np.linalg.norm(a - before)
        before = a
    return a, k


def run_reference(method, K, kernel_seconds, budget=2.0, C=PAPER_C, **options):
    """One of the solvers that take the kernel matrix."""
    problem = svdd_squared(PrecomputedGram(K), C)
    solve = {
        QP: solve_qp,
        LAGRANGIAN: solve_lagrangian,
        PROJECTED: solve_projected,
        INTERIOR: solve_interior_point,
    }[method]
    first, result = timed(solve, problem, **options)
    seconds, _ = fastest(lambda: solve(problem, **options), [first], budget)
    feasible = getattr(result, "feasible", result)
    last = result.history[-1]
    return Run(
        method=method,
        a=result.a,
        support=np.flatnonzero(feasible.a),
        objective=feasible.objective,
        gap=feasible.duality_gap,
        iterations=result.n_iter,
        converged=result.converged,
        seconds=seconds,
        kernel_seconds=kernel_seconds,
        extra={k: last[k] for k in ("inner_product", "sum", "change") if k in last},
    )


def run_printed(K, kernel_seconds, budget=2.0):
    """Algorithm 1 as printed, for its seconds; the vector is Algorithm 1's."""
    first, (a, iterations) = timed(as_printed, K)
    seconds, _ = fastest(lambda: as_printed(K), [first], budget)
    nothing = np.empty(0, dtype=int)
    return Run(PRINTED, a, nothing, np.nan, np.nan, iterations, True, seconds, kernel_seconds)


def run_ours(X, tol=1e-3, budget=2.0):
    """Our estimator from rows to a fitted model: checks, kernel values, radius and all."""

    def fit():
        return SVDD(C=PAPER_C, gamma=GAMMA, tol=tol).fit(X)

    fit()  # compilation and reading the compilation cache
    first, model = timed(fit)
    seconds, _ = fastest(fit, [first], budget, most=15)
    a = np.zeros(len(X))
    a[model.support_] = model.dual_coef_[0]
    return Run(
        method=OURS if tol > TIGHT else OURS_TIGHT,
        a=a,
        support=np.asarray(model.support_),
        objective=model.objective_,
        gap=model.duality_gap_,
        iterations=int(np.max(model.n_iter_)),
        converged=model.fit_status_ == 0,
        seconds=seconds,
        kernel_seconds=0.0,
        extra={"kernel_values": model.history_[-1].get("kernel_values")},
    )


def run_all(X, budget=2.0):
    """Every method on one training set, at the paper's settings."""
    seconds, K = timed(rbf_matrix, X)
    kernel_seconds, _ = fastest(lambda: rbf_matrix(X), [seconds], min(budget, 1.0))
    runs = {
        QP: run_reference(QP, K, kernel_seconds, 0.0),
        PRINTED: run_printed(K, kernel_seconds, budget),
        LAGRANGIAN: run_reference(LAGRANGIAN, K, kernel_seconds, budget),
        PROJECTED: run_reference(PROJECTED, K, kernel_seconds, 0.0),
        INTERIOR: run_reference(INTERIOR, K, kernel_seconds, 0.0),
        OURS: run_ours(X, budget=budget),
        OURS_TIGHT: run_ours(X, TIGHT, budget),
    }
    return runs, K


def overlap(found, true):
    """Precision and recall of support vectors, in percent."""
    common = len(np.intersect1d(found, true))
    return 100.0 * common / len(found), 100.0 * common / len(true)
