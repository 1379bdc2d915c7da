"""What every solver returns."""

from dataclasses import dataclass, field
from enum import Enum

import numpy as np


class Status(Enum):
    """Why a solver stopped."""

    CONVERGED = "the tolerance was reached"
    MAX_ITER = "the limit on iterations was reached"
    MAX_TIME = "the time limit was reached"
    STALLED = "rounding prevents further progress"
    STOPPED = "a callback stopped the fit"
    INTERRUPTED = "the user interrupted"


@dataclass
class Result:
    """A solution of (P) with its certificate.

    Attributes
    ----------
    a : ndarray of shape (n,)
        The variables.
    gradient : ndarray of shape (n,)
        ``Q a``.
    multiplier : float
        Multiplier of the equality.
    objective : float
        Value of (P).
    duality_gap : float
        Upper bound on how far the objective is from optimal; inf when unknown.
    violation : float
        KKT violation, in units of the gradient.
    status : Status
        Why the solver stopped.
    n_iter : int
        Iterations, as the solver counts them (its docstring says what one is).
    history : list of dict
        One entry per outer round: round, violation, seconds, kernel_values and what
        else the solver knows.
    """

    a: np.ndarray
    gradient: np.ndarray
    multiplier: float
    objective: float
    duality_gap: float
    violation: float
    status: Status
    n_iter: int
    history: list[dict] = field(default_factory=list)

    @property
    def converged(self):
        """Whether the tolerance was reached."""
        return self.status is Status.CONVERGED


def certify(problem, a, gradient, status, n_iter, history):
    """A Result with objective, violation, multiplier and gap of a feasible point."""

    def gap(multiplier):
        return problem.duality_gap(a, gradient, multiplier)

    totals = problem.survey(a, gradient)
    return certified(totals, gap, a, gradient, status, n_iter, history)


def certified(totals, gap, a, gradient, status, n_iter, history):
    """A Result from the Totals at a point, and its duality gap as a function of the multiplier."""
    return Result(
        a=a,
        gradient=gradient,
        multiplier=totals.multiplier,
        objective=totals.objective,
        duality_gap=gap(totals.multiplier),
        violation=totals.violation,
        status=status,
        n_iter=n_iter,
        history=history,
    )
