"""One block of problem (P), by pair steps in compiled code.

    minimise  1/2 a' Q a + sum phi_i(a_i)   over a with a fixed sum

by moving mass between two variables at a time. The pair is chosen by second-order
information (Fan, Chen & Lin 2005, working set selection 2), generalised to penalties
with a kink: i has the lowest slope to the right, j promises the largest decrease.
"""

import ctypes
from ctypes import byref
from enum import Enum
from typing import NamedTuple

import numpy as np

from .._typing import FloatArray, IntArray
from .arrays import f64, f64_out, i64, i64_out
from .library import CONSTANTS, lib
from .penalty import HasPieces, Pieces

#: Violation relative to the multiplier that counts as none.
EXACT = CONSTANTS["EXACT"]
#: ``take_steps`` ended because it needs further rows of Q.
MISSING = CONSTANTS["MISSING"]


class Outcome(Enum):
    """A reason why pair steps ended."""

    DONE = CONSTANTS["DONE"]
    STEP_LIMIT = CONSTANTS["STEP_LIMIT"]
    #: Rounding allows no step.
    STUCK = CONSTANTS["STUCK"]
    #: The objective falls for ever.
    UNBOUNDED = CONSTANTS["UNBOUNDED"]
    #: Many solutions are equal, or too many variables are in use.
    SINGULAR = CONSTANTS["SINGULAR"]


class StepLimits(NamedTuple):
    """Limits of pair steps, and of the Newton steps after them.

    Pair steps end at a violation of ``tol`` or after ``max_steps``. Newton steps take at most
    ``largest`` variables (0: there are none) until the violation is at most ``goal``, or until
    ``budget`` is spent, see :func:`finish_block`.
    """

    tol: float
    max_steps: int
    goal: float
    largest: int
    budget: float


class GatheredRows(NamedTuple):
    """Rows of Q: one for each variable in ``row_ids``, and perhaps more.

    ``row_position`` has the row of each of these variables. ``submatrix`` is square scratch space
    for their columns, of which the first ``n_gathered`` are in it. ``diagonal`` is of all Q.
    """

    Q: FloatArray
    row_ids: IntArray
    row_position: IntArray
    submatrix: FloatArray
    n_gathered: int
    diagonal: FloatArray


def solve_block(
    Q: FloatArray, g: FloatArray, a: FloatArray, penalty: HasPieces, tol: float, max_steps: int
) -> tuple[int, Outcome]:
    """Take pair steps until the KKT violation within the block is at most ``tol``.

    Q (C-contiguous, symmetric) is the block of the whole problem's; its variables ``a`` and their
    gradient ``g`` are changed in place. Returns the steps and the Outcome.
    """
    steps, _, outcome = _solve_whole_block(
        Q, g, a, penalty, StepLimits(tol, max_steps, 0.0, 0, 0.0)
    )
    return steps, outcome


def finish_block(
    Q: FloatArray,
    g: FloatArray,
    a: FloatArray,
    penalty: HasPieces,
    goal: float,
    largest: int,
    budget: float,
) -> tuple[int, float, Outcome]:
    """Take Newton steps on variables between breakpoints until the violation is at most ``goal``.

    Each goes as far as the first breakpoint, where a variable stays. After one that went the whole
    way, a few pair steps let a variable in the wrong state join the others. No step takes more
    than ``largest`` variables; together they may cost ``budget``, where the first one of 200
    variables costs 1.1 and those that follow .1. Returns the pair steps, what is left of the
    budget (``STEP_LIMIT`` when nothing is), and the Outcome, which is ``STUCK`` when nothing can
    move.
    """
    return _solve_whole_block(Q, g, a, penalty, StepLimits(0.0, 0, goal, max(1, largest), budget))


def _solve_whole_block(
    Q: FloatArray,
    g: FloatArray,
    a: FloatArray,
    penalty: HasPieces,
    limits: StepLimits,
) -> tuple[int, float, Outcome]:
    """Take pair steps or Newton steps on a block all of whose rows of Q are given."""
    n = len(a)
    order, wanted = np.arange(n), np.empty(0, np.int64)
    rows = GatheredRows(Q, order, order, np.empty((0, 0)), n, Q.diagonal().copy())
    work = workspace(n, int(limits.largest))
    steps, budget, ended = take_steps(rows, g, a, penalty.pieces, wanted, limits, work)
    return steps, budget, Outcome(ended)


def workspace(n: int, largest: int) -> tuple[FloatArray, IntArray]:
    """Return scratch space for calls of ``take_steps``, to be made once for several of them."""
    return np.empty(lib.fl_block_work(n, largest)), np.empty(5 * n, np.int64)


def take_steps(
    rows: GatheredRows,
    g: FloatArray,
    a: FloatArray,
    penalty: Pieces,
    wanted: IntArray,
    limits: StepLimits,
    work: tuple[FloatArray, IntArray],
) -> tuple[int, float, int]:
    """Call ``fl_solve_block``, and return the steps, the budget left, and how they ended.

    ``a`` and ``g`` are changed in place, and ``wanted`` is filled with variables whose rows are
    needed.
    """
    Q, row_ids, row_position, part, n_gathered, diagonal = rows
    tol, max_steps, goal, largest, budget = limits
    n, present = a.size, row_ids.size
    if Q.ndim != 2 or Q.shape[1] != n or len(Q) < present or len(part) < min(present, part.size):
        raise TypeError(f"the core needs {present} rows of {n} columns, got {Q.shape}.")
    reals, integers = work
    left, steps = ctypes.c_double(budget), ctypes.c_int64()
    ended = lib.fl_solve_block(
        n, f64(Q, Q.size), present, i64(row_ids, present), i64(row_position, n),
        f64_out(part, len(part) ** 2), len(part), n_gathered, f64(diagonal, n), f64_out(g, n),
        f64_out(a, n), penalty.pointers_for(n), i64_out(wanted, wanted.size), wanted.size, tol,
        max_steps, goal, largest, byref(left),
        f64_out(reals, lib.fl_block_work(n, largest)), i64_out(integers, 5 * n), byref(steps),
    )  # fmt: skip
    return steps.value, left.value, ended


def add_products(rows: FloatArray, change: FloatArray, g: FloatArray) -> FloatArray:
    """Add ``change @ rows`` to ``g`` in place, from the non-zero entries of ``change``."""
    n, used = g.size, change.nonzero()[0]
    if rows.ndim != 2 or rows.shape[1] != n:
        raise TypeError(f"the core needs rows of {n} columns, got {rows.shape}.")
    count = used.size
    lib.fl_add_products(
        n, f64(rows, rows.size), count, i64(used, count), f64(change[used], count), f64_out(g, n)
    )
    return g


def select_nearest(far: FloatArray, wanted: IntArray) -> None:
    """Let ``wanted`` be the rows that are least ``far`` from the worst violation, best first."""
    n = far.size
    lib.fl_nearest(n, f64(far, n), i64_out(wanted, wanted.size), wanted.size)
