"""The interface of kernel matrices that solvers use."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from ..._typing import BoolArray, FloatArray, IntArray, RealArray, RowMatrix
from ..rows import DuplicateRows


@dataclass(frozen=True, eq=False)
class Columns:
    """Columns of a kernel matrix, not evaluated yet, for an operator over any rows.

    ``ids`` says which rows they belong to, for operators that store values; ``values`` are
    arrays, CSR arrays or Columns of as many rows, from which they are evaluated.
    """

    ids: IntArray
    values: tuple[Any, ...] = ()

    def __len__(self) -> int:
        return len(self.ids)

    def take(self, where: IntArray | BoolArray) -> Columns:
        """Return some of the columns, by a mask or by indices."""
        values = (v.take(where) if isinstance(v, Columns) else v[where] for v in self.values)
        return Columns(self.ids[where], tuple(values))

    @classmethod
    def joined(cls, parts: Sequence[Columns]) -> Columns:
        """Return columns of several operators over different rows, one after the other."""
        if len(parts) == 1:
            return parts[0]
        values = zip(*(part.values for part in parts), strict=True)
        return cls(np.concatenate([part.ids for part in parts]), tuple(map(_concatenate, values)))


def _concatenate(arrays: Sequence[Any]) -> RowMatrix | Columns:
    if isinstance(arrays[0], Columns):
        return Columns.joined(arrays)
    if sp.issparse(arrays[0]):
        return sp.csr_array(sp.vstack(arrays, format="csr"))
    return np.concatenate(arrays)


class GramOperator(ABC):
    """A symmetric kernel matrix K of ``n`` rows, of which only requested parts are ever formed.

    ``n_values`` counts kernel values evaluated so far, the honest unit of cost; ``value_cost`` is
    the rough cost of one in multiply-adds, 0 where values are not evaluated. ``dtype`` is their
    precision and ``value_error`` the rounding error of K_ij, relative to ``sqrt(K_ii K_jj)``.
    ``is_inner_product`` says that K is known to be positive semi-definite. ``n_jobs`` threads.
    """

    value_cost = 0.0
    dtype: np.dtype[Any] = np.dtype(np.float64)
    value_error = 4.5e-16
    n_values = 0
    #: The copies among the rows, where equal ones are evaluated once.
    copies: DuplicateRows | None = None
    is_inner_product = False
    #: All values, once they are held.
    matrix: FloatArray | None = None

    def __init__(self, n: int, n_jobs: int = 1) -> None:
        self.n = int(n)
        self.n_jobs = n_jobs

    @abstractmethod
    def diagonal(self) -> FloatArray:
        """Return the diagonal of K, float64, shape (n,)."""

    # Columns are passed as what ``gather`` returns, so that a part of the matrix can evaluate
    # columns that another part has gathered.
    def gather(self, indices: IntArray) -> Columns:
        """Return what columns ``indices`` are evaluated from."""
        return Columns(np.asarray(indices))

    @abstractmethod
    def values_of(self, columns: Columns) -> RealArray:
        """Return gathered columns at this operator's rows, shape (len(columns), n)."""

    @abstractmethod
    def block_of(self, columns: Columns) -> FloatArray:
        """Return kernel values between the rows of gathered columns, new, float64, C-ordered."""

    @abstractmethod
    def add_columns(self, columns: Columns, coef: FloatArray, out: FloatArray) -> None:
        """Add ``columns @ coef`` at this operator's rows to ``out``."""

    @abstractmethod
    def take(self, indices: IntArray) -> GramOperator:
        """Return the operator of the rows ``indices`` alone."""

    def view_rows(self, indices: IntArray) -> GramOperator:
        """Return the operator of some rows, which shares gathered columns with all rows."""
        return self.take(indices)

    def part(self, start: int, stop: int) -> GramOperator:
        """Return the operator of rows ``start`` to ``stop``, which may be in another shard."""
        return self if (start, stop) == (0, self.n) else self.view_rows(np.arange(start, stop))

    def columns(self, indices: IntArray, out: RealArray | None = None) -> RealArray:
        """Return the columns ``indices``, one per row of the result, shape (len(indices), n)."""
        values = self.values_of(self.gather(indices))
        if out is None:
            return values
        out[:] = values
        return out

    def materialise(self) -> None:
        """Form the whole ``matrix`` and keep it: for many problems over few rows."""
        if self.matrix is None:
            self.matrix = self.whole()

    def block(self, indices: IntArray) -> FloatArray:
        """Return ``K[indices][:, indices]`` as a new float64 array, C-ordered."""
        return self.block_of(self.gather(indices))

    def whole(self) -> FloatArray:
        """Return all of K as a new float64 array, C-ordered."""
        return self.block(np.arange(self.n))

    def apply(self, indices: IntArray, coef: FloatArray, out: FloatArray) -> None:
        """Add ``K[:, indices] @ coef`` to ``out``, float64 of shape (n,)."""
        self.add_columns(self.gather(indices), np.asarray(coef, dtype=float), out)

    def refined(self) -> GramOperator | None:
        """Return an operator with float64 kernel values, or None if it has them already."""
        return None

    def product(self, indices: IntArray, coef: FloatArray) -> FloatArray:
        """Return ``K[:, indices] @ coef`` as a new float64 array of shape (n,)."""
        out = np.zeros(self.n)
        self.apply(np.asarray(indices), np.asarray(coef, dtype=float), out)
        return out

    def quadratic(self, indices: IntArray, coef: FloatArray) -> float:
        """Return ``coef' K[indices][:, indices] coef`` without any matrix."""
        sub = self.take(indices)
        return float(coef @ sub.product(np.arange(sub.n), coef))


class WrappedGram(GramOperator):
    """An operator whose kernel values are evaluated, and counted, by the operator ``inner``."""

    def __init__(self, inner: GramOperator, n: int) -> None:
        self.inner = inner
        super().__init__(n, inner.n_jobs)
        self.value_cost, self.dtype = inner.value_cost, inner.dtype
        self.value_error, self.is_inner_product = inner.value_error, inner.is_inner_product

    @property
    def n_values(self) -> int:
        """Counted by the inner operator."""
        return self.inner.n_values

    @n_values.setter
    def n_values(self, value: int) -> None:
        self.inner.n_values = value
