"""Cholesky factors that gain and lose rows."""

import numpy as np

from .arrays import f64, f64_out
from .library import lib


class Triangle:
    """A factor of ``m`` rows: lower triangular in the first m rows of ``L``, which has room.

    Its address, and memory to work in, are taken once, so one thread uses it at a time.
    """

    def __init__(self, L):
        self.L, n = L, len(L)
        self._work = np.empty(2 * n)
        self._at, self._stride = f64_out(L, n * n), n
        self._work_at = f64_out(self._work, 2 * n)

    def __reduce__(self):
        return Triangle, (self.L,)

    def append(self, m, column, corner, rtol):
        """Add a last row and column; False, and nothing added, if they depend on the others."""
        if m >= self._stride:
            raise TypeError(f"the core needs room for {m + 1} rows, got {self._stride}.")
        at = self._at, m, self._stride
        return bool(lib.fl_factor_append(*at, f64(column, m), corner, rtol))

    def delete(self, m, p):
        """Remove row and column p."""
        lib.fl_factor_delete(self._at, m, self._stride, p, self._work_at)

    def solve(self, m, x):
        """Solve in place for the rows of ``x``, each a right-hand side."""
        lib.fl_factor_solve(self._at, m, self._stride, len(x), f64_out(x, len(x) * m))

    def solve_directions(self, m, corner, d, total):
        """Solve ``Q_MM d + shift = rhs`` and ``sum d = total``, rhs in ``d``; returns shift.

        ``L`` is the factor of ``Q_MM + corner``.
        """
        at = self._at, m, self._stride
        return lib.fl_factor_directions(*at, corner, f64_out(d, m), total, self._work_at)
