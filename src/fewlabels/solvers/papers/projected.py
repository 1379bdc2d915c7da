"""Projected gradient, the first alternative that the paper discusses.

    minimise_a   1/2 a' Q a - v' a   subject to   a >= 0     (13), see ``penalised.py``

    a_{k+1} = (a_k - step (Q a_k - v))_+                                        (25)

converges for ``0 < step < 2 / lambda_max(Q)``, which is 4C / (1 + 2 C lambda_max) in the
paper's terms. No inverse and one product per iteration; but lambda_max is about 2 rho n,
so the steps are tiny, and so is ``||a_k - a_{k-1}||``: the paper's stopping rule is met
long before the solution is. That is a property of the method, kept as it is; pass a
smaller ``epsilon`` to get further. ``fit_status_`` comes from the gap that it reached.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ..._typing import FloatArray
from ...problem import DualProblem
from ..run import Callback
from .penalised import Iterate, PenalisedProblem, PenalisedResult, check_convex, iterate


def solve_projected(
    problem: DualProblem,
    *,
    rho: float = 200.0,
    epsilon: float = 1e-5,
    max_iter: int = 50_000,
    step: float = 0.95,
    callback: Callback | None = None,
) -> PenalisedResult:
    """Solve SVDD with squared slack approximately, by the iteration (25) from ``a_i = total / n``.

    Stops when ``||a_k - a_{k-1}|| <= epsilon``. The step is the share ``step`` of
    ``2 / max_i sum_j |Q_ij|``: the row sums bound lambda_max, and closely, since 2 rho dominates
    Q. The history describes the iterate
    before the step; ``violation`` is the largest entry of the residual of (24), divided by the
    step.
    """
    penalised = PenalisedProblem.from_problem(problem, rho, "projected")
    check_convex(penalised.Q)
    start = np.full(problem.n, problem.total / problem.n)
    steps = _iterate_projected(penalised.Q, penalised.v, start, epsilon, step)
    return iterate(penalised, start, steps, max_iter, callback)


def _iterate_projected(
    Q: FloatArray, v: FloatArray, a: FloatArray, epsilon: float, share: float
) -> Iterator[Iterate]:
    step = 2.0 * share / np.linalg.norm(Q, np.inf)
    while True:
        w = Q @ a - v
        a_next = np.maximum(a - step * w, 0.0)
        moved = a_next - a
        change = float(np.linalg.norm(moved))
        entry = {
            "violation": float(np.abs(moved).max() / step),
            "change": change,
            "inner_product": float(a @ w),
            "sum": float(a.sum()),
        }
        a = a_next
        yield a, change <= epsilon, entry
