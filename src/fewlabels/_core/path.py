"""Steps of path following: the state of rows, the next event, the step.

The state of all rows is two arrays with a line per quantity, floats ``F`` and integers ``S``; see
``fewlabels.h`` for the lines and for what the functions do. A ``Triangle`` is the Cholesky factor
of the free rows, which gains and loses rows.
"""

from __future__ import annotations

import ctypes

import numpy as np

from .._typing import FloatArray, IntArray
from .functions import Address, f64, f64_out, i64, i64_out
from .library import CONSTANTS, lib

# Lines of F. The condition of a row has the interval of its penalty's pieces, and their slopes.
A = CONSTANTS["F_A"]  # the variable a
H = CONSTANTS["F_H"]  # the gradient h
LO = CONSTANTS["F_LO"]  # first of the ends of the penalty's pieces now
UP = CONSTANTS["F_UP"]  # last of these ends
SL = CONSTANTS["F_SL"]  # first of the slopes of the pieces
SR = CONSTANTS["F_SR"]  # last of these slopes
LOW = CONSTANTS["F_LOW"]  # lower end of the range of h at a breakpoint
HIGH = CONSTANTS["F_HIGH"]  # upper end of this range
GAMMA = CONSTANTS["F_GAMMA"]  # direction of h
D = CONSTANTS["F_D"]  # direction of a
RIDGE = CONSTANTS["F_RIDGE"]  # what is added to Q_ii
ROOT = CONSTANTS["F_ROOT"]  # square root of Q_ii
RATE = CONSTANTS["F_RATE"]  # first of the changes of ends and slopes over the whole clock
TARGET = CONSTANTS["F_TARGET"]  # first of the ends and slopes when the clock has run out
RLOW = CONSTANTS["F_RLOW"]  # rate of the lower end of the range of h
RHIGH = CONSTANTS["F_RHIGH"]  # rate of the upper end
N_FLOATS = CONSTANTS["N_FLOATS"]  # lines of F
N_PENALTY = CONSTANTS["N_PENALTY"]  # ends and slopes of a penalty
N_KINKS = CONSTANTS["N_KINKS"]  # kinks of a penalty, at most
N_ENDS = N_KINKS + 2  # ends of its pieces
# Lines of S.
STATUS = CONSTANTS["S_STATUS"]  # one of the statuses below
SIGN = CONSTANTS["S_SIGN"]  # sign of a row with the symmetric hinge, 0 for others
REGION = CONSTANTS["S_REGION"]  # segment of the interval; at a breakpoint, its line of F
DIR = CONSTANTS["S_DIR"]  # direction of a moving row
IGNORED = CONSTANTS["S_IGNORED"]  # how often the row was reached in steps of no length
POSITION = CONSTANTS["S_POSITION"]  # place of a free row among the free ones
N_INTS = CONSTANTS["N_INTS"]  # lines of S
# Statuses.
AT_BREAKPOINT = CONSTANTS["AT_BREAKPOINT"]  # a is held while h moves within a range
FREE = CONSTANTS["FREE"]  # on a segment: h is held while a moves
MOVING = CONSTANTS["MOVING"]  # off the staircase: a moves until it reaches it
ABSENT = CONSTANTS["ABSENT"]  # not in the problem
# What ends a step.
CLOCK = CONSTANTS["EVENT_CLOCK"]  # the limit is reached, such as the end of the clock
FREE_LOW = CONSTANTS["EVENT_FREE_LOW"]  # a free row reaches the lower end of its segment
FREE_HIGH = CONSTANTS["EVENT_FREE_HIGH"]  # a free row reaches the upper end
RANGE_LOW = CONSTANTS[
    "EVENT_RANGE_LOW"
]  # h of a row at a breakpoint reaches the lower end of its range
RANGE_HIGH = CONSTANTS["EVENT_RANGE_HIGH"]  # h reaches the upper end
MEET = CONSTANTS["EVENT_MEET"]  # a moving row reaches the staircase
BREAK = CONSTANTS["EVENT_BREAK"]  # a moving row reaches a breakpoint
FLIP = CONSTANTS["EVENT_FLIP"]  # a row with the symmetric hinge changes its sign
NONE = CONSTANTS["EVENT_NONE"]  # nothing within the limit
#: Longer than any step.
FAR = CONSTANTS["FAR"]


def find_segment_end(region: int, direction: int) -> int:
    """Return the line of F with the end of a segment."""
    return lib.fl_path_segment_end(region, direction)


