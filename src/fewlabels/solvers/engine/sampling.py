"""A random sample that every place can draw by itself."""

import numpy as np

# Of every so many rows the same share is drawn.
_STRETCH = 4096


def drawn(first, stop, n, size, seed):
    """Mask: which of the rows ``first`` to ``stop`` belong to a sample of ``size`` of n rows."""
    chosen = np.zeros(stop - first, dtype=bool)
    for begin in range(first - first % _STRETCH, stop, _STRETCH):
        end = min(n, begin + _STRETCH)
        count = size * end // n - size * begin // n
        rng = np.random.default_rng((seed, begin))
        rows = begin + rng.choice(end - begin, count, replace=False)
        chosen[rows[(rows >= first) & (rows < stop)] - first] = True
    return chosen
