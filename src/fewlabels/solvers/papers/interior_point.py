"""Interior point method, the second alternative that the paper discusses.

    minimise_a   1/2 a' Q a - v' a   subject to   a >= 0     (13), see ``penalised.py``

With multipliers w >= 0 the conditions (14) are ``Q a - v - w = 0`` and ``a_i w_i = 0``. The method
follows ``a_i w_i = mu`` to mu = 0 by Newton steps (da, dw),

    (Q + diag(w / a)) da = -(Q a - v - w) - w + target / a
    dw                   = (target - a w - w da) / a

in two halves that share one Cholesky factor (S. Mehrotra 1992, SIAM Journal on Optimization 2(4)):
a *predictor* with target 0 shows how far mu can fall, which sets ``sigma``; the *corrector* takes
``target = sigma mu - da dw`` of the predictor, so that the second-order error is removed as well.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve

from ..._typing import FloatArray
from ...problem import DualProblem
from ..run import Callback
from .penalised import Iterate, PenalisedProblem, PenalisedResult, check_convex, iterate

_TO_THE_WALL = 0.995  # share of the way to the boundary that a step may go


def solve_interior_point(
    problem: DualProblem,
    *,
    rho: float = 200.0,
    epsilon: float = 1e-10,
    max_iter: int = 100,
    callback: Callback | None = None,
) -> PenalisedResult:
    """Solve SVDD with squared slack on (13); the paper (section 3.3, Table 7) takes a MATLAB code.

    Stops when ``a'w`` and ``max |Q a - v - w|`` are at most ``epsilon`` times the largest
    ``|u_i|`` (times ``total`` for ``a'w``), after 10 to 20 iterations at any size, each O(n^3);
    three n x n matrices in memory. ``violation`` in the history is the larger of max |Q a - v - w|
    and max min(w_i, gamma a_i).
    """
    penalised = PenalisedProblem.from_problem(problem, rho, "interior-point")
    check_convex(penalised.Q)
    start = np.full(problem.n, problem.total / problem.n)
    return iterate(
        penalised, start, _follow_central_path(penalised, start, epsilon), max_iter, callback
    )


def _follow_central_path(
    penalised: PenalisedProblem, a: FloatArray, epsilon: float
) -> Iterator[Iterate]:
    Q, v, gamma, problem = penalised.Q, penalised.v, penalised.gamma(), penalised.problem
    w = _start_multipliers(Q @ a - v)
    size = float(np.abs(problem.penalty.slopes[-1]).max()) or 1.0
    while True:
        try:
            a_next, w = _step(Q, v, a, w)
        except LinAlgError:
            return  # w / a has grown beyond what float64 can factorise
        stationarity = float(np.abs(Q @ a_next - v - w).max())
        inner = float(a_next @ w)
        entry = {
            "violation": max(stationarity, float(np.minimum(w, gamma * a_next).max())),
            "change": float(np.linalg.norm(a_next - a)),
            "inner_product": inner,
            "stationarity": stationarity,
            "sum": float(a_next.sum()),
        }
        a = a_next
        yield a, inner <= epsilon * size * problem.total and stationarity <= epsilon * size, entry


def _start_multipliers(gradient: FloatArray) -> FloatArray:
    """Positive multipliers of a common size, at least as large as the gradient asks."""
    return np.maximum(gradient, 0.0) + max(1e-3, float(np.abs(gradient).max()))


def _step(
    Q: FloatArray, v: FloatArray, a: FloatArray, w: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Return one predictor-corrector step from (a, w) > 0."""
    n = len(a)
    mu = (a @ w) / n
    matrix = Q.copy()
    matrix[np.diag_indices(n)] += w / a
    factor = cho_factor(matrix.T, lower=True, overwrite_a=True, check_finite=False)
    # Newton step towards a_i w_i = target_i; w drops out of the first row.
    gradient = Q @ a - v

    def newton(target: float | FloatArray) -> tuple[FloatArray, FloatArray]:
        da = cho_solve(factor, target / a - gradient, check_finite=False)
        return da, (target - w * da) / a - w

    da, dw = newton(0.0)
    reach_a, reach_w = _longest_step(a, da), _longest_step(w, dw)
    mu_predicted = ((a + reach_a * da) @ (w + reach_w * dw)) / n
    sigma = (mu_predicted / mu) ** 3
    da, dw = newton(sigma * mu - da * dw)
    # One length for both: in a quadratic programme they are coupled through Q.
    length = min(
        1.0, _TO_THE_WALL * min(_longest_step(a, da, np.inf), _longest_step(w, dw, np.inf))
    )
    return a + length * da, w + length * dw


def _longest_step(x: FloatArray, dx: FloatArray, longest: float = 1.0) -> float:
    """Return the longest step that keeps ``x + step * dx >= 0``."""
    shrinking = dx < 0
    return float(min(longest, np.min(-x[shrinking] / dx[shrinking], initial=np.inf)))
