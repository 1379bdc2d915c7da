"""Cholesky factor of the free rows' kernel matrix, which gains and loses rows.

``L L' = Q_MM + corner 1 1'`` of the free rows M, lower triangular in the first m rows of a larger
array. Both changes cost O(m^2).
"""

import numpy as np

from ..._jit import KERNEL_MATH, SUM_MATH, jit
from ...gram.growing.rows import grown

# A row depends on the free ones when its Schur complement is this share of its diagonal entry.
_DEPENDENT = 1e-13


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


class Factor:
    """The free rows, and the factor of their matrix with the constant ``corner`` added to it.

    Directions do not depend on the constant, as the equality fixes their sum; it makes the matrix
    definite where Q alone is so only for directions that sum to zero.
    """

    def __init__(self):
        self._rows = np.zeros(64, np.int64)
        self.L = np.zeros((64, 64))
        self.corner = 1.0
        self._n = 0

    def __getstate__(self):
        # Without the room for more rows.
        L = self.L[: self._n, : self._n].copy()
        return {**super().__getstate__(), "_rows": self.rows.copy(), "L": L}

    def __len__(self):
        return self._n

    @property
    def rows(self):
        """The free rows, in the order of the factor; a view."""
        return self._rows[: self._n]

    def append(self, row, column, entry):
        """Add a free row by its column of Q_MM and its diagonal entry.

        Returns False, and adds nothing, if it depends on the others.
        """
        m = self._n
        if m >= len(self.L):
            larger = np.zeros((m + m // 2 + 64, m + m // 2 + 64))
            larger[:m, :m] = self.L[:m, :m]
            self.L, self._rows = larger, grown(self._rows, len(larger))
        if not append(self.L, m, column + self.corner, entry + self.corner, _DEPENDENT):
            return False
        self._rows[m] = row
        self._n = m + 1
        return True

    def delete(self, p):
        """Remove the p-th free row."""
        m = self._n
        delete(self.L, m, p)
        self._rows[p : m - 1] = self._rows[p + 1 : m]
        self._n = m - 1

    def restart(self, corner):
        """Remove all rows and choose another constant; returns the rows."""
        rows, self._n, self.corner = self.rows.copy(), 0, corner
        return rows

    def renumber(self, number):
        """Give rows new numbers."""
        self._rows[: self._n] = number[self.rows]

    def solve(self, d, total):
        """Directions in place of their right-hand side ``d``; see ``solve_directions``."""
        return solve_directions(self.L, self._n, self.corner, d, total)
