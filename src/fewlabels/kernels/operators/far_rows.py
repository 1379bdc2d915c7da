"""Rows so far from the centre that expanded distances lose digits.

A kernel of distances is evaluated as ``row_term + column_term + <row, column>``, where terms as
large as squared norms cancel. Between rows that are far from the centre, values therefore come
from differences of the rows as they were given. Other pairs keep their digits, see
``compute_far_exponent``.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from ..._typing import FloatArray, IntArray, RealArray, RowMatrix
from .. import MappedKernel
from ..rows import compute_far_exponent, direct_distances


def find_far_rows(kernel: MappedKernel, term: RealArray, n_columns: int) -> NDArray[np.intp]:
    """Return the places of rows beyond reach of expanded distances, from their terms.

    Parameters
    ----------
    kernel : MappedKernel
        The kernel.
    term : ndarray of shape (n_rows,)
        Terms of prepared rows.
    n_columns : int
        Number of columns.

    Returns
    -------
    ndarray of int
    """
    if not kernel.of_distance or not len(term):
        return np.empty(0, np.intp)
    limit = -compute_far_exponent(n_columns)
    return np.flatnonzero(term < limit) if term.min() < limit else np.empty(0, np.intp)


def evaluate_directly(
    kernel: MappedKernel, X: RowMatrix, Z: RowMatrix, n_jobs: int = 1
) -> FloatArray:
    """Return kernel values from differences of rows as they were given, shape (len(Z), len(X))."""
    with np.errstate(over="ignore", under="ignore"):
        distances = direct_distances(X, Z, n_jobs)
        return kernel.mapped(np, -0.5 * kernel.factor**2 * distances)


class FarColumns:
    """Kernel values between far rows, put in the place of what expanded distances gave.

    Parameters
    ----------
    kernel : MappedKernel
        The kernel, of distances.
    places : ndarray of int
        Places of the far rows in the matrix.
    X : {ndarray, sparse} of shape (len(places), n_columns)
        These rows as they were given.
    n_jobs : int, default=1
        Threads.
    """

    def __init__(
        self, kernel: MappedKernel, places: IntArray, X: RowMatrix, n_jobs: int = 1
    ) -> None:
        self.kernel, self.places, self.X, self.n_jobs = kernel, places, X, n_jobs

    def __len__(self) -> int:
        return len(self.places)

    def values(self, Z: RowMatrix) -> FloatArray:
        """Return values of far columns ``Z`` at the far rows, shape (len(Z), len(self))."""
        return evaluate_directly(self.kernel, self.X, Z, self.n_jobs)

    def set_values(self, out: RealArray, columns: IntArray, Z: RowMatrix) -> None:
        """Set the values of far columns, which are ``Z``, in ``out``, a column in every row."""
        if len(columns) and len(self):
            out[np.ix_(columns, self.places)] = self.values(Z)

    def add_product(
        self,
        apply: Callable[[RowMatrix, RealArray, FloatArray, FloatArray], None],
        rows: RowMatrix,
        term: RealArray,
        coef: FloatArray,
        out: FloatArray,
        columns: IntArray,
        Z: RowMatrix,
    ) -> None:
        """Add products of columns with coefficients to ``out``.

        Parameters
        ----------
        apply : callable
            ``apply(rows, term, coef, out)`` adds them as expanded distances give them.
        rows, term, coef : arrays
            Prepared columns, their terms and coefficients.
        out : ndarray of shape (n,)
            Sums to add to.
        columns, Z : ndarray of int, and {ndarray, sparse}
            Places of the far ones among the columns, and these rows as they were given.
        """
        if not len(columns) or not len(self):
            apply(rows, term, coef, out)
            return
        near = np.delete(np.arange(len(term)), columns)
        if len(near):
            apply(rows[near], term[near], coef[near], out)
        sums = out[self.places] + coef[columns] @ self.values(Z)
        apply(rows[columns], term[columns], coef[columns], out)
        out[self.places] = sums

    def take(self, indices: IntArray) -> FarColumns:
        """Return the far ones among some rows, with their places there."""
        number = np.full(int(max(indices.max(initial=-1), self.places.max(initial=-1))) + 1, -1)
        number[self.places] = np.arange(len(self))
        far_number = number[indices]
        places = np.flatnonzero(far_number >= 0)
        return FarColumns(self.kernel, places, self.X[far_number[places]], self.n_jobs)
