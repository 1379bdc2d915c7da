"""Semi-supervised SVM as Gu et al. (2018) define it, eq. (1), by trying all signs."""

import itertools

import numpy as np

from .qp import solve_qp


def with_mean(K, share):
    """``K`` with a last row and column for the mean of the rows with these shares."""
    edge = K @ share
    return np.block([[K, edge[:, None]], [edge[None, :], np.array([[share @ edge]])]])


def value_of_signs(K, sign, price, target=None, share=None):
    """Smallest ``1/2 |w|^2 + sum price_i max(0, 1 - sign_i f_i)``, by its dual.

    With ``target``, the mean of f over rows with these shares is held there.
    """
    end = np.asarray(sign) * price
    lower, upper, slope = np.minimum(end, 0.0), np.maximum(end, 0.0), -np.asarray(sign, float)
    if target is not None:
        K = with_mean(K, share)
        lower, upper = np.append(lower, -np.inf), np.append(upper, np.inf)
        slope = np.append(slope, -target)
    return -solve_qp(K, (lower, lower, upper, slope, slope), 0.0)[1]


def all_values(K, label, price, target=None, weight=None, searched=None, held=None):
    """The value of every way to give signs to the rows without a label.

    Parameters
    ----------
    label : ndarray of shape (n,)
        +1, -1, or 0.
    searched : ndarray of int, optional
        Rows whose signs are tried; all without a label if missing.
    held : ndarray of shape (n,), optional
        Signs of the others.

    Returns
    -------
    dict from tuple of signs to float
    """
    weight = np.ones(len(label)) if weight is None else weight
    share = np.where(label == 0, weight, 0.0)
    share = share / share.sum() if share.any() else share
    searched = np.flatnonzero(label == 0) if searched is None else searched
    sign = np.array(label if held is None else held, dtype=float)
    values = {}
    for signs in itertools.product([-1.0, 1.0], repeat=len(searched)):
        sign[searched] = signs
        values[signs] = value_of_signs(K, sign, price, target, share)
    return values


def smallest_value(K, label, price, target=None, weight=None):
    """The global minimum of (1)."""
    return min(all_values(K, label, price, target, weight).values())
