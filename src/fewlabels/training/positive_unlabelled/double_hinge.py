"""The double hinge loss: one convex problem over the unlabelled rows."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ...problem import one_class
from ...problem.positive_unlabelled import DoubleHinge
from ...solvers import REFERENCE_SOLVERS, solve_decomposition
from ...solvers.warm import warm_start
from .settings import PUSolution

# LIBSVM's default, which the paper's initialisation uses.
_NU_OF_RANKING = 0.5


def solve_double_hinge(data, settings, before=None):
    """Minimise (4) with the double hinge loss, from the dual (6).

    ``before`` is the lambda and the PUSolution of a machine over the same rows, to start from.
    """
    rows = {"weight": data.weight_unlabeled, "similarity": data.similarity}
    problem = DoubleHinge(settings.prior, settings.lam).problem(data.gram, rows)
    if settings.solver == "qp":
        result = solve_by_qp(problem, settings.engine)
    elif settings.solver == "usmo":
        result = _by_usmo(data, problem, settings)
    else:
        start = None
        if before is not None:
            # sigma grows as 1 / lambda.
            factor, earlier = before[0] / settings.lam, before[1].result
            start = warm_start(problem, factor * earlier.a, factor * earlier.gradient)
        result = solve_decomposition(problem, start, settings.engine)
    return double_hinge_solution(problem, result, data, settings.lam)


def double_hinge_solution(problem, result, data, lam):
    """The function and the value of (4) from a Result of the dual (6)."""
    coef = np.empty(data.X.shape[0])
    coef[data.positive] = problem.total * data.share_positive
    coef[data.unlabeled] = -result.a
    # The dual of (6) is (4) up to the constant of the positives and the factor 2 lambda.
    constant = 0.5 * problem.total**2 * data.positive_norm
    lower_bound = result.objective - result.duality_gap
    return PUSolution(
        coef=coef,
        f=problem.total * data.similarity - result.gradient,
        penalty=problem.penalty,
        bias=result.multiplier,
        objective=2.0 * lam * (-lower_bound - constant),
        gap=max(0.0, 2.0 * lam * result.duality_gap),
        result=result,
        gram=data.gram,
    )


def solve_by_qp(problem, engine, start=None):
    """A Result, which continues the history and iterations of ``start``."""
    solve, accuracy = REFERENCE_SOLVERS["qp"]
    options = {} if engine.max_iter < 0 else {"max_iter": engine.max_iter}
    result = solve(problem, tol=min(engine.tol, accuracy), **options)
    if start is None:
        return result
    return replace(
        result, history=start.history + result.history, n_iter=start.n_iter + result.n_iter
    )


def _by_usmo(data, problem, settings):
    """Algorithm 1 from its start: a one-class machine of the positives ranks the others."""
    from ...solvers.papers.usmo import solve_usmo
    from ...solvers.papers.usmo_start import usmo_start

    engine = settings.engine
    ranking = one_class(data.gram_positive, _NU_OF_RANKING, data.weight_positive)
    ranked = solve_decomposition(ranking, tol=1e-6, random_state=engine.random_state)
    scores = data.in_span_of_positives(ranked.a)(data.X[data.unlabeled])
    start = usmo_start(scores, settings.prior, problem.total, problem.penalty.upper)
    return solve_usmo(
        problem,
        start,
        tol=engine.tol,
        max_iter=engine.max_iter,
        max_time=engine.max_time,
        callback=engine.callback,
    )
