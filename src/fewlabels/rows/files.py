"""Rows in files: read in pieces, never held.

``MappedFiles`` tells whether somebody writes into the files of memory-mapped rows while these are
used.
"""

from __future__ import annotations

import math
import mmap
import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from functools import partial
from io import FileIO
from typing import Any, Self, TypeAlias

import numpy as np
import scipy.sparse as sp

from .._typing import AnyArray, BoolArray, FloatArray, IntArray, RowMatrix
from ..kernels.rows import canonical, is_sparse
from .shards import Shard, stack_rows
from .source import ShardedSource

Stamp = tuple[int, int, int, int]


def read_stamp(file: str | int) -> Stamp:
    """Return identities of files, to notice when somebody writes into one or replaces it."""
    found = os.stat(file)
    return found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns


def find_mapped_files(*values: object) -> Iterator[str]:
    """Yield files of the arrays, or sparse matrices, that are mapped from one to be read.

    Who maps a file to write to it knows what is written.
    """
    for value in values:
        for part in _arrays_of(value):
            holder: object = part
            mapped: np.memmap[Any, Any] | None = None
            while isinstance(holder, np.ndarray):
                mapped = holder if isinstance(holder, np.memmap) else mapped
                holder = holder.base
            if mapped is not None and isinstance(holder, mmap.mmap):
                if mapped.mode in ("r", "c") and mapped.filename is not None:
                    yield os.fspath(mapped.filename)


def _arrays_of(value: object) -> tuple[object, ...]:
    if isinstance(value, sp.csr_array | sp.csr_matrix | sp.csc_array | sp.csc_matrix):
        return value.data, value.indices, value.indptr
    return (value,)


def copy_mapped(X: RowMatrix) -> RowMatrix:
    """Return rows in memory: mapped ones are copied, all others are as they are."""
    if not any(find_mapped_files(X)):
        return X
    return X.copy() if is_sparse(X) else np.array(X)


class MappedFiles:
    """The files of mapped rows, as they are when this is made.

    A file that takes the name of one of them does no harm: what is mapped stays there.
    """

    def __init__(self, *values: object) -> None:
        self._before: dict[str, Stamp | None] = {
            file: _stamp_if_any(file) for file in find_mapped_files(*values)
        }

    def __bool__(self) -> bool:
        return bool(self._before)

    def written(self) -> str | None:
        """Return a file into which somebody has written since, None without any."""
        for file, before in self._before.items():
            now = _stamp_if_any(file)
            if before and now and before != now and before[:2] == now[:2]:
                return file
        return None

    def check(self) -> None:
        """Refuse what was computed from rows of which some are of another version."""
        file = self.written()
        if file is not None:
            raise changed_file_error(file, "has changed")

    @contextmanager
    def checked(self) -> Iterator[None]:
        """Check after a block, also where it fails: then the change may be the cause."""
        try:
            yield
        except Exception as error:
            file = self.written()
            if file is None:
                raise
            raise changed_file_error(file, "has changed") from error
        self.check()


def mapped_files_among(*values: object) -> MappedFiles | None:
    """Return the files of the mapped rows among some values; None without any."""
    files = MappedFiles(*values)
    return files if files else None


def _stamp_if_any(file: str) -> Stamp | None:
    try:
        return read_stamp(file)
    except OSError:
        return None


def changed_file_error(file: str, what: str) -> OSError:
    """Say that rows of a file are no longer as they were at first."""
    return OSError(
        f"{file} {what} while its rows were used; run this again when nothing writes to it."
    )


# Bytes that are read at a time.
_PIECE_BYTES = 2_000_000
# Rows of a shard at most.
_MAX_SHARD_ROWS = 1_000_000
# Shards for each thread, ...
_SHARDS_PER_THREAD = 4
# ... of no fewer rows.
_MIN_SHARD_ROWS = 50_000
# From this share of its rows on, a shard is read from one end to the other.
_FULL_READ_SHARE = 1 / 64
# Bytes that a row of a sample takes beside its numbers, twice: as given, and packed.
_SAMPLED_ROW_OVERHEAD_BYTES = 120
# Rows of a mapped array that are compared with the file of its name.
_N_ROWS_COMPARED = 64
# Functions that are called with the number of times a file was read.
_pass_listener: ContextVar[Callable[[float], object] | None] = ContextVar("heard", default=None)
_FLOATS = (np.dtype(np.float32), np.dtype(np.float64))

# Reads the rows from a first one up to another from opened files.
ReadRows: TypeAlias = Callable[[int, int], RowMatrix]
# With the files to close.
Reader: TypeAlias = tuple[ReadRows, list[FileIO]]


@contextmanager
def on_pass(function: Callable[[float], object]) -> Iterator[None]:
    """Have a function called with how often the rows were read, from threads that read them."""
    token = _pass_listener.set(function)
    try:
        yield
    finally:
        _pass_listener.reset(token)


