"""The contract between solvers and the place where kernel values come from."""

from __future__ import annotations

from abc import ABC, abstractmethod

import numpy as np

from .gathered import Columns


class GramOperator(ABC):
    """A symmetric kernel matrix K of which only requested parts are ever formed.

    Attributes
    ----------
    n : int
        Number of rows (and columns) of K.
    n_jobs : int
        Number of threads.
    n_values : int
        Kernel values evaluated so far, the honest unit of cost.
    value_cost : float
        Rough cost of one kernel value, in multiply-adds; 0 where values are not evaluated.
    dtype : numpy.dtype
        Precision of kernel values.
    value_error : float
        Rounding error of a kernel value K_ij, relative to ``sqrt(K_ii K_jj)``.
    """

    value_cost = 0.0
    dtype = np.dtype(np.float64)
    value_error = 4.5e-16
    n_values = 0

    def __init__(self, n, n_jobs=1):
        self.n = int(n)
        self.n_jobs = n_jobs

    @abstractmethod
    def diagonal(self):
        """The diagonal of K, float64, shape (n,)."""

    @abstractmethod
    def columns(self, indices):
        """The columns ``indices``, one per row of the result, shape (len(indices), n)."""

    @abstractmethod
    def block(self, indices):
        """``K[indices][:, indices]`` as a new float64 array, C-ordered."""

    @abstractmethod
    def apply(self, indices, coef, out):
        """``out += K[:, indices] @ coef`` with ``out`` float64, shape (n,)."""

    @abstractmethod
    def take(self, indices):
        """The operator of the rows ``indices`` alone."""

    def part(self, start, stop):
        """The rows ``start`` to ``stop`` alone, which may lie elsewhere than the others."""
        if (start, stop) != (0, self.n):
            raise TypeError(f"{type(self).__name__} cannot be divided among several places.")
        return self

    # What follows asks for columns by what ``gather`` makes of them. An operator that can be
    # divided understands what another part of the same matrix has gathered.

    def gather(self, indices):
        """What columns ``indices`` are evaluated from."""
        return Columns(np.asarray(indices))

    def values_of(self, columns):
        """As ``columns``, shape (len(columns), n)."""
        return self.columns(columns.ids)

    def block_of(self, columns):
        """As ``block``."""
        return self.block(columns.ids)

    def add_columns(self, columns, coef, out):
        """As ``apply``."""
        self.apply(columns.ids, coef, out)

    def refined(self):
        """The same operator with float64 kernel values, or None if it has them already."""
        return None

    def product(self, indices, coef):
        """``K[:, indices] @ coef`` as a new float64 array of shape (n,)."""
        out = np.zeros(self.n)
        self.apply(np.asarray(indices), np.asarray(coef, dtype=float), out)
        return out

    def quadratic(self, indices, coef):
        """``coef' K[indices][:, indices] coef`` without any matrix."""
        sub = self.take(indices)
        return float(coef @ sub.product(np.arange(sub.n), coef))


class DivisibleGram(GramOperator):
    """An operator that is defined by what it makes of gathered columns.

    Subclasses have ``gather``, ``values_of``, ``block_of`` and ``add_columns``.
    """

    def part(self, start, stop):
        return self if (start, stop) == (0, self.n) else self.take(np.arange(start, stop))

    @abstractmethod
    def gather(self, indices):
        """What columns ``indices`` are evaluated from."""

    @abstractmethod
    def values_of(self, columns):
        """Gathered columns at this operator's rows, shape (len(columns), n)."""

    @abstractmethod
    def block_of(self, columns):
        """Kernel values between the rows of gathered columns; a new float64 array, C-ordered."""

    @abstractmethod
    def add_columns(self, columns, coef, out):
        """``out += columns @ coef`` at this operator's rows."""

    def columns(self, indices):
        return self.values_of(self.gather(indices))

    def block(self, indices):
        return self.block_of(self.gather(indices))

    def apply(self, indices, coef, out):
        self.add_columns(self.gather(indices), np.asarray(coef, dtype=float), out)
