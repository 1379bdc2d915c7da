"""Confirmed anomalies: whether a model of one class is better with rows of other values."""

from __future__ import annotations

import math
import time
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from ..._typing import RowMatrix
from ..._util.messages import UserError, plural, template
from ...tables.reading.training import select_encoder_rows
from ..tasks import Choice
from ..tasks.one_class import BAG_PARAMETERS, SINGLE_MODEL_PARAMETERS
from .encoding import EncodedRows
from .fitting import FittedModel, Run
from .plan import Plan

if TYPE_CHECKING:
    from ...model_selection.one_class.anomalies import AnomalyTrial

# Share of the time left that may be spent on anomalies.
_MAX_ANOMALY_SHARE = 0.3
# Methods whose kernel width may be another one, unless settings were given.
_REPLACEABLE_METHODS = (None, "svdd")


def encode_other_rows(plan: Plan, rows: EncodedRows) -> tuple[RowMatrix | None, list[str]]:
    """Encode rows of other classes: None where there are none, and remarks."""
    if not plan.other_rows.size:
        return None, []
    try:
        found, _ = select_encoder_rows(rows.file, rows.schema, plan.other_rows)
        return rows.encoder.transform(found), []
    except UserError as error:
        return None, [
            f"rows of other classes not used for the comparison: {template(error).rstrip('.')}"
        ]


def use_anomalies(
    plan: Plan, rows: EncodedRows, model: FittedModel, run: Run
) -> tuple[Plan, FittedModel]:
    """Fit with rows of other values as confirmed anomalies, if they help.

    Nothing is tried without such rows or without a time budget.
    """
    options = plan.options
    settings = options.parameters.keys() & {*SINGLE_MODEL_PARAMETERS, *BAG_PARAMETERS}
    is_fixed = bool(settings) or options.method not in _REPLACEABLE_METHODS
    if not run.schedule.seconds or not plan.other_rows.size:
        return plan, model
    from ...model_selection.one_class.anomalies import (
        AnomalyTrial,
        fit_with_anomalies,
        try_anomalies,
    )

    if is_fixed and not model.estimator.takes_anomalies:
        return plan, model
    known, _ = encode_other_rows(plan, rows)
    if known is None:
        return plan, model
    run.observer.report_stage("testing whether rows of other values help as confirmed anomalies")
    try:
        trial = try_anomalies(
            model.estimator,
            rows.X,
            known,
            fixed=is_fixed,
            seconds=_MAX_ANOMALY_SHARE * run.schedule.seconds_left,
            seed=options.parameters.get("random_state") or 0,
        )
        if trial.is_used:
            assert trial.estimator is not None
            since = time.perf_counter()
            estimator = fit_with_anomalies(trial.estimator, rows.X, known)
            seconds = time.perf_counter() - since
    except KeyboardInterrupt:
        trial = AnomalyTrial(why_not="Ctrl-C ended the test whether they help")
    n_known = known.shape[0]
    plan = replace(plan, notes=[*plan.notes, _describe_trial(trial, n_known)])
    model = replace(model, anomalies=_trial_facts(trial, n_known))
    if not trial.is_used:
        return plan, model
    if not isinstance(estimator, type(model.estimator)):
        why = f"{plan.choice.why}; a single model, because confirmed anomalies improve it"
        plan = replace(plan, choice=Choice("svdd", why))
    plan = replace(
        plan,
        settings_source="the best on held-out rows and confirmed anomalies",
        kept_because=plan.kept_because or "because it uses confirmed anomalies",
    )
    return plan, replace(model, estimator=estimator, tuning=None, seconds=seconds)


def _describe_trial(trial: AnomalyTrial, n_known: int) -> str:
    """Return what the user should know of a trial, in one sentence."""
    rows = f"{plural(n_known, 'row')} of other values {'is' if n_known == 1 else 'are'}"
    if trial.estimator is None:
        return f"{rows} left out: {trial.why_not}"
    gain = f"{trial.gain:+.3f}, 95 % CI {trial.low:+.3f} to {trial.high:+.3f}"
    classifier, best = "", max(trial.without, trial.auc)
    if trial.of_classifier > best:
        classifier = (
            f"; a random forest trained on the labels reaches {trial.of_classifier:.3f}, so "
            "consider a classifier if new anomalies will be of the same kinds"
        )
    if trial.is_used:
        return (
            f"{rows} used as confirmed anomalies: the held-out ROC AUC is {trial.auc:.3f}, and "
            f"{trial.without:.3f} if they are left out ({gain}); comparisons with other methods "
            f"use normal rows only{classifier}"
        )
    if trial.why_not:
        return f"{rows} left out: {trial.why_not} (gain of the model with them {gain}){classifier}"
    return (
        f"{rows} left out: as confirmed anomalies they don't clearly improve the held-out ROC AUC "
        f"({gain}){classifier}"
    )


def _trial_facts(trial: AnomalyTrial, n_known: int) -> dict[str, Any]:
    """Return what a model file keeps of a trial, plain values only."""
    numbers = {"auc": trial.auc, "without": trial.without, "low": trial.low, "high": trial.high}
    numbers["classifier"] = trial.of_classifier
    plain = {name: float(v) if math.isfinite(v) else None for name, v in numbers.items()}
    return {"known": int(n_known), "used": bool(trial.is_used), **plain}
