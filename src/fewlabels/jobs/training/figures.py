"""What came out of a fit: figures for the model file."""

import math

import numpy as np

from ...io.models.machines import MACHINES, no_signal

# Level of the interval that PUSVM gives with an estimated prior.
PRIOR_CONFIDENCE = 0.9

# Rows of training whose side is counted for the summary.
_COUNTED_ROWS = 20_000


def figures_of(machine, estimator, X, labeled, counted=None):
    """Figures of a model fitted to ``X``, plain values; ``labeled`` counts labels by class.

    ``counted`` are rows that have or are given a class, where the model holds none of them.
    """
    history = getattr(estimator, "history_", [])
    support = getattr(estimator, "support_", None)
    special = _OF_KIND[MACHINES[machine].learns_from](estimator, X, labeled, counted)
    violation = history[-1].get("violation") if history else None
    return {
        "support_vectors": None if support is None else len(support),
        "objective": finite(_total(getattr(estimator, "objective_", None), np.sum)),
        "duality_gap": finite(getattr(estimator, "duality_gap_", None)),
        "violation": finite(_total(getattr(estimator, "kkt_violation_", violation), np.max)),
        "rounds": len(history),
        "iterations": int(getattr(estimator, "n_iter_", 0)),
        "converged": getattr(estimator, "fit_status_", 0) == 0,
        **special,
    }


def _total(value, of):
    """Of the models of several classes one number."""
    return of(value) if isinstance(value, np.ndarray) else value


def silenced(training):
    """The figures of a training, without those that mean nothing where there is no signal."""
    if no_signal(training) is None:
        return training
    counted = {"unlabeled_predicted_positive", "unlabeled_predicted"} & training.keys()
    estimated = ("prior", "prior_low", "prior_high") if training.get("prior_estimated") else ()
    return {**training, **dict.fromkeys((*counted, *estimated))}


def count_labels(facts, y):
    """Training rows with a label, by class."""
    if "classes" in facts:
        return {name: int((y == k).sum()) for k, name in enumerate(facts["classes"])}
    return {facts["positive"]: int((y == 1).sum())} if "positive" in facts else {}


def count_answers(predicted, y, machine):
    """Rows with a label, and rows that have or are given one, of every class by its number.

    ``predicted`` are the classes that the model gives, as numbers.
    """
    predicted, y = np.asarray(predicted).astype(np.intp), np.asarray(y).astype(np.intp)
    labeled = y > (0 if MACHINES[machine].learns_from == "positive" else -1)
    found = np.where(labeled, y, predicted)
    n = int(max(found.max(initial=1), 1)) + 1
    return np.bincount(y[labeled], minlength=n), np.bincount(found, minlength=n)


def _transduced(estimator):
    return [int((estimator.transduction_ == name).sum()) for name in estimator.classes_]


def _of_normal(estimator, X, labeled, counted):
    step = -(-X.shape[0] // _COUNTED_ROWS)
    decision = estimator.decision_function(X[::step])
    target_fpr = estimator.target_fpr
    calibrated = {}
    if target_fpr is not None:
        calibrated = {"calibration_rows": len(estimator.calibration_scores_)}
    return {
        "target_fpr": target_fpr,
        **calibrated,
        "radius": finite(getattr(estimator, "radius_", None)),
        "rows_outside": int(np.count_nonzero(decision < 0)),
        "rows_counted": len(decision),
    }


def _of_positive(estimator, X, labeled, counted):
    (n_labeled,) = labeled.values()
    interval = estimator.prior_interval_
    # The transduction gives labelled rows their own labels.
    others, found = counted or _transduced(estimator)
    return {
        "rows_labeled": n_labeled,
        "rows_unlabeled": others + found - n_labeled,
        "unlabeled_predicted_positive": found - n_labeled,
        "prior": finite(estimator.prior_),
        "prior_estimated": interval is not None,
        "prior_low": None if interval is None else finite(interval[0]),
        "prior_high": None if interval is None else finite(interval[1]),
        "prior_confidence": None if interval is None else PRIOR_CONFIDENCE,
        "lam": finite(getattr(estimator, "lam_", None)),
        "support_vectors_unlabeled": int(getattr(estimator, "n_support_", [0])[0]),
    }


def _of_classes(estimator, X, labeled, counted):
    due = getattr(estimator, "consolidation_due_", None)
    counted = counted or _transduced(estimator)
    found = {
        name: count - n_labeled
        for count, (name, n_labeled) in zip(counted, labeled.items(), strict=True)
    }
    return {
        "rows_labeled": labeled,
        "rows_unlabeled": sum(found.values()),
        "unlabeled_predicted": found,
        "steps": getattr(estimator, "n_steps_", None),
        "flips": getattr(estimator, "n_flips_", None),
        "consolidation_due": None if due is None else bool(due),
    }


_OF_KIND = {"normal": _of_normal, "positive": _of_positive, "classes": _of_classes}


def finite(value):
    """Turn a NumPy number into a plain one; None for what JSON cannot say."""
    if value is None:
        return None
    value = float(value)
    return value if math.isfinite(value) else None
