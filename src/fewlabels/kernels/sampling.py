"""Random samples of rows that depend on the rows' values and a seed, and on nothing else.

Every row has a number for every sample, and the rows with the lowest numbers are in it. So the
order of the rows doesn't matter, and adding or removing a row changes few samples.
"""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from .._typing import AnyArray, FloatArray, IntArray, RowMatrix
from .rows import canonical

# Odd numbers that spread marks over all 64 bits (splitmix64): what is added to a number ...
_GOLDEN_RATIO = 0x9E3779B97F4A7C15
# ... and the factors of the two rounds, which shift by 30 and by 27 bits.
_FIRST_FACTOR = 0xBF58476D1CE4E5B9
_SECOND_FACTOR = 0x94D049BB133111EB
# More repetitions of a row than this, on average, are rounded.
_MAX_MEAN_REPEATS = 10


class WeightedCopies:
    """Rows of positive weight, each repeated by its weight, and a unique mark for every copy.

    ``rows`` are indices of training rows (of equal rows, the first). ``marks`` depend on the rows'
    values alone. ``is_matrix``: X holds kernel values, so the row's index is its mark.
    """

    def __init__(self, X: RowMatrix, weight: FloatArray, is_matrix: bool = False) -> None:
        keys = np.arange(X.shape[0], dtype=np.uint64) if is_matrix else _compute_row_keys(X)
        positive = np.flatnonzero(weight > 0)
        self.rows = repeat_by_weight(positive, weight[positive], keys)
        starts = np.r_[0, np.flatnonzero(np.diff(self.rows)) + 1]
        first = np.zeros(len(self.rows), dtype=np.int64)
        first[starts] = starts
        number = np.arange(len(self.rows)) - np.maximum.accumulate(first)
        self.marks = _mix(_mix(keys[self.rows]) + number.astype(np.uint64))

    def at(self, places: IntArray) -> WeightedCopies:
        """Return some of these copies."""
        some = object.__new__(type(self))
        some.rows, some.marks = self.rows[places], self.marks[places]
        return some

    def lowest(self, stream: int, size: int, seed: int) -> IntArray:
        """Return the copies whose numbers of a stream are lowest, in the order of these."""
        salt = _mix(np.array([seed, stream], dtype=np.uint64))
        numbers = _mix(self.marks ^ _mix(salt[:1] + np.uint64(stream)) ^ salt[1])
        if size < len(numbers):
            found = np.argpartition(numbers, size)[:size]
            return found[np.argsort(numbers[found])]
        return np.argsort(numbers)


def _compute_row_keys(X: RowMatrix) -> NDArray[np.uint64]:
    """Return a number for every row that only its values decide, dense or CSR."""
    size = (X.shape[1],)
    columns: AnyArray = np.random.default_rng(0).integers(2**63, size=size, dtype=np.uint64)
    if sp.issparse(X):
        X = canonical(X)
        parts = _hash_values(X.data) * (2 * columns + 1)[X.indices]
        return sp.csr_array((parts, X.indices, X.indptr), X.shape) @ np.ones_like(columns)
    keys = np.zeros(X.shape[0], np.uint64)
    for column, factor in zip(X.T, 2 * columns + 1, strict=True):
        keys += _hash_values(column) * factor
    return keys


def _hash_values(values: AnyArray) -> NDArray[np.uint64]:
    """Return the bits of numbers, mixed; 0 stays 0."""
    return _shuffle_bits((values.astype(float) + 0.0).view(np.uint64))


def _mix(numbers: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Return numbers of 64 bits, thoroughly mixed, one to one."""
    return _shuffle_bits(numbers + np.uint64(_GOLDEN_RATIO))


def _shuffle_bits(numbers: NDArray[np.uint64]) -> NDArray[np.uint64]:
    for shift, factor in ((30, _FIRST_FACTOR), (27, _SECOND_FACTOR)):
        numbers = (numbers ^ (numbers >> np.uint64(shift))) * np.uint64(factor)
    return numbers ^ (numbers >> np.uint64(31))


def repeat_by_weight(rows: IntArray, weight: AnyArray, key: AnyArray) -> IntArray:
    """Return rows in the order of their keys, repeated by weight; equal rows count as one.

    What all whole-numbered weights have in common is left out; others are rounded, the sum kept.
    """
    distinct, first, group = np.unique(key[rows], return_index=True, return_inverse=True)
    rows, weight = rows[first], np.bincount(group, weights=weight)
    if np.array_equal(weight, np.rint(weight)) and weight.max() < 2.0**53:
        times = weight.astype(np.int64)
        times //= np.gcd.reduce(times) if len(distinct) > 1 else 1
        if times.sum() <= _MAX_MEAN_REPEATS * len(group):
            return np.repeat(rows, times)
    ends = np.rint(np.cumsum(weight / weight.sum()) * len(group))
    return np.repeat(rows, np.diff(ends, prepend=0.0).astype(np.intp))
