"""The class ratio where nearly all labels are of one of two classes.

A few labels of the rare class don't show which unlabelled rows are like them. The labels of the
frequent class and the unlabelled rows are positive and unlabelled rows, whose class prior is the
share of the frequent class. This matters only where labels are no random sample, so first a
forest has to tell labelled rows from the others.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from .._typing import FloatArray, IntArray, RowMatrix
from .._util.deadline import ENDLESS, Deadline
from ..rows.row_order import value_order
from .estimate import PriorOptions, estimate_within, make_interval
from .labelled_rows import measure_separation
from .uncertainty import is_determined

# Labels of the frequent class at least.
_MIN_FREQUENT_LABELS = 20
# Labels of the frequent class for each of the rare class.
_MIN_LABEL_RATIO = 3.0
# Standard errors by which a forest tells labelled rows from the others.
_MIN_SEPARATION = 2.5


def is_skewed(counts: IntArray) -> bool:
    """Return whether nearly all labels are of one of two classes, from the labels of each."""
    return bool(
        len(counts) == 2
        and counts.max() >= max(_MIN_FREQUENT_LABELS, _MIN_LABEL_RATIO * counts.min())
    )


class SharesOfTwo(NamedTuple):
    """Shares of two classes among unlabelled rows.

    Attributes
    ----------
    shares : ndarray of shape (2,)
        The estimate.
    intervals : ndarray of shape (2, 2)
        Ends of the intervals.
    replicates : ndarray of shape (n_bootstrap, 2)
        Estimates from bootstrap samples.
    """

    shares: FloatArray
    intervals: FloatArray
    replicates: FloatArray


def estimate_from_frequent_class(
    X: RowMatrix,
    place: IntArray,
    seed: int = 0,
    deadline: Deadline = ENDLESS,
    confidence: float = 0.9,
) -> SharesOfTwo | None:
    """Estimate the class ratio from the class that has nearly all labels.

    Parameters
    ----------
    X : {ndarray, CSR array} of shape (n_samples, n_features)
        Rows.
    place : ndarray of int of shape (n_samples,)
        0 or 1, or -1 for unlabelled rows.
    seed : int, default=0
        Of the forests and the bootstrap.
    deadline : Deadline
        With little time, rows are sampled.
    confidence : float, default=0.9
        Nominal coverage of each interval, in (0, 1).

    Returns
    -------
    SharesOfTwo or None
        None unless the labels are skewed, look unlike the other rows, have another ratio than
        these, and the rows determine that one.
    """
    counts = np.bincount(place[place >= 0], minlength=2)
    if not is_skewed(counts) or np.sum(place < 0) < counts.sum():
        return None
    rows = value_order(X, place, np.ones(len(place)))
    X, place = X[rows], place[rows]
    if measure_separation(X, place) < _MIN_SEPARATION:
        return None
    frequent = int(np.argmax(counts))
    kept = np.flatnonzero((place < 0) | (place == frequent))
    is_labelled = (place[kept] == frequent).astype(int)
    found = estimate_within(deadline, X[kept], is_labelled, PriorOptions(random_state=seed))
    if not is_determined((found.low, found.high)) or counts[frequent] <= found.high * counts.sum():
        return None
    replicates = _both_shares(found.replicates, frequent)
    ends = make_interval(found.prior, found.replicates, confidence, int(np.sum(place < 0)))
    intervals = np.sort(_both_shares(np.array(ends), frequent).T, axis=1)
    return SharesOfTwo(_both_shares(np.array(found.prior), frequent), intervals, replicates)


def _both_shares(share: FloatArray, number: int) -> FloatArray:
    """Return the shares of both classes, from shares of one, along a last axis."""
    both = (share, 1.0 - share) if number == 0 else (1.0 - share, share)
    return np.stack(both, axis=-1)
