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