@dataclass(frozen=True)
class ArrayFile:
    """A C-ordered array in a file, from ``offset`` on; ``stamp`` says whether it has changed."""

    path: str
    offset: int
    dtype: np.dtype[Any]
    shape: tuple[int, ...]
    stamp: Stamp

    @classmethod
    def from_array(cls, array: AnyArray) -> Self | None:
        """Return the file of a memory-mapped array.

        None where it is none, gone, or in another order.
        """
        holder: object = array
        mapped: np.memmap[Any, Any] | None = None
        while isinstance(holder, np.ndarray):
            mapped = holder if isinstance(holder, np.memmap) else mapped
            holder = holder.base
        if mapped is None or not isinstance(holder, mmap.mmap) or mapped.mode == "c":
            return None
        if mapped.filename is None or not array.flags.c_contiguous:
            return None
        begins = np.frombuffer(holder, np.uint8).ctypes.data
        start = mapped.offset - mapped.offset % mmap.ALLOCATIONGRANULARITY
        path = os.fspath(mapped.filename)
        offset = start + array.ctypes.data - begins
        try:
            stamp = read_stamp(path)
        except FileNotFoundError:  # what is mapped is still there
            return None
        found = cls(path, offset, array.dtype, array.shape, stamp)
        return found if found.matches(array) else None

    def matches(self, array: AnyArray) -> bool:
        """Return whether the file holds a mapped array: another may now have its name."""
        with self.open() as file:
            n, some = array.shape[0], np.linspace(0, array.shape[0] - 1, _N_ROWS_COMPARED)
            for row in np.unique(some.astype(int)) if n else ():
                if array[row : row + 1].tobytes() != self.read(file, row, row + 1).tobytes():
                    return False
        return True

    @property
    def row_bytes(self) -> int:
        return self.dtype.itemsize * math.prod(self.shape[1:])

    def open(self) -> FileIO:
        """Return the file, as long as nobody has touched it."""
        try:
            file = open(self.path, "rb", buffering=0)
        except FileNotFoundError:
            raise changed_file_error(self.path, "is gone") from None
        if read_stamp(file.fileno()) != self.stamp:
            file.close()
            raise changed_file_error(self.path, "has changed")
        return file

    def read(self, file: FileIO, start: int, stop: int) -> AnyArray:
        """Return rows ``start`` to ``stop`` of the array, from the opened file."""
        rows = np.empty((max(0, stop - start), *self.shape[1:]), self.dtype)
        room = rows.reshape(-1).view(np.uint8).data
        file.seek(self.offset + start * self.row_bytes)
        done = 0
        while done < len(room):
            count = file.readinto(room[done:])
            if not count:
                raise changed_file_error(self.path, "has become shorter")
            done += count
        if read_stamp(file.fileno()) != self.stamp:  # somebody wrote into it meanwhile
            raise changed_file_error(self.path, "has changed")
        return rows


class RowFile(ABC):
    """Rows in files."""

    is_sparse: bool
    shape: tuple[int, int]
    row_bytes: float
    dtype: np.dtype[Any]

    @property
    def n_bytes(self) -> float:
        """Bytes that all rows take."""
        return self.row_bytes * self.shape[0]

    @abstractmethod
    def reader(self) -> Reader:
        """Return a function of (start, stop) that reads rows, and the files to close."""


class DenseFile(RowFile):
    """Rows of one array."""

    is_sparse = False

    def __init__(self, array: ArrayFile) -> None:
        self.array = array
        n, n_columns = array.shape
        self.shape, self.row_bytes = (n, n_columns), array.row_bytes
        self.dtype = array.dtype if array.dtype in _FLOATS else np.dtype(np.float64)

    def reader(self) -> Reader:
        file = self.array.open()
        return partial(self.array.read, file), [file]


class SparseFile(RowFile):
    """CSR rows of three arrays: data, indices and indptr."""

    is_sparse = True

    def __init__(self, arrays: list[ArrayFile], n_columns: int) -> None:
        self.arrays = arrays
        n, data = arrays[2].shape[0] - 1, arrays[0]
        self.shape = (n, n_columns)
        entry = data.dtype.itemsize + arrays[1].dtype.itemsize
        self.row_bytes = 8 + entry * data.shape[0] / max(1, n)
        self.dtype = data.dtype if data.dtype in _FLOATS else np.dtype(np.float64)

    def reader(self) -> Reader:
        files = [array.open() for array in self.arrays]
        return partial(self._read, files), files

    def _read(self, files: list[FileIO], start: int, stop: int) -> sp.csr_array:
        data, indices, indptr = self.arrays
        ends = indptr.read(files[2], start, stop + 1)
        low, high = int(ends[0]), int(ends[-1])
        entries = data.read(files[0], low, high), indices.read(files[1], low, high), ends - low
        return canonical(sp.csr_array(entries, shape=(stop - start, self.shape[1])))


