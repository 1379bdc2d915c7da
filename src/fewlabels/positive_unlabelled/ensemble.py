"""The two stages of the composite classifier: bags, then soft labels."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
from scipy.special import expit, softmax

from .._typing import FloatArray, RowMatrix
from .._util.deadline import Deadline
from ..calibration.curve import TwoSidedCurve
from ..calibration.fit_curves import mean_and_spread, priors_of
from ..kernels import Kernel
from ..kernels.operators import GramOperator, PrecomputedGram, SumGram, make_gram
from ..solvers import Result, Settings, solve_decomposition
from ..solvers.run import HistoryEntry
from .bags import Bagging, DistinctPURows, train_bagged_models
from .problem import soft_labels
from .scores import HeldOutFunction, fit_logistic

# Costs of the grid, with several kernels and with one.
_COSTS = (1.0, 10.0)
_COSTS_WITH_ONE_KERNEL = (0.1, 1.0, 10.0)
# Members are weighted by softmax(AUC / _SHARPNESS); lighter ones are left out.
_SHARPNESS = 0.01
_MIN_MEMBER_WEIGHT = 1e-3
# Cost of the second stage.
_SECOND_STAGE_COST = 0.3
_MIN_PROBABILITY = 1e-6
# Up to so many rows all values of a kernel of trees are held.
_MAX_ROWS_HELD_WHOLE = 3500
# Share of the time left that bags may take.
_TIME_SHARE_OF_BAGS = 0.6


@dataclass(frozen=True)
class EnsembleSettings:
    """Parameters of a fit.

    With a linear kernel no row is the origin: norms are taken around the mean row, and the second
    stage alone decides. ``quantiles`` of an estimated prior are what probabilities average over.
    """

    prior: float
    quantiles: np.ndarray | None
    n_bags: int
    is_linear: bool
    engine: Settings


@dataclass
class EnsembleSolution:
    """The decision before it is cut, with held-out scores, and both stages.

    Probabilities of the first stage, with the prior and averaged over its distribution (None where
    it was given); costs, areas and weights of members by kernel and cost, NaN
    and 0 where there is no such member; steps and history of all models; and a Result: one that
    did not reach the tolerance, if there is any.
    """

    function: HeldOutFunction
    posterior: np.ndarray
    averaged: np.ndarray | None
    costs: np.ndarray
    auc: np.ndarray
    weights: np.ndarray
    n_iter: int
    history: list[HistoryEntry]
    worst: Result


def ensemble_grams(
    kernels: Sequence[Kernel], vectors: RowMatrix, n_jobs: int
) -> list[GramOperator]:
    """Return one operator per kernel over the same rows; the last kernel needs most precision."""
    dtype: npt.DTypeLike | None = None
    grams: list[GramOperator] = []
    for kernel in reversed(kernels):
        gram = make_gram(kernel, vectors, dtype=dtype, n_jobs=n_jobs, min_support=1.0)
        grams.insert(0, gram)
        dtype = grams[0].dtype
    if kernels[0].has_leaves and grams[0].n <= _MAX_ROWS_HELD_WHOLE and grams[0].copies is None:
        # Values of trees cost a lot, and bags ask for nearly all of them again and again.
        return [PrecomputedGram(grams[0].whole(), n_jobs)]
    return grams


def solve_ensemble(
    families: Sequence[list[GramOperator]],
    rows: DistinctPURows,
    settings: EnsembleSettings,
    deadline: Deadline,
) -> EnsembleSolution:
    """Train both stages for every family of operators; the mean of what they find.

    In a family each operator but the first has the squared entries of the one before.
    """
    solved = []
    for place, grams in enumerate(families):
        part = deadline.part(1.0 / (len(families) - place))
        solved.append(_solve_family(grams, rows, settings, part))
    return solved[0] if len(solved) == 1 else _average_families(solved, rows)


def _average_families(solved: list[EnsembleSolution], rows: DistinctPURows) -> EnsembleSolution:
    """Return the mean of their decisions, standardised, with members side by side."""
    unlabeled = rows.weight * (rows.label < 0)
    share, parts = 1.0 / len(solved), [one.function.standardise(unlabeled) for one in solved]
    function = HeldOutFunction(
        share * np.concatenate([part.coef for part in parts]),
        share * sum(part.bias for part in parts),
        np.asarray(share * sum(part.held_out for part in parts)),
    )
    costs = np.unique(np.concatenate([one.costs for one in solved]))
    tables = []
    for one in solved:
        auc = np.full((len(one.auc), len(costs)), np.nan)
        weights = np.zeros(auc.shape)
        places = np.searchsorted(costs, one.costs)
        auc[:, places], weights[:, places] = one.auc, share * one.weights
        tables.append((auc, weights))
    auc, weights = (np.concatenate(parts) for parts in zip(*tables, strict=True))
    averaged = [one.averaged for one in solved if one.averaged is not None]
    unfinished = [one.worst for one in solved if not one.worst.converged]
    return EnsembleSolution(
        function,
        np.asarray(share * sum(one.posterior for one in solved)),
        np.asarray(share * sum(averaged)) if averaged else None,
        costs,
        auc,
        weights,
        sum(one.n_iter for one in solved),
        [entry for one in solved for entry in one.history],
        (unfinished or [solved[-1].worst])[0],
    )


def _solve_family(
    grams: list[GramOperator], rows: DistinctPURows, settings: EnsembleSettings, deadline: Deadline
) -> EnsembleSolution:
    """Return both stages of one family."""
    from ..metrics.scores import roc_area  # predictions don't need the package

    gram, n_kernels = grams[0], len(grams)
    size = float(np.average(_squared_norms(gram, rows, settings), weights=rows.total_weight))
    size = size if size > 0.0 else 1.0
    costs = np.array(_COSTS if n_kernels > 1 else _COSTS_WITH_ONE_KERNEL) / size
    bags = train_bagged_models(
        gram,
        n_kernels,
        costs,
        rows,
        settings.n_bags,
        settings.engine.tol,
        settings.engine.random_state,
        deadline.part(_TIME_SHARE_OF_BAGS),
    )
    auc = np.apply_along_axis(
        lambda scores: roc_area(scores, rows.label > 0, rows.weight), 2, bags.scores
    )
    weights = softmax(auc / _SHARPNESS)
    weights[weights < _MIN_MEMBER_WEIGHT] = 0.0
    weights = weights / weights.sum()
    function = of_bags = _average_members(bags, weights, rows)
    posterior = _estimate_posterior(of_bags, rows, settings.prior)
    cost = _SECOND_STAGE_COST / size
    second, result = _solve_second_stage(grams, rows, posterior, weights, cost, settings, deadline)
    if settings.is_linear:
        function = second
    else:
        unlabeled = rows.weight * (rows.label < 0)
        function = function.standardise(unlabeled) + second.standardise(unlabeled)
    worst = bags.unfinished if result.converged and bags.unfinished else result
    averaged = None
    if settings.quantiles is not None:
        priors = priors_of(settings.quantiles)
        averaged = np.mean([_estimate_posterior(of_bags, rows, prior) for prior in priors], axis=0)
    return EnsembleSolution(
        function,
        posterior,
        averaged,
        costs,
        auc,
        weights,
        bags.n_iter + result.n_iter,
        result.history,
        worst,
    )


def _squared_norms(
    gram: GramOperator, rows: DistinctPURows, settings: EnsembleSettings
) -> FloatArray:
    """Return K(x, x)."""
    if not settings.is_linear:
        return gram.diagonal()
    share = rows.total_weight / rows.total_weight.sum()
    product = gram.product(np.arange(gram.n), share)
    return gram.diagonal() - 2.0 * product + share @ product


def _average_members(bags: Bagging, weights: FloatArray, rows: DistinctPURows) -> HeldOutFunction:
    """Return the weighted mean of the members, standardised."""
    n_kernels, _, n = bags.scores.shape
    total = HeldOutFunction(np.zeros((n_kernels, n)), 0.0, np.zeros(n))
    for k, c in np.argwhere(weights):
        coef = np.zeros_like(total.coef)
        coef[k] = bags.coef[k, c]
        member = HeldOutFunction(coef, bags.bias[k, c], bags.scores[k, c])
        total += member.standardise(rows.weight).scale(weights[k, c])
    return total


def _estimate_posterior(first: HeldOutFunction, rows: DistinctPURows, prior: float) -> FloatArray:
    """Return probabilities that rows are positive, from held-out scores; 1 for labelled ones."""
    positive = rows.label > 0
    x = first.standardise(rows.weight * ~positive).held_out
    features = np.column_stack([x, np.ones(len(x))])
    among_positive = np.average(features[positive], axis=0, weights=rows.weight[positive])
    t = fit_logistic(
        features[~positive], rows.weight[~positive], prior * among_positive, [True, False]
    )
    return np.where(
        positive, 1.0, np.clip(expit(features @ t), _MIN_PROBABILITY, 1.0 - _MIN_PROBABILITY)
    )


def _solve_second_stage(
    grams: list[GramOperator],
    rows: DistinctPURows,
    posterior: FloatArray,
    weights: FloatArray,
    cost: float,
    settings: EnsembleSettings,
    deadline: Deadline,
) -> tuple[HeldOutFunction, Result]:
    """Return the model of all rows over the mean kernel."""
    weights = weights.sum(axis=1)
    used = np.flatnonzero(weights)
    gram = grams[used[0]]
    if len(used) > 1:
        gram = SumGram([grams[k] for k in used], weights[used])
    problem = soft_labels(gram, posterior, cost * rows.weight)
    result = solve_decomposition(problem, settings=settings.engine, max_time=deadline.left())
    bias = -result.multiplier
    without_own = result.gradient - result.a * _squared_norms(gram, rows, settings)
    return HeldOutFunction(np.outer(weights, result.a), bias, without_own + bias), result


def fit_two_sided_curve(
    scores: FloatArray, cut: float, posterior: FloatArray, weight: FloatArray, is_certain: bool
) -> TwoSidedCurve:
    """The curve with slopes above and below the cut, from held-out scores and ``posterior``.

    If the prior ``is_certain``, the class is the more probable one on either side of the cut. Else
    ``posterior`` averages over its distribution, and the curve may have any level at the cut.
    """
    curve = TwoSidedCurve(mean_and_spread(scores, weight)[1], np.ones(2), agrees=is_certain)
    features = curve.sides(scores - cut)
    if not is_certain:
        features = np.column_stack([features, np.ones(len(scores))])
    target = np.average(features * posterior[:, None], axis=0, weights=weight)
    found = fit_logistic(features, weight, target, [True, True, False][: features.shape[1]])
    level = 0.0 if is_certain else float(found[2])
    return replace(curve, slopes=found[:2], level=level)
