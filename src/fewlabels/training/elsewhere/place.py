"""Where rows are: parts that are queried, and what each part answers."""

from abc import ABC, abstractmethod
from typing import Any

import numpy as np
import scipy.sparse as sp

from ...gram import PieceGram

# Beyond this, squares of numbers have no room in double precision.
_LARGEST = 1e150


class Part(ABC):
    """Consecutive rows, the first of which has the number ``first``.

    ``weight`` are their weights, or None where all are 1; ``marks`` arrays of as many entries.
    """

    def __init__(self, n, first=0, weight=None, **marks):
        self.n, self.first, self.weight, self.marks = n, first, weight, marks

    @abstractmethod
    def pieces(self):
        """All rows, as (slice, rows) one after the other."""

    @abstractmethod
    def take(self, places):
        """The rows at ascending places, counted from the part's first row."""

    def gram(self, recipe):
        """K at the rows, made as a ``Recipe`` says."""
        kernel = recipe.kernel
        known = np.ones(self.n) if kernel.is_similarity else None
        return PieceGram(self, recipe.gram, recipe.refined().gram, known)

    def moments(self):
        """``Moments`` of a part that knows better than to hand out its rows; else None."""
        return None

    def farthest(self, center):
        """The same of the largest squared norm of a row."""
        return None

    def number(self, row):
        """The number that a user knows a row by."""
        return self.first + row

    def own(self, ids):
        """Places of those of some numbers in ascending order that are here."""
        low, high = np.searchsorted(ids, (self.first, self.first + self.n))
        return ids[low:high] - self.first


class MemoryPart(Part):
    """Rows ``X`` in memory, checked: float32 or float64, dense or CSR."""

    def __init__(self, X, first=0, weight=None, **marks):
        super().__init__(X.shape[0], first, weight, **marks)
        self.X = X

    def pieces(self):
        return [(slice(0, self.n), self.X)]

    def take(self, places):
        return self.X[places]

    def gram(self, recipe):
        return recipe.gram(self.X)


class Place(ABC):
    """Rows in parts that follow each other: of ``shape``, of ``dtype``, perhaps ``is_sparse``."""

    shape: tuple
    dtype: np.dtype
    #: With ``first`` and ``n`` each.
    parts: list
    is_sparse = False
    #: Threads that a part evaluates kernel values with.
    n_jobs_of_part = 1
    #: Share of the violation that a working set is solved to: a round is a pass over the rows.
    share = 1e-3
    #: What the rows are called, and what to pass where more is asked than they can do.
    are, instead = "rows that are not in memory", "rows in memory"
    #: The ``Home`` of rows that compute where they are, where attributes are then shown.
    home: Any = None

    def ask(self, question):
        """The answers ``question(part)`` of all parts, in their order."""
        return self.ask_each([question] * len(self.parts))

    @abstractmethod
    def ask_each(self, questions):
        """The same of a question for each part."""

    @abstractmethod
    def rows(self, recipe):
        """The engine's ``Rows``, whose partitions are ``recipe.partition(part)``."""

    @abstractmethod
    def leave_out(self, mask):
        """Have the rows of a mask take no part: they get the weight 0, or are no rows any more."""

    def numbers(self, ids):
        """The numbers of rows as they were before any were left out."""
        return ids

    def spent(self):
        """What entries of the history tell of the place so far, by name."""
        return {}

    def take(self, ids):
        """Rows by their numbers, in ascending order."""
        return stacked(self.ask(Taken(np.asarray(ids))))

    def sample(self, size, seed=0):
        """So many rows at random, or all; in the order of their numbers."""
        return self.take(sampled(self.shape[0], size, seed))


def sampled(n, size, seed=0):
    """Numbers of so many of n rows at random, ascending."""
    if size >= n:
        return np.arange(n)
    return np.sort(np.random.default_rng(seed).choice(n, size, replace=False))


class Taken:
    """The question for the rows ``ids`` that are in a part."""

    def __init__(self, ids):
        self.ids = ids

    def __call__(self, part):
        return part.take(part.own(self.ids))


def stacked(arrays):
    """Rows of several arrays, or CSR arrays, one after the other."""
    if any(map(sp.issparse, arrays)):
        return sp.csr_array(sp.vstack(arrays, format="csr"))
    return np.concatenate(arrays)


def refuse_no_numbers(rows, number):
    """Refuse rows with entries that are missing, or too large; a function gives their numbers."""
    entries = rows.data if sp.issparse(rows) else rows
    largest = float(max(entries.max(initial=0.0), -entries.min(initial=0.0)))
    if largest <= _LARGEST:
        return largest
    wrong = np.flatnonzero(~(np.abs(entries.ravel()) <= _LARGEST))[0]
    if sp.issparse(rows):
        row = int(np.searchsorted(rows.indptr, wrong, "right")) - 1
        value = entries[wrong]
    else:
        row, value = int(wrong // rows.shape[1]), entries.ravel()[wrong]
    raise ValueError(
        f"row {number(row)} (counted from 0) holds {value}; every number must be finite, and at "
        f"most {_LARGEST:g}; fill in missing numbers, or drop such rows."
    )


def noted(place, callback, entry):
    """Note in a round's entry of the history what the place has to say, and tell the callback."""
    entry.update(place.spent())
    return callback is not None and callback(entry)
