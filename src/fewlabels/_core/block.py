"""Steps within a block of problem (P); see ``problem.block`` for what they solve."""

import ctypes
from ctypes import byref

import numpy as np

from .arrays import f64, f64_out, i64, i64_out
from .library import CONSTANTS, lib

#: How steps ended.
DONE, STEP_LIMIT, STUCK, UNBOUNDED, SINGULAR, MISSING = (
    CONSTANTS[name] for name in ("DONE", "STEP_LIMIT", "STUCK", "UNBOUNDED", "SINGULAR", "MISSING")
)
#: Violation relative to the multiplier that counts as none.
EXACT = CONSTANTS["EXACT"]


def workspace(n, largest):
    """Scratch space for calls of ``solve_block``, to be made once for several of them."""
    return np.empty(lib.fl_block_work(n, largest)), np.empty(5 * n, np.int64)


def solve_block(
    Q, here, place, part, joined, diagonal, g, a, penalty,
    wanted, tol, max_steps, goal, largest, budget, work,
):  # fmt: skip
    """See ``fl_solve_block``: the pair steps, what is left of the budget, and how they ended.

    Q has a row for each variable in ``here``, and perhaps more; ``part`` is square. ``a`` and
    ``g`` are changed in place, and ``wanted`` is filled.
    """
    n, present = a.size, here.size
    if Q.ndim != 2 or Q.shape[1] != n or len(Q) < present or len(part) < min(present, part.size):
        raise TypeError(f"the core needs {present} rows of {n} columns, got {Q.shape}.")
    reals, integers = work
    budget, steps = ctypes.c_double(budget), ctypes.c_int64()
    ended = lib.fl_solve_block(
        n, f64(Q, Q.size), present, i64(here, present), i64(place, n),
        f64_out(part, len(part) ** 2), len(part), joined, f64(diagonal, n), f64_out(g, n),
        f64_out(a, n), penalty.of(n), i64_out(wanted, wanted.size), wanted.size, tol,
        max_steps, goal, largest, byref(budget),
        f64_out(reals, lib.fl_block_work(n, largest)), i64_out(integers, 5 * n), byref(steps),
    )  # fmt: skip
    return steps.value, budget.value, ended


def nearest(far, wanted):
    """Let ``wanted`` be the rows that are least ``far`` from the worst violation, best first."""
    n = far.size
    lib.fl_nearest(n, f64(far, n), i64_out(wanted, wanted.size), wanted.size)


def add_products(Q, which, change, g):
    """``g += change @ Q[which]``, four rows of Q in one pass."""
    n, count = g.size, which.size
    if Q.ndim != 2 or Q.shape[1] != n:
        raise TypeError(f"the core needs rows of {n} columns, got {Q.shape}.")
    lib.fl_add_products(
        n, f64(Q, Q.size), count, i64(which, count), f64(change, count), f64_out(g, n)
    )
