"""Data frames in memory."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from ..sources import InMemory
from .registry import TablePiece

if TYPE_CHECKING:
    import pyarrow as pa


def names(source: InMemory) -> list[str]:
    """Return names of the columns."""
    return source.content.column_names


def pieces(
    source: InMemory, names: list[str], rows: int | None, types: Mapping[str, pa.DataType] | None
) -> Iterator[TablePiece]:
    """Yield the table as a whole."""
    yield source.content, None, 1.0
