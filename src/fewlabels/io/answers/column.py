"""Labels that people gave as a column of their table."""

import pyarrow as pa

from ..errors import UserError
from .file import read_answers
from .keys import RowKeys, cells_of


class LabelColumn:
    """The labels of a file as a column of its ``table``, piece by piece (``fit --labels``)."""

    def __init__(self, path, table):
        self._file, self._table, self._used = read_answers(path), table, 0
        self.name = self._file.about["target"]
        self._labels, self._keys = self._file.labels(), RowKeys(self.name)

    def names_after(self, names):
        """Names of a table's columns with this one among them."""
        return names if self.name in names else [*names, self.name]

    def add(self, table):
        """The next rows of the table with their labels, over those that they may have had."""
        keys = self._keys.of(table)
        given = [self._labels.get(key) for key in keys]
        self._used += sum(label is not None for label in given)
        if self.name not in table.column_names:
            return table.append_column(self.name, pa.array(given, pa.large_string()))
        before = cells_of(table.column(self.name))
        both = [b or None if g is None else g for g, b in zip(given, before, strict=True)]
        place = table.column_names.index(self.name)
        return table.set_column(place, self.name, pa.array(both, pa.large_string()))

    def check(self):
        """Refuse labels of another table."""
        if not self._used:
            raise UserError(
                f"No label of {self._file.path} belongs to a row of {self._table}; pass the file "
                f"that was labelled, '{self._file.about.get('data')}'."
            )
