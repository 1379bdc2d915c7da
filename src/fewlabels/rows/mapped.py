"""Memory-mapped rows, and whether somebody writes into their files while they are used."""

import mmap
import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import scipy.sparse as sp

from .._typing import RowMatrix
from ..kernels.rows import is_sparse

Stamp = tuple[int, int, int, int]


def read_stamp(file: str | int) -> Stamp:
    """Return identities of files, to notice when somebody writes into one or replaces it."""
    found = os.stat(file)
    return found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns


def find_mapped_files(*values: object) -> Iterator[str]:
    """Yield files of the arrays, or sparse matrices, that are mapped from one to be read.

    Whoever maps a file to write to it knows what is written.
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
