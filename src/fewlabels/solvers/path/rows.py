"""What path following needs to know of rows besides their kernel values."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...problem import Penalty


@dataclass(frozen=True)
class RowPenalties:
    """Penalties of some rows in units of problem (P).

    Attributes
    ----------
    penalty : Penalty
        Intervals, kinks and slopes; of rows with a hat loss those for the sign +1.
    hat : ndarray of bool of shape (n,)
        Rows with the hat loss of unlabelled rows, ``price * max(0, 1 - |f|)``: convex on
        either side of f = 0, and turned over when f changes sign.
    ridge : ndarray of shape (n,)
        Diagonal of Q besides that of the kernel, >= 0.
    """

    penalty: Penalty
    hat: np.ndarray
    ridge: np.ndarray

    @classmethod
    def convex(cls, penalty, ridge=0.0):
        """Rows with a convex penalty."""
        n = len(penalty)
        ridge = np.ascontiguousarray(np.broadcast_to(ridge, n), dtype=float)
        return cls(penalty, np.zeros(n, bool), ridge)

    @classmethod
    def labelled(cls, y, C):
        """Rows of a support vector machine: hinge loss at the price ``C``, labels +-1."""
        y = np.asarray(y, dtype=float)
        price = np.broadcast_to(np.asarray(C, dtype=float), y.shape)
        low, high = np.where(y > 0, 0.0, -price), np.where(y > 0, price, 0.0)
        return cls.convex(Penalty.linear(low, high, -y, len(y)))

    @classmethod
    def unlabelled(cls, C_star, n):
        """``n`` unlabelled rows of a semi-supervised machine at the price ``C_star``."""
        penalty = Penalty.linear(0.0, C_star, -1.0, n)
        return cls(penalty, np.ones(n, bool), np.zeros(n))

    @classmethod
    def concatenate(cls, parts):
        """The rows of several, one after the other."""
        arrays = zip(*(part.penalty.arrays() for part in parts), strict=True)
        return cls(
            Penalty(*(np.concatenate(a) for a in arrays)),
            np.concatenate([part.hat for part in parts]),
            np.concatenate([part.ridge for part in parts]),
        )

    def __len__(self):
        return len(self.hat)

    def take(self, indices):
        """The rows ``indices``."""
        return RowPenalties(self.penalty.take(indices), self.hat[indices], self.ridge[indices])
