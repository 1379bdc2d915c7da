"""Risk and duality gap of a fitted machine, from the data and its coefficients alone.

Nothing here calls the library. With ``f = sum_j coef_j K(x_j, .) + b``:

    primal (4):  lam |w|^2 - pi mean_P f + mean_U max(0, f, (1 + f) / 2)
    dual (6):    2 lam (-D(s) - |c1 sum_P phi|^2 / 2),
                 D(s) = s'K_UU s/2 - c1 1'K_PU s - sum_u min(s_u, c2 - s_u)

for the ``s`` that the coefficients of the unlabelled rows stand for. Their difference bounds how
far the primal is from its optimum.
"""

from __future__ import annotations

import numpy as np


def kernel_matrix(kernel, X):
    """Kernel values in float64; distances from differences."""
    if kernel == "linear":
        return X @ X.T
    K = np.empty((len(X), len(X)))
    for i, row in enumerate(X):
        K[i] = np.exp(-0.5 * ((X - row) ** 2).sum(axis=1))
    return K


def coefficients(machine, n):
    """Coefficients of all training rows."""
    coef = np.zeros(n)
    coef[machine.support_] = machine.dual_coef_[0]
    return coef


def risk(K, labelled, prior, lam, coef, intercept):
    """The primal (4)."""
    smooth = K @ coef
    f = smooth + intercept
    loss = np.maximum(0.0, np.maximum(f, 0.5 * (1.0 + f)))[~labelled].mean()
    return lam * float(coef @ smooth) - prior * f[labelled].mean() + loss


def dual_value(K, labelled, prior, lam, coef):
    """A lower bound of (4): the dual at the nearest feasible point; exact arithmetic aside.

    Values outside ``[0, c2]`` by rounding are put back; a sum that is off by more than
    rounding is refused.
    """
    p, n = int(labelled.sum()), int((~labelled).sum())
    c1, c2 = prior / (2.0 * lam * p), 1.0 / (2.0 * lam * n)
    s = -coef[~labelled]
    assert np.all(s >= -1e-9 * c2), "a coefficient of an unlabelled row is positive"
    assert np.all(s <= c2 * (1 + 1e-9)), "a coefficient of an unlabelled row exceeds c2"
    assert abs(s.sum() - c1 * p) <= 1e-9 * c1 * p, "the coefficients do not sum to zero"
    s = np.clip(s, 0.0, c2)
    at_positives = c1 * K[:, labelled].sum(axis=1)
    linear = at_positives[~labelled]
    value = (
        0.5 * s @ K[np.ix_(~labelled, ~labelled)] @ s - linear @ s - np.minimum(s, c2 - s).sum()
    )
    constant = 0.5 * c1 * at_positives[labelled].sum()
    return -2.0 * lam * float(value + constant)
