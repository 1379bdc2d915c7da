"""Kernel values between dense rows in tiles, and between sparse rows.

``row_map`` has the ``kind`` of map, its ``degree`` and the kernel's ``coef0``. Functions work on
tiles or, for sparse rows, on rows ``start`` to ``stop``.
"""

from typing import Any, NamedTuple, Protocol

import numpy as np

from .._typing import FloatArray, IntArray, RealArray
from .arrays import Address, f32, f32_out, f64, f64_out, i64
from .library import CONSTANTS, lib

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
