"""How far a source was read, and a hash of its rows, which shows a file that was replaced."""

from typing import NamedTuple

import numpy as np
from pandas.util import hash_pandas_object

# An odd multiplier (the golden ratio of 2^64), so that no power of it is zero modulo 2^64.
_MULTIPLIER, _MODULUS = 0x9E3779B97F4A7C15, 1 << 64


class WatchProgress(NamedTuple):
    """The number of rows counted, the hash of the first one, and a hash of all in their order.

    The hash of rows h_1, h_2, ... is ((h_1 m + h_2) m + ...) modulo 2^64, so it doesn't depend on
    the pieces that the rows are read in. Hashes are None where an older version counted the rows.
    """

    rows: int = 0
    first: int | None = 0
    digest: int | None = 0

    def after(self, rows, complete):
        """Progress behind more rows; the ``complete`` ones have their cells in ``rows``."""
        n = len(complete)
        if n == 0:
            return self
        if self.digest is None:
            return self._replace(rows=self.rows + n)
        hashes = np.zeros(n, np.uint64)
        hashes[complete] = hash_pandas_object(rows, index=False).to_numpy()
        powers = np.full(n, _MULTIPLIER, np.uint64)
        powers[0] = 1
        powers = np.cumprod(powers)[::-1]
        added = int((hashes * powers).sum(dtype=np.uint64))
        digest = (self.digest * pow(_MULTIPLIER, n, _MODULUS) + added) % _MODULUS
        return WatchProgress(self.rows + n, self.first if self.rows else int(hashes[0]), digest)
