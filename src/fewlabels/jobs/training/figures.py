"""What came out of a fit: figures and facts for the model file."""

import numpy as np
from sklearn.base import BaseEstimator

from ...io.models.contents import no_signal
from ...io.models.files import describe
from ...options.words import rendered
from ...tasks.machines import task_of
from ..tasks import finite, steps_of
from .search import odd_rows, tuning_facts, why_settings
from .testing import tests_facts
from .texts import text_facts


def described(prepared, fitted, options, observer, tests):
    """What the model file says of a machine that has learnt."""
    machine, estimator = prepared.choice.machine, fitted.estimator
    facts, X = prepared.roles.facts, prepared.X
    names = facts.get("classes")
    why = why_settings(machine, estimator, fitted.tuning, prepared.search, names)
    notes = prepared.notes + fitted.messages
    if tests is not None and (tests.silences or tests.contradiction):
        notes = [note for note in notes if not note.startswith("the class prior is ")]
    training = {
        "data": prepared.file.name,
        "machine": machine,
        "choice": prepared.choice.why,
        "settings": why,
        "rows_read": prepared.file.n_rows,
        "rows": X.shape[0],
        "features": X.shape[1],
        "rows_held": prepared.keeps_rows,
        "odd_rows": odd_rows(machine, estimator, options.clean),
        **options.recorded,
        **facts,
        **figures_of(machine, estimator, X, count_labels(facts, prepared.found.y)),
        **({"converged": False} if fitted.stopped else {}),
        "profile": [{**vars(column)} for column in prepared.found.profile],
        "texts": text_facts(
            prepared.encoder, prepared.schema, prepared.weighing, options.text_weight
        ),
        "tuning": tuning_facts(fitted.tuning),
        **tests_facts(tests, estimator, facts),
        "baselines": None,
        "delivered": None,
        "seconds": fitted.seconds,
        "notes": notes,
    }
    parameters = {
        name: str(value) if isinstance(value, BaseEstimator) else value
        for name, value in sorted(estimator.get_params().items())
        if value is None or isinstance(value, str | int | float | bool | BaseEstimator)
    }
    training = rendered(silenced(training), observer.words)
    return describe(machine, parameters, prepared.schema, training)


def figures_of(machine, estimator, X, labeled, counted=None):
    """Figures of a model fitted to ``X``, plain values; ``labeled`` counts labels by class.

    ``counted`` are rows that have or are given a class, where the model holds none of them.
    """
    history = getattr(estimator, "history_", [])
    support = getattr(estimator, "support_", None)
    special = steps_of(machine).figures(estimator, X, labeled, counted)
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
    labeled = task_of(machine).is_known(y)
    found = np.where(labeled, y, predicted)
    n = int(max(found.max(initial=1), 1)) + 1
    return np.bincount(y[labeled], minlength=n), np.bincount(found, minlength=n)
