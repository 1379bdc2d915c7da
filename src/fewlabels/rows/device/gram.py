"""Kernel matrices of rows on a device."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ..._typing import FloatArray, RealArray, RowMatrix
from ...kernels.operators.base import Columns
from ...kernels.operators.linear import combine_rows
from ...kernels.operators.rows import FarColumns, find_far_rows
from ..problem import ProblemSpec
from .backend import ArrayBackend, DeviceArray
from .values import add_products, columns_of, diagonal_values, linear_products, prepare_rows

# Rows whose values show whether a device computes in the precision that it says.
_N_ROWS_CHECKED = 64
# How far these values may be off, in units of what rounding explains.
_MAX_ERROR_RATIO = 16.0


class ArrayGram:
    """K at the rows ``X`` of an array, as a ``ProblemSpec`` says; what leaves it is on the host.

    Values are of the precision of the spec; sums are float64.
    """

    def __init__(
        self, backend: ArrayBackend, X: DeviceArray, spec: ProblemSpec, passes: int = 0
    ) -> None:
        self.backend, self.X, self.spec = backend, X, spec
        self.n, self.n_values, self.passes = X.shape[0], 0, passes
        # One row there, for what can be said of kernel values, and those between others.
        self.some_row = spec.gram(backend.numpy(X[:1, :]))
        self.dtype, self.value_error = self.some_row.dtype, self.some_row.value_error
        self.value_cost = self.some_row.value_cost
        row_map = spec.row_map
        self._rows: DeviceArray = None if row_map is None else prepare_rows(backend, row_map, X)
        self._far = self._far_rows()

    def diagonal(self) -> DeviceArray:
        return diagonal_values(self.backend, self.spec.kernel, self.X, self.spec.shift)

    def gather(self, rows: DeviceArray) -> Columns:
        taken = self.backend.xp.take(self.X, rows, axis=0)
        gram = self.spec.gram(self.backend.numpy(taken))
        return replace(gram.gather(np.arange(gram.n)), ids=np.arange(gram.n))

    def block_of(self, columns: Columns) -> FloatArray:
        self.n_values += len(columns) ** 2
        return self.some_row.block_of(columns)

    def add_columns(self, columns: Columns, coef: FloatArray, out: DeviceArray) -> None:
        """``out += columns @ coef``, of numbers of NumPy and an array here."""
        if not len(columns):
            return
        backend, row_map = self.backend, self.spec.row_map
        self.passes += 1
        if row_map is None:
            out += linear_products(
                backend, self.X, self.spec.shift, combine_rows(columns.values[0], coef)
            )
            return
        self.n_values += len(columns) * self.n
        rows, term = row_map.round_rows(*columns.values[:2])
        assert self._far is not None
        if not len(self._far):
            self._add(rows, term, coef, out)
            return
        far = find_far_rows(row_map.kernel, term, self.X.shape[1])
        near = np.delete(np.arange(len(columns)), far)
        self._add(rows[near], term[near], coef[near], out)
        if len(far):  # between far rows differences tell, and these are on the host
            sums = self._add(rows[far], term[far], coef[far], backend.zeros(self.n))
            exact = coef[far] @ self._far.values(columns.values[2][far])
            places = backend.rows(self._far.places)
            out += backend.put(sums, places, backend.array(exact, float))

    def _add(
        self, rows: RowMatrix, term: RealArray, coef: FloatArray, out: DeviceArray
    ) -> DeviceArray:
        """Add products of prepared columns with coefficients to ``out``, which is returned."""
        backend, row_map = self.backend, self.spec.row_map
        if not len(coef):
            return out
        assert row_map is not None
        there = columns_of(backend, row_map, rows, term)
        return add_products(
            backend, row_map.kernel, self._rows, there, backend.array(coef, float), out
        )

    def view_rows(self, rows: DeviceArray) -> ArrayGram:
        """Return the matrix of some of the rows."""
        return ArrayGram(self.backend, self.backend.xp.take(self.X, rows, axis=0), self.spec)

    def refined(self) -> ArrayGram | None:
        """Return the matrix in float64; None if it already is."""
        if self.dtype == np.float64:
            return None
        return ArrayGram(self.backend, self.X, self.spec.refined(), self.passes)

    def has_stated_precision(self) -> bool:
        """Return whether products round as their precision does: some devices use fewer bits."""
        if self.dtype == np.float64:
            return True
        backend, row_map = self.backend, self.spec.row_map
        assert row_map is not None
        step = max(1, self.n // _N_ROWS_CHECKED)
        rows = backend.numpy(self.X[::step, :])[:_N_ROWS_CHECKED]
        exact = row_map.kernel.values(rows, rows).sum(axis=1)
        there = columns_of(backend, row_map, *row_map.prepare(rows))
        found = add_products(
            backend,
            row_map.kernel,
            prepare_rows(backend, row_map, backend.array(rows)),
            there,
            backend.array(np.ones(len(rows))),
            backend.zeros(len(rows)),
        )
        size = float(np.abs(exact).max())
        wrong = float(np.abs(backend.numpy(found) - exact).max())
        return wrong <= _MAX_ERROR_RATIO * self.value_error * size

    def _far_rows(self) -> FarColumns | None:
        """Return the rows that are far from the centre, on the host."""
        row_map, places = self.spec.row_map, np.empty(0, np.intp)
        if row_map is None:
            return None
        if row_map.has_far:
            term = self.backend.numpy(self._rows[:, -2])
            places = find_far_rows(row_map.kernel, term, self.X.shape[1])
        X = self.backend.xp.take(self.X, self.backend.rows(places), axis=0)
        return FarColumns(row_map.kernel, places, self.backend.numpy(X))
