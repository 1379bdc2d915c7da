"""What the machines of positive and unlabelled rows share; each takes the methods as its own."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.utils.validation import check_consistent_length

from .._threads import resolve_n_jobs
from ..class_prior.finding import check_prior, find_prior
from ..fitted import Solution
from ..kernels import Linear
from ..labels.positive_unlabelled import read_labels
from ..training.positive_unlabelled.data import PUData


@dataclass(frozen=True, eq=False, kw_only=True)
class PUFit(Solution):
    """The function of a machine of positive and unlabelled rows.

    Attributes
    ----------
    is_positive : ndarray of bool of shape (n_samples,)
        The training rows: labelled positive, or predicted so.
    """

    is_positive: np.ndarray


@dataclass(frozen=True, eq=False, kw_only=True)
class PURows:
    """Rows of a machine, with what users call them.

    Attributes
    ----------
    data : PUData
        Those that count, as the kernel sees them.
    X : ndarray or CSR array
        The same as they were given.
    numbers : ndarray of int
        What users call them; -1 for rows that are leaving.
    n : int
        How many rows users know of.
    shift : ndarray of shape (d,) or None
        What was taken from all rows: under the linear kernel, dense rows are taken around their
        mean. The coefficients sum to zero, so that this changes nothing but rounding.
    others : ndarray of int
        Rows that do not count.
    X_others, others_positive : ndarray
        The same, and which of them are labelled positive.
    """

    data: PUData
    X: np.ndarray
    numbers: np.ndarray
    n: int
    shift: np.ndarray | None
    others: np.ndarray
    X_others: np.ndarray
    others_positive: np.ndarray

    def predicted(self, function, decision):
        """Which rows are labelled positive, or called so.

        Parameters
        ----------
        function : Function
            Decides about rows that do not count.
        decision : ndarray of shape (n_unlabeled,)
            Decisions about the unlabelled rows that do.
        """
        is_positive = np.ones(self.n, dtype=bool)
        there = self.numbers[self.data.unlabeled]
        is_positive[there[there >= 0]] = decision[there >= 0] > function.rounding
        if len(self.others):
            is_positive[self.others] = (function(self.X_others) > 0) | self.others_positive
        return is_positive

    def number_of_support(self, places):
        """How many of the support vectors are unlabelled, and positive."""
        among = np.isin(places, self.data.positive, assume_unique=True)
        return np.array([np.sum(~among), np.sum(among)], dtype=np.int32)


def centre_of(kernel, X):
    """What is taken from rows under the linear kernel; None under others and of sparse rows."""
    if not isinstance(kernel, Linear) or sp.issparse(X):
        return None
    return X.mean(axis=0, dtype=np.float64)


# -- methods -------------------------------------------------------------------------------------


def read(self, X, y, sample_weight=None):
    """``PURows``; sets the attributes that follow from rows alone."""
    if y is None:
        raise ValueError(
            f"{type(self).__name__} requires y to be passed, but the target y is None: pass "
            "a label per row that tells positive from unlabelled rows."
        )
    rows = self._read_rows(X, sample_weight)
    check_consistent_length(np.empty(self.shape_fit_[0]), y)
    positive, self.classes_ = read_labels(y, self.pos_label)
    counted = positive[rows.indices]
    if rows.kept is not None and (counted.all() or not counted.any()):
        raise ValueError(
            "sample_weight leaves one class only; give some positive rows and some "
            "unlabelled rows a weight > 0."
        )
    kernel = self._make_kernel()
    shift = centre_of(kernel, rows.X)
    centred = rows.X if shift is None else rows.X - shift
    others = np.setdiff1d(np.arange(len(positive)), rows.indices)
    return PURows(
        data=PUData(centred, counted, rows.weight, kernel, resolve_n_jobs(self.n_jobs)),
        X=rows.X,
        numbers=rows.indices,
        n=len(positive),
        shift=shift,
        others=others,
        X_others=rows.everything[others],
        others_positive=positive[others],
    )


def found_prior(self, rows):
    """The prior that a fit to ``rows`` takes: given and checked, or estimated."""
    return find_prior(rows.data, self.prior, self._seed(), self.n_jobs)


def transduction(self):
    """Labels of the training rows: the positives' own, predictions for the others."""
    return self.classes_[self._found.is_positive.astype(np.intp)]


# -- for searches --------------------------------------------------------------------------------


def prior_of(estimator, X, y, sample_weight=None):
    """What a fit of ``estimator`` would take for the prior, and the classes.

    Parameters
    ----------
    estimator : PUSVM or PUEnsemble
        Is left as it is.
    X, y, sample_weight
        As ``fit`` takes them.

    Returns
    -------
    prior : Prior
    classes : ndarray of shape (2,)
    """
    reader = clone(estimator)
    reader._validate_params()
    check_prior(reader.prior)
    rows = reader._read(X, y, sample_weight)
    return reader._find_prior(rows), reader.classes_
