"""Whether a duality gap bounds anything where a kernel is no inner product.

It rests on ``d'Kd >= 0`` for all d whose sum is zero (see ``DualProblem.duality_gap``). Inner
products are like that; a matrix or a function of the user and the sigmoid kernel need not be.
"""

import math

import numpy as np
from scipy.linalg.lapack import dpotrf

from .._threads import one_blas_thread

# Rows whose kernel values are looked at: all, or those with the largest variables and others.
_ROWS = 1000
# Rounding of kernel values, relative to the largest: in float64, float32, and sums in float32.
_ROUNDINGS = 1e-14, 3e-7, 1e-5

# What to tell of a machine where nothing supports a gap.
STATIONARY = (
    "the solution is a stationary point but may not be the optimum: the kernel matrix is not "
    "positive semi-definite, so there is no duality gap. Use another kernel to get a certificate."
)


def curvature_missing(gram, a):
    """The least c, of a few, with ``d'Kd >= -c d'd`` for all d of zero sum; NaN beyond rounding.

    By Cholesky factors; of more than 1000 rows, between those that ``a`` uses most and as many
    others. 0 for kernels that are inner products.
    """
    if gram.is_inner_product or gram.n < 2:
        return 0.0
    rows = np.arange(gram.n)
    if gram.n > _ROWS:
        used = np.argsort(-np.abs(a), kind="stable")[: _ROWS // 2]
        rows = np.union1d(used, np.linspace(0, gram.n - 1, _ROWS // 2).astype(np.intp))
    K = gram.block(rows)
    size = float(np.abs(K).max())
    # What K[i, j] and K[j, i] differ by is rounding too.
    asymmetry = float(np.abs(K - K.T).max()) / size if size > 0.0 else 0.0
    if asymmetry > _ROUNDINGS[-1]:
        return math.nan
    K = 0.5 * (K + K.T)
    K -= K.mean(axis=0)
    K -= K.mean(axis=1)[:, None]
    added = 0.0
    with one_blas_thread():
        for rounding in _ROUNDINGS:
            # Independent errors of the entries move eigenvalues by the root of their number.
            added, before = max(rounding, asymmetry) * size * math.sqrt(len(rows)), added
            K.flat[:: len(K) + 1] += added - before
            if dpotrf(K, lower=1)[1] == 0:
                return added
    return math.nan


def supported_gap(problem, result):
    """The duality gap of a Result, with what rounding may hide; NaN where it bounds nothing."""
    missing, lost = curvature_missing(problem.gram, result.a), problem.gram.lost(result.a)
    if not missing and not lost:
        return result.duality_gap
    extent, penalty = problem.extent, problem.penalty
    # How far apart two feasible points can be: d'd is at most sum |d| times max |d|.
    sums = min(problem.total - extent.lowest, extent.highest - problem.total)
    width = min(sums, float(np.max(penalty.upper - penalty.lower)))
    return result.duality_gap + problem.scale * sums * (missing * width + 2.0 * lost)
