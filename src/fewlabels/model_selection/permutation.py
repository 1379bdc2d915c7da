"""Whether a model's held-out scores separate the labels better than chance."""

from typing import NamedTuple

import numpy as np
from scipy.optimize import brentq
from scipy.stats import norm, rankdata

from .._typing import AnyArray, BoolArray, IntArray

# Shuffled labels, which give the standard error without a signal.
_N_SHUFFLES = 499
# Confidence of the interval. Its ends decide, so that a verdict can't contradict it.
CONFIDENCE = 0.99
# A ROC AUC of one class against the other that is worth having: where the interval excludes it,
# labels were enough to tell.
WORTHWHILE = 0.7
# If the share of positives among unlabelled rows is unknown, "no signal" has to hold up to this
# one at least.
_MIN_SHARE = 0.1
# And labelled rows must not avoid the lowest scores, by a one-sided test of this level: of mostly
# positive rows, a good model gives only the lowest scores to others.
_LEVEL_OF_AVOIDING = 0.05
# With a larger share of equal scores, a model has hardly said anything, even of equal rows.
_MAX_SHARE_OF_TIES = 0.8
# Scores of one model that differ by less, relative to their size, differ by rounding.
_SIGNIFICANT_DIGITS = 12
# Nearer to 0 and 1 than this, variances are rounding.
_MIN_AREA_DISTANCE = 1e-9
# Outcomes of the test.
SIGNAL = "signal"
NO_SIGNAL = "no signal"
TOO_FEW = "too few labels"


class PermutationTest(NamedTuple):
    """ROC AUC of held-out rows with a 99 % interval; chance is 0.5.

    Of labelled positive rows against unlabelled rows, of one class against the other, or the mean
    over several classes of each against the rest. ``outcome`` is "signal" if the interval lies
    above 0.5, "no signal" if it holds 0.5 and excludes a useful model, else "too few labels",
    since such labels can't tell a useful model from chance. ``labels`` is the number of labelled
    rows.

    A useful model has a ROC AUC of 0.7 of one class against the other. Unlabelled rows hold
    positives, which no model separates from labelled ones. With a share p of them, a model has a
    ROC AUC of p/2 + (1 - p) A against unlabelled rows if it has A against the others. A perfect
    model has ``best``, which is None where nobody knows the share. "No signal" then holds for
    shares below ``up_to``, which is None in all other cases.
    """

    area: float
    low: float
    high: float
    outcome: str
    labels: int
    best: float | None = 1.0
    up_to: float | None = None

    @property
    def beats_chance(self) -> bool:
        """Return whether the model beats chance."""
        return self.outcome == SIGNAL


