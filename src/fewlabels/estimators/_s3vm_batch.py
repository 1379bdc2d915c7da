"""Batch training of the semi-supervised SVM: the concave-convex procedure, annealed."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from ..problem import s3vm_step
from ..solvers import Result
from ..solvers.cccp import solve_cccp
from ..solvers.warm import warm_start
from ..training.steps import Steps

# Annealing: C* grows by this factor in so many steps.
_FACTOR = 2.0
_LEVELS = 10
# Tolerance of all but the last level, relative to tol.
_LOOSER = 10.0
# The balance target supposes |f| near 1. Before the last level it is in units of this quantile
# of |f| over the unlabelled rows; so often is the first machine, which begins without one, fitted
# again.
_LARGE, _AGAIN = 0.9, 3


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


def solve_batch(machine, data, callback, signs_before=None):
    """A local minimum from the SVM of the labelled rows, C* growing to its value.

    ``signs_before`` are signs of unlabelled rows to start from instead, at full C*; 0 for
    rows without one.
    """
    steps = Steps(machine._settings(machine.tol, 0.0, callback))
    n = len(data.label)
    C = machine.C * data.weight

    def problem_at(level, target):
        return lambda sign: s3vm_step(data.gram, data.label, sign, C, level * data.weight, target)

    def target_for(result):
        """The balance target in units of |f|: f is small while unlabelled rows cost little."""
        size = np.abs(decision(result)[data.unlabeled])
        size = np.quantile(size, _LARGE, weights=data.share, method="inverted_cdf")
        return data.target * min(1.0, float(size))

    def decision(result):
        return result.gradient[:n] - result.multiplier

    def signs(result):
        return np.where(decision(result) >= 0, 1.0, -1.0)

    # Unlabelled rows that cost nothing: the SVM of the labelled rows.
    result = steps.solve(problem_at(0.0, data.target)(np.ones(n)), None)
    annealing = machine.annealing and signs_before is None
    for _ in range(_AGAIN if annealing and data.target is not None else 0):
        if not result.converged:
            break
        problem = problem_at(0.0, target_for(result))(np.ones(n))
        result = steps.solve(problem, continued(problem, result))
    sign = signs(result)
    objectives = [objective(data, result, C, machine.C_star)]
    levels = annealing_levels(machine.C_star) if annealing else [machine.C_star]
    if signs_before is not None:
        sign = np.where(signs_before != 0, signs_before, sign)
    before = 0.0
    for level in levels if len(data.unlabeled) else ():
        if not result.converged:
            break
        is_last = level == levels[-1]
        full = is_last or data.target is None
        make_step = problem_at(level, data.target if full else target_for(result))
        tol = machine.tol * (1.0 if is_last else _LOOSER)
        result, sign, objectives = solve_cccp(
            make_step,
            sign,
            signs,
            lambda problem, start, tol=tol: steps.solve(problem, start, tol),
            lambda found, level=level: objective(data, found, C, level),
            start=continued(make_step(sign), foreseen(data, result, sign, before, level)),
        )
        before = level
    f = decision(result)
    return S3VMSolution(
        result=result,
        f=f,
        sign=sign,
        objective=objective(data, result, C, machine.C_star),
        violation=violation(data, result.a[:n], f, C, machine.C_star * data.weight),
        objectives=objectives,
    )


def continued(problem, result):
    """A start for another problem from the solution of the one before."""
    start = warm_start(problem, result.a, result.gradient)
    start.history, start.n_iter = result.history, result.n_iter
    return start


def foreseen(data, result, sign, before, level):
    """The solution at the price ``level`` of unlabelled rows, at a guess from that at ``before``.

    Rows inside the margin are at their bound, as far as one can tell, and stay there; the
    virtual row makes up for the sum.
    """
    if level == before:
        return result
    n = len(data.label)
    if before:
        factor, wanted = level / before, level / before * result.a
        wanted[data.labeled] = result.a[data.labeled]
    else:
        f = result.gradient[:n] - result.multiplier
        inside = (data.label == 0) & (sign * f < 1.0)
        factor, wanted = 1.0, result.a.copy()
        wanted[:n][inside] = (level * sign * data.weight)[inside]
    if data.target is not None:
        wanted[-1] -= wanted.sum()
    gradient, change = factor * result.gradient, wanted - factor * result.a
    data.gram.apply(np.flatnonzero(change), change[change != 0], gradient)
    return replace(result, a=wanted, gradient=gradient)


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

    With the sign s of a row (its label, if it has one) and its price c: ``s f >= 1`` where
    ``a = 0``, ``s f <= 1`` where ``s a = c``, and ``s f = 1`` in between. An unlabelled row
    may have the sign that its variable or its f suggests, whichever is violated less; one on
    the wrong side of zero is off by ``|f|``, so that on the boundary either sign will do.
    """
    labelled = data.label != 0
    price = np.where(labelled, C, C_star)

    def off(s):
        margin, at = s * f, s * a
        rounding = 1e-9 * price
        below = np.where(at < price - rounding, 1.0 - margin, 0.0)
        above = np.where(at > rounding, margin - 1.0, 0.0)
        outside = (at < -rounding) | (at > price + rounding)
        beyond = np.where(outside, np.maximum(np.abs(1.0 - margin), np.abs(f)), 0.0)
        return np.maximum(np.maximum(below, above), beyond)

    def wrong_side(s):
        return np.maximum(off(s), -s * f)

    either = np.minimum(wrong_side(np.ones(len(f))), wrong_side(-np.ones(len(f))))
    return float(max(0.0, np.where(labelled, off(data.label), either).max(initial=0.0)))
