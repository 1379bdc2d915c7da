"""Machines as instances of problem (P): parameters in, ``DualProblem`` out."""

from __future__ import annotations

import numpy as np

from .dual import DualProblem
from .penalty import Penalty


def svdd_squared(gram, C, weight=None):
    """SVDD with squared slack, Zheng 2018, eqs. (5)-(10).

    ``min_a a'Ka + 1/(4C) sum a_i^2 / w_i - sum a_i K_ii``, ``sum a = 1``, ``a >= 0``:
    Q = 2K + diag(1 / (2 C w)).

    Parameters
    ----------
    gram : GramOperator
        K.
    C : float
        Price of slack, > 0.
    weight : ndarray of shape (n,), optional
        Weights w, > 0; a row of weight 2 acts as two equal rows.
    """
    weight = np.ones(gram.n) if weight is None else np.asarray(weight, dtype=float)
    penalty = Penalty.linear(0.0, np.inf, -gram.diagonal(), gram.n)
    return DualProblem(gram, penalty, 1.0, scale=2.0, ridge=1.0 / (2.0 * C * weight))


def svdd_linear(gram, C, weight=None):
    """SVDD with linear slack, Zheng 2018, eqs. (1)-(4) (Tax & Duin).

    ``min_a a'Ka - sum a_i K_ii``, ``sum a = 1``, ``0 <= a_i <= C w_i``: Q = 2K.

    Parameters
    ----------
    gram : GramOperator
        K.
    C : float
        Price of slack; ``C sum(w) >= 1`` or nothing is feasible.
    weight : ndarray of shape (n,), optional
        Weights w, > 0.
    """
    weight = np.ones(gram.n) if weight is None else np.asarray(weight, dtype=float)
    penalty = Penalty.linear(0.0, C * weight, -gram.diagonal(), gram.n)
    return DualProblem(gram, penalty, 1.0, scale=2.0)


def one_class(gram, nu, weight=None):
    """One-class SVM (Schoelkopf et al. 2001), duals normalised to sum to one.

    ``min_a a'Ka/2``, ``sum a = 1``, ``0 <= a_i <= w_i / (nu sum(w))``. LIBSVM's alpha
    is ``nu sum(w) a``.

    Parameters
    ----------
    gram : GramOperator
        K.
    nu : float
        Bound on the share of margin errors, in (0, 1].
    weight : ndarray of shape (n,), optional
        Weights w, > 0.
    """
    weight = np.ones(gram.n) if weight is None else np.asarray(weight, dtype=float)
    penalty = Penalty.linear(0.0, weight / (nu * weight.sum()), 0.0, gram.n)
    return DualProblem(gram, penalty, 1.0)


def s3vm_step(gram, label, sign, C, C_star, target=None):
    """One convex step of a semi-supervised SVM (Gu et al. 2018, eq. (6)), merged variables.

    The paper enters every unlabelled row twice, as +1 and as -1; the sum of the two duals
    is one variable with a kink:

    ``min_a a'Ka/2 + sum phi_i(a_i)``, ``sum a = 0``, with ``phi_i(a) = -y_i a`` on
    ``[0, C_i]`` (times y_i) for labelled rows and, for unlabelled rows of current sign s,
    slopes -1 and +1 around the kink ``s C*_i`` on ``[0, 2 C*_i]`` (times s). The function is
    ``f = K a + b`` with b minus the multiplier of the equality.

    Parameters
    ----------
    gram : GramOperator
        K over all rows; with ``target`` bordered by the mean of the unlabelled rows.
    label : ndarray of shape (n,)
        +1, -1, or 0 for unlabelled rows.
    sign : ndarray of shape (n,)
        Current sign of f at the unlabelled rows, +1 or -1.
    C, C_star : ndarray of shape (n,) or float
        Prices of labelled and of unlabelled rows, > 0.
    target : float or None, default=None
        Mean of f over the unlabelled rows (balancing constraint, Yu et al. 2019, eq. (2));
        None for no constraint.
    """
    n = len(label)
    labelled = label != 0
    up = np.where(labelled, label, sign) > 0
    price = np.where(labelled, C, C_star)
    reach = np.where(labelled, price, 2.0 * price)
    lower, upper = np.where(up, 0.0, -reach), np.where(up, reach, 0.0)
    kink = np.where(labelled, lower, np.where(up, price, -price))
    left = np.where(labelled, -label, -1.0)
    right = np.where(labelled, -label, 1.0)
    penalty = Penalty.kinked(lower, kink, upper, left, right, n)
    if target is not None:
        free = (-np.inf, -np.inf, np.inf, -target, -target)
        arrays = zip(penalty.arrays(), free, strict=True)
        penalty = Penalty(*(np.append(array, end) for array, end in arrays))
    return DualProblem(gram, penalty, 0.0)
