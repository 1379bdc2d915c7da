"""Batch training of the semi-supervised SVM: the concave-convex procedure, annealed."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..problem import s3vm_step
from ..solvers import Result
from ..solvers.cccp import solve_cccp
from ..solvers.warm import warm_start
from ._steps import Steps

# Annealing: C* grows by this factor in so many steps.
_FACTOR = 2.0
_LEVELS = 10
# Tolerance of all but the last level, relative to tol.
_LOOSER = 10.0


@dataclass
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
    """

    result: Result
    f: np.ndarray
    sign: np.ndarray
    objective: float
    violation: float
    objectives: list


def solve_batch(machine, data, callback):
    """A local minimum from the SVM of the labelled rows, C* growing to its value."""
    steps = Steps(machine, callback)
    n = len(data.label)
    C = machine.C * data.weight

    def problem_at(level):
        return lambda sign: s3vm_step(
            data.gram, data.label, sign, C, level * data.weight, data.target
        )

    def decision(result):
        return result.gradient[:n] - result.multiplier

    def signs(result):
        return np.where(decision(result) >= 0, 1.0, -1.0)

    # Unlabelled rows that cost nothing: the SVM of the labelled rows.
    result = steps.solve(problem_at(0.0)(np.ones(n)), None)
    sign = signs(result)
    objectives = [objective(data, result, C, machine.C_star)]
    levels = annealing_levels(machine.C_star) if machine.annealing else [machine.C_star]
    for level in levels if len(data.unlabeled) else ():
        if not result.converged:
            break
        make_step = problem_at(level)
        tol = machine.tol * (1.0 if level == levels[-1] else _LOOSER)
        start = warm_start(make_step(sign), result.a, result.gradient)
        start.history, start.n_iter = result.history, result.n_iter
        result, sign, objectives = solve_cccp(
            make_step,
            sign,
            signs,
            lambda problem, start, tol=tol: steps.solve(problem, start, tol),
            lambda found, level=level: objective(data, found, C, level),
            start=start,
        )
    f = decision(result)
    return S3VMSolution(
        result=result,
        f=f,
        sign=sign,
        objective=objective(data, result, C, machine.C_star),
        violation=violation(data, result.a[:n], f, C, machine.C_star * data.weight),
        objectives=objectives,
    )


def annealing_levels(C_star):
    """C* of every level, the last one its value."""
    return [C_star * _FACTOR ** -(_LEVELS - 1 - k) for k in range(_LEVELS)]


def objective(data, result, C, C_star):
    """Value of (1): regulariser, hinge of the labelled rows, symmetric hinge of the others."""
    n = len(data.label)
    f = result.gradient[:n] - result.multiplier
    hinge = np.maximum(0.0, 1.0 - data.label * f)[data.labeled]
    hat = np.maximum(0.0, 1.0 - np.abs(f))[data.unlabeled]
    norm = float(result.a @ result.gradient)
    return (
        0.5 * norm
        + float(C[data.labeled] @ hinge)
        + C_star * float(data.weight[data.unlabeled] @ hat)
    )


def violation(data, a, f, C, C_star):
    """Largest violation of the optimality conditions of (1), in units of f.

    With sign s of f (the label for labelled rows) and price c: ``s f >= 1`` where ``a = 0``,
    ``s f <= 1`` where ``s a = c``, and ``s f = 1`` in between. A variable outside [0, c]
    belongs to a row on the wrong side of zero: it is off by at least ``|f|``.
    """
    labelled = data.label != 0
    s = np.where(labelled, data.label, np.where(f >= 0, 1.0, -1.0))
    price = np.where(labelled, C, C_star)
    margin, at = s * f, s * a
    rounding = 1e-9 * price
    below = np.where(at < price - rounding, 1.0 - margin, -np.inf)
    above = np.where(at > rounding, margin - 1.0, -np.inf)
    outside = (at < -rounding) | (at > price + rounding)
    off = np.maximum(below, above)
    off = np.where(outside, np.maximum(off, np.abs(f)), off)
    return float(max(0.0, off.max(initial=0.0)))
