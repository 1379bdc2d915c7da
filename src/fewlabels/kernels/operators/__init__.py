"""Kernel matrices as operators that don't store the whole matrix."""

import numpy as np
import numpy.typing as npt

from ..._typing import RowMatrix
from .. import Deformed, FeatureKernel, FormedKernel, Kernel, MappedKernel, SharedLeaves
from ..rows import canonical, equal_rows
from .base import Columns, GramOperator
from .bordered import BorderedGram
from .column_cache import CachedGram
from .expansion import Expansion
from .explicit import FormedGram, PrecomputedGram
from .linear import LeavesGram, LinearGram
from .pieces import LinearSourceGram, PieceGram
from .repeated import RepeatedGram
from .rows import RowMap, RowsGram
from .weighted import SumGram

__all__ = [
    "BorderedGram",
    "CachedGram",
    "Columns",
    "Expansion",
    "FormedGram",
    "GramOperator",
    "LeavesGram",
    "LinearGram",
    "LinearSourceGram",
    "PieceGram",
    "PrecomputedGram",
    "RepeatedGram",
    "RowMap",
    "RowsGram",
    "SumGram",
    "make_gram",
]


def make_gram(
    kernel: Kernel,
    X: RowMatrix,
    *,
    dtype: npt.DTypeLike | None = None,
    n_jobs: int = 1,
    min_support: float | None = None,
) -> GramOperator:
    """Return the operator of ``kernel`` over rows ``X``, or (n, n) values if it is precomputed.

    ``dtype`` is the precision of kernel values; None chooses it (``choose_precision``). Over rows
    to train on, ``min_support`` is the share of them that are support vectors at least; None if
    they are not trained on. Equal rows are evaluated once, by ``n_jobs`` threads.
    """
    X = canonical(X)
    copies = equal_rows(X, is_matrix=kernel.is_matrix)
    gram: GramOperator
    if kernel.is_matrix:
        gram = PrecomputedGram(X, n_jobs, None if copies is None else copies.first)
    else:
        rows = X if copies is None else X[copies.first]
        if kernel.weights_of_sum is not None:
            assert isinstance(kernel, Deformed | SharedLeaves)
            gram = _make_sum(kernel, rows, n_jobs)
        elif kernel.has_features:
            assert isinstance(kernel, FeatureKernel | Deformed)
            gram = LinearGram(kernel.features(rows, n_jobs), n_jobs)
        elif kernel.is_mapped:
            assert isinstance(kernel, MappedKernel)
            row_map = RowMap(kernel, X, dtype, n_rows=rows.shape[0], min_support=min_support)
            gram = RowsGram(row_map, rows, n_jobs)
        else:
            assert isinstance(kernel, FormedKernel)
            gram = FormedGram(kernel, rows, n_jobs)
    return gram if copies is None else RepeatedGram(gram, copies)


def _make_sum(kernel: Deformed | SharedLeaves, rows: RowMatrix, n_jobs: int) -> SumGram:
    """Return the weighted sum of the base kernel's values and products of features."""
    base = make_gram(kernel.base, rows, dtype=np.float64, n_jobs=n_jobs)
    inner: GramOperator
    if isinstance(kernel, SharedLeaves):
        inner = LeavesGram(kernel.forest, kernel.forest.leaves(rows), n_jobs)
    else:
        inner = LinearGram(kernel.features(rows), n_jobs)
    assert kernel.weights_of_sum is not None
    return SumGram([base, inner], kernel.weights_of_sum, is_inner_product=True)
