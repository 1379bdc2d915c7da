"""Training a positive-unlabelled SVM: double hinge, one convex problem, and ramp, several."""

from dataclasses import replace
from typing import Any

import numpy as np

from .._typing import BoolArray, FloatArray
from ..one_class.problem import one_class
from ..problem import DualProblem, Penalty
from ..problem.losses import double_hinge, ramp
from ..solvers import REFERENCE_SOLVERS, Result, Settings, solve_decomposition
from ..solvers.cccp import Steps, solve_cccp
from ..solvers.decomposition import warm_start
from ..solvers.papers.usmo import solve_usmo
from ..solvers.papers.usmo_start import usmo_start
from .data import PUData, PUSettings, PUSolution
from .problem import DoubleHinge, DoubleHingeOverAll, pu_ramp_step

# Rounding of the value of (4) from its dual's value, relative to the terms that cancel.
_ROUNDING = 1.4e-14
# The share of the prior, which (4) is of the size of, below which that rounding is small.
_SMALL_ROUNDING = 1e-9
# LIBSVM's default, which the paper's initialisation uses.
_RANKING_NU = 0.5


def solve_double_hinge(
    data: PUData, settings: PUSettings, before: tuple[float, PUSolution] | None = None
) -> PUSolution:
    """Minimise (4) with the double hinge loss, from the dual (6).

    ``before``: lambda and PUSolution of a model over the same rows, to start from.
    """
    rows = {"weight": data.weight_unlabeled, "similarity": data.similarity}
    problem = DoubleHinge(settings.prior, settings.lam).problem(data.gram, rows)
    if settings.solver == "qp":
        result = _solve_by_qp(problem, settings.engine)
    elif settings.solver == "usmo":
        result = _solve_by_usmo(data, problem, settings)
    else:
        start = None
        if before is not None:
            # sigma grows as 1 / lambda.
            factor, earlier = before[0] / settings.lam, before[1].result
            start = warm_start(problem, factor * earlier.a, factor * earlier.gradient)
        result = solve_decomposition(problem, start, settings.engine)
    return double_hinge_solution(problem, result, data, settings.lam)


def solve_bounded(
    data: PUData, settings: PUSettings, follows: bool = False
) -> tuple[PUSolution, PUData, DoubleHingeOverAll]:
    """Minimise (4) where each positive row has its worst weight within a factor of ``bias``.

    Returns a PUSolution, the data with the weights of the solution, and the formulation.
    """
    stated = DoubleHingeOverAll(
        settings.prior,
        settings.lam,
        follows,
        weight_positive=float(data.weight_positive.sum()),
        bias=settings.bias,
    )
    problem = bounded_problem(data, stated)
    if settings.solver == "qp":
        result = _solve_by_qp(problem, settings.engine)
    else:
        result = solve_decomposition(problem, settings=settings.engine)
    return *bounded_solution(problem, result, data, stated), stated


def bounded_problem(data: PUData, stated: DoubleHingeOverAll) -> DualProblem:
    """Return the problem of a ``DoubleHingeOverAll`` over all rows."""
    weight, positive = np.empty(data.X.shape[0]), np.zeros(data.X.shape[0], dtype=bool)
    weight[data.unlabeled], weight[data.positive] = data.weight_unlabeled, data.weight_positive
    positive[data.positive] = True
    mass = float(data.weight_unlabeled.sum())
    rows = {"weight": weight, "positive": positive}
    return DualProblem(data.gram_all, *stated.penalty_and_total(rows, mass))


def bounded_solution(
    problem: DualProblem, result: Result, data: PUData, stated: DoubleHingeOverAll
) -> tuple[PUSolution, PUData]:
    """Return a PUSolution from a Result of ``bounded_problem``, and the data with its weights."""
    size = 2.0 * stated.lam * stated.weight_positive / stated.prior
    # The weights that the variables of positive rows stand for.
    used = -result.a[data.positive] * size
    found = solution_over_all(problem, result, data, stated.lam)
    return found, data.with_factors(used / data.given_weight_positive)


def solution_over_all(
    problem: DualProblem, result: Result, data: PUData, lam: float
) -> PUSolution:
    """Return a PUSolution from a Result of the problem of a ``DoubleHingeOverAll``."""
    return PUSolution(
        coef=-result.a,
        f=-result.gradient[data.unlabeled],
        penalty=problem.penalty.take(data.unlabeled),
        bias=result.multiplier,
        objective=2.0 * lam * (result.duality_gap - result.objective),
        gap=float(np.maximum(0.0, 2.0 * lam * problem.supported_gap(result))),
        result=result,
        gram=problem.gram,
    )


