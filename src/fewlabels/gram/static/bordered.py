"""A kernel matrix with one virtual row: the mean of some rows in feature space."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from ..base import GramOperator


class BorderedGram(GramOperator):
    """``K`` with a last row and column for ``phi(x_0) = mean of phi over rows``.

    This is the virtual sample of the balancing constraint of a semi-supervised SVM
    (Yu et al. 2019, section 2.2).

    Parameters
    ----------
    inner : GramOperator
        The matrix without the border, n - 1 rows.
    border : ndarray of shape (n - 1,)
        ``K(x_0, x_j)``.
    corner : float
        ``K(x_0, x_0)``.
    """

    def __init__(self, inner, border, corner):
        self.inner = inner
        super().__init__(inner.n + 1, inner.n_jobs)
        self.value_cost = inner.value_cost
        self.dtype = inner.dtype
        self.value_error = inner.value_error
        self.border = np.asarray(border, dtype=float)
        self.corner = float(corner)

    @classmethod
    def mean_of(cls, inner, rows, weight=None):
        """Border ``inner`` by the (weighted) mean of its rows ``rows``."""
        rows = np.asarray(rows)
        weight = np.ones(len(rows)) if weight is None else np.asarray(weight, dtype=float)
        share = weight / weight.sum()
        # Once, in float64: the border stays exact when other precision is asked for.
        exact = inner.refined() or inner
        before = exact.n_values
        border = exact.product(rows, share)
        if exact is not inner:
            inner.n_values += exact.n_values - before
        return cls(inner, border, share @ border[rows])

    @property
    def n_values(self):
        """Counted by the inner operator."""
        return self.inner.n_values

    @n_values.setter
    def n_values(self, value):
        self.inner.n_values = value

    def diagonal(self):
        return np.append(self.inner.diagonal(), self.corner)

    def _full_border(self):
        return np.append(self.border, self.corner)

    def columns(self, indices):
        indices = np.asarray(indices)
        out = np.empty((len(indices), self.n))
        real = indices < self.inner.n
        out[real, :-1] = self.inner.columns(indices[real])
        out[real, -1] = self.border[indices[real]]
        out[~real] = self._full_border()
        return out

    def block(self, indices):
        indices = np.asarray(indices)
        virtual = np.flatnonzero(indices >= self.inner.n)
        if not len(virtual):
            return self.inner.block(indices)
        # Between the virtual rows (there rarely is more than one) lie whole slices to copy.
        real = self.inner.block(np.delete(indices, virtual))
        out = np.empty((len(indices), len(indices)))
        cuts = np.concatenate([[-1], virtual, [len(indices)]])
        parts = [
            (slice(first + 1, last), slice(first + 1 - k, last - k))
            for k, (first, last) in enumerate(pairwise(cuts.tolist()))
        ]
        for rows, from_rows in parts:
            for columns, from_columns in parts:
                out[rows, columns] = real[from_rows, from_columns]
        edge = self._full_border()[indices]
        out[virtual, :] = edge
        out[:, virtual] = edge[:, None]
        return out

    def apply(self, indices, coef, out):
        indices, coef = np.asarray(indices), np.asarray(coef, dtype=float)
        real = indices < self.inner.n
        if real.any():
            self.inner.apply(indices[real], coef[real], out[:-1])
            out[-1] += self.border[indices[real]] @ coef[real]
        if not real.all():
            out += self._full_border() * coef[~real].sum()

    def refined(self):
        inner = self.inner.refined()
        return None if inner is None else BorderedGram(inner, self.border, self.corner)

    def take(self, indices):
        indices = np.asarray(indices)
        if len(indices) == 0 or indices[-1] != self.inner.n:
            raise ValueError("a bordered matrix keeps its virtual row, as the last index.")
        real = indices[:-1]
        return BorderedGram(self.inner.take(real), self.border[real], self.corner)