def permutation_test(
    scores: AnyArray,
    kinds: AnyArray,
    parts: AnyArray,
    planned: int,
    labels: int,
    random_state: int = 0,
    *,
    prior: float | None = 0.0,
    rows: AnyArray | None = None,
) -> PermutationTest | None:
    """Test scores of rows by models that were trained without them.

    Labels are shuffled within the parts that were held out together, as only scores of one model
    can be compared. Each part's labels also train the models of the other parts: a pair of parts
    counts twice, which doubles the variance of a mean over all of them.

    A model that gives different rows one score says nothing of their order, nor does one that
    gives most pairs of rows one score. The interval then reaches from their worst to their best
    order, unless it lies above 0.5 without them.

    Parameters
    ----------
    scores : ndarray of shape (n,) or (n, n_classes)
        Scores, greater for kind 1, or a column for each kind.
    kinds : ndarray of int of shape (n,)
        Kind of each row, from 0.
    parts : ndarray of int of shape (n,)
        The part that each row was held out with.
    planned : int
        Number of parts of all rows; some may not have been scored.
    labels : int
        Number of labelled rows, for the result.
    random_state : int, default=0
        Seed of the shuffles.
    prior : float or None, default=0.0
        Share of rows of kind 1 among the rows of kind 0, where these are unlabelled; None if it
        is unknown.
    rows : ndarray of int of shape (n,), default=None
        The same number for equal rows, whose scores are equal for good reason. None if no two
        rows are.

    Returns
    -------
    PermutationTest or None
        None if no part holds two kinds.
    """
    columns = scores[:, None] if scores.ndim == 1 else scores
    classes = np.array([1]) if scores.ndim == 1 else np.arange(scores.shape[1])
    rows_of = [np.flatnonzero(parts == part) for part in np.unique(parts)]
    rows_of = [rows for rows in rows_of if np.ptp(kinds[rows]) > 0]
    if not rows_of:
        return None
    ranks = np.concatenate([rankdata(_without_rounding(columns[k]), axis=0) for k in rows_of])
    sizes = np.array([[np.sum(kinds[k] == one) for one in classes] for k in rows_of])
    pairs = (sizes * (np.array([[len(k)] for k in rows_of]) - sizes)).sum(axis=0)
    least = (sizes * (sizes + 1) / 2).sum(axis=0)
    used = pairs > 0

    def roc_area(kinds: IntArray) -> float:
        inside = (ranks * (kinds[:, None] == classes)).sum(axis=0)
        return float(np.mean((inside - least)[used] / pairs[used]))

    def depth_of(kinds: IntArray) -> float:
        return float(np.mean(depths[kinds == 1])) if prior is None else 0.0

    order = np.concatenate(rows_of)
    ours, part = kinds[order], np.repeat(np.arange(len(rows_of)), [len(k) for k in rows_of])
    depths = np.log(ranks[:, 0] / (np.bincount(part)[part] + 1.0))
    rng = np.random.default_rng(random_state)
    area = roc_area(ours)
    shuffled = [ours[np.lexsort((rng.random(len(ours)), part))] for _ in range(_N_SHUFFLES)]
    chance = np.array([(roc_area(one), depth_of(one)) for one in shuffled])
    shared = 1.0 + (len(rows_of) - 1.0) / max(1.0, planned - 1.0)
    error, depth_error = np.std(chance, axis=0) * np.sqrt(shared)
    own = float(np.mean(sizes.sum(axis=0)[used]))
    low, high = _interval(area, error, own, len(ours) - own)
    if low <= 0.5:
        is_own = ours[:, None] == classes
        tied = _count_ties(ranks, is_own, part)
        same = 0 if rows is None else _count_ties(ranks, is_own, part, rows[order])
        tied = np.where(tied > _MAX_SHARE_OF_TIES * pairs, tied, tied - same)
        unknown = float(np.mean(tied[used] / pairs[used])) / 2.0
        low, high = max(0.0, low - unknown), min(1.0, high + unknown)
    best = None if prior is None else 1.0 - prior / 2.0
    if low > 0.5:
        return PermutationTest(area, low, high, SIGNAL, labels, best)
    holds_up_to = (WORTHWHILE - high) / (WORTHWHILE - 0.5)
    needed = _MIN_SHARE if prior is None else prior
    above = depth_of(ours) - chance[:, 1].mean()
    avoiding = prior is None and above > norm.ppf(1.0 - _LEVEL_OF_AVOIDING) * depth_error
    if high >= WORTHWHILE or holds_up_to <= needed or avoiding:
        return PermutationTest(area, low, high, TOO_FEW, labels, best)
    up_to = min(1.0, holds_up_to) if prior is None else None
    return PermutationTest(area, low, high, NO_SIGNAL, labels, best, up_to)


def _without_rounding(scores: AnyArray) -> AnyArray:
    """Return one model's scores, in columns, with those that differ by rounding made equal."""
    size = np.median(np.abs(scores), axis=0)
    size = np.where((size > 0.0) & np.isfinite(size), size, 1.0)
    with np.errstate(over="ignore"):
        return np.round(scores / size, _SIGNIFICANT_DIGITS)


def _count_ties(
    ranks: AnyArray,
    is_own: BoolArray,
    part: AnyArray,
    rows: AnyArray | None = None,
) -> AnyArray:
    """Count pairs of a row of each class and a row of another that tie, in equal ``rows``.

    Of any rows if ``rows`` is None. Returns the number for each class.
    """
    found = []
    for k in range(is_own.shape[1]):
        keys = [part, ranks[:, k % ranks.shape[1]], *([] if rows is None else [rows])]
        group = np.unique(np.stack(keys), axis=1, return_inverse=True)[1].ravel()
        own = np.bincount(group, is_own[:, k])
        found.append(np.sum(own * (np.bincount(group) - own)))
    return np.array(found)


def _interval(area: float, error: float, n_own: float, n_others: float) -> tuple[float, float]:
    """Return the areas that the test doesn't reject; ``error`` is the standard error at 0.5.

    Elsewhere it changes as in an exponential model (Hanley and McNeil 1982).
    """
    half = norm.ppf(0.5 + CONFIDENCE / 2.0) * error

    def variance(theta: float) -> float:
        both = theta / (2.0 - theta), 2.0 * theta * theta / (1.0 + theta)
        of_own, of_others = (one - theta * theta for one in both)
        inner = theta * (1.0 - theta)
        return (inner + (n_own - 1.0) * of_own + (n_others - 1.0) * of_others) / (n_own * n_others)

    at_chance = variance(0.5)

    def excess(theta: float) -> float:
        return (area - theta) ** 2 - half**2 * variance(theta) / at_chance

    inside = float(np.clip(area, _MIN_AREA_DISTANCE, 1.0 - _MIN_AREA_DISTANCE))
    low = brentq(excess, 0.0, inside) if excess(inside) < 0.0 else area
    high = brentq(excess, inside, 1.0) if excess(inside) < 0.0 else area
    return float(low if area > 0.0 else 0.0), float(high if area < 1.0 else 1.0)
