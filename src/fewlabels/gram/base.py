"""The contract between solvers and the place where kernel values come from."""

from __future__ import annotations

from abc import ABC, abstractmethod

import numpy as np


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
