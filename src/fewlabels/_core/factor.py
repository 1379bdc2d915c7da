"""Cholesky factors that gain and lose rows: lower triangular in the first m rows of ``L``."""

import numpy as np

from .arrays import f64, f64_out
from .library import lib


def append(L, m, column, corner, rtol):
    """Add a last row and column; False, and nothing added, if they depend on the others."""
    if m >= len(L):
        raise TypeError(f"the core needs room for {m + 1} rows, got {len(L)}.")
    at, stride = _square(L)
    return bool(lib.fl_factor_append(at, m, stride, f64(column, m), corner, rtol))


def delete(L, m, p):
    """Remove row and column p."""
    at, stride = _square(L)
    lib.fl_factor_delete(at, m, stride, p, f64_out(np.empty(2 * m), 2 * m))


def solve(L, m, x):
    """Solve in place for the rows of ``x``, each a right-hand side."""
    at, stride = _square(L)
    lib.fl_factor_solve(at, m, stride, len(x), f64_out(x, len(x) * m))


def solve_directions(L, m, corner, d, total):
    """Solve ``Q_MM d + shift = rhs`` and ``sum d = total``, with rhs in ``d``; returns shift.

    ``L`` is the factor of ``Q_MM + corner``.
    """
    at, stride = _square(L)
    work = f64_out(np.empty(2 * m), 2 * m)
    return lib.fl_factor_directions(at, m, stride, corner, f64_out(d, m), total, work)


def _square(L):
    return f64_out(L, len(L) ** 2), len(L)
