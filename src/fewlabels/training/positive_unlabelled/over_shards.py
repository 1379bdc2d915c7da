"""A PUSVM over rows in shards: one problem over all rows, whose positives' variables are fixed.

Rows left out are predicted from the support vectors alone, and the prior, if it has to be
estimated, comes from a sample.
"""

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from ...fitted import PUSVMFit
from ...fitted.solution import ROUNDING, function_of, largest_value, run_by
from ...kernels import centered
from ...problem.convexity import supported_gap
from ...problem.positive_unlabelled import DoubleHingeOverAll, weight_of_norm
from ...rows.shards import sampled, weights_of
from ...rows.spec import ProblemSpec, solve_sharded
from .data import PUData, PUSolution
from .leave_one_out import unlabeled_left_out
from .quantiles import cut_of_rows

# Rows of either kind that the prior is estimated from, or checked with.
_POSITIVE, _UNLABELLED = 5_000, 20_000


class Threshold(NamedTuple):
    """Where f is cut: ``PUSVM.threshold``, and the ``Deadline`` of predicting rows left out."""

    name: str
    deadline: Any


class Described:
    """The question for the rows ``ids`` that are in a shard: weights and labels."""

    def __init__(self, ids):
        self.ids = ids

    def __call__(self, shard):
        own = shard.own(self.ids)
        return weights_of(shard)[own], shard.marks["positive"][own]


def kinds(shard):
    """The question for the weights of positive rows and of the others, and who the former are."""
    weight, positive = weights_of(shard), shard.marks["positive"]
    numbers = shard.first + np.flatnonzero(positive & (weight > 0))
    others = weight[~positive & (weight > 0)]
    return float(weight[positive & (weight > 0)].sum()), float(others.sum()), numbers


@dataclass(frozen=True, eq=False)
class OverShards:
    """Rows of a ``ShardedSource`` with the mark "positive", for a PUSVM."""

    source: Any
    spec: ProblemSpec  # for any prior
    lam: float
    weight_positive: float
    numbers: np.ndarray  # of the positive rows
    n_jobs: int

    @classmethod
    def of(cls, source, kernel, lam, n_jobs):
        """What follows from the rows; ``lam`` is the parameter."""
        weights, others, numbers = zip(*source.ask(kinds), strict=True)
        weight_positive, mass = sum(weights), sum(others)
        if not weight_positive > 0 or not mass > 0:
            raise ValueError(
                "sample_weight leaves one class only; give some positive rows and some unlabelled "
                "rows a weight > 0."
            )
        lam = weight_of_norm(lam, weight_positive)
        # Under the linear kernel rows are moved, as for other models.
        spec = ProblemSpec.over(source, source.moments, kernel, DoubleHingeOverAll(0.5, lam), mass)
        return cls(source, spec, lam, weight_positive, np.concatenate(numbers), n_jobs)

    def _data(self, ids):
        """Some rows as ``PUData``, and as they were given."""
        X = self.source.take(ids)
        parts = zip(*self.source.ask(Described(ids)), strict=True)
        weight, positive = map(np.concatenate, parts)
        centred = centered(X, self.spec.shift)
        weight = None if np.all(weight == 1.0) else weight
        return PUData(centred, positive, weight, self.spec.kernel, self.n_jobs), X

    def sample(self, seed):
        """``PUData`` of some rows of either kind."""
        chosen = self.numbers[sampled(len(self.numbers), _POSITIVE, seed)]
        some = sampled(self.source.n, _UNLABELLED, seed)
        parts = zip(*self.source.ask(Described(some)), strict=True)
        weight, positive = map(np.concatenate, parts)
        return self._data(np.union1d(chosen, some[~positive & (weight > 0)]))[0]

    def fit(self, prior, settings, threshold):
        """The ``PUSVMFit`` with some ``Settings`` and a ``Threshold``, and the ``Result``."""
        formulation = DoubleHingeOverAll(prior, self.lam, weight_positive=self.weight_positive)
        found = solve_sharded(self.source, self.spec.stating(formulation), settings)
        result, gram, lam, shift = found.result, found.problem.gram, self.lam, self.spec.shift
        data, X = self._data(found.numbers)
        gap = float(np.maximum(0.0, 2.0 * lam * supported_gap(found.problem, result)))
        coef, f = -result.a, -result.gradient
        part = PUSolution(
            coef, f[data.unlabeled], found.problem.penalty.take(data.unlabeled),
            result.multiplier, 0.0, gap, result, data.gram,
        )  # fmt: skip
        largest = largest_value(gram)
        rounding = ROUNDING * float(np.abs(coef).sum()) * largest
        bias = float(result.multiplier)
        if threshold.name != "risk":
            noise = 8.0 * min(1.0, gram.value_error) * largest * float(np.linalg.norm(coef))
            values = part.f
            if threshold.name == "leave-one-out":
                values = unlabeled_left_out(part, data, threshold.deadline)
            bias = -cut_of_rows(
                found.all_rows,
                found.numbers[data.unlabeled],
                -values,
                prior,
                max(rounding, noise),
            )
        function, places, support = function_of(
            self.spec.kernel,
            gram,
            X,
            coef,
            found.numbers,
            bias=bias,
            shift=shift,
            rounding=rounding,
        )
        moved = 0.0 if shift is None else float(function.weights @ shift)
        among = np.isin(places, data.positive, assume_unique=True)
        solution = PUSVMFit(
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
        return solution, result