class Lines:
    """``F`` and ``S``, and the functions on them; their addresses are taken once.

    A path uses one thread at a time, so that small results have a place of their own here.
    """

    def __init__(self, F: FloatArray, S: IntArray) -> None:
        if len(F) != N_FLOATS or S.shape != (N_INTS, F.shape[1]):
            raise TypeError(
                f"the core needs {N_FLOATS} and {N_INTS} lines, got {F.shape} and {S.shape}."
            )
        self._arrays = F, S
        self._at = f64_out(F, F.size), i64_out(S, S.size), F.shape[1]
        self._reals, self._integers = (ctypes.c_double * 3)(), (ctypes.c_int64 * 2)()
        self._used: IntArray | None = None
        self._used_at: tuple[int, Address]

    def __reduce__(self) -> tuple[type[Lines], tuple[FloatArray, IntArray]]:
        return Lines, self._arrays

    def _rows(self, used: IntArray) -> tuple[int, Address]:
        """Return number and address of the rows of a step, for several functions."""
        if used is not self._used:
            self._used, self._used_at = used, (used.size, i64(used, used.size))
        return self._used_at

    # -- one row -----------------------------------------------------------------------------

    def hold(self, i: int) -> None:
        """Hold row i at the breakpoint where it is: its range of h."""
        lib.fl_path_hold(*self._at, i)

    def release(self, i: int, status: int) -> None:
        """Release row i from its breakpoint: it has no range of h any more."""
        lib.fl_path_release(*self._at, i, status)

    def flip(self, i: int) -> None:
        """Change the sign of a row with the symmetric hinge."""
        lib.fl_path_flip(*self._at, i)

    def mirror(self, i: int, first: int) -> None:
        """Turn the penalty in the lines from ``first`` on into the one of the other sign."""
        lib.fl_path_mirror(*self._at, i, first)

    def find_next_breakpoint(self, i: int) -> int:
        """Return the line of F with the next breakpoint of a moving row."""
        return lib.fl_path_next_breakpoint(*self._at, i)

    def find_adjacent_region(self, i: int, direction: int) -> int:
        """Return the region that a row at a breakpoint enters in a direction."""
        return lib.fl_path_beside(*self._at, i, direction)

    # -- many rows ---------------------------------------------------------------------------

    def place(self, rows: IntArray, tol: float, tol_inside: float) -> IntArray:
        """Place rows that are not free, and return statuses, FREE for rows to be made free."""
        n = rows.size
        found = np.empty(n, np.int64)
        lib.fl_path_place(*self._at, n, i64(rows, n), tol, tol_inside, i64_out(found, n))
        return found

    def hold_at_breakpoints(self, rows: IntArray) -> IntArray:
        """Hold rows at breakpoints, and return FREE or MOVING for rows to be freed or placed."""
        n = rows.size
        found = np.empty(n, np.int64)
        lib.fl_path_adopt(*self._at, n, i64(rows, n), i64_out(found, n))
        return found

    def arrive(
        self, moving: IntArray, rtol: float, atol: float, tol: float
    ) -> tuple[int, IntArray, float]:
        """Hold moving rows that have reached their breakpoint, or let them pass it.

        Returns how many move on, which are the first ones of ``moving`` then, the rows that are
        held, and the largest way that was missing, times ROOT.
        """
        n, counts = moving.size, self._integers
        arrived = np.empty(n, np.int64)
        missing = lib.fl_path_arrive(
            *self._at, n, i64_out(moving, n), rtol, atol, tol, i64_out(arrived, n), counts
        )
        return counts[0], arrived[: counts[1]], missing

    def hold_all(self, n: int) -> None:
        """Set ranges and rates of all rows at breakpoints, after their penalties changed."""
        lib.fl_path_hold_all(*self._at, n)

    def check(self, n: int, tol: float) -> tuple[IntArray, float]:
        """Return rows whose h left its range, and the largest error of a free row."""
        found, counts = np.empty(n, np.int64), self._integers
        largest = lib.fl_path_check(*self._at, n, tol, i64_out(found, n), counts)
        return found[: counts[0]], largest

    def violation(self, rows: IntArray, first: int) -> float:
        """Return the largest violation under the penalties in the lines from ``first`` on."""
        return lib.fl_path_violation(*self._at, rows.size, i64(rows, rows.size), first)

    def sizes(self, n: int) -> tuple[float, ...]:
        """Return the largest a, the largest ROOT, and the sum of their products."""
        lib.fl_path_sizes(*self._at, n, self._reals)
        return tuple(self._reals)

    # -- penalties that move -----------------------------------------------------------------

    def move_penalties(self, n: int, left: float, share: float) -> None:
        """Move penalties to where ``left`` of the clock is left, after ``share`` of it."""
        lib.fl_path_move_penalties(*self._at, n, left, share)

    def shift_slopes(self, n: int, tol: float) -> None:
        """Shift the slopes of every row by what its condition misses, where that exceeds tol."""
        lib.fl_path_shift_slopes(*self._at, n, tol)

    def widen_ranges(self, n: int, width: FloatArray) -> None:
        """Widen the range of h of every row at a breakpoint, by its width on either side."""
        lib.fl_path_widen_ranges(*self._at, n, f64(width, n))

    # -- steps: ``used`` are the free rows and then the moving ones --------------------------

    def set_directions(self, used: IntArray, n_free: int, left: float, total: float) -> float:
        """Set directions of moving rows to the far end of their interval, and return their sum."""
        n, rows = self._rows(used)
        return lib.fl_path_set_directions(*self._at, n_free, n - n_free, rows, left, total)

    def subtract_slope_rates(self, free: IntArray, left: float, out: FloatArray) -> None:
        """Take from ``out`` by how much the slopes of free rows change."""
        n = free.size
        lib.fl_path_subtract_slope_rates(*self._at, n, i64(free, n), left, f64_out(out, n))

    def measure_step(self, used: IntArray, corner: float) -> tuple[float, float]:
        """Return sum and maximum that the rounding of a direction is relative to."""
        sizes = self._reals
        lib.fl_path_size_of_step(*self._at, *self._rows(used), corner, sizes)
        return sizes[0], sizes[1]

    def find_next_event(
        self,
        n: int,
        used: IntArray,
        n_free: int,
        left: float,
        limit: float,
        least: float,
        noise: float,
    ) -> tuple[float, int, int]:
        """Return the first event: length of the step, code, and row, or position among rows."""
        (size, rows), event = self._rows(used), self._integers
        eta = lib.fl_path_next_event(
            *self._at, n, n_free, size - n_free, rows, left, limit, least, noise, event
        )
        return eta, event[0], event[1]

    def find_first_end(self, rows: IntArray) -> tuple[float, int, int]:
        """Return the first end of a segment along D: length of the step, row, line of F."""
        event = self._integers
        eta = lib.fl_path_first_end(*self._at, rows.size, i64(rows, rows.size), event)
        return eta, event[0], event[1]

    def advance(self, n: int, used: IntArray, eta: float, progress: bool) -> None:
        """Take a step, for penalties that don't move."""
        lib.fl_path_advance(*self._at, n, *self._rows(used), eta, progress)


