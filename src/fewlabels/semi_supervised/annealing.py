"""Batch training of the semi-supervised SVM: the concave-convex procedure, annealed."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import TypeAlias

import numpy as np

from .._typing import FloatArray
from ..problem import DualProblem
from ..solvers import Result
from ..solvers.cccp import Steps, solve_cccp
from ..solvers.decomposition import warm_start
from .data import S3VMData, S3VMSettings, S3VMSolution

# Makes the convex problem at some signs.
MakeStep: TypeAlias = Callable[[FloatArray], DualProblem]

# Annealing: C* grows by this factor ...
_LEVEL_FACTOR = 2.0
# ... in so many steps.
_N_LEVELS = 10
# Tolerance of all but the last level, relative to tol.
_TOL_FACTOR = 10.0
# The balance target supposes |f| near 1. Before the last level it is in units of this quantile
# of |f| over the unlabelled rows.
_SCALE_QUANTILE = 0.9
# So often is the first model, which begins without a scale, fitted again.
_N_REFITS = 3


def anneal(
    data: S3VMData, settings: S3VMSettings, signs_before: FloatArray | None = None
) -> S3VMSolution:
    """Return an ``S3VMSolution`` from the SVM of the labelled rows, C* growing to its value.

    ``signs_before`` are signs of unlabelled rows to start from instead, at full C*; 0 for none.
    """
    steps, class_objective = Steps(settings.engine), data.class_objective

    def problem_at(level: float, target: float | None) -> MakeStep:
        at_level = replace(class_objective, C_star=level)
        return lambda sign: at_level.step(data.gram, data.label, data.weight, sign, target)

    def signs(result: Result) -> FloatArray:
        return np.where(data.decision(result) >= 0, 1.0, -1.0)

    annealing = settings.annealing and signs_before is None and class_objective.C_star > 0.0
    result = _fit_labelled(data, steps, problem_at, annealing)
    sign = signs(result)
    objectives = [data.objective(result)]
    C_star = class_objective.C_star
    levels = annealing_levels(C_star) if annealing else [C_star]
    if signs_before is not None:
        sign = np.where(signs_before != 0, signs_before, sign)
    before = 0.0
    for level in levels if len(data.unlabeled) and class_objective.C_star > 0.0 else ():
        if not result.converged:
            break
        is_last = level == levels[-1]
        full = is_last or data.target is None
        make_step = problem_at(level, data.target if full else _scaled_target(data, result))
        tol = settings.engine.tol * (1.0 if is_last else _TOL_FACTOR)
        at_level = replace(class_objective, C_star=level)
        extrapolated = _extrapolate(data, result, sign, before, level)
        result, sign, objectives = solve_cccp(
            make_step,
            sign,
            signs,
            partial(steps.solve, tol=tol),
            partial(data.objective, class_objective=at_level),
            start=partial(_continue_from, result=extrapolated),
        )
        before = level
    return solution_of(data, result, sign, objectives)


def solution_of(
    data: S3VMData, result: Result, sign: FloatArray, objectives: list[float]
) -> S3VMSolution:
    """Describe the solution of a convex step at the final C*."""
    f, a = data.decision(result), result.a[: data.n]
    return S3VMSolution(
        result=result,
        f=f,
        sign=sign,
        objective=data.objective(result),
        violation=data.class_objective.violation(data.label, data.weight, a, f, data.target),
        objectives=objectives,
    )


def _fit_labelled(
    data: S3VMData,
    steps: Steps,
    problem_at: Callable[[float, float | None], MakeStep],
    annealing: bool,
) -> Result:
    """Return the SVM of the labelled rows: unlabelled rows cost nothing."""
    signs = np.ones(len(data.label))
    result = steps.solve(problem_at(0.0, data.target)(signs), None)
    for _ in range(_N_REFITS if annealing and data.target is not None else 0):
        if not result.converged:
            break
        problem = problem_at(0.0, _scaled_target(data, result))(signs)
        result = steps.solve(problem, _continue_from(problem, result))
    return result


def _scaled_target(data: S3VMData, result: Result) -> float:
    """Return the balance target in units of |f|: f is small while unlabelled rows cost little."""
    assert data.target is not None
    size = np.abs(data.decision(result)[data.unlabeled])
    order = np.argsort(size)
    share = np.cumsum(data.share[order])
    large = size[order][np.searchsorted(share, _SCALE_QUANTILE * share[-1])]
    return data.target * min(1.0, float(large))


def _continue_from(problem: DualProblem, result: Result) -> Result:
    """Return a start for another problem from the solution of the one before."""
    start = warm_start(problem, result.a, result.gradient)
    start.history, start.n_iter = result.history, result.n_iter
    return start


def _extrapolate(
    data: S3VMData, result: Result, sign: FloatArray, before: float, level: float
) -> Result:
    """The solution at the cost ``level`` of unlabelled rows, at a guess from that at ``before``.

    Rows inside the margin are at their bound and stay there; the virtual row keeps the sum.
    """
    if level == before:
        return result
    if before:
        factor, wanted = level / before, level / before * result.a
        labeled = np.flatnonzero(data.label)
        wanted[labeled] = result.a[labeled]
    else:
        inside = (data.label == 0) & (sign * data.decision(result) < 1.0)
        factor, wanted = 1.0, result.a.copy()
        wanted[: len(sign)][inside] = (level * sign * data.weight)[inside]
    if data.target is not None:
        wanted[-1] -= wanted.sum()
    gradient, change = factor * result.gradient, wanted - factor * result.a
    data.gram.apply(np.flatnonzero(change), change[change != 0], gradient)
    return replace(result, a=wanted, gradient=gradient)


def annealing_levels(C_star: float) -> list[float]:
    """Return C* of every level, the last one its value."""
    return [C_star * _LEVEL_FACTOR ** -(_N_LEVELS - 1 - k) for k in range(_N_LEVELS)]
