"""From positive and unlabelled rows to coefficients: one function per loss."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from ..problem import Penalty, one_class, pu_double_hinge, pu_ramp_step
from ..solvers import REFERENCE_SOLVERS, Result, solve_decomposition
from ..solvers.cccp import solve_cccp
from ..solvers.papers.usmo import solve_usmo
from ..solvers.papers.usmo_start import usmo_start
from ..solvers.warm import warm_start
from ..training.steps import Steps
from ._leave_out import own_terms

# lambda times the number of positive rows: on real sets the best was between 0.1 and 0.2 (12 sets
# with 100 positives, 8 with 20 to 1000).
_PRICE = 0.15
# LIBSVM's default, which the paper's initialisation uses.
_NU_OF_RANKING = 0.5


@dataclass
class PUSolution:
    """f(x) = sum_i coef_i K(x_i, x) + bias.

    Attributes
    ----------
    coef : ndarray of shape (n,)
        Coefficients of all rows.
    f : ndarray of shape (n_unlabeled,)
        Values at the unlabelled rows, without bias.
    penalty : Penalty
        That of the unlabelled rows' coefficients, sign reversed.
    bias : float
        Bias that minimises the risk.
    objective, gap : float
        Regularised risk (4), and a bound on its distance to the optimum.
    result : Result
        The (last) convex problem's.
    gram : GramOperator
        The operator that it was solved with.
    objectives : list of float or None
        Objective after every convex step, for the ramp loss.
    """

    coef: np.ndarray
    f: np.ndarray
    penalty: Penalty
    bias: float
    objective: float
    gap: float
    result: Result
    gram: object
    objectives: list | None = None


def price_of_norm(lam, weight_positive):
    """The number that ``lam`` stands for; ``weight_positive`` is the positive rows' weight."""
    return _PRICE / weight_positive if lam == "auto" else float(lam)


def solve_double_hinge(machine, data, before, callback):
    """Minimise (4) with the double hinge loss, from the dual (6).

    ``before`` is None, or the lambda and the PUSolution of a machine over the same rows.
    """
    lam = machine.lam_
    problem = pu_double_hinge(data.gram, data.affinity, machine.prior_, lam, data.weight_unlabeled)
    if machine.solver == "qp":
        result = _by_qp(machine, problem, None)
    elif machine.solver == "usmo":
        result = _by_usmo(machine, data, problem, callback)
    else:
        start = None
        if before is not None:
            # sigma grows as 1 / lambda.
            factor, earlier = before[0] / lam, before[1].result
            start = warm_start(problem, factor * earlier.a, factor * earlier.gradient)
        result = machine._solve(problem, machine.tol, 0.0, callback, start)
    return double_hinge_solution(problem, result, data, lam)


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
        f=problem.total * data.affinity - result.gradient,
        penalty=problem.penalty,
        bias=result.multiplier,
        objective=2.0 * lam * (-lower_bound - constant),
        gap=max(0.0, 2.0 * lam * result.duality_gap),
        result=result,
        gram=data.gram,
    )


def solve_ramp(machine, data, callback):
    """A local minimum of (4) with the ramp loss."""
    gram, lam = data.gram_all, machine.lam_
    label = np.full(gram.n, -1.0)
    label[data.positive] = 1.0
    # Risk weights of the ramp are 2 prior / p for positives and 1 / n for the others; half
    # of each over 2 lambda is the price of its hinge.
    price = np.empty(gram.n)
    price[data.positive] = machine.prior_ * data.share_positive / (2.0 * lam)
    price[data.unlabeled] = data.weight_unlabeled / (4.0 * lam * data.weight_unlabeled.sum())

    def step(on_flat_part):
        return pu_ramp_step(gram, label, price, on_flat_part)

    steps = Steps(machine._settings(machine.tol, 0.0, callback))

    def solve(problem, start):
        if machine.solver == "qp":
            return _by_qp(machine, problem, start)
        return steps.solve(problem, start)

    def margin(result):
        return label * (result.gradient - result.multiplier)

    def flat(result):
        return margin(result) < -1.0

    def value(result):
        ramp = np.clip(0.5 * (1.0 - margin(result)), 0.0, 1.0)
        norm = float(result.a @ result.gradient)
        return lam * norm + 4.0 * lam * float(price @ ramp) - machine.prior_

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


def _by_qp(machine, problem, start):
    solve, accuracy = REFERENCE_SOLVERS["qp"]
    options = {} if machine.max_iter < 0 else {"max_iter": machine.max_iter}
    result = solve(problem, tol=min(machine.tol, accuracy), **options)
    if start is None:
        return result
    return replace(
        result, history=start.history + result.history, n_iter=start.n_iter + result.n_iter
    )


def _by_usmo(machine, data, problem, callback):
    """Algorithm 1 from its start: a one-class machine of the positives ranks the others."""
    ranking = one_class(data.gram_positive, _NU_OF_RANKING, data.weight_positive)
    ranked = solve_decomposition(ranking, tol=1e-6, random_state=machine._seed())
    scores = data.in_span_of_positives(ranked.a)(data.X[data.unlabeled])
    start = usmo_start(scores, machine.prior_, problem.total, problem.penalty.upper)
    return solve_usmo(
        problem,
        start,
        tol=machine.tol,
        max_iter=machine.max_iter,
        max_time=np.inf if machine.max_time is None else machine.max_time,
        callback=machine._reporter(callback),
    )


def leave_one_out(found, data):
    """Values at the unlabelled rows, without bias, as if each had not been trained on."""
    penalty = found.penalty
    ends = (penalty.lower, penalty.kink, penalty.upper)
    sigma = -found.coef[data.unlabeled]
    return found.f + own_terms(
        data.gram,
        sigma,
        ends,
        data.weight_unlabeled,
        data.groups,
        data.affinity,
        data.positive_norm,
    )
