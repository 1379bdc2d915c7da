"""Scores of rows by machines that were not trained on them."""

from __future__ import annotations

import time
import warnings
from typing import NamedTuple

import numpy as np
from sklearn.base import clone

from ..model_selection import LabeledKFold, PUKFold
from ..training.cross_fitting import Sample, left_out_scores

# Machines of a cross-fit, and seconds after which no further one is begun.
_FOLDS = 5
_MOST_SECONDS = 60.0


class HeldOut(NamedTuple):
    """Held-out scores.

    Attributes
    ----------
    rows : ndarray of int, shape (n_held,)
        Training rows that were held out, in ascending order.
    scores : ndarray of shape (n_held,)
        Their decisions, by the machine that was trained without them.
    folds, planned : int
        Machines fitted, and how many there should have been.
    reason : str
        Why there are none, where there are none.
    votes : ndarray of shape (folds, n_others) or None
        Decisions of every machine about the other rows asked for.
    """

    rows: np.ndarray
    scores: np.ndarray
    folds: int
    planned: int
    reason: str = ""
    votes: np.ndarray | None = None

    @property
    def about(self):
        """How the scores came about, one sentence."""
        if self.folds == 1:
            return "Scored by a machine that was trained without these rows."
        many = f"{self.folds}"
        if self.folds < self.planned:
            many += f" of {self.planned} machines that could be fitted in time"
        else:
            many += " machines"
        return f"Scored by {many}, each trained without the rows that it scores."


def cross_fit_positive(estimator, X, y):
    """Cross-fit a machine of positive and unlabelled rows, both kinds held out.

    Parameters
    ----------
    estimator : PUSVM or PUEnsemble
        Fitted; its prior is taken, not estimated anew.
    X : ndarray or CSR array of shape (n, d)
        Training rows.
    y : ndarray of shape (n,)
        1 for positive rows, 0 for unlabelled ones.

    Returns
    -------
    HeldOut
    """
    fewest = int(min(np.sum(y == 1), np.sum(y != 1)))
    if fewest < 2:
        return _none("no row can be held out: there is one row of a kind only.")
    folds = PUKFold(min(_FOLDS, fewest), shuffle=True, random_state=0)
    return _cross_fit(clone(estimator).set_params(prior=estimator.prior_), X, y, folds)


def cross_fit_classes(estimator, X, y, others):
    """Cross-fit a machine of two classes; unlabelled rows are always trained on.

    Parameters
    ----------
    estimator : S3VM
        Fitted.
    X : ndarray or CSR array of shape (n, d)
        Training rows.
    y : ndarray of shape (n,)
        0 and 1 for the classes, -1 for unlabelled rows.
    others : ndarray of int
        Rows that all machines are asked about.

    Returns
    -------
    HeldOut
    """
    fewest = int(min(np.sum(y == 0), np.sum(y == 1)))
    if fewest < 2:
        return _none("no row can be held out: a class has one labelled row only.")
    folds = LabeledKFold(min(2 * _FOLDS, fewest), shuffle=True, random_state=0)
    return _cross_fit(clone(estimator), X, y, folds, others)


def _cross_fit(machine, X, y, folds, others=None):
    started = time.perf_counter()
    sample, splits = Sample(X, y), list(folds.split(X, y))
    failed, votes = "", []
    done = 0

    def score(train, test):
        nonlocal done, failed
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                part = sample.fit(clone(machine), train)
            except ValueError as error:
                failed = str(error)
                return None
        done += 1
        if others is not None and len(others):
            votes.append(part.decision_function(X[others]))
        return part.decision_function(X[test])

    scores = left_out_scores(
        len(y), splits, score,
        is_over=lambda: done and time.perf_counter() - started > _MOST_SECONDS,
    )  # fmt: skip
    if not done:
        return _none(f"no row could be held out: {failed}")
    held = np.flatnonzero(~np.isnan(scores))
    votes = np.array(votes) if votes else None
    return HeldOut(held, scores[held], done, len(splits), votes=votes)


def _none(reason):
    return HeldOut(np.zeros(0, int), np.zeros(0), 0, 0, reason)
