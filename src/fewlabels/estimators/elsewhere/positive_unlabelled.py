"""A PUSVM over rows that are not in memory."""

import numpy as np

from ..._threads import resolve_n_jobs
from ...arrays import home_of
from ...class_prior.finding import find_prior
from ...fitted import PUSVMFit
from ...fitted.solution import ROUNDING, function_of, largest_value, run_by
from ...kernels import centered
from ...labels.positive_unlabelled import read_labels
from ...problem.convexity import supported_gap
from ...problem.positive_unlabelled import DoubleHingeOverAll, weight_of_norm
from ...training.elsewhere.place import sampled
from ...training.elsewhere.quantiles import cut_elsewhere
from ...training.elsewhere.recipe import Recipe, solve_elsewhere
from ...training.positive_unlabelled.data import PUData, PUSolution
from ...training.positive_unlabelled.leave_one_out import unlabeled_left_out
from .places import read_place

# Rows of either kind that the prior is estimated from, or checked with.
_POSITIVE, _UNLABELLED = 5_000, 20_000


class Kinds:
    """The question for the weights of positive rows and of the others, and who these are."""

    def __call__(self, part):
        positive = part.marks["positive"]
        weight = np.ones(part.n) if part.weight is None else part.weight
        counts = weight > 0
        numbers = part.first + np.flatnonzero(positive & counts)
        return (
            float(weight[positive & counts].sum()),
            float(weight[counts & ~positive].sum()),
            (numbers),
        )


class Described:
    """The question for the rows ``ids`` that are in a part: weights and labels."""

    def __init__(self, ids):
        self.ids = ids

    def __call__(self, part):
        own = part.own(self.ids)
        weight = np.ones(len(own)) if part.weight is None else part.weight[own]
        return weight, part.marks["positive"][own]


def fit_pu_elsewhere(machine, place, classes, callback=None):
    """Fit a PUSVM to the rows of a place, whose parts have the mark "positive".

    As ``fit`` does to rows in memory; but what rows would score had they not been trained on is
    told from those that the function is made of, and the prior, if it has to be estimated, from a
    sample. The rows are not held: the model cannot be updated.
    """
    moments, kernel = read_place(machine, place)
    machine.classes_ = classes
    weights, others, numbers = zip(*place.ask(Kinds()), strict=True)
    weight_positive, mass, numbers = sum(weights), sum(others), np.concatenate(numbers)
    if not weight_positive > 0 or not mass > 0:
        raise ValueError(
            "sample_weight leaves one class only; give some positive rows and some unlabelled "
            "rows a weight > 0."
        )
    # Under the linear kernel rows are moved, as for other machines.
    lam = weight_of_norm(machine.lam, weight_positive)
    plain = Recipe.over(place, moments, kernel, DoubleHingeOverAll(0.5, lam), mass)
    sample = _sample(machine, place, plain, numbers)
    machine.prior_, machine.prior_interval_ = find_prior(
        sample, machine.prior, machine._seed(), machine.n_jobs, machine._deadline
    )
    formulation = DoubleHingeOverAll(machine.prior_, lam, weight_positive=weight_positive)
    recipe = plain.stating(formulation)
    found = solve_elsewhere(place, recipe, machine._settings(machine.tol, 0.0, callback))
    solution = _solution(machine, place, recipe, found, lam)
    machine._hold(None)
    machine._keep(solution)
    machine._home = place.home
    machine._report_status(found.result, machine.tol, solution.duality_gap)
    return machine


def read_positive(machine, y, n):
    """Which rows are positive, and the classes, as ``fit`` reads them."""
    if y is None:
        raise ValueError(
            f"{type(machine).__name__} requires y to be passed, but the target y is None: pass "
            "one label per row, for positive and unlabelled rows."
        )
    home = home_of(y)
    positive, classes = read_labels(y if home is None else home.numpy(y), machine.pos_label)
    if len(positive) != n:
        raise ValueError(
            f"Found input variables with inconsistent numbers of samples: [{n}, {len(positive)}]"
        )
    return positive, classes


def _data(machine, place, recipe, ids):
    """Some rows as ``PUData``, and as they were given."""
    X = place.take(ids)
    weight, positive = map(np.concatenate, zip(*place.ask(Described(ids)), strict=True))
    centred = centered(X, recipe.shift)
    weight = None if np.all(weight == 1.0) else weight
    return PUData(centred, positive, weight, recipe.kernel, resolve_n_jobs(machine.n_jobs)), X


def _sample(machine, place, recipe, numbers):
    """``PUData`` of some rows of either kind."""
    chosen = numbers[sampled(len(numbers), _POSITIVE, machine._seed())]
    some = sampled(place.shape[0], _UNLABELLED, machine._seed())
    weight, positive = map(np.concatenate, zip(*place.ask(Described(some)), strict=True))
    ids = np.union1d(chosen, some[~positive & (weight > 0)])
    return _data(machine, place, recipe, ids)[0]


def _solution(machine, place, recipe, found, lam):
    """What was found: the function, cut where ``threshold`` says."""
    result, gram = found.result, found.problem.gram
    data, X = _data(machine, place, recipe, found.ids)
    gap = float(np.maximum(0.0, 2.0 * lam * supported_gap(found.problem, result)))
    coef, f = -result.a, -result.gradient
    part = PUSolution(
        coef, f[data.unlabeled], found.problem.penalty.take(data.unlabeled), result.multiplier,
        0.0, gap, result, data.gram,
    )  # fmt: skip
    largest = largest_value(gram)
    rounding = ROUNDING * float(np.abs(coef).sum()) * largest
    bias = float(result.multiplier)
    if machine.threshold != "risk":
        noise = 8.0 * min(1.0, gram.value_error) * largest * float(np.linalg.norm(coef))
        values = part.f
        if machine.threshold == "leave-one-out":
            values = unlabeled_left_out(part, data, machine._deadline)
        bias = -cut_elsewhere(
            found.all_rows, found.ids[data.unlabeled], -values, machine.prior_,
            max(rounding, noise),
        )  # fmt: skip
    function, places, support = function_of(
        recipe.kernel, gram, X, coef, found.ids, bias=bias, shift=recipe.shift, rounding=rounding
    )
    moved = 0.0 if recipe.shift is None else float(function.weights @ recipe.shift)
    among = np.isin(places, data.positive, assume_unique=True)
    return PUSVMFit(
        function=function,
        **run_by(
            support, [np.sum(~among), np.sum(among)], result.n_iter, result.history,
            result.converged,
        ),
        objective=2.0 * lam * (result.duality_gap - result.objective),
        duality_gap=gap,
        is_positive=None,
        lam=lam,
        risk_intercept=float(result.multiplier) - moved,
    )  # fmt: skip
