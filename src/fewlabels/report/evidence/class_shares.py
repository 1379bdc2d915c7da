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
from ...class_prior.class_ratio import estimate_shares
from ...class_prior.frequent_class import estimate_from_frequent_class, is_skewed
from ...class_prior.label_ratio import draw_wide_shares, probability_at_random
from ...class_prior.labelled_rows import measure_separation

# An estimate from fewer labels of a class is arbitrary.
_MIN_LABELS_PER_CLASS = 4
# More classes take too long.
_MAX_CLASSES = 20
# With fewer labels, a forest must separate labelled rows from the rest by so many standard errors.
_MIN_ERRORS_APART = 2.0
# Rows that take part: unlabelled ones, and those of each class.
_MAX_UNLABELLED = 800
_MAX_OF_CLASS = 300
_BOOTSTRAP_SAMPLES = 40
# From this probability on, labels count as a random sample.
_MIN_PROBABILITY = 0.9
# Seconds of an estimate for each class and each number, and seconds that are always available.
_SECONDS_PER_CLASS = 0.15
_SECONDS_PER_NUMBER = 2e-7
_FREE_SECONDS = 0.5
_NO_TIME = "no estimate of the class ratio among the unlabelled rows"
# Tail of an interval on either side, and draws that it is computed from.
_TAIL = 0.05
_N_DRAWS = 4000


class ClassShares(NamedTuple):
    """Class shares among the unlabelled rows, and whether labels are a sample of them.

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
        """Return whether the labels' own ratio can't be taken for the ratio among all rows."""
        return self.at_random < _MIN_PROBABILITY

    @property
    def ends(self) -> FloatArray:
        """Return mean, lower and upper end of each share (90 %), of shape (n_classes, 3)."""
        rng = np.random.default_rng(0)
        n_estimated = round(_N_DRAWS * (1.0 - self.at_random)) if self.contradicts_labels else 0
        draws_of_either = rng.dirichlet(self.counts + 0.5, _N_DRAWS)
        if n_estimated:
            draws_of_either[:n_estimated] = self.draws[
                rng.integers(0, len(self.draws), n_estimated)
            ]
        low, high = np.quantile(draws_of_either, [_TAIL, 1.0 - _TAIL], axis=0)
        return np.column_stack([draws_of_either.mean(axis=0), low, high])


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
    from_labels = ClassShares(counts, np.empty((0, n_classes)), 1.0)
    given_ratio = getattr(estimator, "class_ratio_", None)
    if given_ratio is not None and estimator.class_ratio_interval_ is None:
        draws = np.asarray(given_ratio, dtype=float)[None]
        return ClassShares(counts, draws, probability_at_random(counts, draws))
    if n_classes > _MAX_CLASSES or (~known).sum() < counts.sum():
        return from_labels
    uniform_draws = np.random.default_rng(0).dirichlet(np.ones(n_classes), _N_DRAWS)
    rows = _sample_rows(y, n_classes)
    if counts.min() < _MIN_LABELS_PER_CLASS and not is_skewed(counts):
        return from_labels
    seconds = _SECONDS_PER_CLASS * n_classes + _SECONDS_PER_NUMBER * len(rows) * X.shape[1]
    if deadline.left() < seconds > _FREE_SECONDS:
        deadline.cut.append(_NO_TIME)
        return ClassShares(counts, uniform_draws, probability_at_random(counts, uniform_draws))
    X, y = X[rows], y[rows]
    apart = measure_separation(X, y)
    from_frequent_class = (
        estimate_from_frequent_class(X, y, deadline=deadline) if n_classes == 2 else None
    )
    if from_frequent_class is not None:
        draws = from_frequent_class.replicates
    elif counts.min() < _MIN_LABELS_PER_CLASS:
        if apart < _MIN_ERRORS_APART:
            return from_labels
        draws = uniform_draws
    else:
        try:
            *_, replicates = estimate_shares(
                X, y, np.ones(len(rows)), np.arange(n_classes), n_bootstrap=_BOOTSTRAP_SAMPLES
            )
        except ValueError:  # the labelled rows of a class are copies of one row
            return from_labels
        assert replicates is not None  # they are left out only where shares are certain enough
        draws = draw_wide_shares(counts, replicates)
    return ClassShares(counts, draws, probability_at_random(counts, draws, apart))


def _sample_rows(y: IntArray, n_classes: int) -> IntArray:
    """Return the rows that take part: all of each kind, or a random sample of many."""
    rng, kept = np.random.default_rng(0), []
    for k in range(-1, n_classes):
        rows_of_class = np.flatnonzero(y == k)
        max_rows = _MAX_UNLABELLED if k < 0 else _MAX_OF_CLASS
        kept.append(
            rows_of_class
            if len(rows_of_class) <= max_rows
            else rng.choice(rows_of_class, max_rows, replace=False)
        )
    return np.sort(np.concatenate(kept))
