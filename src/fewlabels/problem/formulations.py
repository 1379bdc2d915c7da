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
