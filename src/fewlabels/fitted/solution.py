"""What a fit found: a function, and what can be said about it."""

from __future__ import annotations

import json
from dataclasses import dataclass, field, fields

import numpy as np

from .function import Function


@dataclass(frozen=True, eq=False, kw_only=True)
class Solution:
    """The function of a machine with its certificate.

    Attributes
    ----------
    function : Function
        What predictions are made with.
    support : ndarray of int32 of shape (m,)
        Training rows that the function's vectors are; -1 for rows that are leaving.
    n_support : ndarray of int32
        Their number, by class.
    n_iter : int
        Iterations, as the solver counts them.
    history : list of dict
        One entry per outer round.
    converged : bool
        Whether the tolerance was reached.
    objective, duality_gap : float
        Value of the problem, and how far it is from the optimum at most.
    """

    function: Function
    support: np.ndarray
    n_support: np.ndarray
    n_iter: int
    history: list = field(repr=False)
    converged: bool
    objective: float = np.nan
    duality_gap: float = np.inf

    def __getstate__(self):
        # One text in place of many small objects.
        state = {entry.name: getattr(self, entry.name) for entry in fields(self)}
        return {**state, "history": json.dumps(self.history, default=float)}

    def __setstate__(self, state):
        for name, value in state.items():
            object.__setattr__(self, name, json.loads(value) if name == "history" else value)


@dataclass(frozen=True, eq=False, kw_only=True)
class OneClassSolution(Solution):
    """The ``Solution`` of a machine of one class; its function gives ``score_samples``.

    Attributes
    ----------
    intercept : float
        ``decision_function`` is the part of the score that depends on the row, plus this.
    scale : float
        Scores by machines of other rows can be compared after division by this.
    size : float
        What a score is summed from: rounding is a share of it.
    rate : float or None
        Share of new normal rows that may be rejected; None for the machine's own boundary.
    radius : float
        Radius of a ball.
    is_point : bool
        Whether the ball shrank to a point, as slack is cheaper than a radius.
    """

    intercept: float
    scale: float = 1.0
    size: float
    rate: float | None = None
    radius: float = np.nan
    is_point: bool = False


@dataclass(frozen=True, eq=False)
class Certificate:
    """How good the function of a semi-supervised machine is, and what it says of its rows.

    Attributes
    ----------
    objective : float
        Value of the problem.
    violation : float
        Largest violation of its optimality conditions, in units of f.
    positive : ndarray of bool of shape (n,)
        Training rows of the second class, by their label or else by f.
    """

    objective: float
    violation: float
    positive: np.ndarray
