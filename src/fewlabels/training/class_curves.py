"""Curves from the decisions of several models, one for each class, to probabilities."""

from dataclasses import replace

import numpy as np
from scipy.optimize import minimize, minimize_scalar
from scipy.special import log_softmax, softmax

from ..fitted import ClassCurves
from .curves import INTERCEPT, isotonic

# A step of the search for intercepts that give shares is exact when means are so near to these.
_EXACT, _STEPS = 1e-13, 500


def curves_of_classes(scores, place, weight, kind, unlabeled=None, shares=None, usual=None):
    """The ``ClassCurves`` of labelled rows that were not trained on; weights act as repetitions.

    ``scores`` are of shape (n, n_classes), ``place`` the class of each row. The softmax of
    greatest posterior density: the slope is lognormal around one at which a row on its own
    model's margin is as sure as of two classes, intercepts are normal around 0. "isotonic" is
    the mean of the isotonic regressions of each class and of the softmax. ``shares`` are the mean
    probabilities over the unlabelled rows, whose scores and weights are ``unlabeled``. ``usual``
    is the logarithm of the slope that others are distributed around, where scores are no decisions
    of models.
    """
    n_classes = scores.shape[1]
    usual = np.log(0.5 * (1.0 + np.log(n_classes - 1))) if usual is None else usual
    hit = np.arange(n_classes) == place[:, None]
    of_free = None if shares is None else (unlabeled[0], unlabeled[1] / unlabeled[1].sum())

    def value(at):
        slope, intercept = np.exp(at[0]), at[1:]
        if of_free is not None:
            intercept = _intercepts(slope * of_free[0], of_free[1], shares)
        z = slope * scores + intercept
        loss = -(weight @ np.sum(log_softmax(z, axis=1) * hit, axis=1))
        residual = weight[:, None] * (softmax(z, axis=1) - hit)
        away = at[0] - usual
        change = np.concatenate([[np.sum(residual * scores) * slope + away], residual.sum(axis=0)])
        change[1:] += intercept / INTERCEPT**2
        return loss + 0.5 * away**2 + 0.5 * np.sum((intercept / INTERCEPT) ** 2), change

    start = np.append(usual, np.zeros(n_classes))
    if of_free is None:
        at = minimize(value, start, jac=True, method="BFGS", options={"gtol": 1e-9}).x
        slope, intercept = float(np.exp(at[0])), at[1:]
    else:
        bounds = usual - 5.0, usual + 5.0
        found = minimize_scalar(lambda s: value(np.append(s, start[1:]))[0], bounds=bounds)
        slope = float(np.exp(found.x))
        intercept = _intercepts(slope * of_free[0], of_free[1], shares)
    curves = ClassCurves(slope, intercept, kind=kind)
    if kind == "isotonic" and len(scores):
        steps = [isotonic(f, h * 1.0, weight) for f, h in zip(scores.T, hit.T, strict=True)]
        curves = replace(curves, steps=tuple(steps))
    return curves


def _intercepts(z, mass, shares):
    """The b, of mean 0, for which the mean of softmax(z + b) over rows is ``shares``."""
    b = np.log(shares)
    for _ in range(_STEPS):
        means = mass @ softmax(z + b, axis=1)
        change = np.log(shares) - np.log(np.maximum(means, np.finfo(float).tiny))
        b = b + change
        if np.abs(change).max() <= _EXACT:
            break
    return b - b.mean()
