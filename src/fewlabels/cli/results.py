"""What came out of a fit: figures for the model file, and lines for people."""

from __future__ import annotations

from ..io.models.machines import MACHINES
from . import show

# Level of the interval that PUSVM gives with an estimated prior.
PRIOR_CONFIDENCE = 0.9

# Rows of training whose side is counted for the summary.
_COUNTED_ROWS = 20_000


def figures_of(machine, estimator, X, labeled):
    """Figures of a fitted machine, plain values only.

    Parameters
    ----------
    machine : str
        Its name.
    estimator : estimator
        Fitted.
    X : ndarray or CSR array
        Training rows.
    labeled : dict
        How many of them have a label, by class.
    """
    history = estimator.history_
    special = _OF_KIND[MACHINES[machine].learns_from](estimator, X, labeled)
    violation = history[-1].get("violation") if history else None
    return {
        "support_vectors": len(estimator.support_),
        "objective": show.finite(getattr(estimator, "objective_", None)),
        "duality_gap": show.finite(getattr(estimator, "duality_gap_", None)),
        "violation": show.finite(getattr(estimator, "kkt_violation_", violation)),
        "rounds": len(history),
        "iterations": int(estimator.n_iter_),
        "converged": estimator.fit_status_ == 0,
        **special,
    }


def count_labels(facts, y):
    """Training rows with a label, by class.

    Parameters
    ----------
    facts : dict
        What the model keeps of the roles of its rows.
    y : ndarray or None
        Their labels.
    """
    if "classes" in facts:
        return {name: int((y == k).sum()) for k, name in enumerate(facts["classes"])}
    return {facts["positive"]: int((y == 1).sum())} if "positive" in facts else {}


def _of_normal(estimator, X, labeled):
    import numpy as np

    step = -(-X.shape[0] // _COUNTED_ROWS)
    decision = estimator.decision_function(X[::step])
    target_fpr = estimator.target_fpr
    calibrated = {}
    if target_fpr is not None:
        calibrated = {"calibration_rows": len(estimator.calibration_scores_)}
    return {
        "target_fpr": target_fpr,
        **calibrated,
        "radius": show.finite(getattr(estimator, "radius_", None)),
        "rows_outside": int(np.count_nonzero(decision < 0)),
        "rows_counted": len(decision),
    }


def _of_positive(estimator, X, labeled):
    (n_labeled,) = labeled.values()
    interval = estimator.prior_interval_
    # The transduction gives labelled rows their own labels.
    found = int((estimator.transduction_ == estimator.classes_[1]).sum()) - n_labeled
    return {
        "rows_labeled": n_labeled,
        "rows_unlabeled": len(estimator.transduction_) - n_labeled,
        "unlabeled_predicted_positive": found,
        "prior": show.finite(estimator.prior_),
        "prior_estimated": interval is not None,
        "prior_low": None if interval is None else show.finite(interval[0]),
        "prior_high": None if interval is None else show.finite(interval[1]),
        "prior_confidence": None if interval is None else PRIOR_CONFIDENCE,
        "lam": show.finite(getattr(estimator, "lam_", None)),
        "support_vectors_unlabeled": int(estimator.n_support_[0]),
    }


def _of_classes(estimator, X, labeled):
    found = {
        name: int((estimator.transduction_ == k).sum()) - n_labeled
        for k, (name, n_labeled) in enumerate(labeled.items())
    }
    return {
        "rows_labeled": labeled,
        "rows_unlabeled": sum(found.values()),
        "unlabeled_predicted": found,
        "steps": getattr(estimator, "n_steps_", None),
        "flips": getattr(estimator, "n_flips_", None),
        "consolidation_due": getattr(estimator, "consolidation_due_", None),
    }


_OF_KIND = {"normal": _of_normal, "positive": _of_positive, "classes": _of_classes}


def summary_lines(summary):
    """Names and values for people, of a model's metadata in any format."""
    training = summary["training"]
    rows = training["rows"]
    read = f" of {training['rows_read']:,} read" if rows != training["rows_read"] else ""
    tuning = training.get("tuning")
    seconds = show.number(training["seconds"])
    if tuning:
        seconds += f", choosing settings {show.number(tuning['seconds'] - training['seconds'])}"
    if "seconds_in_all" in training:
        seconds += f", all in all {show.number(training['seconds_in_all'])}"
    why = training.get("choice")
    return [
        ("machine", None if why is None else f"{summary['machine']}: {why}"),
        ("settings", training.get("settings")),
        ("rows", f"{rows:,}{read}"),
        ("columns", show.columns(summary["schema"])),
        *_LINES[MACHINES[summary["machine"]].learns_from](training),
        ("objective", show.number(training["objective"])),
        ("duality gap", show.gap(training["duality_gap"])),
        ("rounds", f"{training['rounds']:,}"),
        ("converged", None if training["converged"] else "no, stopped before its tolerance"),
        ("beside others", (training.get("baselines") or {}).get("verdict")),
        ("seconds", seconds),
        ("rows held", _held(training)),
        ("updates", _updates(training.get("updates"))),
    ]


def _normal_lines(training):
    counted = training["rows_counted"]
    sample = "" if counted == training["rows"] else f" of {counted:,} counted"
    return [
        ("support vectors", show.share(training["support_vectors"], training["rows"])),
        ("threshold", _threshold(training)),
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


def _class_lines(training):
    labeled, found = training["rows_labeled"], training["unlabeled_predicted"]
    unlabeled = training["rows_unlabeled"]
    shares = ", ".join(f"'{name}' {show.share(n, unlabeled)}" for name, n in found.items())
    return [
        ("labelled", f"{sum(labeled.values()):,} rows: {show.counted(labeled)}"),
        ("unlabelled", f"{unlabeled:,} rows, {show.mark(training['unlabeled'])}"),
        ("predicted", f"{shares} of the unlabelled rows" if unlabeled else None),
        ("support vectors", show.share(training["support_vectors"], training["rows"])),
        ("violation", show.number(training["violation"])),
    ]


_LINES = {"normal": _normal_lines, "positive": _positive_lines, "classes": _class_lines}


def _threshold(training):
    rate = training.get("target_fpr")
    if rate is None:
        return None
    return (
        f"{show.percent(rate)} of new normal rows fall outside, by "
        f"{training['calibration_rows']:,} "
        "rows scored as if new"
    )


def _held(training):
    if not training.get("rows_held"):
        return None
    return f"{training['rows']:,}, so that 'fewlabels update' can add to them"


def _updates(updates):
    if not updates:
        return None
    return f"{updates['rows']:,} rows in {updates['count']:,}, the last one at {updates['last']}"


def _prior(training):
    value = f"{training['prior']:.3g} of the unlabelled rows"
    if not training["prior_estimated"]:
        return f"{value}, as given"
    ends = show.interval(training["prior_low"], training["prior_high"])
    return f"{value}, estimated; {show.percent(training['prior_confidence'])} interval {ends}"
