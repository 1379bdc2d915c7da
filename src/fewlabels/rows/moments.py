"""Sums over rows that lie in several shards, and what follows from them."""

import math
from dataclasses import dataclass
from functools import partial, reduce

import numpy as np
import scipy.sparse as sp

from ..kernels import center_of, centered
from ..kernels.rows import squared_norms
from ..kernels.width import gamma_of_moments
from .shards import refuse_no_numbers

# Rows that distances, medians and classes' priors are estimated from.
SAMPLE = 500


@dataclass(frozen=True, eq=False)
class Moments:
    """What ``n`` rows of positive weight weigh, their columns' means and variances.

    ``mean`` and ``squares``, the sums of squares around it, count rows as their weights say;
    ``center`` is the mean of rows that count alike. ``largest`` is the largest number of any row,
    ``row_length`` the most entries of one.
    """

    n: int
    weight: float
    mean: np.ndarray
    squares: np.ndarray
    center: np.ndarray
    largest: float
    row_length: int

    @classmethod
    def of(cls, shard):
        """Of the rows of a shard, which are checked: numbers have to be finite."""
        known = shard.moments()
        if known is not None:
            return known
        found = [cls._of_piece(shard, where, rows) for where, rows in shard.pieces()]
        return cls.combined(found) if found else None

    @classmethod
    def _of_piece(cls, shard, where, rows):
        largest = refuse_no_numbers(rows, lambda row: shard.number(where.start + row))
        weight = np.ones(rows.shape[0]) if shard.weight is None else shard.weight[where]
        if not np.all(weight > 0):
            rows, weight = rows[weight > 0], weight[weight > 0]
        n, d = rows.shape
        total = float(weight.sum())
        if not n:
            return cls(0, 0.0, np.zeros(d), np.zeros(d), np.zeros(d), largest, 0)
        if sp.issparse(rows):
            rows = sp.csr_array(rows)
            rows.sum_duplicates()
            of = np.repeat(weight, np.diff(rows.indptr))
            sums = np.bincount(rows.indices, of * rows.data, minlength=d)
            alike = np.bincount(rows.indices, rows.data, minlength=d) / n
            mean = sums / total
            apart = np.square(rows.data - mean[rows.indices])
            stored = np.bincount(rows.indices, of, minlength=d)
            squares = np.bincount(rows.indices, of * apart, minlength=d)
            squares += np.maximum(0.0, total - stored) * mean**2
            length = int(np.diff(rows.indptr).max(initial=0))
        else:
            rows = rows.astype(np.float64)
            alike, mean, length = rows.mean(axis=0), weight @ rows / total, d
            squares = weight @ np.square(rows - mean)
        return cls(n, total, mean, squares, alike, largest, length)

    @classmethod
    def combined(cls, parts):
        """Of the rows of all parts."""
        return reduce(cls._and, [part for part in parts if part is not None])

    def _and(self, other):
        weight, n = self.weight + other.weight, self.n + other.n
        share = other.weight / weight if weight else 0.0
        apart = other.mean - self.mean
        return Moments(
            n,
            weight,
            self.mean + share * apart,
            self.squares + other.squares + self.weight * share * apart**2,
            self.center + (other.n / n if n else 0.0) * (other.center - self.center),
            max(self.largest, other.largest),
            max(self.row_length, other.row_length),
        )

    @property
    def variance(self):
        """Of all entries together, as ``X.var()``."""
        each = self.squares / self.weight
        return float(np.mean(each) + np.mean(np.square(self.mean - self.mean.mean())))

    @property
    def total_variance(self):
        """Sum of the columns' variances."""
        return math.fsum(self.squares / self.weight)


def found_gamma(gamma, moments, source):
    """The number that a rule for gamma means, from all rows and a sample of them."""
    if not isinstance(gamma, str):
        return float(gamma)
    sample = source.sample(SAMPLE) if gamma == "distance" else None
    return gamma_of_moments(
        gamma, source.shape[1], moments.variance, moments.total_variance, moments.mean, sample
    )


def center_at(source, moments):
    """What to take from all rows, as ``center_of`` says; of sparse rows, of a sample."""
    return center_of(source.sample(SAMPLE)) if source.is_sparse else moments.center


def farthest(source, center):
    """The largest squared norm of a row less a centre, which may be None."""
    return max(source.ask(partial(_farthest, center=center)), default=0.0)


def _farthest(shard, center):
    known = shard.farthest(center)
    if known is not None:
        return known
    largest = 0.0
    for _, rows in shard.pieces():
        rows = centered(rows, center)
        largest = max(largest, float(squared_norms(rows).max(initial=0.0)))
    return largest
