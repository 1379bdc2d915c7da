"""What changed: when it began, which features, which rows, and whether only the class ratio."""

from dataclasses import dataclass, field

import numpy as np
from scipy.special import gammaln, logsumexp

from .._typing import FloatArray, IntArray
from .class_shift import ClassShift, ScoresByClass, class_shift
from .features import FeatureChange, PairChange, compare, compare_pairs
from .kept_rows import KeptRows, RetainedRow

_BINS, _PRIOR = 12, 2.0
# Power of the likelihood. An alarm comes where rows look changed by chance, so that the likelihood
# itself is too sure: its 90 % intervals often miss the beginning (benchmark "monitoring").
_POWER = 0.5
# Probability that is left out on either side of the interval.
_TAIL = 0.05
_MOST_ROWS = 10
# Rows that a change has at least: fewer can't be compared.
_FEWEST = 5
# Rows behind the alarm that help to find the beginning; later ones may have changed again.
_AFTER = 200


@dataclass(frozen=True, eq=False)
class Change:
    """A change before an alarm: its time, features, rows and class ratio.

    Attributes
    ----------
    alarm : int
        Number of the row that raised the alarm, from 0.
    began : int
        The most probable number of the first changed row.
    interval : tuple of int
        First and last row at which the change may have begun (90 %).
    n_before, n_after : int
        Rows compared.
    features : list of FeatureChange
        All features, the most significant first. ``changed`` marks those that changed, at a false
        discovery rate of 5 %.
    pairs : list of PairChange
        Pairs of numeric features whose rank correlation changed, the most significant first.
    rows : list of Kept
        Rows since the change that point to it most strongly.
    class_shift : ClassShift or None
        Whether a changed class ratio explains the change; None without labels.
    """

    alarm: int
    began: int
    interval: tuple[int, int]
    n_before: int
    n_after: int
    features: list[FeatureChange] = field(repr=False)
    pairs: list[PairChange] = field(repr=False)
    rows: list[RetainedRow] = field(repr=False)
    class_shift: ClassShift | None = None


def explain(
    kept: KeptRows, alarm: int, calibration: FloatArray, reference: ScoresByClass | None = None
) -> Change:
    """Make a :class:`Change` from the rows kept.

    ``calibration`` are the calibration scores, and ``reference`` those by class, if known. Without
    calibration rows their scores say alone what was usual before the stream.
    """
    recent, earlier, *_ = kept.contents
    numbers = [row.number for row in recent if row.number is not None]
    scores = np.array([row.score for row in recent])
    past = np.array([row.score for row in earlier]) if earlier else calibration
    latest = max(0, min(len(recent) - _FEWEST, alarm - numbers[0]))
    until = alarm - numbers[0] + 1 + _AFTER
    chances, codes = locate_change(past, scores, latest, until)
    mode = int(np.argmax(chances))
    low, high = np.searchsorted(np.cumsum(chances), [_TAIL, 1.0 - _TAIL]).clip(0, latest)
    first = numbers[0]
    old, new = earlier + recent[: min(int(low), mode)], recent[mode:]
    if len(old) < 20:  # the change came with the first rows
        old = earlier + recent[:mode]
    features: list[FeatureChange] = []
    pairs: list[PairChange] = []
    if len(old) >= 2 and len(new) >= 2:
        before, after = kept.assemble(old), kept.assemble(new)
        features = compare(before, after)
        pairs = compare_pairs(before, after)
    shift = None
    if reference is not None:
        shift = class_shift(reference, np.array([row.score for row in new]))
    n_past = len(past)
    gains = _log_ratios(codes[: n_past + mode], codes[n_past + mode :])
    extremes = [abs((row.p_value or 0.0) - 0.5) for row in new]
    # Rows of a stream are in the order of their numbers.
    order = sorted(range(len(new)), key=lambda k: (-gains[k], -extremes[k], k))
    return Change(
        alarm,
        first + mode,
        (first + int(low), first + int(high)),
        len(old),
        len(new),
        features,
        pairs,
        [new[k] for k in order[:_MOST_ROWS]],
        shift,
    )


def locate_change(
    past: FloatArray, scores: FloatArray, latest: int, until: int | None = None
) -> tuple[FloatArray, IntArray]:
    """Return the probability that each row up to ``latest`` is the first changed one, and codes.

    Scores are counted in bins. Before and after the change they have two unknown distributions
    with a Dirichlet prior, and every row is as likely to be the first. Only scores before
    ``until`` count; codes are given for all.
    """
    everything = np.concatenate([past, scores])
    edges = np.unique(np.quantile(everything, np.linspace(0.0, 1.0, _BINS + 1)[1:-1]))
    codes = np.searchsorted(edges, everything, "right")
    one = codes[:, None] == np.arange(len(edges) + 1)
    before = np.cumsum(np.vstack([np.zeros((1, one.shape[1])), one]), axis=0)[len(past) :]
    total = before[-1 if until is None else min(until, len(scores))]
    before = before[: latest + 1]
    fit = _POWER * (_log_evidence(before) + _log_evidence(total - before))
    return np.exp(fit - logsumexp(fit)), codes


def _log_evidence(counts: FloatArray) -> FloatArray:
    """Return the log probability of counts in a row, under the prior."""
    prior = _PRIOR * counts.shape[1]
    each = gammaln(counts + _PRIOR).sum(axis=1) - counts.shape[1] * gammaln(_PRIOR)
    return each + gammaln(prior) - gammaln(prior + counts.sum(axis=1))


def _log_ratios(before: IntArray, after: IntArray) -> FloatArray:
    """Return log ratios of the likelihood of each later row, after and before the change."""
    n = max(before.max(initial=0), after.max(initial=0)) + 1
    old, new = (np.bincount(c, minlength=n) + _PRIOR for c in (before, after))
    return (np.log(new / new.sum()) - np.log(old / old.sum()))[after]
