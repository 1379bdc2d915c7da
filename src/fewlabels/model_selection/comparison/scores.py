"""Scores of methods over the folds that they have in common."""

from __future__ import annotations

import numpy as np

from .judge import corrected_error


class Scores:
    """Scores by running method, with errors.

    ``mean``, ``error`` and ``difference_error`` are scores, their standard errors, and those of
    the differences to ours; ``notes`` are remarks by method, ``protocol`` says how the scores were
    made, and ``caution`` what they do not show.
    """

    def __init__(self, methods, runs):
        self.methods, self.runs = methods, runs
        self.running, self.folds = runs.common_folds()
        self.protocol, self.caution, self.notes = "", "", {}

    def fill_hits(self, hits, ratio):
        """From hits of shape (n_running, n_folds, n_rows), NaN where a row was not held out.

        An error is the larger of two: between folds, corrected, and between rows. With a handful
        of rows folds may agree by chance.
        """
        n_rows = hits.shape[2]
        by_fold, by_row = np.nanmean(hits, axis=2), np.nanmean(hits, axis=1)
        p = (by_row.sum(axis=1) + 1.0) / (n_rows + 2.0)
        # Under no difference its mean is known to be zero (McNemar).
        apart = np.square(by_row - by_row[0]).sum(axis=1)
        self._fill(
            by_row.mean(axis=1), by_fold, ratio, np.sqrt(p * (1.0 - p) / n_rows),
            np.sqrt(apart) / n_rows,
        )  # fmt: skip

    def fill_folds(self, values, ratio, own=0.0, of_difference=0.0):
        """From scores of shape (n_running, n_folds), and errors that all folds share."""
        self._fill(values.mean(axis=1), values, ratio, 0.0, 0.0)
        self.error = np.hypot(self.error, own)
        self.difference_error = np.hypot(self.difference_error, of_difference)

    def _fill(self, mean, by_fold, ratio, least, least_difference):
        self.mean = mean
        self.error = np.maximum(_between(by_fold, ratio), least)
        apart = by_fold - by_fold[0]
        self.difference_error = np.maximum(_between(apart, ratio), least_difference)


def _between(values, ratio):
    """Standard errors from folds; unknown (infinite) with one fold."""
    if values.shape[1] < 2:
        return np.full(len(values), np.inf)
    return np.array([corrected_error(v, ratio) for v in values])
