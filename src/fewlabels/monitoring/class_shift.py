"""Whether a changed class ratio alone explains changed scores.

If only the shares of two classes change, the scores of new rows are a mixture of the scores that
both classes had. The share is estimated by maximum likelihood in bins of the scores. A test of
fit says whether any mixture explains the new scores. The test resamples the calibration scores
too, because they are a sample themselves.
"""

from dataclasses import dataclass

import numpy as np
from sklearn.utils import column_or_1d

from .._typing import FloatArray, IntArray, VectorLike

# Bins of the scores.
_N_BINS = 10
# Resampled tables in the tests of fit.
_N_RESAMPLES = 500
# Level of both tests.
_LEVEL = 0.05
# Calibration rows that each class has at least.
_MIN_ROWS_PER_CLASS = 20


@dataclass(frozen=True)
class ClassShift:
    """Shares of the second class before and after a change, and whether they explain it.

    Attributes
    ----------
    before, after : float
        Share of rows of ``positive`` among the calibration rows, and among rows since the change,
        if nothing but shares has changed. For positive and unlabelled rows, ``before`` is the
        model's class prior, the share among the unlabelled rows.
    p_value : float
        Of the hypothesis that nothing but the shares has changed.
    p_value_same : float
        Of the hypothesis that the shares are the same, if nothing else has changed.
    positive : object
        The class.
    """

    before: float
    after: float
    p_value: float
    p_value_same: float
    positive: object

    @property
    def explains(self) -> bool:
        """bool: Whether a changed class ratio is enough to explain the change."""
        return self.p_value > _LEVEL and self.p_value_same <= _LEVEL


@dataclass(frozen=True, eq=False)
class ScoresByClass:
    """Scores of calibration rows by class: the first class, or unlabelled rows; and the second.

    ``share`` is the second class's share before the change. Of unlabelled rows, ``mixed`` are of
    the second class: the prior, or 0 where the first class is pure.
    """

    first: FloatArray
    second: FloatArray
    positive: object
    share: float
    mixed: float = 0.0


def scores_by_class(
    scores: FloatArray, labels: VectorLike, prior: float | None = None
) -> ScoresByClass:
    """Group calibration scores by class, from labels with two different values.

    ``prior`` is the prior of a model of positive and unlabelled rows, None for other models.
    """
    y = column_or_1d(labels)
    if len(y) != len(scores):
        raise ValueError(
            f"labels has {len(y)} entries for {len(scores)} calibration rows; pass one for each."
        )
    classes = np.unique(y)
    counts = [int(np.sum(y == c)) for c in classes]
    if len(classes) != 2 or min(counts) < _MIN_ROWS_PER_CLASS:
        raise ValueError(
            f"labels has the classes {list(classes)} with {counts} rows; pass two classes with at "
            f"least {_MIN_ROWS_PER_CLASS} calibration rows each, or no labels."
        )
    first, second = (scores[y == c] for c in classes)
    if prior is None:
        return ScoresByClass(first, second, classes[1].item(), len(second) / len(y))
    return ScoresByClass(first, second, classes[1].item(), prior, prior)


def class_shift(reference: ScoresByClass, scores: FloatArray, seed: int = 0) -> ClassShift:
    """Compare new scores with mixtures of both classes' scores; gives :class:`ClassShift`."""
    both = np.concatenate([reference.first, reference.second])
    edges = np.unique(np.quantile(both, np.linspace(0.0, 1.0, _N_BINS + 1)[1:-1]))
    first, second, new = (
        np.bincount(np.searchsorted(edges, s, "right"), minlength=len(edges) + 1)
        for s in (reference.first, reference.second, scores)
    )
    shares = np.linspace(0.0, 1.0, 101)
    weights = (shares - reference.mixed) / (1.0 - reference.mixed)
    now = (reference.share - reference.mixed) / (1.0 - reference.mixed)
    k, misfit = _fit_mixture(first, second, new, weights)
    same = _misfit(_mixture(now, first, second), new)
    rng = np.random.default_rng(seed)
    a, b = _smoothed_shares(first), _smoothed_shares(second)
    changed, unchanged = (_as_density((1.0 - w) * a + w * b) for w in (weights[k], now))
    worse_fit = worse_same = 0
    for _ in range(_N_RESAMPLES):
        drawn = rng.multinomial(first.sum(), a), rng.multinomial(second.sum(), b)
        fit = _fit_mixture(*drawn, rng.multinomial(new.sum(), changed), weights)[1]
        worse_fit += fit >= misfit
        old = rng.multinomial(new.sum(), unchanged)
        gain = _misfit(_mixture(now, *drawn), old) - _fit_mixture(*drawn, old, weights)[1]
        worse_same += gain >= same - misfit
    p_fit, p_same = ((1 + worse) / (1 + _N_RESAMPLES) for worse in (worse_fit, worse_same))
    return ClassShift(reference.share, float(shares[k]), p_fit, p_same, reference.positive)


def _smoothed_shares(counts: IntArray) -> FloatArray:
    return (counts + 0.5) / (counts.sum() + 0.5 * len(counts))


def _as_density(density: FloatArray) -> FloatArray:
    density = np.maximum(density, 1e-9)  # of a mixture with a negative weight
    return density / density.sum(axis=-1, keepdims=True)


def _mixture(weight: float, first: IntArray, second: IntArray) -> FloatArray:
    return _as_density(
        (1.0 - weight) * _smoothed_shares(first) + weight * _smoothed_shares(second)
    )


def _fit_mixture(
    first: IntArray, second: IntArray, new: IntArray, weights: FloatArray
) -> tuple[int, float]:
    """Return the position of the mixture that fits best, and its misfit."""
    a, b = _smoothed_shares(first), _smoothed_shares(second)
    mixtures = _as_density(np.outer(1.0 - weights, a) + np.outer(weights, b))
    k = int(np.argmax(np.log(mixtures) @ new))
    return k, _misfit(mixtures[k], new)


def _misfit(expected: FloatArray, counts: IntArray) -> float:
    """Return twice the log likelihood ratio to the observed shares."""
    seen = counts > 0
    return 2.0 * float(np.sum(counts[seen] * np.log(counts[seen] / counts.sum() / expected[seen])))
