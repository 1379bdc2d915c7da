"""What came out of a fit: figures for the model file, and lines for people."""

from __future__ import annotations

from ..io.machines import MACHINES
from . import show

# Level of the interval that PUSVM gives with an estimated prior.
PRIOR_CONFIDENCE = 0.9

# Rows of training whose side is counted for the summary.
_COUNTED_ROWS = 20_000


def figures_of(machine, estimator, X, y):
    """Figures of a fitted machine, plain values only.

    Parameters
    ----------
    machine : str
        Its name.
    estimator : estimator
        Fitted to X and y.
    X : ndarray or CSR array
        Training rows.
    y : ndarray or None
        Their labels.
    """
    history = estimator.history_
    special = _OF_KIND[MACHINES[machine].learns_from](estimator, X, y)
    return {
        "support_vectors": len(estimator.support_),
        "objective": show.finite(estimator.objective_),
        "duality_gap": show.finite(estimator.duality_gap_),
        "violation": show.finite(history[-1].get("violation")) if history else None,
        "rounds": len(history),
        "iterations": int(estimator.n_iter_),
        "converged": estimator.fit_status_ == 0,
        **special,
    }


def _of_normal(estimator, X, y):
    import numpy as np

    step = -(-X.shape[0] // _COUNTED_ROWS)
    decision = estimator.decision_function(X[::step])
    return {
        "radius": show.finite(getattr(estimator, "radius_", None)),
        "rows_outside": int(np.count_nonzero(decision < 0)),
        "rows_counted": len(decision),
    }


def _of_positive(estimator, X, y):
    import numpy as np

    unlabeled = y == 0
    interval = estimator.prior_interval_
    found = np.count_nonzero(estimator.transduction_[unlabeled] == estimator.classes_[1])
    return {
        "rows_labeled": int(np.count_nonzero(~unlabeled)),
        "rows_unlabeled": int(np.count_nonzero(unlabeled)),
        "unlabeled_predicted_positive": int(found),
        "prior": show.finite(estimator.prior_),
        "prior_estimated": interval is not None,
        "prior_low": None if interval is None else show.finite(interval[0]),
        "prior_high": None if interval is None else show.finite(interval[1]),
        "prior_confidence": None if interval is None else PRIOR_CONFIDENCE,
        "lam": show.finite(estimator.lam_),
        "support_vectors_unlabeled": int(estimator.n_support_[0]),
    }


_OF_KIND = {"normal": _of_normal, "positive": _of_positive}


def summary_lines(summary):
    """Names and values for people, of a model's metadata in any format."""
    training = summary["training"]
    rows = training["rows"]
    read = f" of {training['rows_read']:,} read" if rows != training["rows_read"] else ""
    seconds = show.number(training["seconds"])
    if "seconds_in_all" in training:
        seconds += f" (with reading and writing {show.number(training['seconds_in_all'])})"
    why = training.get("choice")
    return [
        ("machine", None if why is None else f"{summary['machine']}: {why}"),
        ("rows", f"{rows:,}{read}"),
        ("columns", show.columns(summary["schema"])),
        *_LINES[MACHINES[summary["machine"]].learns_from](training),
        ("objective", show.number(training["objective"])),
        ("duality gap", show.gap(training["duality_gap"])),
        ("rounds", f"{training['rounds']:,}"),
        ("converged", None if training["converged"] else "no, stopped before its tolerance"),
        ("seconds", seconds),
    ]


def _normal_lines(training):
    counted = training["rows_counted"]
    sample = "" if counted == training["rows"] else f" of {counted:,} counted"
    return [
        ("support vectors", show.share(training["support_vectors"], training["rows"])),
        ("training rows outside", show.share(training["rows_outside"], counted) + sample),
        ("radius", show.number(training["radius"])),
    ]


def _positive_lines(training):
    unlabeled = training["rows_unlabeled"]
    found = show.share(training["unlabeled_predicted_positive"], unlabeled)
    vectors = show.share(training["support_vectors"], training["rows"])
    return [
        ("positive", f"{training['rows_labeled']:,} rows labelled '{training['positive']}'"),
        ("unlabelled", f"{unlabeled:,} rows, {show.mark(training['unlabeled'])}"),
        ("class prior", _prior(training)),
        ("lambda", show.number(training["lam"])),
        ("predicted positive", f"{found} of the unlabelled rows"),
        (
            "support vectors",
            f"{vectors}, {training['support_vectors_unlabeled']:,} of them unlabelled rows",
        ),
    ]


_LINES = {"normal": _normal_lines, "positive": _positive_lines}


def _prior(training):
    value = f"{training['prior']:.3g} of the unlabelled rows"
    if not training["prior_estimated"]:
        return f"{value}, as given"
    ends = show.interval(training["prior_low"], training["prior_high"])
    return f"{value}, estimated; {show.percent(training['prior_confidence'])} interval {ends}"
