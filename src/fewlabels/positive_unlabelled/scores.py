"""Held-out scores: where to cut them, and the posterior that they imply."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import expit

from .._typing import BoolArray, FloatArray
from ..calibration.fit_curves import mean_and_spread

# Weight of the squared slope beside the logistic risk, and the smallest slope.
_MIN_SLOPE = 1e-3
_MAX_NEWTON_STEPS = 100
# The shortest step, as a share of a Newton step.
_MIN_STEP_LENGTH = 1e-9
# A gain of this share of the risk, or less, is rounding.
_MIN_RELATIVE_GAIN = 1e-14
# Keeps the Hessian regular where all features are alike.
_HESSIAN_RIDGE = 1e-12


@dataclass
class HeldOutFunction:
    """Coefficients (n_kernels, n), bias, and scores of rows by models that did not see them."""

    coef: np.ndarray
    bias: float
    held_out: np.ndarray

    def __add__(self, other: HeldOutFunction) -> HeldOutFunction:
        return HeldOutFunction(
            self.coef + other.coef, self.bias + other.bias, self.held_out + other.held_out
        )

    def scale(self, factor: float) -> HeldOutFunction:
        """Return the function times a number."""
        return HeldOutFunction(factor * self.coef, factor * self.bias, factor * self.held_out)

    def standardise(self, weight: FloatArray) -> HeldOutFunction:
        """Moved and scaled so that held-out scores have weighted mean 0 and variance 1."""
        mean, spread = mean_and_spread(self.held_out, weight)
        moved = HeldOutFunction(self.coef, self.bias - mean, self.held_out - mean)
        return moved.scale(1.0 / spread)


def fit_logistic(
    features: FloatArray, weight: FloatArray, target: FloatArray, slopes: Sequence[bool]
) -> FloatArray:
    """Logistic regression whose gradient asks for ``mean of q u = target``; the parameters t.

    Minimises ``mean log(1 + exp(u't)) - target't + 5e-4 |t_slopes|^2`` over t with ``t_slopes >=
    1e-3``; q is ``1 / (1 + exp(-u't))``. With a target of the prior times the mean features of
    positive rows it is the unbiased risk of du Plessis et al. (2015); of probabilities r it is the
    mean of ``r u``.
    """
    is_slope = np.asarray(slopes)
    share = weight / weight.sum()
    ridge = np.where(is_slope, _MIN_SLOPE, 0.0)
    t = np.where(is_slope, 1.0, 0.0)
    free = np.ones(len(t), dtype=bool)
    while True:
        t = _minimise(features, share, target, ridge, t, free)
        low = free & is_slope & (t < _MIN_SLOPE)
        if not low.any():
            return t
        t[low] = _MIN_SLOPE
        free &= ~low


def _minimise(
    features: FloatArray,
    share: FloatArray,
    target: FloatArray,
    ridge: FloatArray,
    t: FloatArray,
    free: BoolArray,
) -> FloatArray:
    """Minimise over the parameters that are free, by damped Newton steps."""

    def value(t: FloatArray) -> float:
        risk = share @ np.logaddexp(0.0, features @ t)
        return float(risk - target @ t + 0.5 * ridge @ (t * t))

    now = value(t)
    used = features[:, free]
    for _ in range(_MAX_NEWTON_STEPS if free.any() else 0):
        q = expit(features @ t)
        gradient = used.T @ (share * q) + (ridge * t - target)[free]
        hessian = (used.T * (share * q * (1.0 - q))) @ used + np.diag(ridge[free] + _HESSIAN_RIDGE)
        step = np.zeros(len(t))
        step[free] = np.linalg.solve(hessian, gradient)
        slope = float(gradient @ step[free])
        # A step that gains so little leads to the minimum; shorter ones would gain rounding.
        is_last = slope <= _MIN_RELATIVE_GAIN * abs(now)
        length = 1.0
        while not (then := value(t - length * step)) <= now - 1e-4 * length * slope:
            length *= 0.5
            if is_last or length < _MIN_STEP_LENGTH:
                return t
        t, now = t - length * step, then
        if is_last:
            return t
    return t


def quantile_cut(f: FloatArray, weight: FloatArray, share: float, rounding: float) -> float:
    """Return the cut that leaves as nearly as possible ``share`` of the weight above.

    Halfway between two neighbours. Values within twice ``rounding`` of the one where the share is
    reached count as equal to it and stay on one side; others don't, however close they are to
    their neighbours, or many rows would leave no place to cut.
    """
    order = np.argsort(-f, kind="stable")
    f, weight = f[order], weight[order] / weight.sum()
    if f[0] - f[-1] <= 2.0 * rounding:
        # All rows are alike: the sign that the risk prefers.
        return f[0] + (1.0 if share < 0.5 else -1.0) * max(1.0, 4.0 * rounding)
    above = np.concatenate([[0.0], np.cumsum(weight)])
    at = f[min(int(np.searchsorted(above[1:], share)), len(f) - 1)]
    # Places before the first row that is equal, and behind the last one.
    first = int(np.searchsorted(-f, -(at + 2.0 * rounding), side="left"))
    last = int(np.searchsorted(-f, -(at - 2.0 * rounding), side="right"))
    # Of two cuts equally near, the higher: rounding must not decide.
    higher = abs(above[first] - share) <= abs(above[last] - share) + 1e-9
    best = first if higher else last
    if best == 0:
        return f[0]
    if best == len(f):
        return f[-1] - 0.5 * (f[first - 1] - f[-1] if first else 0.0)
    return 0.5 * (f[best - 1] + f[best])
