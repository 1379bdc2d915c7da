"""What came out of a fit: figures and facts for the model file."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import BaseEstimator

from ..._typing import FloatArray, IntArray, RowMatrix
from ..._util.messages import ref, render_all
from ...class_prior.uncertainty import is_determined
from ...tables.models.cautions import no_signal_headline
from ...tables.models.files import describe_model
from ...tasks import task_of
from ..observer import Observer
from ..tasks import finite, scored_candidates
from ..tasks.one_class import describe_trimming
from ..tasks.steps import steps_of
from .encoding import EncodedRows, text_facts
from .evidence import Evidence, tests_facts, unlike_facts
from .fitting import FittedModel
from .plan import Plan
from .settings import CHOSEN

if TYPE_CHECKING:
    from ...model_selection import TuningResult
    from ...report.evidence.class_shares import ClassShares


def describe_training(
    plan: Plan, rows: EncodedRows, model: FittedModel, evidence: Evidence, observer: Observer
) -> dict[str, Any]:
    """Return what the model file says of a fitted model."""
    estimator, tests, options = model.estimator, evidence.tests, plan.options
    facts, found = plan.selection.facts, rows.found
    names = facts.get("classes")
    notes = [*plan.notes, *model.messages, *evidence.notes]
    if tests is not None and (tests.has_no_signal or tests.contradiction):
        notes = [note for note in notes if not note.startswith("the class prior is ")]
    training = {
        "data": rows.file.name,
        "method": plan.method,
        "choice": plan.choice.why,
        "settings": explain_settings(estimator, model.tuning, plan.settings_source, names),
        "rows_read": rows.file.n_rows,
        "rows": rows.n_rows,
        "features": rows.X.shape[1],
        "rows_held": plan.keeps_rows,
        "odd_rows": describe_anomalies(estimator, options.clean),
        **options.recorded,
        **facts,
        **collect_figures(estimator, rows.X, count_labels(facts, found.y)),
        **({"converged": False} if model.stopped else {}),
        "profile": [{**vars(column)} for column in found.profile],
        "texts": text_facts(rows.encoder, rows.schema, rows.weighing, options.text_weight),
        "tuning": tuning_facts(model.tuning),
        **tests_facts(tests, estimator, facts),
        "labelled_rows": unlike_facts(tests, facts),
        "class_shares": shares_facts(tests and tests.shares, names),
        "baselines": None,
        "delivered": None,
        "seconds": model.seconds,
        "notes": notes,
        **({} if model.anomalies is None else {"anomalies": model.anomalies}),
    }
    parameters = {
        name: str(value) if isinstance(value, BaseEstimator) else value
        for name, value in sorted(estimator.get_params().items())
        if value is None or isinstance(value, str | int | float | bool | BaseEstimator)
    }
    training = render_all(drop_meaningless_figures(training), observer.words)
    return describe_model(plan.method, parameters, rows.schema, training)


def collect_figures(
    estimator: BaseEstimator,
    X: RowMatrix,
    labeled: dict[str, int],
    counted: Sequence[int] | None = None,
) -> dict[str, Any]:
    """Return figures of a model fitted to ``X``, plain values; ``labeled`` counts labels by class.

    ``counted`` are rows that have or are given a class, where the model holds none of them.
    """
    history = getattr(estimator, "history_", [])
    support = getattr(estimator, "support_", None)
    special = steps_of(estimator.task).figures(estimator, X, labeled, counted)
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


def _total(value: float | FloatArray | None, of: Callable[[FloatArray], float]) -> float | None:
    """Reduce the values of several classes to one number."""
    return of(value) if isinstance(value, np.ndarray) else value


def drop_meaningless_figures(training: dict[str, Any]) -> dict[str, Any]:
    """Drop the figures of a training that mean nothing where there is no signal."""
    if no_signal_headline(training) is None:
        return training
    counted = {"unlabeled_predicted_positive", "unlabeled_predicted"} & training.keys()
    of_prior = ("prior", "prior_used", "prior_low", "prior_high")
    estimated = of_prior if training.get("prior_estimated") else ()
    return {**training, **dict.fromkeys((*counted, *estimated, "class_shares"))}


def shares_facts(shares: ClassShares | None, names: Sequence[str] | None) -> dict[str, Any] | None:
    """Return what a model keeps of ``ClassShares``, plain values only; None for none.

    A share that the data don't determine is None, and its interval has its ends.
    """
    if shares is None or names is None:
        return None
    classes = {}
    for name, (share, low, high) in zip(names, shares.ends.tolist(), strict=True):
        known = share if is_determined((low, high)) else None
        classes[name] = {"share": known, "low": low, "high": high}
    return {
        "at_random": float(shares.at_random),
        "weighted": bool(shares.contradicts_labels),
        "classes": classes,
    }


def count_labels(facts: dict[str, Any], y: IntArray | None) -> dict[str, int]:
    """Training rows with a label, by class."""
    if y is None:
        return {}
    if "classes" in facts:
        return {name: int((y == k).sum()) for k, name in enumerate(facts["classes"])}
    return {facts["positive"]: int((y == 1).sum())} if "positive" in facts else {}


def count_answers(predicted: IntArray, y: IntArray, method: str) -> tuple[IntArray, IntArray]:
    """Count rows with a label, and rows that have or are given one, by class number.

    ``predicted`` are the classes that the model gives, as numbers.
    """
    predicted, y = np.asarray(predicted).astype(np.intp), np.asarray(y).astype(np.intp)
    labeled = task_of(method).is_known(y)
    found = np.where(labeled, y, predicted)
    n = int(max(found.max(initial=1), 1)) + 1
    return np.bincount(y[labeled], minlength=n), np.bincount(found, minlength=n)


def describe_anomalies(estimator: BaseEstimator, clean: bool | None) -> str | None:
    """Return what becomes of anomalies among rows of one class, or None."""
    if "clean" not in estimator.task.options:
        return None
    of_bags = hasattr(estimator, "trim")
    trim = estimator.trim if of_bags else 0.0
    if hasattr(estimator, "tuning_"):
        trim = trim or estimator.tuning_.trim
    if not trim:
        known = f"none ({ref('clean', True)}); " if clean else ""
        return f"{known}all rows are used for training"
    if of_bags:
        left_out = describe_trimming(trim)
    else:
        left_out = f"the most distant {100 * trim:g} % are dropped from training"
    advice = "" if clean is False else f"; pass {ref('clean', True)} if all rows are normal"
    return f"possible: {left_out}{advice}"


def tuning_facts(tuning: TuningResult | None) -> dict[str, Any] | None:
    """Return what a model keeps of the search, plain values only."""
    if tuning is None:
        return None
    return {
        "chosen": {name: _plain(value) for name, value in tuning.chosen.items()},
        "reason": tuning.reason,
        "candidates": len(tuning.candidates),
        "scored": len(scored_candidates(tuning)),
        "fits": tuning.fits,
        "seconds": tuning.seconds,
        "fit_seconds": tuning.fit_seconds,
        "stopped": tuning.stopped,
        "unlabeled_rows": tuning.unlabeled_rows and tuning.unlabeled_rows._asdict(),
    }


def explain_settings(
    estimator: BaseEstimator,
    tuning: TuningResult | None,
    source: str,
    names: Sequence[str] | None = None,
) -> str:
    """Return one line: the settings and where they are from; ``names`` of classes.

    ``source`` says where they are from without a search.
    """
    parameters = estimator.get_params()
    # What "scale", "distance" and "auto" came to.
    parameters |= {
        name: getattr(estimator, f"{name}_", None) or parameters.get(name)
        for name in ("gamma", "lam")
    }
    parameters["kernel"] = getattr(estimator, "kernel_", parameters.get("kernel"))
    if parameters.get("kernel") == "linear":
        parameters.pop("gamma")
    if hasattr(estimator, "cost_name"):
        # Of two parameters that set the same cost, the one in use.
        unused = {"C", "nu"} - {estimator.cost_name}
        parameters = {name: value for name, value in parameters.items() if name not in unused}
    shown = [
        f"{name} {_number(parameters[name])}"
        for name in CHOSEN
        if parameters.get(name) is not None and (name, parameters[name]) != ("kernel", "rbf")
    ]
    if tuning is not None:
        source = steps_of(estimator.task).explain_tuning(tuning)
    if parameters.get("C_star") == 0 and "C_star" in parameters:
        shown = [one for one in shown if not one.startswith("C_star ")]
        shown.append("trained on the labelled rows only (C_star 0)")
    words = ": ".join(filter(None, [", ".join(shown), source]))
    return words + _class_ratio_words(estimator, names) + _unlabeled_words(tuning)


def _class_ratio_words(estimator: BaseEstimator, names: Sequence[str] | None) -> str:
    """Return the class ratio that a model of classes was given or has estimated."""
    shares = getattr(estimator, "class_ratio_", None)
    if shares is None:
        return ""
    each = ", ".join(
        f"{100 * share:.0f} % {name}"
        for name, share in zip(names or estimator.classes_, shares, strict=True)
    )
    # An estimate has no interval here: the report has one, which allows for random labels.
    is_given = estimator.class_ratio_interval_ is None
    how = "as given" if is_given else "as estimated for the threshold"
    return f"; class ratio of unlabelled rows {how}: {each}"


def _unlabeled_words(tuning: TuningResult | None) -> str:
    """Return what unlabelled rows change, if that was compared."""
    change = tuning and tuning.unlabeled_rows
    if not change:
        return ""
    clear = change.low > 0.0 or change.high < 0.0
    used = "used" if change.used else "left out"
    why = "" if clear else ", as it isn't clear whether they help"
    return (
        f"; unlabelled rows are {used}{why}: with them, held-out accuracy changes by "
        f"{change.gain:+.3f} (95 % CI {change.low:+.3f} to {change.high:+.3f})"
    )


def _number(value: object) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def _plain(value: str | float | BaseEstimator) -> str | float:
    if isinstance(value, BaseEstimator):  # a kernel with settings of its own
        return str(value)
    return value if isinstance(value, str | int | float | bool) else float(value)
