"""What a semi-supervised SVM is trained on and with, and what comes out."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from ...gram import BorderedGram, GramOperator
from ...problem.semi_supervised import SemiSupervised
from ...solvers import Result, Settings


@dataclass(frozen=True)
class S3VMSettings:
    """Parameters of a batch training.

    Attributes
    ----------
    engine : Settings
        Tolerance, limits and seed; its callback gets the rounds of convex steps.
    annealing : bool
        Whether C* grows to its value.
    branching : bool
        Whether the global minimum is searched for.
    max_nodes : int or "auto"
        Limit on the convex problems of such a search.
    callback : callable or None
        Gets the entries of a search.
    """

    engine: Settings = field(default_factory=Settings)
    annealing: bool = True
    branching: bool = False
    max_nodes: int | str = "auto"
    callback: object = None


@dataclass(frozen=True, eq=False)
class S3VMData:
    """Rows of a semi-supervised SVM.

    Attributes
    ----------
    machine : SemiSupervised
        What is minimised.
    label, weight : ndarray of shape (n,)
        +1, -1, or 0 for unlabelled rows; weights > 0.
    gram : GramOperator
        K over the rows; with a target bordered by the mean of the unlabelled ones.
    target : float or None
        Mean of f over the unlabelled rows; None for no constraint.
    """

    machine: SemiSupervised
    label: np.ndarray
    weight: np.ndarray
    gram: GramOperator
    target: float | None

    @classmethod
    def over(cls, gram, machine, label, weight):
        """The rows of ``gram``."""
        free = np.flatnonzero(label == 0)
        target = machine.target(label, weight) if len(free) else None
        if target is not None:
            gram = BorderedGram.mean_of(gram, free, weight[free])
        return cls(machine, label, weight, gram, target)

    @cached_property
    def unlabeled(self):
        """Rows without a label."""
        return np.flatnonzero(self.label == 0)

    @cached_property
    def share(self):
        """Weights of the unlabelled rows, as shares."""
        weight = self.weight[self.unlabeled]
        return weight / weight.sum()

    def decision(self, result):
        """f at the rows."""
        return result.gradient[: len(self.label)] - result.multiplier

    def coefficients(self, a):
        """Coefficients of the rows: the virtual row's are spread over those it is the mean of."""
        coef = a[: len(self.label)].copy()
        if self.target is not None:
            coef[self.unlabeled] += a[-1] * self.share
        return coef

    def objective(self, result, machine=None):
        """Value of (1) at the solution of a convex step."""
        machine = self.machine if machine is None else machine
        norm = float(result.a @ result.gradient)
        return machine.objective(self.label, self.weight, norm, self.decision(result))


@dataclass(frozen=True, eq=False, kw_only=True)
class S3VMSolution:
    """A local minimum of (1).

    Attributes
    ----------
    result : Result
        Of the last convex step; its variables include the virtual row's.
    f : ndarray of shape (n,)
        Decisions of the rows.
    sign : ndarray of shape (n,)
        Sign of f that the unlabelled rows were given.
    objective : float
        Value of (1).
    violation : float
        Largest violation of the optimality conditions of (1), in units of f.
    objectives : list of float
        Value of (1) after each convex step at the final C*.
    lower_bound : float or None
        Nothing is below it; None where it was not searched for.
    n_nodes : int
        Convex problems that were solved to know that; 0 when no search began.
    """

    result: Result
    f: np.ndarray
    sign: np.ndarray
    objective: float
    violation: float
    objectives: list
    lower_bound: float | None = None
    n_nodes: int = 0
