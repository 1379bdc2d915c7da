"""A Newton step on variables strictly between their breakpoints."""

from contextlib import nullcontext

import numpy as np
from scipy.linalg import eigh
from scipy.linalg.lapack import dpotrf, dpotrs

from .._typing import FloatArray, IntArray
from .._util.threads import one_blas_thread
from ..problem import Penalty

# Pivots and eigenvalues below this share of the largest entry are rounding.
_SINGULAR = 1e-8
_NULL = 1e-13
# An eigendecomposition of more variables than this costs more than it brings.
_EIGEN_LARGEST = 256
# From this many variables on BLAS would start threads.
_WORTH_LIMITING = 64


def newton_step(
    Q: FloatArray, penalty: Penalty, a: FloatArray, g: FloatArray
) -> tuple[IntArray, FloatArray, bool] | None:
    """Step to the optimum of a block over its variables between breakpoints.

    Solves ``Q_FF d + (g + slope)_F = m 1``, ``1'd = 0`` and goes that way as far as the first
    breakpoint; the objective never increases. Returns the indices and new values of these
    variables, and whether no breakpoint cut the step short; None where no step was possible.
    """
    free = np.flatnonzero(penalty.between(a))
    if len(free) < 2:
        return None
    penalty, now = penalty.take(free), a[free]
    slopes = g[free] + penalty.slope_at(now)
    with one_blas_thread() if len(free) > _WORTH_LIMITING else nullcontext():
        direction = _solve_equality(Q[np.ix_(free, free)], slopes, now)
    if direction is None:
        return None
    below, above = penalty.neighbours(now)
    with np.errstate(divide="ignore", invalid="ignore"):
        room = np.where(direction > 0, above - now, now - below) / np.abs(direction)
    room[direction == 0] = np.inf
    first = int(np.argmin(room))
    if room[first] > 1.0:
        return free, now + direction, True
    values = np.clip(now + room[first] * direction, below, above)
    values[first] = above[first] if direction[first] > 0 else below[first]
    return free, values, False


def _solve_equality(
    Q: FloatArray, slopes: FloatArray, values_now: FloatArray
) -> FloatArray | None:
    """``d`` with ``Q d + wanted`` constant and ``sum(d) = 0``; None if out of reach."""
    size = max(float(np.abs(Q.diagonal()).max()), 1e-300)
    factor, failed = dpotrf(Q, lower=1, clean=0)
    if not failed and factor.diagonal().min() ** 2 > _SINGULAR * size:
        direction = _solve_regular(factor, Q, slopes)
    elif len(Q) <= _EIGEN_LARGEST:
        direction = _solve_singular(Q, slopes, values_now, size)
    else:
        return None
    return direction if np.isfinite(direction).all() else None


def _solve_regular(factor: FloatArray, Q: FloatArray, slopes: FloatArray) -> FloatArray:
    both = np.empty((len(Q), 2), order="F")
    both[:, 0], both[:, 1] = 1.0, slopes
    ones, residual = dpotrs(factor, both, lower=1, overwrite_b=1)[0].T
    total = ones.sum()
    direction = ones * (residual.sum() / total) - residual
    # A second time refines.
    residual = dpotrs(factor, slopes + Q @ direction, lower=1, overwrite_b=1)[0]
    direction += ones * (residual.sum() / total) - residual
    # The sum is zero to rounding even where Q is badly conditioned.
    return direction - ones * (direction.sum() / total)


def _solve_singular(
    Q: FloatArray, slopes: FloatArray, values_now: FloatArray, size: float
) -> FloatArray:
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
        residual = slopes + Q @ direction
        direction -= vectors @ ((vectors.T @ (residual - residual.mean())) / values)
    direction -= null @ (null.T @ (values_now + direction))
    return direction - direction.mean()
