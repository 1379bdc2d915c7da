"""The loop over folds: machines fitted to some rows, and asked about the others."""

from __future__ import annotations

from itertools import product
from typing import Any, NamedTuple

import numpy as np


class Sample(NamedTuple):
    """Rows to be split into parts.

    Attributes
    ----------
    X : ndarray or CSR array of shape (n, d); (n, n) for a precomputed kernel
        Rows.
    y : ndarray of shape (n,)
        Labels.
    weight : ndarray of shape (n,) or None
        Weights.
    pairwise : bool
        Whether X holds the kernel values of the rows instead.
    """

    X: Any
    y: np.ndarray
    weight: np.ndarray | None = None
    pairwise: bool = False

    def rows(self, which, train):
        """Some rows, as a machine takes them that was fitted to the rows ``train``."""
        return self.X[np.ix_(which, train)] if self.pairwise else self.X[which]

    def fit(self, estimator, train, **options):
        """The estimator, fitted to the rows ``train``."""
        if self.weight is not None:
            options["sample_weight"] = self.weight[train]
        return estimator.fit(self.rows(train, train), self.y[train], **options)


def cross_fit(splits, evaluate, candidates=(None,), *, is_over=None, by_candidate=False):
    """What candidates give on folds, until time is spent.

    Parameters
    ----------
    splits : sequence of tuples
        What each fold is, usually training and test rows.
    evaluate : callable
        ``evaluate(candidate, *split)`` fits on one part and asks about the other.
    candidates : sequence
        What is compared.
    is_over : callable or None, default=None
        Asked before every evaluation; from the first True on there are no more.
    by_candidate : bool, default=False
        Whether a candidate runs on all folds before the next one does. By default a fold has
        all candidates before the next one, so that an early end leaves whole folds.

    Yields
    ------
    place, fold : int
        Which candidate and which fold.
    output : object
        What ``evaluate`` returned.
    """
    places, folds = range(len(candidates)), range(len(splits))
    order = product(places, folds) if by_candidate else ((p, f) for f, p in product(folds, places))
    for place, fold in order:
        if is_over is not None and is_over():
            return
        yield place, fold, evaluate(candidates[place], *splits[fold])


def left_out_scores(n, splits, score, *, is_over=None):
    """Scores of rows by machines that were fitted without them.

    Parameters
    ----------
    n : int
        Number of rows.
    splits : sequence of (train, test)
        Rows of every fold.
    score : callable
        ``score(train, test)`` gives the scores of the test rows, or None where nothing could be
        fitted.
    is_over : callable or None, default=None
        As in ``cross_fit``.

    Returns
    -------
    ndarray of shape (n,)
        NaN for rows that were in no test part.
    """
    scores = np.full(n, np.nan)
    found = cross_fit(splits, lambda _, train, test: score(train, test), is_over=is_over)
    for _, fold, values in found:
        if values is not None:
            scores[splits[fold][1]] = values
    return scores
