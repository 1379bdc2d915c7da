"""Compiled Cholesky factor of the free rows' kernel matrix, which gains and loses rows.

``L L' = Q_MM + corner 1 1'`` of the free rows M, lower triangular in the first m rows of a larger
array. Both changes cost O(m^2).
"""

import numpy as np

from ..._jit import KERNEL_MATH, SUM_MATH, jit


@jit(SUM_MATH)
def _dot(x, y, n):
    total = 0.0
    for i in range(n):
        total += x[i] * y[i]
    return total


@jit(KERNEL_MATH)
def _subtract(x, factor, row, n):
    for i in range(n):
        x[i] -= factor * row[i]


@jit()
def append(L, m, column, corner, rtol):
    """Add a last row and column; False, and nothing added, if they depend on the others.

    ``column`` (m,) and ``corner`` are the new entries of the matrix. The test is the Schur
    complement relative to ``corner``.
    """
    row = L[m]
    for i in range(m):
        row[i] = (column[i] - _dot(L[i], row, i)) / L[i, i]
    complement = corner - _dot(row, row, m)
    if not complement > rtol * corner:
        return False
    row[m] = np.sqrt(complement)
    return True


@jit()
def delete(L, m, p):
    """Remove row and column p of the matrix: shift, and rotate back to triangular."""
    cosine = np.empty(m)
    sine = np.empty(m)
    for r in range(p, m - 1):
        row = L[r]
        for j in range(r + 2):
            row[j] = L[r + 1, j]
        for k in range(p, r):
            x, y = row[k], row[k + 1]
            row[k] = cosine[k] * x + sine[k] * y
            row[k + 1] = cosine[k] * y - sine[k] * x
        length = np.hypot(row[r], row[r + 1])
        cosine[r], sine[r] = row[r] / length, row[r + 1] / length
        row[r] = length


@jit()
def solve(L, m, x):
    """Solve in place for the rows of ``x``, each a right-hand side."""
    for i in range(m):
        row = L[i]
        for k in range(x.shape[0]):
            x[k, i] = (x[k, i] - _dot(row, x[k], i)) / row[i]
    for i in range(m - 1, -1, -1):
        row = L[i]
        for k in range(x.shape[0]):
            x[k, i] /= row[i]
            _subtract(x[k], x[k, i], row, i)


@jit()
def solve_directions(L, m, corner, d, total):
    """Solve ``Q_MM d + shift = rhs`` and ``sum d = total``, with rhs in ``d``; returns shift."""
    x = np.empty((2, m))
    for i in range(m):
        x[0, i] = d[i] + corner * total
        x[1, i] = 1.0
    solve(L, m, x)
    lack, weight = -total, 0.0
    for i in range(m):
        lack += x[0, i]
        weight += x[1, i]
    shift = lack / weight
    for i in range(m):
        d[i] = x[0, i] - shift * x[1, i]
    return shift
