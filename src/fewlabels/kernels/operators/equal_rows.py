"""Equal rows: found by their keys, and an operator that evaluates each of them once."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import numpy as np
import scipy.sparse as sp

from ..._typing import AnyArray, BoolArray, FloatArray, IntArray, RealArray, RowMatrix
from ..rows import canonical, row_products
from .base import Columns, GramOperator, WrappedGram

# So many rows are looked at first: where these all differ, few of the others are equal.
_SAMPLE_ROWS = 4096
# The distinct rows' share from which copies of many rows are not worth a matrix of their own.
_MAX_DISTINCT_SHARE = 0.9
# Columns of a matrix of kernel values that keys are made of.
_MATRIX_KEY_COLUMNS = 16
# Numbers that are compared at a time.
_NUMBERS_AT_A_TIME = 4_000_000


@dataclass(frozen=True, eq=False)
class DuplicateRows:
    """Row i is the ``of[i]``-th distinct row, which first occurs at ``first[of[i]]``."""

    of: IntArray
    first: IntArray

    @classmethod
    def by_first(cls, first_equal: IntArray) -> DuplicateRows:
        """Return the copies, from the index of the first row that equals each row."""
        is_first = first_equal == np.arange(len(first_equal))
        number = np.cumsum(is_first) - 1
        return cls(number[first_equal], np.flatnonzero(is_first))

    @classmethod
    def among(cls, X: RowMatrix, keys: FloatArray) -> DuplicateRows:
        """Return the copies among rows ``X`` with their ``row_keys``."""
        if len(keys) < 2:
            return cls(np.arange(len(keys)), np.arange(len(keys)))
        _, first, group = np.unique(keys, return_index=True, return_inverse=True)
        first_equal = first[group]
        doubtful = np.flatnonzero(first_equal != np.arange(len(keys)))
        unlike = ~_are_equal(X, doubtful, first_equal[doubtful])
        first_equal[doubtful[unlike]] = doubtful[unlike]
        return cls.by_first(first_equal)

    def take(self, rows: IntArray) -> DuplicateRows:
        """Return the copies among some of the rows; ``first`` are places among these."""
        of = self.of[rows]
        place = np.empty(len(self.first), np.intp)
        place[of[::-1]] = np.arange(len(of))[::-1]
        return DuplicateRows.by_first(place[of])


def row_keys(X: RowMatrix) -> FloatArray:
    """Return a number for each row of ``X``: the same for equal rows, hardly ever for others."""
    return row_products(canonical(X), _random_projection(X.shape[1]))


@cache
def _random_projection(d: int) -> FloatArray:
    return np.random.default_rng(0).normal(size=d)


def equal_rows(X: RowMatrix, *, is_matrix: bool = False) -> DuplicateRows | None:
    """Return the copies among rows ``X``; None where all, or nearly all of many, differ.

    If it ``is_matrix`` of kernel values, which are dense, a few columns tell rows apart first.
    """
    n = X.shape[0]
    if is_matrix and sp.issparse(X):
        return None
    compared = X[:, :: max(1, n // _MATRIX_KEY_COLUMNS)] if is_matrix else X
    if n > _SAMPLE_ROWS:
        sample = np.unique(np.random.default_rng(0).integers(0, n, _SAMPLE_ROWS))
        if _all_differ(row_keys(compared[sample])):
            return None
    keys = row_keys(compared)
    if _all_differ(keys):
        return None
    copies = DuplicateRows.among(X, keys)
    few = (
        len(copies.first) > _MAX_DISTINCT_SHARE * n if n > _SAMPLE_ROWS else len(copies.first) == n
    )
    return None if few else copies


def distinct(X: RowMatrix) -> RowMatrix:
    """Return rows ``X`` without copies; all of them where nearly all of many differ."""
    copies = equal_rows(X)
    return X if copies is None else X[copies.first]


def _all_differ(keys: FloatArray) -> bool:
    keys = np.sort(keys)
    return not (keys[1:] == keys[:-1]).any()


def _are_equal(X: RowMatrix, rows: IntArray, others: IntArray) -> BoolArray:
    """Return whether pairs of rows are equal in every column."""
    step = max(1, _NUMBERS_AT_A_TIME // max(1, X.shape[1]))
    parts = [np.zeros(0, bool)]
    for start in range(0, len(rows), step):
        part = slice(start, start + step)
        if sp.issparse(X):
            unlike = sp.csr_array(X[rows[part]] != X[others[part]]).sum(axis=1) > 0
            parts.append(~np.asarray(unlike).ravel())
        else:
            parts.append((X[rows[part]] == X[others[part]]).all(axis=1))
    return np.concatenate(parts)


class RepeatedGram(WrappedGram):
    """``inner`` over distinct rows, each as often as ``copies`` say.

    A product with any number of rows costs what it does with the distinct ones. ``row_map`` maps
    the distinct rows, if they have one.
    """

    copies: DuplicateRows

    def __init__(self, inner: GramOperator, copies: DuplicateRows) -> None:
        super().__init__(inner, len(copies.of))
        self.copies, self.row_map = copies, getattr(inner, "row_map", None)
        self._diagonal = inner.diagonal()[copies.of]

    def diagonal(self) -> FloatArray:
        return self._diagonal

    def gather(self, indices: IntArray) -> Columns:
        indices = np.asarray(indices)
        return Columns(indices, (self.inner.gather(self.copies.of[indices]),))

    def values_of(self, columns: Columns) -> RealArray:
        values: AnyArray = self.inner.values_of(columns.values[0])
        return values[:, self.copies.of]

    def block_of(self, columns: Columns) -> FloatArray:
        return self.inner.block_of(columns.values[0])

    def add_columns(self, columns: Columns, coef: FloatArray, out: FloatArray) -> None:
        values = np.zeros(self.inner.n)
        self.inner.add_columns(columns.values[0], coef, values)
        out += values[self.copies.of]

    def take(self, indices: IntArray) -> GramOperator:
        gram = self.view_rows(indices)
        return gram.inner if gram.inner.n == gram.n else gram

    def view_rows(self, indices: IntArray) -> RepeatedGram:
        # Of this kind even where its rows differ.
        indices = np.asarray(indices)
        copies = self.copies.take(indices)
        rows = self.copies.of[indices[copies.first]]
        is_all = np.array_equal(rows, np.arange(self.inner.n))
        return RepeatedGram(self.inner if is_all else self.inner.take(rows), copies)

    def apply(self, indices: IntArray, coef: FloatArray, out: FloatArray) -> None:
        total: AnyArray = np.bincount(self.copies.of[indices], coef, self.inner.n)
        used = np.flatnonzero(total)
        out += self.inner.product(used, total[used])[self.copies.of]

    def refined(self) -> RepeatedGram | None:
        inner = self.inner.refined()
        return None if inner is None else RepeatedGram(inner, self.copies)
