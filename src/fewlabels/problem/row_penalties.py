"""Penalties of rows that come and go, with the symmetric hinge of unlabelled rows."""

from dataclasses import dataclass

import numpy as np

from .penalty import Penalty, check_costs


@dataclass(frozen=True)
class RowPenalties:
    """Penalties of some rows in the units of problem (P).

    ``penalty`` holds intervals, kinks and slopes, ``ridge`` what is added to the kernel's diagonal
    in Q (>= 0). Rows marked ``symmetric`` have the loss ``cost * max(0, 1 - |f|)`` of unlabelled
    rows, convex on either side of f = 0; the penalty (for the sign +1) is mirrored when f changes
    sign.
    """

    penalty: Penalty
    symmetric: np.ndarray
    ridge: np.ndarray

    @classmethod
    def convex(cls, penalty, ridge=0.0):
        """Rows with a convex penalty."""
        check_costs(penalty)
        n = len(penalty)
        ridge = np.ascontiguousarray(np.broadcast_to(ridge, n), dtype=float)
        return cls(penalty, np.zeros(n, bool), ridge)

    @classmethod
    def labelled(cls, y, C):
        """Rows of a support vector machine: hinge loss at the cost ``C``, labels +-1."""
        return cls.semi_supervised(y, C)

    @classmethod
    def unlabelled(cls, C_star, n):
        """``n`` unlabelled rows of a semi-supervised model at the cost ``C_star``."""
        return cls.semi_supervised(np.zeros(n), C_star)

    @classmethod
    def semi_supervised(cls, label, cost):
        """Rows with the hinge loss where ``label`` is +-1, and the symmetric one where it is 0."""
        label = np.asarray(label, dtype=float)
        symmetric = label == 0.0
        side = np.where(symmetric, 1.0, label)
        penalty = Penalty.hinge(side, cost)
        check_costs(penalty)
        return cls(penalty, symmetric, np.zeros(len(label)))

    def __len__(self):
        return len(self.symmetric)

    def take(self, indices):
        """The rows ``indices``."""
        return RowPenalties(
            self.penalty.take(indices), self.symmetric[indices], self.ridge[indices]
        )
