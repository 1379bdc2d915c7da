"""What travels: the rows of a working set, in the form that their columns are evaluated from."""

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp


@dataclass(frozen=True, eq=False)
class Columns:
    """Columns of a kernel matrix, not evaluated yet, for an operator over any rows.

    ``ids`` says which rows they belong to, for operators that store values; ``values`` are
    arrays, CSR arrays or Columns of as many rows, from which they are evaluated.
    """

    ids: np.ndarray
    values: tuple = ()

    def __len__(self):
        return len(self.ids)

    def take(self, where):
        """Some of them, by a mask or by indices."""
        values = (v.take(where) if isinstance(v, Columns) else v[where] for v in self.values)
        return Columns(self.ids[where], tuple(values))

    @classmethod
    def joined(cls, parts):
        """Columns of several operators over different rows, one after the other."""
        if len(parts) == 1:
            return parts[0]
        values = zip(*(part.values for part in parts), strict=True)
        return cls(np.concatenate([part.ids for part in parts]), tuple(map(_joined, values)))


def _joined(arrays):
    if isinstance(arrays[0], Columns):
        return Columns.joined(arrays)
    if sp.issparse(arrays[0]):
        return sp.csr_array(sp.vstack(arrays, format="csr"))
    return np.concatenate(arrays)
