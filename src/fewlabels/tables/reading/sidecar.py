"""Numbers that are next to a table, row by row, in a file of their own (``--features``)."""

from typing import NoReturn, Protocol

import numpy as np
import pyarrow as pa

from ..._typing import AnyArray
from ..._util.messages import UserError, plural, ref
from ..arrays import read_arrays
from ..columns.schema import sidecar_name
from ..file_identity import StrPath
from ..sources import DataSource, InMemory, as_source


class AddedColumns(Protocol):
    """Columns that are added to the pieces of a table, in the order of its rows."""

    def extend_names(self, names: list[str]) -> list[str]:
        """Return the names of a table's columns and of these."""
        ...

    def add(self, table: pa.Table) -> pa.Table:
        """Return the next rows of the table with these columns."""
        ...

    def check(self) -> None:
        """Refuse columns that don't belong to the table, once all of it was read."""
        ...


class SidecarColumns:
    """Columns of numbers next to a table, in the order of its rows.

    ``features`` is an .npy file or an array, ``table`` the name of the table for messages.
    """

    def __init__(self, features: StrPath | DataSource | AnyArray, table: object) -> None:
        source = features if isinstance(features, np.ndarray) else as_source(features)
        self._name = "the array of features" if isinstance(features, np.ndarray) else str(features)
        self._table, self._done = table, 0
        if isinstance(source, np.ndarray):
            source = InMemory("matrix", source)
        elif source.form != "npy":
            raise UserError(
                f"{ref('features')} needs an .npy file, and {features} isn't one; save it with "
                "numpy.save."
            )
        self._source, self._X = source, read_arrays(source).X

    @property
    def names(self) -> list[str]:
        return [sidecar_name(k) for k in range(self._X.shape[1])]

    def extend_names(self, names: list[str]) -> list[str]:
        """Return the names of a table's columns and of these."""
        return [*names, *self.names]

    def add(self, table: pa.Table) -> pa.Table:
        """Return the next rows of the table with their numbers as further columns."""
        block = self._X[self._done : self._done + table.num_rows]
        self._done += table.num_rows
        if len(block) < table.num_rows:
            self._refuse("more")
        block = np.array(block, dtype=float)  # of a mapped file, into which others may write
        self._source.check_unchanged()
        for name, values in zip(self.names, block.T, strict=True):
            table = table.append_column(name, pa.array(np.ascontiguousarray(values)))
        return table

    def check(self) -> None:
        """Refuse numbers for more rows than the table had."""
        if self._done != len(self._X):
            self._refuse(f"{self._done:,}")

    def _refuse(self, n_rows: str) -> NoReturn:
        raise UserError(
            f"{self._name} has {plural(len(self._X), 'row')} but {self._table} has {n_rows}; it "
            "needs one row of numbers per table row, in the same order."
        )