def find_row_file(X: object) -> DenseFile | SparseFile | None:
    """Return the ``DenseFile`` or ``SparseFile`` of memory-mapped rows.

    None where they are none.
    """
    if isinstance(X, sp.csr_array | sp.csr_matrix):
        files = [ArrayFile.from_array(array) for array in (X.data, X.indices, X.indptr)]
        arrays = [file for file in files if file is not None]
        return SparseFile(arrays, X.shape[1]) if len(arrays) == len(files) else None
    if not isinstance(X, np.ndarray) or X.base is None:  # which owns its memory
        return None
    if X.ndim != 2 or X.dtype.kind not in "fiub":
        return None
    array = ArrayFile.from_array(X)
    return None if array is None or not X.size else DenseFile(array)


class FileShard(Shard):
    """Rows of a file from the number ``first`` on."""

    def __init__(self, source: FileSource, n: int, first: int, weight: FloatArray | None) -> None:
        own = slice(first, first + n)
        super().__init__(n, first, None if weight is None else weight[own])
        self.source = source

    def pieces(self) -> Iterator[tuple[slice, RowMatrix]]:
        step = self.source.rows_of_a_piece
        read, files = self.source.file.reader()
        try:
            for start in range(0, self.n, step):
                stop = min(self.n, start + step)
                yield slice(start, stop), self._read(read, start, stop)
        finally:
            for file in files:
                file.close()

    def take(self, places: IntArray) -> RowMatrix:
        places = np.asarray(places)
        if np.any(np.diff(places) <= 0):  # in any order, or the same row again
            places, where = np.unique(places, return_inverse=True)
            return self.take(places)[where]
        if len(places) > _FULL_READ_SHARE * self.n:
            found = []
            for part, rows in self.pieces():
                low, high = np.searchsorted(places, (part.start, part.stop))
                found.append(rows[places[low:high] - part.start])
            return stack_rows(found)
        read, files = self.source.file.reader()
        try:
            # Rows that follow each other are read together.
            edges = np.flatnonzero(np.diff(places) != 1) + 1
            runs = np.split(places, edges) if len(places) else [np.zeros(1, int)]
            found = [self._read(read, int(run[0]), int(run[-1]) + 1) for run in runs]
        finally:
            for file in files:
                file.close()
        return stack_rows(found)[: len(places)]

    def number(self, row: int) -> int:
        return int(self.source.numbers(np.asarray(self.first + row)))

    def _read(self, read: ReadRows, start: int, stop: int) -> RowMatrix:
        first, last = self.source.numbers(np.array([self.first + start, self.first + stop - 1]))
        rows = read(first, last + 1)
        if last - first >= stop - start:
            rows = rows[self.source.numbers(self.first + np.arange(start, stop)) - first]
        self.source.count_read(stop - start)
        return rows.astype(self.source.dtype, copy=False)


class FileSource(ShardedSource):
    """Rows of a file in shards, which ``n_jobs`` threads read and evaluate side by side.

    ``rows_read`` counts them; a sample that means them all takes about ``cache_size``.
    """

    def __init__(
        self,
        file: RowFile,
        weight: FloatArray | None = None,
        *,
        n_jobs: int = 1,
        cache_size: float = 200e6,
        n_shards: int | None = None,
    ) -> None:
        self.file, self.shape, self.is_sparse = file, file.shape, file.is_sparse
        self.dtype, self.n_jobs = file.dtype, n_jobs
        self.rows_of_a_piece = max(256, int(_PIECE_BYTES // file.row_bytes) // 256 * 256)
        self.max_sampled_rows = max(
            1024, int(cache_size / (2 * file.row_bytes + _SAMPLED_ROW_OVERHEAD_BYTES))
        )
        self.rows_read, self._listener = 0, _pass_listener.get()
        # How many rows there are before each of those that are left out.
        self._before = np.empty(0, dtype=np.intp)
        n = self.shape[0]
        if n_shards is None:
            n_shards = max(
                -(-n // _MAX_SHARD_ROWS), min(_SHARDS_PER_THREAD * n_jobs, n // _MIN_SHARD_ROWS), 1
            )
        self._divide(n, n_shards, weight)

    def leave_out(self, mask: BoolArray) -> None:
        if any(shard.weight is not None for shard in self.shards):
            super().leave_out(mask)
            return
        # With a weight for each row there would be penalties for each as well.
        left_out = np.flatnonzero(mask)
        self._before = left_out - np.arange(len(left_out))
        self._divide(self.shape[0] - len(left_out), len(self.shards))

    def numbers(self, ids: IntArray) -> IntArray:
        return ids + np.searchsorted(self._before, ids, "right")

    def spent(self) -> dict[str, float]:
        return {"rows_read": self.rows_read}

    def count_read(self, n_rows: int) -> None:
        """Note that so many rows were read."""
        self.rows_read += n_rows
        if self._listener is not None:
            self._listener(self.rows_read / self.n)

    def _divide(self, n: int, n_shards: int, weight: FloatArray | None = None) -> None:
        ends = [n * k // n_shards for k in range(n_shards + 1)]
        pairs = [(ends[k], ends[k + 1]) for k in range(n_shards) if ends[k] < ends[k + 1]]
        self.shards = [FileShard(self, b - a, a, weight) for a, b in pairs]
