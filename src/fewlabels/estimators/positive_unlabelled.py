"""What the machines of positive and unlabelled rows share; each takes the methods as its own."""

from __future__ import annotations

import numpy as np
from sklearn.utils.validation import check_consistent_length

from .._threads import resolve_n_jobs
from ..class_prior.finding import check_prior, find_prior
from ..labels.positive_unlabelled import read_labels
from ..training.grams import shift_of
from ..training.positive_unlabelled.data import PUData, PURows

# -- methods -------------------------------------------------------------------------------------


def read(self, X, y, sample_weight=None, *, gathered=False):
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
    shift = shift_of(kernel, rows.X)
    centred = rows.X if shift is None else rows.X - shift
    others = np.setdiff1d(np.arange(len(positive)), rows.indices)
    return PURows(
        data=PUData(
            centred, counted, rows.weight, kernel, resolve_n_jobs(self.n_jobs), gathered=gathered
        ),
        X=rows.X,
        numbers=rows.indices,
        n=len(positive),
        shift=shift,
        others=others,
        X_others=rows.everything[others],
        others_positive=positive[others],
        held={"X": rows.everything, "weight": rows.spread(rows.weights), "positive": positive},
    )


def copy_reading(machine, other):
    """Let another machine have what ``read`` has set."""
    for name in ("classes_", "shape_fit_", "gamma_", "n_features_in_", "feature_names_in_"):
        if hasattr(machine, name):
            setattr(other, name, getattr(machine, name))


def found_prior(self, rows):
    """The prior that a fit to ``rows`` takes: given and checked, or estimated."""
    return find_prior(rows.data, self.prior, self._seed(), self.n_jobs)


def transduction(self):
    """Labels of the training rows: the positives' own, predictions for the others."""
    return self.classes_[self._found.is_positive.astype(np.intp)]


# -- for searches --------------------------------------------------------------------------------


def prior_of(machine, X, y, sample_weight=None):
    """The Prior that ``fit`` of a new machine would take, and the classes."""
    machine._validate_params()
    check_prior(machine.prior)
    rows = machine._read(X, y, sample_weight)
    return machine._find_prior(rows), machine.classes_