class Triangle:
    """A factor of ``m`` rows: lower triangular in the first m rows of ``L``, which has room.

    Its address, and memory to work in, are taken once, so one thread uses it at a time.
    """

    def __init__(self, L: FloatArray) -> None:
        self.L, n = L, len(L)
        self._work = np.empty(2 * n)
        self._at, self._stride = f64_out(L, n * n), n
        self._work_at = f64_out(self._work, 2 * n)

    def __reduce__(self) -> tuple[type[Triangle], tuple[FloatArray]]:
        return Triangle, (self.L,)

    def append(self, m: int, column: FloatArray, corner: float, rtol: float) -> bool:
        """Add a last row and column; False, and nothing added, if they depend on the others."""
        if m >= self._stride:
            raise TypeError(f"the core needs room for {m + 1} rows, got {self._stride}.")
        at = self._at, m, self._stride
        return bool(lib.fl_factor_append(*at, f64(column, m), corner, rtol))

    def delete(self, m: int, p: int) -> None:
        """Remove row and column p."""
        lib.fl_factor_delete(self._at, m, self._stride, p, self._work_at)

    def solve(self, m: int, x: FloatArray) -> None:
        """Solve in place for the rows of ``x``, each a right-hand side."""
        lib.fl_factor_solve(self._at, m, self._stride, len(x), f64_out(x, len(x) * m))

    def solve_directions(self, m: int, corner: float, d: FloatArray, total: float) -> float:
        """Solve ``Q_MM d + shift = rhs`` and ``sum d = total``, rhs in ``d``; returns shift.

        ``L`` is the factor of ``Q_MM + corner``.
        """
        at = self._at, m, self._stride
        return lib.fl_factor_directions(*at, corner, f64_out(d, m), total, self._work_at)
