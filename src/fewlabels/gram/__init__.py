"""Where kernel values come from: operators that never hold the whole matrix."""

from __future__ import annotations

import numpy as np

from ..kernels import FormedKernel, Linear, Precomputed
from .base import GramOperator
from .expansion import Expansion, row_products
from .gathered import Columns
from .static.bordered import BorderedGram
from .static.cached import CachedGram
from .static.explicit import FormedGram, PrecomputedGram
from .static.linear import LinearGram
from .static.weighted import SumGram
from .tiles.features import RowMap
from .tiles.rows import RowsGram

__all__ = [
    "BorderedGram", "CachedGram", "Columns", "Expansion", "FormedGram", "GramOperator",
    "LinearGram", "PrecomputedGram", "RowMap", "RowsGram", "SumGram", "make_gram", "row_products",
]  # fmt: skip


def make_gram(kernel, X, *, dtype=None, n_jobs=1):
    """The operator of ``kernel`` over the rows of ``X``; (n, n) values for a precomputed kernel.

    ``dtype`` is the precision of kernel values; None chooses float32 where the data allow it.
    ``n_jobs`` is the number of threads.
    """
    if isinstance(kernel, Precomputed):
        return PrecomputedGram(X, n_jobs)
    if isinstance(kernel, FormedKernel):
        return FormedGram(kernel, X, n_jobs)
    if isinstance(kernel, Linear):
        return LinearGram(X, n_jobs)
    row_map = RowMap(kernel, X, None if dtype is None else np.dtype(dtype))
    return RowsGram(row_map, X, n_jobs)
