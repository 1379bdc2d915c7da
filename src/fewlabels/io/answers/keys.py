"""What a row is recognised by: its cells, wherever it stands in its file."""

import hashlib

import numpy as np
import pyarrow as pa

from ..tables.columns import is_supported, text

_DIGEST = 12  # bytes: with a million rows, two share one by chance once in 1e17 tables


def cells_of(column):
    """A column of any type as text, missing values as the empty string."""
    if is_supported(column.type):
        return text(column)
    return np.array(["" if v is None else str(v) for v in column.to_pylist()], dtype=object)


class RowKeys:
    """Keys of rows, piece by piece: equal rows are distinguished by their order.

    ``without`` is a column that has no part, as labels come and go.
    """

    def __init__(self, without=None):
        self._without, self._seen = without, {}

    def of(self, table: pa.Table):
        """The keys of the next rows."""
        names = sorted(name for name in table.column_names if name != self._without)
        columns = [cells_of(table.column(name)) for name in names]
        head, keys = "\x1f".join(names).encode("utf-8", "surrogatepass"), []
        for cells in zip(*columns, strict=True) if columns else [()] * table.num_rows:
            row = "\x1f".join(cells).encode("utf-8", "surrogatepass")
            key = hashlib.blake2b(head + b"\x1e" + row, digest_size=_DIGEST).hexdigest()
            count = self._seen[key] = self._seen.get(key, 0) + 1
            keys.append(key if count == 1 else f"{key}:{count}")
        return keys


def fingerprint(keys):
    """What a table is recognised by, whatever the order of its rows."""
    digest = hashlib.blake2b(digest_size=_DIGEST)
    for key in sorted(keys):
        digest.update(key.encode())
    return digest.hexdigest()
