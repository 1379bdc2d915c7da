"""Curves from decisions to probabilities."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import expit


@dataclass(frozen=True, eq=False)
class Curve:
    """A sigmoid of the decision, or the mean of one and of an increasing function.

    Attributes
    ----------
    slope, intercept : float
        The sigmoid is ``expit(slope * decision + intercept)``.
    knots, values : ndarray of shape (n_knots,) or None
        The increasing function: ``values`` at ``knots``, linear between them and constant
        outside. None where there is only the sigmoid.
    kind : {"sigmoid", "isotonic"}
        What was asked for. An isotonic curve of no rows at all has no knots.
    """

    slope: float
    intercept: float
    knots: np.ndarray | None = None
    values: np.ndarray | None = None
    kind: str = "sigmoid"

    def __call__(self, decision):
        """Probabilities of the two classes, shape (n, 2)."""
        z = self.slope * decision + self.intercept
        p = np.column_stack([expit(-z), expit(z)])
        if self.knots is None:
            return p
        step = np.interp(decision, self.knots, self.values)
        return 0.5 * (p + np.column_stack([1.0 - step, step]))


@dataclass(frozen=True, eq=False)
class TwoSidedCurve:
    """A logistic curve through one half at zero, with one slope above and another below.

    Attributes
    ----------
    spread : float
        Unit of the decision.
    slopes : ndarray of shape (2,)
        Slopes above zero and below.
    """

    spread: float
    slopes: np.ndarray

    def sides(self, decision):
        """The decision's parts above and below zero in its unit, shape (n, 2)."""
        scaled = decision / self.spread
        return np.column_stack([np.maximum(scaled, 0.0), np.minimum(scaled, 0.0)])

    def __call__(self, decision):
        """Probabilities of the two classes, shape (n, 2)."""
        logit = self.sides(decision) @ self.slopes
        return np.column_stack([expit(-logit), expit(logit)])
