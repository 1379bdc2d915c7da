"""Machines as instances of problem (P): parameters in, ``DualProblem`` out."""

from __future__ import annotations

import numpy as np

from .dual import DualProblem
from .penalty import Penalty


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
