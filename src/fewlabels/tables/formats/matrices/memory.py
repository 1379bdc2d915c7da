"""Matrices in memory."""

import numpy as np

from ...arrays import PER_CELL, ArrayData, pieces_of, read_arrays, rows_of


def read(source, place=None):
    """The rows as ``ArrayData``."""
    content = source.content
    return content if isinstance(content, ArrayData) else ArrayData(rows_of(content, source))


def memory(source):
    """Bytes that learning takes besides the rows that are in memory already."""
    return PER_CELL * source.content.size if isinstance(source.content, np.memmap) else 0


def pieces(source, rows, schema):
    """Pieces of at most so many rows, and the share of them so far."""
    return pieces_of(read_arrays(source), rows)
