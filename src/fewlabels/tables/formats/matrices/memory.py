"""Matrices in memory."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np

from ...arrays import PER_CELL, ArrayData, check_matrix, iterate_rows, read_arrays
from ...columns.schema import Schema
from ...sources import InMemory


def read(source: InMemory, place: Path | None = None) -> ArrayData:
    """Return the rows as ``ArrayData``."""
    content = source.content
    return content if isinstance(content, ArrayData) else ArrayData(check_matrix(content, source))


def memory(source: InMemory) -> int:
    """Estimate the bytes that learning takes besides the rows that are in memory already."""
    return PER_CELL * source.content.size if isinstance(source.content, np.memmap) else 0


def pieces(source: InMemory, rows: int, schema: Schema) -> Iterator[tuple[ArrayData, float]]:
    """Return pieces of at most so many rows, and the share of them so far."""
    return iterate_rows(read_arrays(source), rows)
