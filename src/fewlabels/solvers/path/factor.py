"""The free rows and the Cholesky factor of their kernel matrix."""

import numpy as np

from ..._core.factor import Triangle
from ...gram.growing.rows import grown

# A row depends on the free ones when its Schur complement is this share of its diagonal entry.
_DEPENDENT = 1e-13


class Factor:
    """The free rows, and the factor of their matrix with the constant ``corner`` added to it.

    Directions do not depend on the constant, as the equality fixes their sum; it makes the matrix
    definite where Q alone is so only for directions that sum to zero.
    """

    def __init__(self):
        self._rows = np.zeros(64, np.int64)
        self._triangle = Triangle(np.zeros((64, 64)))
        self.corner = 1.0
        self._n = 0

    def __len__(self):
        return self._n

    @property
    def L(self):
        """Lower triangular in the first ``len(self)`` rows, with room for more."""
        return self._triangle.L

    @property
    def rows(self):
        """The free rows, in the order of the factor; a view."""
        return self._rows[: self._n]

    def append(self, row, column, entry):
        """Add a free row by its column of Q_MM and its diagonal entry.

        Returns False, and adds nothing, if it depends on the others.
        """
        m = self._n
        corner = self.corner
        if m >= len(self.L):
            larger = np.zeros((m + m // 2 + 64, m + m // 2 + 64))
            larger[:m, :m] = self.L[:m, :m]
            self._triangle, self._rows = Triangle(larger), grown(self._rows, len(larger))
        if not self._triangle.append(m, column + corner, entry + corner, _DEPENDENT):
            return False
        self._rows[m] = row
        self._n = m + 1
        return True

    def delete(self, p):
        """Remove the p-th free row."""
        m = self._n
        self._triangle.delete(m, p)
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
        """Directions in place of their right-hand side ``d``; see ``fl_factor_directions``."""
        return self._triangle.solve_directions(self._n, self.corner, d, total)
