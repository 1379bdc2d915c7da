"""Positive and unlabelled rows, and what does not depend on prior, lambda or loss."""

from __future__ import annotations

from functools import cached_property

import numpy as np
import pandas as pd
from sklearn.utils.multiclass import check_classification_targets

from ..class_prior import split_labels
from ..gram import Expansion, RowMap, row_products
from ..kernels import Callable, Linear, Precomputed

# Given priors are refused when they would be wrong for one sample in a million.
_DOUBT = 1e-6
_ROUNDING = 1e-10


class PUData:
    """Rows of a positive-unlabelled problem.

    Parameters
    ----------
    X : ndarray or CSR array of shape (n, d); (n, n) for a precomputed kernel
        Rows.
    positive : ndarray of bool of shape (n,)
        Rows labelled positive.
    weight : ndarray of shape (n,) or None
        Weights, > 0.
    kernel : kernel object
        Kernel.
    make : callable
        From rows to the GramOperator.
    n_jobs : int
        Threads.
    """

    def __init__(self, X, positive, weight, kernel, make, n_jobs):
        self.X = X
        self.kernel = kernel
        self.n_jobs = n_jobs
        self._make = make
        self.positive = np.flatnonzero(positive)
        self.unlabeled = np.flatnonzero(~positive)
        self.weight = weight
        weight = np.ones(X.shape[0]) if weight is None else weight
        self.weight_positive = weight[self.positive]
        self.weight_unlabeled = weight[self.unlabeled]
        # Weights of the positives as shares.
        self.share_positive = self.weight_positive / self.weight_positive.sum()

    @cached_property
    def gram(self):
        """K over the unlabelled rows."""
        return self._gram_of(self.unlabeled)

    @cached_property
    def gram_positive(self):
        """K over the positive rows."""
        return self._gram_of(self.positive)

    @cached_property
    def gram_all(self):
        """K over all rows."""
        return self._make(self.X)

    def _gram_of(self, rows):
        if isinstance(self.kernel, Precomputed):
            return self._make(self.X).take(rows)
        return self._make(self.X[rows])

    def in_span_of_positives(self, coef):
        """The function ``sum_P coef_i K(x_i, .)``, evaluated in float64."""
        vectors = self.X if isinstance(self.kernel, Precomputed) else self.X[self.positive]
        row_map = None
        if not isinstance(self.kernel, Callable | Linear | Precomputed):
            row_map = RowMap(self.kernel, vectors, np.dtype(np.float64))
        return Expansion(
            self.kernel, vectors, coef,
            columns=self.positive, row_map=row_map, n_jobs=self.n_jobs,
        )  # fmt: skip

    @cached_property
    def affinity(self):
        """Mean kernel value between each unlabelled row and the positive rows."""
        return self.in_span_of_positives(self.share_positive)(self.X[self.unlabeled])

    @cached_property
    def affinity_positive(self):
        """The same for each positive row (itself included)."""
        return self.in_span_of_positives(self.share_positive)(self.X[self.positive])

    @cached_property
    def groups(self):
        """A number for every unlabelled row; equal rows share it."""
        return np.unique(row_keys(self.X)[self.unlabeled], return_inverse=True)[1]

    @property
    def positive_norm(self):
        """Squared norm of the mean of the positive rows in feature space."""
        return float(self.share_positive @ self.affinity_positive)

    def largest_prior(self):
        """What the prior exceeds with a probability of at most one in a million.

        For any set of rows, ``P(set | unlabelled) >= prior P(set | positive)``. The sets
        are those whose similarity to the (other) positives is at least t, for all t at
        once; the frequencies are off by no more than Dvoretzky, Kiefer, Wolfowitz and
        Massart allow.
        """
        share = self.share_positive
        if share.max() > 0.5:
            return 1.0
        own = self.gram_positive.diagonal()
        others = (self.affinity_positive - share * own) / (1.0 - share)
        # An unlabelled row equal to a positive one is as similar, itself counted or not.
        others = np.minimum(others, self.affinity_positive) - _ROUNDING * np.abs(own).max()
        order = np.argsort(-others)
        threshold = others[order]
        among_positive = np.cumsum(share[order])
        order = np.argsort(self.affinity)
        mass = self.weight_unlabeled / self.weight_unlabeled.sum()
        below = np.concatenate([[0.0], np.cumsum(mass[order])])
        among_unlabeled = 1.0 - below[np.searchsorted(self.affinity[order], threshold)]
        slack_positive = _deviation(self.weight_positive)
        slack_unlabeled = _deviation(self.weight_unlabeled)
        useful = among_positive > slack_positive
        if not useful.any():
            return 1.0
        bound = (among_unlabeled + slack_unlabeled)[useful]
        bound /= (among_positive - slack_positive)[useful]
        return float(min(1.0, bound.min()))


def row_keys(X):
    """A number for every row, equal for equal rows and else different, almost surely."""
    return row_products(X, np.random.default_rng(0).normal(size=X.shape[1]))


def _deviation(weight):
    """Largest distance between an empirical distribution and the true one, nearly surely."""
    weight = weight / weight.max()
    size = weight.sum() ** 2 / np.sum(weight**2)
    return np.sqrt(np.log(4.0 / _DOUBT) / (2.0 * size))


def read_labels(y, pos_label):
    """``split_labels``, with scikit-learn's words for what is no binary target."""
    given = np.asarray(y)
    check_classification_targets(np.array(given[~pd.isna(given)].tolist()))
    try:
        return split_labels(y, pos_label)
    except ValueError as error:
        if len(pd.unique(given.ravel())) > 2:
            message = f"Only binary classification is supported. {error}"
            raise ValueError(message) from None
        raise


def quantile_cut(f, weight, share, rounding):
    """Where to cut so that as nearly as possible ``share`` of the weight lies above.

    Halfway between two neighbouring values; values no more than twice ``rounding`` apart
    count as one.
    """
    order = np.argsort(-f, kind="stable")
    f, weight = f[order], weight[order] / weight.sum()
    ends = np.flatnonzero(f[:-1] - f[1:] > 2.0 * rounding)
    if len(ends) == 0:
        # All rows are alike: the sign that the risk prefers.
        return f[0] + (1.0 if share < 0.5 else -1.0) * max(1.0, 4.0 * rounding)
    above = np.concatenate([[0.0], np.cumsum(weight)[ends], [1.0]])
    away = np.abs(above - share)
    # Of two cuts equally near, the higher: rounding must not decide.
    best = int(np.flatnonzero(away <= away.min() + 1e-9)[0])
    if best == 0:
        return f[0]
    if best == len(above) - 1:
        return f[-1] - 0.5 * (f[ends[-1]] - f[-1])
    last = ends[best - 1]
    return 0.5 * (f[last] + f[last + 1])
