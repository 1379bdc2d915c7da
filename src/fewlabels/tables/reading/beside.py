"""Numbers that are next to a table, row by row, in a file of their own (``--features``)."""

import numpy as np
import pyarrow as pa

from ..._util.messages import UserError, plural, ref
from ..arrays import read_arrays
from ..columns.schema import beside_name
from ..sources import InMemory, as_source


class Beside:
    """The numbers next to a table; rows are taken in the order of the table.

    ``features`` is an .npy file or an array, ``table`` the name of the table for messages.
    """

    def __init__(self, features, table):
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
    def names(self):
        return [beside_name(k) for k in range(self._X.shape[1])]

    def names_after(self, names):
        """Names of a table's columns with these behind them."""
        return [*names, *self.names]

    def add(self, table):
        """The next rows of the table with their numbers as further columns."""
        block = self._X[self._done : self._done + table.num_rows]
        self._done += table.num_rows
        if len(block) < table.num_rows:
            self._refuse("more")
        block = np.array(block, dtype=float)  # of a mapped file, into which others may write
        self._source.check_unchanged()
        for name, values in zip(self.names, block.T, strict=True):
            table = table.append_column(name, pa.array(np.ascontiguousarray(values)))
        return table

    def check(self):
        """Refuse numbers for more rows than the table had."""
        if self._done != len(self._X):
            self._refuse(f"{self._done:,}")

    def _refuse(self, n_rows):
        raise UserError(
            f"{self._name} has {plural(len(self._X), 'row')} but {self._table} has {n_rows}; it "
            "needs one row of numbers per table row, in the same order."
        )
