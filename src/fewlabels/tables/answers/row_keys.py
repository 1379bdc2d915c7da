"""What a row is recognised by, and the labels that people gave as a column of their table."""

import hashlib
from collections import Counter
from collections.abc import Iterable

import numpy as np
import pyarrow as pa

from ..._typing import ObjectArray
from ..._util.messages import UserError, plural, quoted
from ...data.labels.blanks import reads_as_blank
from ..columns.column import Cells, is_supported, text
from ..file_identity import StrPath
from ..names import cell_text, value_key
from .file import AnswerFile, read_answers

_DIGEST = 12  # bytes: with a million rows, two share one by chance once in 1e17 tables


def cells_as_text(column: Cells) -> ObjectArray:
    """Return a column of any type as text, missing values as the empty string."""
    if is_supported(column.type):
        return text(column)
    return np.array(["" if v is None else str(v) for v in column.to_pylist()], dtype=object)


class RowKeys:
    """Keys of rows, piece by piece: equal rows are distinguished by their order.

    ``without`` is a column that has no part, as labels come and go.
    """

    def __init__(self, without: str | None = None) -> None:
        self._without = without
        self._key_counts: dict[str, int] = {}

    def make_keys(self, table: pa.Table) -> list[str]:
        """Return the keys of the next rows."""
        names = sorted(name for name in table.column_names if name != self._without)
        columns = [cells_as_text(table.column(name)) for name in names]
        head, keys = "\x1f".join(names).encode("utf-8", "surrogatepass"), []
        for cells in zip(*columns, strict=True) if columns else [()] * table.num_rows:
            row = "\x1f".join(cells).encode("utf-8", "surrogatepass")
            key = hashlib.blake2b(head + b"\x1e" + row, digest_size=_DIGEST).hexdigest()
            count = self._key_counts[key] = self._key_counts.get(key, 0) + 1
            keys.append(key if count == 1 else f"{key}:{count}")
        return keys


def fingerprint(keys: Iterable[str]) -> str:
    """Return a digest that identifies a table, whatever the order of its rows."""
    digest = hashlib.blake2b(digest_size=_DIGEST)
    for key in sorted(keys):
        digest.update(key.encode())
    return digest.hexdigest()


class LabelColumn:
    """A column of labels from a file, added to its ``table`` piece by piece (``fit --labels``).

    ``answers`` is the file, or what was read of it already.
    """

    def __init__(self, answers: StrPath | AnswerFile, table: object) -> None:
        self._file, self._table, self._used = read_answers(answers), table, 0
        self.name = self._file.about["target"]
        self._labels, self._keys = self._file.labels(), RowKeys(self.name)
        self._check_classes()

    def extend_names(self, names: list[str]) -> list[str]:
        """Return the names of a table's columns and of this one."""
        return names if self.name in names else [*names, self.name]

    def add(self, table: pa.Table) -> pa.Table:
        """Return the next rows of the table with their labels, which replace those they had."""
        keys = self._keys.make_keys(table)
        given = [self._labels.get(key) for key in keys]
        self._used += sum(label is not None for label in given)
        if self.name not in table.column_names:
            return table.append_column(self.name, pa.array(given, pa.large_string()))
        before = cells_as_text(table.column(self.name))
        both = [b or None if g is None else g for g, b in zip(given, before, strict=True)]
        place = table.column_names.index(self.name)
        return table.set_column(place, self.name, pa.array(both, pa.large_string()))

    def _check_classes(self) -> None:
        """Refuse classes that tables take for blanks or for each other, and would lose."""
        spelled: dict[str | float, str] = {}
        path = self._file.path
        for name, count in Counter(self._labels.values()).items():
            other = spelled.setdefault(value_key(cell_text(name)), name)
            blank = reads_as_blank(name)
            if not blank and other == name:
                continue
            why = "read as blanks" if blank else f"read as labels of the class {quoted(other)}"
            raise UserError(
                f"{path} has {plural(count, 'label')} of the class {quoted(name)}, which tables "
                f"{why}; write the labels to a table with 'fewlabels label {self._table} --labels "
                f"{path} --export NEW.csv', and rename the class there."
            )

    def check(self) -> None:
        """Refuse labels of another table."""
        if not self._used:
            raise UserError(
                f"No label of {self._file.path} belongs to a row of {self._table}; pass the file "
                f"that was labelled, '{self._file.about.get('data')}'."
            )
