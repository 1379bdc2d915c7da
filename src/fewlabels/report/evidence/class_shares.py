"""The class shares among the unlabelled rows, where the labels may have others.

People label as many rows of a rare class as of a frequent one. Accuracy on such labels is not the
accuracy on the unlabelled rows.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from sklearn.base import BaseEstimator

from ..._typing import FloatArray, IntArray, RowMatrix
from ..._util.deadline import Deadline
from ...class_prior.class_ratio import estimated_shares
from ...class_prior.contradiction import probability_at_random, smeared_shares
from ...class_prior.frequent_class import is_skewed, shares_by_frequent_class
from ...class_prior.labelled_rows import errors_apart

# An estimate from fewer labels of a class ends anywhere. More classes take too long.
_FEWEST, _MOST_CLASSES = 4, 20
# Then it takes a forest that tells labelled rows from the rest by so many standard errors.
_TOLD_APART = 2.0
# Rows that take part, and bootstrap samples.
_MOST_UNLABELLED, _MOST_OF_CLASS, _BOOTSTRAP = 800, 300, 40
# From this probability on, labels count as a random sample.
_CONSISTENT = 0.9
# Seconds of an estimate for each class and each number, and those that there always are.
_SECONDS, _SECONDS_PER_NUMBER, _ALWAYS = 0.15, 2e-7, 0.5
_NO_TIME = "no estimate of the class ratio among the unlabelled rows"
_TAIL, _DRAWN = 0.05, 4000


class ClassShares(NamedTuple):
    """The classes' shares among the unlabelled rows, and whether labels are a sample of them.

    Attributes
    ----------
    counts : ndarray of shape (n_classes,)
        Labels of each class.
    draws : ndarray of shape (n_draws, n_classes)
        Draws of the shares, as the rows alone tell them; none where they weren't asked.
    at_random : float
        Probability that the labels are a random sample of all rows.
    """

    counts: IntArray
    draws: FloatArray
    at_random: float

    @property
    def contradicts_labels(self) -> bool:
        """Whether the labels' own ratio can't be taken for the ratio among all rows."""
        return self.at_random < _CONSISTENT

    @property
    def ends(self) -> FloatArray:
        """Mean, lower and upper end of a 90 % interval of each share, of shape (n_classes, 3)."""
        rng = np.random.default_rng(0)
        n_estimated = round(_DRAWN * (1.0 - self.at_random)) if self.contradicts_labels else 0
        both = rng.dirichlet(self.counts + 0.5, _DRAWN)
        if n_estimated:
            both[:n_estimated] = self.draws[rng.integers(0, len(self.draws), n_estimated)]
        low, high = np.quantile(both, [_TAIL, 1.0 - _TAIL], axis=0)
        return np.column_stack([both.mean(axis=0), low, high])


def class_shares(
    estimator: BaseEstimator, X: RowMatrix, y: IntArray, deadline: Deadline
) -> ClassShares | None:
    """Estimate the shares of the classes among the unlabelled rows (y = -1).

    A ratio that the user gave counts as known. Where labels are too few, they count as a random
    sample, unless they look unlike the other rows; then, and without time, any are possible.
    None for fewer than two classes.
    """
    known = y >= 0
    counts = np.bincount(y[known])
    if len(counts) < 2:
        return None
    n_classes = len(counts)
    by_labels = ClassShares(counts, np.empty((0, n_classes)), 1.0)
    given = getattr(estimator, "class_ratio_", None)
    if given is not None and estimator.class_ratio_interval_ is None:
        draws = np.asarray(given, dtype=float)[None]
        return ClassShares(counts, draws, probability_at_random(counts, draws))
    if n_classes > _MOST_CLASSES or (~known).sum() < counts.sum():
        return by_labels
    any_shares = np.random.default_rng(0).dirichlet(np.ones(n_classes), _DRAWN)
    rows = _sampled(y, n_classes)
    if counts.min() < _FEWEST and not is_skewed(counts):
        return by_labels
    seconds = _SECONDS * n_classes + _SECONDS_PER_NUMBER * len(rows) * X.shape[1]
    if deadline.left() < seconds > _ALWAYS:
        deadline.cut.append(_NO_TIME)
        return ClassShares(counts, any_shares, probability_at_random(counts, any_shares))
    X, y = X[rows], y[rows]
    apart = errors_apart(X, y)
    of_frequent = shares_by_frequent_class(X, y, deadline=deadline) if n_classes == 2 else None
    if of_frequent is not None:
        draws = of_frequent.replicates
    elif counts.min() < _FEWEST:
        if apart < _TOLD_APART:
            return by_labels
        draws = any_shares
    else:
        try:
            *_, replicates = estimated_shares(
                X, y, np.ones(len(rows)), np.arange(n_classes), n_bootstrap=_BOOTSTRAP
            )
        except ValueError:  # the labelled rows of a class are copies of one row
            return by_labels
        draws = smeared_shares(counts, replicates)
    return ClassShares(counts, draws, probability_at_random(counts, draws, apart))


def _sampled(y: IntArray, n_classes: int) -> IntArray:
    """Rows that take part: of each kind all, or a random sample of many."""
    rng, kept = np.random.default_rng(0), []
    for k in range(-1, n_classes):
        own, most = np.flatnonzero(y == k), _MOST_UNLABELLED if k < 0 else _MOST_OF_CLASS
        kept.append(own if len(own) <= most else rng.choice(own, most, replace=False))
    return np.sort(np.concatenate(kept))
