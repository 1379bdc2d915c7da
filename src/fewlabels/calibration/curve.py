"""The decision rule of classifiers, and curves to probabilities that agree with it."""

from dataclasses import dataclass

import numpy as np
from scipy.special import expit, softmax

from .._typing import FloatArray, IntArray

# How much more probable than any other class the class of a row is at least, where a curve has
# another class ahead.
AHEAD = 1e-3
# What is divided by where nothing is to be divided.
_LEAST = 1e-300


def class_of(decision: FloatArray) -> IntArray:
    """Return the position of the class of each row.

    Of two classes it is 1 where the decision is greater than 0, else 0. Of several it is the
    first one of the largest decision. Labels, reports, exports and adapters all follow this rule.
    """
    decision = np.asarray(decision)
    chosen = decision > 0 if decision.ndim == 1 else decision.argmax(axis=1)
    return chosen.astype(np.intp)


def make_agree(p: FloatArray, chosen: IntArray) -> FloatArray:
    """Return probabilities in which no class is ahead of the ``chosen`` one.

    Rows whose chosen class leads by a thousandth stay as they are. In the others just as much is
    moved to it, in proportion from all classes, as makes it lead by this: of two classes both have
    one half, nearly. On either side of the decision the order of rows stays what it was.

    Parameters
    ----------
    p : ndarray of shape (n, n_classes)
        Probabilities.
    chosen : ndarray of int of shape (n,)
        Places of classes, see ``class_of``.

    Returns
    -------
    ndarray of shape (n, n_classes)
    """
    is_own = np.arange(p.shape[1]) == chosen[:, None]
    own = p[is_own][:, None]
    rival = np.where(is_own, -1.0, p).max(axis=1, keepdims=True)
    lack = np.maximum(rival - own + AHEAD, 0.0)
    return (p + lack * is_own) / (1.0 + lack)


@dataclass(frozen=True, eq=False)
class Curve:
    """``expit(slope * decision + intercept)``, or its mean with an increasing function.

    With several slopes and intercepts, it is the mean of these sigmoids.
    """

    slope: float | np.ndarray
    intercept: float | np.ndarray
    knots: np.ndarray | None = None  # the function is linear between them, constant outside
    values: np.ndarray | None = None  # at the knots
    kind: str = "sigmoid"  # what was asked for: "isotonic" of no rows at all has no knots
    # Whether the class of a row is its most probable one. Curves over an estimated class prior
    # disagree where the estimate is uncertain.
    agrees: bool = False

    def __call__(self, decision: FloatArray) -> FloatArray:
        """Return the probabilities of the two classes, shape (n, 2)."""
        p = self._curve_value(decision)
        return make_agree(p, class_of(decision)) if self.agrees else p

    def _curve_value(self, decision: FloatArray) -> FloatArray:
        z = np.multiply.outer(decision, self.slope) + self.intercept
        p = np.stack([expit(-z), expit(z)], axis=1)
        if p.ndim > 2:
            p = p.mean(axis=2)
        if self.knots is None or self.values is None:
            return p
        step = np.interp(decision, self.knots, self.values)
        return 0.5 * (p + np.column_stack([1.0 - step, step]))


@dataclass(frozen=True, eq=False)
class TwoSidedCurve:
    """A logistic curve through ``level`` at zero, with one slope above and another below."""

    spread: float  # unit of the decision
    slopes: np.ndarray  # above zero, below
    agrees: bool = False  # as of Curve
    level: float = 0.0  # log odds at zero

    def sides(self, decision: FloatArray) -> FloatArray:
        """Split the decision into parts above and below zero, in its unit; shape (n, 2)."""
        scaled = decision / self.spread
        return np.column_stack([np.maximum(scaled, 0.0), np.minimum(scaled, 0.0)])

    def __call__(self, decision: FloatArray) -> FloatArray:
        """Return the probabilities of the two classes, shape (n, 2)."""
        logit = self.level + self.sides(decision) @ self.slopes
        p = np.column_stack([expit(-logit), expit(logit)])
        return make_agree(p, class_of(decision)) if self.agrees else p


@dataclass(frozen=True, eq=False)
class ClassCurves:
    """``softmax(slope * decisions + intercept)``, or its mean with increasing functions."""

    slope: float
    intercept: np.ndarray  # of shape (n_classes,)
    # Of each class the knots and values of a function that is linear between, constant outside.
    steps: tuple | None = None
    kind: str = "sigmoid"  # what was asked for
    agrees: bool = False  # as of Curve

    def __call__(self, decision: FloatArray) -> FloatArray:
        """Return the probabilities of the classes, from decisions of shape (n, n_classes)."""
        p = self._curve_value(decision)
        return make_agree(p, class_of(decision)) if self.agrees else p

    def _curve_value(self, decision: FloatArray) -> FloatArray:
        p = softmax(self.slope * decision + self.intercept, axis=1)
        if self.steps is None:
            return p
        other = np.column_stack(
            [np.interp(f, *of) for f, of in zip(decision.T, self.steps, strict=True)]
        )
        total = other.sum(axis=1, keepdims=True)
        other = np.where(total > 0.0, other / np.maximum(total, _LEAST), p)
        return 0.5 * (p + other)
