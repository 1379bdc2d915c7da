"""The ramp loss: convex steps of the concave-convex procedure over all rows."""

from __future__ import annotations

import numpy as np

from ...problem import Penalty, pu_ramp_step
from ...solvers.cccp import solve_cccp
from ..steps import Steps
from .double_hinge import solve_by_qp
from .settings import PUSolution


def solve_ramp(data, settings):
    """A local minimum of (4) with the ramp loss, as a PUSolution."""
    gram, lam = data.gram_all, settings.lam
    label = np.full(gram.n, -1.0)
    label[data.positive] = 1.0
    # Risk weights of the ramp are 2 prior / p for positives and 1 / n for the others; half
    # of each over 2 lambda is the cost of its hinge.
    cost = np.empty(gram.n)
    cost[data.positive] = settings.prior * data.share_positive / (2.0 * lam)
    cost[data.unlabeled] = data.weight_unlabeled / (4.0 * lam * data.weight_unlabeled.sum())

    def step(on_flat_part):
        return pu_ramp_step(gram, label, cost, on_flat_part)

    steps = Steps(settings.engine)

    def solve(problem, start):
        if settings.solver == "qp":
            return solve_by_qp(problem, settings.engine, start)
        return steps.solve(problem, start)

    def margin(result):
        return label * (result.gradient - result.multiplier)

    def flat(result):
        return margin(result) < -1.0

    def value(result):
        ramp = np.clip(0.5 * (1.0 - margin(result)), 0.0, 1.0)
        norm = float(result.a @ result.gradient)
        return lam * norm + 4.0 * lam * float(cost @ ramp) - settings.prior

    nowhere = np.zeros(gram.n, dtype=bool)
    result, on_flat_part, objectives = solve_cccp(step, nowhere, flat, solve, value)
    ends = step(on_flat_part).penalty.take(data.unlabeled)
    reversed_ends = Penalty.linear(-ends.upper, -ends.lower, 0.0, len(data.unlabeled))
    return PUSolution(
        coef=result.a,
        f=result.gradient[data.unlabeled],
        penalty=reversed_ends,
        bias=-result.multiplier,
        objective=objectives[-1],
        gap=max(0.0, 2.0 * lam * result.duality_gap),
        result=result,
        gram=gram,
        objectives=objectives,
    )
