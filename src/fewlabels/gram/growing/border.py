"""A growing kernel matrix with one virtual row: the mean of some rows in feature space."""

from operator import attrgetter

import numpy as np

from .columns import MANY, GrowingLinear
from .stores import grown


class BorderedGrowing:
    """``inner`` with a first row and column for ``phi(x_0) = mean of phi over some rows``.

    This is the virtual sample of the balancing constraint of a semi-supervised SVM. It has
    index 0; the rows of ``inner`` have the indices from 1 on. Its kernel values are a vector
    of its own that follows the rows that join and leave the mean.
    """

    def __init__(self, inner):
        self.inner, self.n = inner, inner.n + 1
        self._border = np.zeros(self.n)  # first entry: K(x_0, x_0)
        self._in_mean = np.zeros(self.n, bool)
        self.n_mean = 0
        self._weights = np.zeros(inner.X.shape[1]) if isinstance(inner, GrowingLinear) else None

    n_values = property(attrgetter("inner.n_values"))

    @property
    def border(self):
        """``K(x_0, x_j)``, j = 0, 1, ..."""
        return self._border[: self.n]

    @property
    def _mean_rows(self):
        return np.flatnonzero(self._in_mean[1 : self.n])

    # -- rows ---------------------------------------------------------------------------

    def append(self, X):
        first = self.inner.n
        diagonal = self.inner.append(X)
        self.n = self.inner.n + 1
        self._border = grown(self._border, self.n)
        self._in_mean = grown(self._in_mean, self.n)
        self._in_mean[first + 1 : self.n] = False
        new = np.arange(first, self.inner.n)
        if self.n_mean == 0:
            values = np.zeros(len(new))
        elif self._weights is not None:
            values = self.inner.at(new, self._weights)
        else:
            mean = self._mean_rows
            values = self.inner.product_at(new, mean, np.full(len(mean), 1.0 / len(mean)))
        self._border[first + 1 : self.n] = values
        return diagonal

    def keep(self, indices):
        indices = np.asarray(indices)
        self.inner.keep(indices[1:] - 1)
        self._border, self._in_mean = self._border[indices], self._in_mean[indices]
        self.n = len(indices)

    # -- the mean -------------------------------------------------------------------------

    def change_mean(self, indices, sign):
        """Let rows join the mean (sign 1) or leave it (sign -1)."""
        indices = np.asarray(indices)
        before, self.n_mean = self.n_mean, self.n_mean + sign * len(indices)
        self._in_mean[indices] = sign > 0
        if self.n_mean == 0:
            self._border[: self.n] = 0.0
            if self._weights is not None:
                self._weights[:] = 0.0
            return
        change = np.zeros(self.inner.n)
        share, hold = np.full(len(indices), float(sign)), len(indices) <= MANY
        self.inner.apply(indices - 1, share, change, hold=hold)
        self._border[1 : self.n] = (before * self._border[1 : self.n] + change) / self.n_mean
        if self._weights is not None:
            change = self.inner.weights(indices - 1, share)
            self._weights = (before * self._weights + change) / self.n_mean
        self._set_corner()

    def _set_corner(self):
        self._border[0] = self._border[1 : self.n][self._in_mean[1 : self.n]].mean()

    def refresh(self):
        """Evaluate the border again."""
        mean = self._mean_rows
        if not len(mean):
            return
        border = np.zeros(self.inner.n)
        coef = np.full(len(mean), 1.0 / len(mean))
        self.inner.apply(mean, coef, border, hold=False)
        self._border[1 : self.n] = border
        if self._weights is not None:
            self._weights = self.inner.weights(mean, coef)
        self._set_corner()

    # -- values -----------------------------------------------------------------------------

    def block(self, rows, columns):
        rows, columns = np.asarray(rows), np.asarray(columns)
        if columns.all():
            out = self.inner.block(np.maximum(rows - 1, 0), columns - 1)
            out[rows == 0] = self._border[columns]
            return out
        real, out = columns > 0, np.empty((len(rows), len(columns)))
        out[:, ~real] = self._border[rows][:, None]
        if real.any():
            out[:, real] = self.block(rows, columns[real])
        return out

    def apply(self, indices, coef, out, hold=True):
        indices, coef, share = _apart(indices, coef)
        rows = indices - 1
        if self._weights is None:
            if share:
                out += self.border * share
            self.inner.apply(rows, coef, out[1:], hold)
        else:
            # The mean is a point like any other: one product with all rows instead of two.
            self.inner.add_products(
                self.inner.weights(rows, coef) + share * self._weights, out[1:]
            )
            out[0] += share * self._border[0]
        out[0] += self._border.take(indices) @ coef

    def product_at(self, rows, indices, coef):
        indices, coef, share = _apart(indices, coef)
        out = self.inner.product_at(np.maximum(rows - 1, 0), indices - 1, coef)
        out[rows == 0] = self._border.take(indices) @ coef
        if share:
            out += self._border.take(rows) * share
        return out


def _apart(indices, coef):
    """The real rows, their coefficients, and the coefficient of the virtual row.

    Indices are distinct.
    """
    at = indices.argmin() if len(indices) else 0
    if not len(indices) or indices[at]:
        return indices, coef, 0.0
    real = np.concatenate((indices[:at], indices[at + 1 :]))
    return real, np.concatenate((coef[:at], coef[at + 1 :])), coef[at]
