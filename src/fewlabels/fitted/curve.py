"""Curves from decisions to probabilities."""

from dataclasses import dataclass

import numpy as np
from scipy.special import expit

from .deciding import agreeing, class_of


@dataclass(frozen=True, eq=False)
class Curve:
    """``expit(slope * decision + intercept)``, or its mean with an increasing function."""

    slope: float
    intercept: float
    knots: np.ndarray | None = None  # the function is linear between them, constant outside
    values: np.ndarray | None = None  # at the knots
    kind: str = "sigmoid"  # what was asked for: "isotonic" of no rows at all has no knots
    # Whether the class of a row is its most probable one. Curves of older files may disagree.
    agrees: bool = False

    def __call__(self, decision):
        """Probabilities of the two classes, shape (n, 2)."""
        p = self._fitted(decision)
        return agreeing(p, class_of(decision)) if self.agrees else p

    def _fitted(self, decision):
        z = self.slope * decision + self.intercept
        p = np.column_stack([expit(-z), expit(z)])
        if self.knots is None:
            return p
        step = np.interp(decision, self.knots, self.values)
        return 0.5 * (p + np.column_stack([1.0 - step, step]))


@dataclass(frozen=True, eq=False)
class TwoSidedCurve:
    """A logistic curve through one half at zero, with one slope above and another below."""

    spread: float  # unit of the decision
    slopes: np.ndarray  # above zero, below
    agrees: bool = False  # as of Curve

    def sides(self, decision):
        """The decision's parts above and below zero in its unit, shape (n, 2)."""
        scaled = decision / self.spread
        return np.column_stack([np.maximum(scaled, 0.0), np.minimum(scaled, 0.0)])

    def __call__(self, decision):
        """Probabilities of the two classes, shape (n, 2)."""
        logit = self.sides(decision) @ self.slopes
        p = np.column_stack([expit(-logit), expit(logit)])
        return agreeing(p, class_of(decision)) if self.agrees else p
