"""The compiled functions that every fit calls: kernel values, penalties, and steps of a block.

NumPy arrays go in and out. Type, size and layout of each are checked here alone, before its
address is passed to the C++ core. ``fewlabels.h`` documents the functions.

A block of problem (P) is solved by pair steps, which move mass between two variables at a time:

    minimise  1/2 a' Q a + sum phi_i(a_i)   over a with a fixed sum

The pair is chosen by second-order information (Fan, Chen & Lin 2005, working set selection 2),
generalised to penalties with a kink: i has the lowest slope to the right, j promises the largest
decrease.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from ctypes import byref
from enum import Enum
from typing import Any, NamedTuple, Protocol, TypeAlias

import numpy as np

from .._typing import AnyArray, BoolArray, FloatArray, IntArray, RealArray
from .library import CONSTANTS, lib

# -- arrays as arguments --------------------------------------------------------------------------
# Each function takes an array and the number of elements it must have, and returns its address.
# The names ending in ``_out`` are for arrays that are written to.

#: Where an array begins, as ctypes takes it.
Address: TypeAlias = ctypes.Array[ctypes.c_char] | int

# The start of a buffer. Taking it is several times faster than ``array.ctypes.data``, and refuses
# arrays that are not C-contiguous or not writable.
_Start = ctypes.c_char * 0
_get_start: Callable[..., Address] = _Start.from_buffer


def _writable_address_of(dtype: np.dtype[Any]) -> Callable[[AnyArray, int], Address]:
    def address(array: AnyArray, size: int) -> Address:
        if array.size != size or (array.dtype is not dtype and array.dtype != dtype):
            raise TypeError(_describe_mismatch(array, dtype, size))
        return _get_start(array)

    return address


def _readable_address_of(dtype: np.dtype[Any]) -> Callable[[AnyArray, int], Address]:
    def address(array: AnyArray, size: int) -> Address:
        if array.size != size or (array.dtype is not dtype and array.dtype != dtype):
            raise TypeError(_describe_mismatch(array, dtype, size))
        try:
            return _get_start(array)
        except TypeError:
            if not array.flags.c_contiguous:
                raise
            return array.ctypes.data  # read-only

    return address


def _describe_mismatch(array: AnyArray, dtype: np.dtype[Any], size: int) -> str:
    return f"the core needs {size} elements of {dtype}, got {array.size} of {array.dtype}."


def address_of(argument: Address) -> int:
    """Return the address in an argument that one of the functions below has made."""
    return argument if isinstance(argument, int) else ctypes.addressof(argument)


f32 = _readable_address_of(np.dtype(np.float32))
f64 = _readable_address_of(np.dtype(np.float64))
i32 = _readable_address_of(np.dtype(np.int32))
i64 = _readable_address_of(np.dtype(np.int64))
bools = _readable_address_of(np.dtype(np.bool_))
u8 = _readable_address_of(np.dtype(np.uint8))
u16 = _readable_address_of(np.dtype(np.uint16))
u32 = _readable_address_of(np.dtype(np.uint32))
f32_out = _writable_address_of(np.dtype(np.float32))
f64_out = _writable_address_of(np.dtype(np.float64))
i32_out = _writable_address_of(np.dtype(np.int32))
i64_out = _writable_address_of(np.dtype(np.int64))


# -- kernel values between dense rows in tiles, and between sparse rows ---------------------------
# ``row_map`` has the ``kind`` of map, its ``degree`` and the kernel's ``coef0``. Functions work on
# tiles or, for sparse rows, on rows ``start`` to ``stop``.

#: Columns that sparse rows are evaluated with at a time, at most.
LANES = CONSTANTS["LANES"]

_FLOAT32 = np.dtype(np.float32)


class Tiles(NamedTuple):
    """``n`` dense rows, feature-major in tiles: shape (n_tiles, d, width), and a term of each."""

    values: RealArray
    term: RealArray
    n: int


class CsrRows(NamedTuple):
    """Sparse rows as the arrays of CSR, and a term of each."""

    data: RealArray
    indices: IntArray
    indptr: IntArray
    term: RealArray


class ColumnRows(NamedTuple):
    """Dense rows that columns of kernel values belong to, and a term of each.

    Next to sparse rows they are interleaved lanes, of shape (d, width).
    """

    values: RealArray
    term: RealArray


class HasOffset(Protocol):
    """A kernel as compiled code sees it: the constant that is added to inner products."""

    @property
    def coef0(self) -> float:
        """The constant."""


class RowMapping(Protocol):
    """A description of how rows were prepared: a ``RowMap``."""

    @property
    def kind(self) -> int:
        """The number of the map of inner products."""

    @property
    def degree(self) -> int:
        """The power, of a map that has one."""

    @property
    def kernel(self) -> HasOffset:
        """The kernel."""


def tile_rows(dtype: np.dtype[Any]) -> int:
    """Return the rows of a whole tile."""
    return CONSTANTS["TILE_BYTES"] // dtype.itemsize


def whole_vectors(n: int, dtype: np.dtype[Any]) -> int:
    """Return ``n``, but at least 1, rounded up to whole vectors."""
    step = CONSTANTS["VECTOR_BYTES"] // dtype.itemsize
    return max(1, -(-n // step)) * step


def choose_tile_width(n: int, dtype: np.dtype[Any]) -> int:
    """Return the rows of each tile for ``n`` rows: a whole tile, or the vectors that they need."""
    return min(tile_rows(dtype), whole_vectors(n, dtype))


def _pass_tiles(
    row_map: RowMapping,
    rows: Tiles,
    columns: ColumnRows,
) -> tuple[float | Address, ...]:
    """Return the arguments that functions of dense rows begin with."""
    tiles, row_term, n = rows
    values, column_term = columns
    n_tiles, d, width = tiles.shape
    m = len(values)
    if values.shape[1] != d or n > n_tiles * width or width > tile_rows(tiles.dtype):
        raise TypeError(f"tiles {tiles.shape} of {n} rows do not fit columns {values.shape}.")
    array = f32 if tiles.dtype == _FLOAT32 else f64
    return (
        row_map.kind, row_map.degree, row_map.kernel.coef0, n, d, width,
        array(tiles, tiles.size), array(row_term, n_tiles * width),
        m, array(values, m * d), array(column_term, m),
    )  # fmt: skip


def apply_tiles(
    row_map: RowMapping,
    rows: Tiles,
    columns: ColumnRows,
    coef: FloatArray,
    out: FloatArray,
    start: int,
    stop: int,
) -> None:
    """``out += K(rows, columns) @ coef``; ``coef`` and ``out`` are float64."""
    is_short = rows.values.dtype == _FLOAT32
    function = lib.fl_apply_tiles_f32 if is_short else lib.fl_apply_tiles_f64
    fixed = _pass_tiles(row_map, rows, columns)
    function(*fixed, f64(coef, len(columns.values)), f64_out(out, rows.n), start, stop)


def column_tiles(
    row_map: RowMapping,
    rows: Tiles,
    columns: ColumnRows,
    out: RealArray,
    start: int,
    stop: int,
) -> None:
    """``out[j, row] = K(row, columns[j])``."""
    fixed = _pass_tiles(row_map, rows, columns)
    size = len(columns.values) * rows.n
    if rows.values.dtype == _FLOAT32:
        lib.fl_column_tiles_f32(*fixed, f32_out(out, size), start, stop)
    else:
        lib.fl_column_tiles_f64(*fixed, f64_out(out, size), start, stop)


def _pass_csr(
    row_map: RowMapping,
    rows: CsrRows,
    columns: ColumnRows,
) -> tuple[float | Address, ...]:
    """Return the arguments that functions of sparse rows begin with."""
    data, indices, indptr, row_term = rows
    lanes, lane_term = columns
    array = f32 if data.dtype == _FLOAT32 else f64
    width = lanes.shape[1]
    if width != 1 and (width > LANES or width != whole_vectors(width, lanes.dtype)):
        raise TypeError(f"{width} lanes are not whole vectors, or too many.")
    return (
        row_map.kind, row_map.degree, array(data, data.size), i64(indices, data.size),
        i64(indptr, indptr.size), array(row_term, indptr.size - 1),
        width, array(lanes, lanes.size), array(lane_term, width),
    )  # fmt: skip


def apply_sparse(
    row_map: RowMapping,
    rows: CsrRows,
    columns: ColumnRows,
    coef: FloatArray,
    out: FloatArray,
    start: int,
    stop: int,
) -> None:
    """``out += K(rows, columns) @ coef``; ``coef`` and ``out`` are float64."""
    fixed = _pass_csr(row_map, rows, columns)
    is_short = columns.values.dtype == _FLOAT32
    function = lib.fl_apply_sparse_f32 if is_short else lib.fl_apply_sparse_f64
    function(*fixed, f64(coef, coef.size), f64_out(out, rows.term.size), start, stop)


def column_sparse(
    row_map: RowMapping,
    rows: CsrRows,
    columns: ColumnRows,
    out: RealArray,
    start: int,
    stop: int,
) -> None:
    """``out[c, row] = K(row, column c)``."""
    fixed = _pass_csr(row_map, rows, columns)
    m, n = out.shape
    if n != rows.term.size or m > columns.values.shape[1]:
        raise TypeError(f"the results {out.shape} do not fit {rows.term.size} rows.")
    if columns.values.dtype == _FLOAT32:
        lib.fl_column_sparse_f32(*fixed, n, m, f32_out(out, m * n), start, stop)
    else:
        lib.fl_column_sparse_f64(*fixed, n, m, f64_out(out, m * n), start, stop)


# -- squared norms and distances of float64 rows, C-ordered or canonical CSR ----------------------


def squared_norms(rows: Any) -> FloatArray:
    """Return <x, x> of rows, summed as kernel values are.

    Minus half of it as a row's term makes its kernel value with an equal row exact.
    """
    n, out = rows.shape[0], np.empty(rows.shape[0])
    if hasattr(rows, "indptr"):
        data, ends = f64(rows.data, rows.data.size), _as_int64(rows.indptr)
        lib.fl_squared_norms_sparse(n, data, i64(ends, n + 1), f64_out(out, n))
    else:
        d = rows.shape[1]
        lib.fl_squared_norms(n, d, f64(rows, n * d), f64_out(out, n))
    return out


def squared_distances(rows: Any, columns: Any, out: FloatArray, start: int, stop: int) -> None:
    """Set ``out[j, i]`` to the squared distance of row i, from start to stop, and column j."""
    (n, d), m = rows.shape, columns.shape[0]
    if columns.shape[1] != d:
        raise TypeError(f"rows of {d} columns have no distance to rows of {columns.shape[1]}.")
    target = f64_out(out, m * n)
    if not hasattr(rows, "indptr"):
        lib.fl_squared_distances(
            n, d, f64(rows, n * d), m, f64(columns, m * d), target, start, stop
        )
        return
    # The names keep the arrays alive as long as their addresses are used.
    indices, ends = _as_int64(rows.indices), _as_int64(rows.indptr)
    others, bounds = _as_int64(columns.indices), _as_int64(columns.indptr)
    row_arrays = f64(rows.data, rows.data.size), i64(indices, rows.data.size), i64(ends, n + 1)
    size = columns.data.size
    column_arrays = f64(columns.data, size), i64(others, size), i64(bounds, m + 1)
    lib.fl_squared_distances_sparse(n, *row_arrays, m, *column_arrays, target, start, stop)


def _as_int64(numbers: IntArray) -> IntArray:
    return numbers.astype(np.int64, copy=False)


# -- stored columns of a kernel matrix: the one in slot s is ``storage[s]`` -----------------------


def apply_columns(
    storage: RealArray, slots: IntArray, coef: FloatArray, out: FloatArray, start: int, stop: int
) -> None:
    """``out += coef @ storage[slots]``, for rows ``start`` to ``stop``."""
    count = slots.size
    if storage.dtype == _FLOAT32:
        function, address = lib.fl_apply_columns_f32, f32(storage, storage.size)
    else:
        function, address = lib.fl_apply_columns_f64, f64(storage, storage.size)
    function(
        storage.shape[1], address, count, i64(slots, count), f64(coef, count),
        f64_out(out, out.size), start, stop,
    )  # fmt: skip


def gather(storage: FloatArray, slots: IntArray, rows: IntArray, out: FloatArray) -> None:
    """``out[i, k] = storage[slots[k], rows[i]]``."""
    count, n_rows = slots.size, rows.size
    lib.fl_gather(
        storage.shape[1], f64(storage, storage.size), count, i64(slots, count),
        n_rows, i64(rows, n_rows), f64_out(out, n_rows * count),
    )  # fmt: skip


def gather_product(
    storage: FloatArray, slots: IntArray, rows: IntArray, coef: FloatArray, out: FloatArray
) -> None:
    """``out[i] += sum_k storage[slots[k], rows[i]] coef[k]``."""
    count, n_rows = slots.size, rows.size
    lib.fl_gather_product(
        storage.shape[1], f64(storage, storage.size), count, i64(slots, count),
        n_rows, i64(rows, n_rows), f64(coef, count), f64_out(out, n_rows),
    )  # fmt: skip


def extend_columns(storage: FloatArray, column_of: IntArray, new: FloatArray, first: int) -> None:
    """``storage[s, first + r] = new[r, column_of[s]]`` for every slot that holds a column."""
    n_new, n_columns = new.shape
    if first + n_new > storage.shape[1] or len(column_of) != len(storage):
        raise TypeError(f"{n_new} rows from {first} on do not fit into {storage.shape}.")
    lib.fl_extend_columns(
        storage.shape[1], f64_out(storage, storage.size), column_of.size,
        i64(column_of, column_of.size), n_new, n_columns, f64(new, n_new * n_columns), first,
    )  # fmt: skip


# -- passes over all variables and their penalties, and over groups of equal rows -----------------

# Totals that ``survey`` computes: sums over the variables first, and then extremes and counts.
SUM = CONSTANTS["SUM"]  # sum of a
REACH = CONSTANTS["REACH"]  # sum of |a|
PRODUCT = CONSTANTS["PRODUCT"]  # sum of a g
PENALTY = CONSTANTS["PENALTY"]  # sum of the penalties
SQUARES = CONSTANTS["SQUARES"]  # sum of |size| a^2
BETWEEN = CONSTANTS["BETWEEN"]  # sum of the rates of variables between breakpoints
LOWEST_UP = CONSTANTS["LOWEST_UP"]  # lowest rate to the right
HIGHEST_DOWN = CONSTANTS["HIGHEST_DOWN"]  # highest rate to the left
LARGEST = CONSTANTS["LARGEST"]  # largest |a|
N_BETWEEN = CONSTANTS["N_BETWEEN"]  # number of variables between breakpoints
N_USED = CONSTANTS["N_USED"]  # number of variables that are not zero
N_OUTSIDE = CONSTANTS["N_OUTSIDE"]  # number of variables outside their interval
N_SUMS = CONSTANTS["N_SUMS"]  # number of sums
N_TOTALS = CONSTANTS["N_TOTALS"]  # number of totals
#: The most kinks that a penalty may have.
N_KINKS = CONSTANTS["N_KINKS"]
_Pointers = ctypes.c_void_p * CONSTANTS["N_PENALTY"]


class HasPieces(Protocol):
    """The penalties of all variables: a ``Penalty``."""

    @property
    def pieces(self) -> Pieces:
        """The arrays of the penalties, as one argument."""


class Pieces:
    """The arrays of a ``Penalty`` as one argument, whose addresses are taken once.

    Parameters
    ----------
    arrays : sequence of ndarrays of shape (n,)
        The ends of N_KINKS + 1 pieces, and then their slopes.
    """

    def __init__(self, arrays: Sequence[FloatArray]) -> None:
        self.n = arrays[0].size
        self._arrays = arrays  # kept alive
        places: dict[int, int] = {}  # padding repeats some
        for array in arrays:
            if id(array) not in places:
                places[id(array)] = address_of(f64(array, self.n))
        self._struct = _Pointers(*[places[id(array)] for array in arrays])

    def pointers_for(self, n: int) -> ctypes.Array[ctypes.c_void_p]:
        """Return the argument, for ``n`` variables."""
        if n != self.n:
            raise TypeError(f"the core needs penalties of {n} variables, got {self.n}.")
        return self._struct


def survey(
    penalty: Pieces,
    size: FloatArray,
    a: FloatArray,
    g: FloatArray,
    rates: FloatArray,
    totals: FloatArray,
) -> None:
    """Fill ``rates`` (``g`` plus the slopes to the right and to the left) and the totals."""
    n = a.size
    lib.fl_survey(
        n, penalty.pointers_for(n), f64(size, n), f64(a, n), f64(g, n), f64_out(rates, 2 * n),
        f64_out(totals, N_TOTALS),
    )  # fmt: skip


def gap(
    penalty: Pieces,
    ridge: FloatArray,
    a: FloatArray,
    g: FloatArray,
    multiplier: float,
    implied: tuple[float, float, float, float],
) -> float:
    """Return the sum of ``h_i(a_i) - min h_i`` (``DualProblem.duality_gap``), or inf.

    ``implied`` is what the equality implies for infinite ends (``Extent.implied``).
    """
    n, result = a.size, ctypes.c_double()
    lib.fl_gap(
        n, penalty.pointers_for(n), f64(ridge, n), f64(a, n), f64(g, n),
        multiplier, *implied, ctypes.byref(result),
    )  # fmt: skip
    return result.value


def set_to_minimiser(
    penalty: Pieces,
    ridge: FloatArray,
    multiplier: float,
    smooth: FloatArray,
    held: BoolArray,
    a: FloatArray,
) -> float:
    """Set every variable that is not held to its optimum at ``multiplier``.

    a_i minimises ``phi_i(a) + (smooth_i - multiplier) a + ridge_i a^2 / 2``. Where that would be
    infinite the variable stays put. Returns the sum of all variables.
    """
    n, result = a.size, ctypes.c_double()
    lib.fl_settle(
        n, penalty.pointers_for(n), f64(ridge, n), multiplier, f64(smooth, n), bools(held, n),
        f64_out(a, n), ctypes.byref(result),
    )  # fmt: skip
    return result.value


def group_sums(group: IntArray, values: FloatArray, totals: FloatArray) -> None:
    """Add ``values`` to the totals of their groups, with compensation; infinite ones too."""
    n, n_groups = group.size, totals.size
    lib.fl_group_sums(
        n, i64(group, n), f64(values, n), n_groups, f64_out(totals, n_groups),
        f64_out(np.empty(n_groups), n_groups),
    )  # fmt: skip


def share_out(
    lower: FloatArray,
    upper: FloatArray,
    group: IntArray,
    amount: FloatArray,
    near: FloatArray,
    a: FloatArray,
) -> None:
    """Fill ``a`` from ``lower`` to ``upper``, one variable of a group after the other.

    ``amount`` says how far all variables of a group are above their lower ends; within ``near``
    of an end they are on it.
    """
    n, n_groups = group.size, amount.size
    lib.fl_share_out(
        n, f64(lower, n), f64(upper, n), i64(group, n), n_groups, f64(amount, n_groups),
        f64(near, n_groups), f64_out(a, n), f64_out(np.empty(2 * n_groups), 2 * n_groups),
    )  # fmt: skip


# -- one block of problem (P) ---------------------------------------------------------------------

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
