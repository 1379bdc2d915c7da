"""What training of a positive-unlabelled machine gives."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...problem import Penalty
from ...solvers import Result


@dataclass
class PUSolution:
    """f(x) = sum_i coef_i K(x_i, x) + bias.

    Attributes
    ----------
    coef : ndarray of shape (n,)
        Coefficients of all rows.
    f : ndarray of shape (n_unlabeled,)
        Values at the unlabelled rows, without bias.
    penalty : Penalty
        That of the unlabelled rows' coefficients, sign reversed.
    bias : float
        Bias that minimises the risk.
    objective, gap : float
        Regularised risk (4), and a bound on its distance to the optimum.
    result : Result
        The (last) convex problem's.
    gram : GramOperator
        The operator that it was solved with.
    objectives : list of float or None
        Objective after every convex step, for the ramp loss.
    """

    coef: np.ndarray
    f: np.ndarray
    penalty: Penalty
    bias: float
    objective: float
    gap: float
    result: Result
    gram: object
    objectives: list | None = None
