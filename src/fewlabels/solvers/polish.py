"""Exact finish: a Newton step on the variables strictly between their breakpoints."""

from __future__ import annotations

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve, eigh

# Pivots and eigenvalues below this share of the largest entry are rounding.
_SINGULAR = 1e-8
# An eigendecomposition of more variables than this costs more than it brings.
_EIGEN_LARGEST = 256


def newton_step(problem, a, gradient, largest):
    """Step to the optimum over the variables between breakpoints, all others fixed.

    Solves ``Q_FF d + (g + slope)_F = m 1``, ``1'd = 0`` and goes that way as far as the
    first breakpoint. The objective never increases.

    Parameters
    ----------
    problem : DualProblem
        Problem (P).
    a, gradient : ndarray of shape (n,)
        Feasible point and ``Q a``.
    largest : int
        Give up on more variables than this: the cost grows with their cube.

    Returns
    -------
    (free, values) or None
        Indices and new values of the variables; None where no step was possible.
    """
    p = problem.penalty
    free = np.flatnonzero((a > p.lower) & (a < p.upper) & (a != p.kink))
    if not 2 <= len(free) <= largest:
        return None
    above = a[free] > p.kink[free]
    wanted = gradient[free] + np.where(above, p.slope_right[free], p.slope_left[free])
    Q = problem.block(free)
    direction = _equality_newton(Q, wanted)
    if direction is None:
        return None
    high = np.where(above, p.upper[free], p.kink[free])
    low = np.where(above, p.kink[free], p.lower[free])
    with np.errstate(divide="ignore", invalid="ignore"):
        room = np.where(direction > 0, high - a[free], a[free] - low) / np.abs(direction)
    room[direction == 0] = np.inf
    first = int(np.argmin(room))
    if room[first] > 1.0:
        return free, a[free] + direction
    values = np.clip(a[free] + room[first] * direction, low, high)
    values[first] = high[first] if direction[first] > 0 else low[first]
    return free, values


def _equality_newton(Q, wanted):
    """``d`` with ``Q d + wanted`` constant and ``sum(d) = 0``; None if out of reach.

    Where rows are duplicated or a kernel has low rank, many d do; the smallest one is
    taken, so that rounding is not blown up along directions that change nothing.
    """
    size = max(float(np.abs(np.diag(Q)).max()), 1e-300)
    try:
        factor = cho_factor(Q, lower=True, check_finite=False)
        if np.diag(factor[0]).min() ** 2 > _SINGULAR * size:
            return _newton_with(lambda v: cho_solve(factor, v, check_finite=False), Q, wanted)
    except LinAlgError:
        pass
    if len(Q) > _EIGEN_LARGEST:
        return None
    values, vectors = eigh(Q, check_finite=False)
    kept = values > _SINGULAR * max(size, values[-1])
    values, vectors = values[kept], vectors[:, kept]
    return _newton_with(lambda v: vectors @ ((vectors.T @ v) / values), Q, wanted)


def _newton_with(solve, Q, wanted):
    ones = solve(np.ones(len(Q)))
    if not ones.sum() > 0:
        return None
    direction = np.zeros(len(Q))
    for _ in range(2):  # the second time refines
        residual = solve(wanted + Q @ direction)
        direction += ones * (residual.sum() / ones.sum()) - residual
    # Zero sum to rounding, also where the truncation lost a little of it.
    direction -= direction.mean()
    return direction if np.all(np.isfinite(direction)) else None