def double_hinge_solution(
    problem: DualProblem, result: Result, data: PUData, lam: float
) -> PUSolution:
    """Return the function and the value of (4) from a Result of the dual (6)."""
    coef = np.empty(data.X.shape[0])
    coef[data.positive] = problem.total * data.share_positive
    coef[data.unlabeled] = -result.a
    # The dual of (6) is (4) up to the constant of the positives and the factor 2 lambda.
    constant = 0.5 * problem.total**2 * data.positive_norm
    lower_bound = result.objective - result.duality_gap
    objective = 2.0 * lam * (-lower_bound - constant)
    gap = 2.0 * lam * problem.supported_gap(result)
    lost = 2.0 * lam * _ROUNDING * (abs(lower_bound) + constant)
    if lost > _SMALL_ROUNDING * 2.0 * lam * problem.total:
        objective, proven = _evaluate_from_function(problem, result, coef, data, lam)
        gap += objective - proven + lost - 2.0 * lam * result.duality_gap
    return PUSolution(
        coef=coef,
        f=problem.total * data.similarity - result.gradient,
        penalty=problem.penalty,
        bias=result.multiplier,
        objective=objective,
        gap=float(np.maximum(0.0, gap)),
        result=result,
        gram=data.gram,
    )


def _evaluate_from_function(
    problem: DualProblem, result: Result, coef: FloatArray, data: PUData, lam: float
) -> tuple[float, float]:
    """Return the value of (4) and of its dual, from the function itself.

    No large numbers cancel.
    """
    f, norm = data.evaluate_all_rows(coef)
    f += result.multiplier
    c2, f_unlabeled = problem.penalty.upper, f[data.unlabeled]
    risk = c2 @ double_hinge(-f_unlabeled) - problem.total * (
        data.share_positive @ f[data.positive]
    )
    value = lam * norm + 2.0 * lam * float(risk)
    return value, 2.0 * lam * float(np.minimum(result.a, c2 - result.a).sum()) - lam * norm


def _solve_by_qp(problem: DualProblem, engine: Settings, start: Result | None = None) -> Result:
    """Return a Result, which continues the history and iterations of ``start``."""
    options: dict[str, Any] = {"max_time": engine.max_time}
    options |= {} if engine.max_iter < 0 else {"max_iter": engine.max_iter}
    result = REFERENCE_SOLVERS["qp"].run(problem, engine.tol, **options)
    if start is None:
        return result
    return replace(
        result, history=start.history + result.history, n_iter=start.n_iter + result.n_iter
    )


def _solve_by_usmo(data: PUData, problem: DualProblem, settings: PUSettings) -> Result:
    """Algorithm 1 from its start: a one-class model of the positives ranks the others."""
    engine = settings.engine
    ranking = one_class(data.gram_positive, _RANKING_NU, data.weight_positive)
    ranked = solve_decomposition(
        ranking,
        tol=1e-6,
        random_state=engine.random_state,
        max_time=engine.max_time,
        cache_size=engine.cache_size,
    )
    scores = data.expand_over_positives(ranked.a)(data.X[data.unlabeled])
    start = usmo_start(scores, settings.prior, problem.total, problem.penalty.upper)
    return solve_usmo(
        problem,
        start,
        tol=engine.tol,
        max_iter=engine.max_iter,
        max_time=engine.max_time,
        cache_size=engine.cache_size,
        callback=engine.callback,
    )


def solve_ramp(data: PUData, settings: PUSettings) -> PUSolution:
    """Return a local minimum of (4) with the ramp loss, as a PUSolution."""
    gram, lam = data.gram_all, settings.lam
    label = np.full(gram.n, -1.0)
    label[data.positive] = 1.0
    # Risk weights of the ramp are 2 prior / p for positives and 1 / n for the others; half
    # of each over 2 lambda is the cost of its hinge.
    cost = np.empty(gram.n)
    cost[data.positive] = settings.prior * data.share_positive / (2.0 * lam)
    cost[data.unlabeled] = data.weight_unlabeled / (4.0 * lam * data.weight_unlabeled.sum())

    def step(on_flat_part: BoolArray) -> DualProblem:
        return pu_ramp_step(gram, label, cost, on_flat_part)

    def margin(result: Result) -> FloatArray:
        return label * (result.gradient - result.multiplier)

    def value(result: Result) -> float:
        norm = float(result.a @ result.gradient)
        return lam * norm + 4.0 * lam * float(cost @ ramp(margin(result))) - settings.prior

    steps = Steps(settings.engine)

    def solve(problem: DualProblem, start: Result | None) -> Result:
        if settings.solver == "qp":
            return _solve_by_qp(problem, settings.engine, start)
        return steps.solve(problem, start)

    nowhere = np.zeros(gram.n, dtype=bool)
    result, on_flat_part, objectives = solve_cccp(
        step, nowhere, lambda result: margin(result) < -1.0, solve, value
    )
    ends = step(on_flat_part).penalty.take(data.unlabeled)
    reversed_ends = Penalty.linear(-ends.upper, -ends.lower, 0.0, len(data.unlabeled))
    return PUSolution(
        coef=result.a,
        f=result.gradient[data.unlabeled],
        penalty=reversed_ends,
        bias=-result.multiplier,
        objective=objectives[-1],
        gap=float(np.maximum(0.0, 2.0 * lam * step(on_flat_part).supported_gap(result))),
        result=result,
        gram=gram,
        objectives=objectives,
    )
