"""Exact finish: a Newton step on the variables strictly between their breakpoints."""

from __future__ import annotations

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve, eigh

# Pivots and eigenvalues below this share of the largest entry are rounding.
_SINGULAR = 1e-8
_NULL = 1e-13
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
    (free, values, full) or None
        Indices and new values of the variables, and whether no breakpoint cut the step
        short; None where no step was possible.
    """
    p = problem.penalty
    free = np.flatnonzero((a > p.lower) & (a < p.upper) & (a != p.kink))
    if not 2 <= len(free) <= largest:
        return None
    above = a[free] > p.kink[free]
    wanted = gradient[free] + np.where(above, p.slope_right[free], p.slope_left[free])
    Q = problem.block(free)
    direction = _equality_newton(Q, wanted, a[free])
    if direction is None:
        return None
    high = np.where(above, p.upper[free], p.kink[free])
    low = np.where(above, p.kink[free], p.lower[free])
    with np.errstate(divide="ignore", invalid="ignore"):
        room = np.where(direction > 0, high - a[free], a[free] - low) / np.abs(direction)
    room[direction == 0] = np.inf
    first = int(np.argmin(room))
    if room[first] > 1.0:
        return free, a[free] + direction, True
    values = np.clip(a[free] + room[first] * direction, low, high)
    values[first] = high[first] if direction[first] > 0 else low[first]
    return free, values, False


def _equality_newton(Q, wanted, values_now):
    """``d`` with ``Q d + wanted`` constant and ``sum(d) = 0``; None if out of reach."""
    size = max(float(np.abs(np.diag(Q)).max()), 1e-300)
    try:
        factor = cho_factor(Q, lower=True, check_finite=False)
        regular = np.diag(factor[0]).min() ** 2 > _SINGULAR * size
    except LinAlgError:
        regular = False
    if regular:
        direction = _regular_newton(factor, Q, wanted)
    elif len(Q) <= _EIGEN_LARGEST:
        direction = _singular_newton(Q, wanted, values_now, size)
    else:
        return None
    return direction if np.all(np.isfinite(direction)) else None


def _regular_newton(factor, Q, wanted):
    ones = cho_solve(factor, np.ones(len(Q)), check_finite=False)
    direction = np.zeros(len(Q))
    for _ in range(2):  # the second time refines
        residual = cho_solve(factor, wanted + Q @ direction, check_finite=False)
        direction += ones * (residual.sum() / ones.sum()) - residual
    # The sum is zero to rounding even where Q is badly conditioned.
    return direction - ones * (direction.sum() / ones.sum())


def _singular_newton(Q, wanted, values_now, size):
    """Newton step where duplicated rows or a kernel of low rank make many solutions equal.

    It is taken in the subspace of zero sum. Along directions that change nothing,
    ``values_now + d`` is made smallest: one of the equal solutions, but always the same
    one, whatever the rounding on the way.
    """
    n = len(Q)
    centred = Q - Q.mean(axis=0)
    centred -= centred.mean(axis=1)[:, None]
    # The vector of ones, which is not in the subspace, must not look like a null direction.
    values, vectors = eigh(centred + size / n, check_finite=False)
    size = max(size, values[-1])
    null = vectors[:, values < _NULL * size]
    kept = values > _SINGULAR * size
    values, vectors = values[kept], vectors[:, kept]
    direction = np.zeros(n)
    for _ in range(2):
        residual = wanted + Q @ direction
        direction -= vectors @ ((vectors.T @ (residual - residual.mean())) / values)
    direction -= null @ (null.T @ (values_now + direction))
    return direction - direction.mean()
