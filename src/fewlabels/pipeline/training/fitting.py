"""The fit of an estimator: search for its settings, fit, probabilities, and its warnings."""

from __future__ import annotations

import contextlib
import inspect
import time
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np
from sklearn.base import BaseEstimator

from ..._typing import FloatArray, IntArray, PathLike, RowMatrix
from ..._util.deadline import Deadline
from ..._util.messages import UserError, plural, ref, template
from ..observer import Observer, capture_warnings, interruptible
from .plan import Plan
from .schedule import Schedule
from .settings import CHOSEN

if TYPE_CHECKING:
    from dask.delayed import Delayed

    from ...model_selection import TuningResult


# Rows and labels of a fit; on a cluster, parts of them that workers make.
FitRows: TypeAlias = "RowMatrix | list[Delayed]"
FitLabels: TypeAlias = "IntArray | list[Delayed] | None"


@dataclass(frozen=True)
class Run:
    """The surroundings of a fit, which don't change what is learned.

    Attributes
    ----------
    observer : Observer
        Receives the progress.
    schedule : Schedule
        The time for all.
    output : path-like or None
        The model file that will be written, for messages.
    save : callable or None
        Gets the outcome when the model has learned, and again when methods were compared.
    spread : callable
        Makes the context of the search and the fit. On a cluster, workers help in it.
    can_switch : bool
        Whether a method that is clearly better may be delivered instead.
    """

    observer: Observer
    schedule: Schedule
    output: PathLike | None = None
    save: Callable[[Any], None] | None = None
    spread: Callable[[], AbstractContextManager[object]] = contextlib.nullcontext
    can_switch: bool = True


@dataclass(frozen=True, eq=False)
class FittedModel:
    """A fitted model: the search for its settings, if any, and seconds of the fit alone.

    ``messages`` are what the user should know. A fit may have ``stopped`` early although the
    model reached its tolerance afterwards, when rows were left out of it. ``anomalies`` are what
    the model file says of confirmed anomalies, if there are any.
    """

    estimator: BaseEstimator
    tuning: TuningResult | None
    seconds: float
    messages: list[str]
    stopped: bool = False
    anomalies: dict[str, Any] | None = None


class FitData(NamedTuple):
    """Rows and labels of a fit.

    Labelled rows may have a ``propensity``, and rows of one of the ``groups`` are held out
    together.
    """

    X: FitRows
    y: FitLabels
    propensity: FloatArray | None = None
    groups: IntArray | None = None


def fit_model(
    estimator: BaseEstimator,
    data: FitData,
    run: Run,
    given: Mapping[str, Any],
    plan: Plan | None = None,
) -> FittedModel:
    """Search for settings as a ``plan`` says, fit, and calibrate probabilities.

    Without a plan nothing is searched for. After Ctrl-C in the search, what follows hurries.
    Messages need the parameters ``given`` by the user.
    """
    observer, schedule = run.observer, run.schedule
    try:
        with contextlib.ExitStack() as stack:
            if run.output is not None:
                hint = f" ({ref('max_time', some='SECONDS')} stops a fit and keeps its result.)"
                stack.enter_context(interruptible("no model was written", run.output, hint))
            messages = stack.enter_context(capture_warnings({*CHOSEN, "target_fpr"} - set(given)))
            if plan is not None and plan.is_searched:
                estimator, tuning, seconds = _tune(estimator, data, plan, run)
            else:
                tuning, seconds = None, _fit(estimator, data, observer)
    except ValueError as error:
        # The estimators' messages are sentences for users.
        raise UserError(error) from error
    except MemoryError as error:
        raise UserError(
            "There is not enough memory to fit this model; use fewer rows or a smaller "
            f"{ref('cache_size')}."
        ) from error
    if np.isneginf(getattr(estimator, "offset_", 0.0)) and not _is_default_rate(estimator, given):
        rows = plural(len(estimator.conformal_.scores), "different row")
        raise UserError(
            f"{ref('target_fpr', estimator.target_fpr)} is too small for {rows} of calibration "
            "data, because no row would be flagged; pass a larger rate, or "
            f"{ref('method', 'svdd')} {ref('target_fpr')} none for the uncalibrated threshold."
        )
    if tuning is not None and tuning.stopped == "Ctrl-C":
        messages.append("Ctrl-C ended the search; using the best settings so far, not compared")
        schedule.expire()
    stopped = getattr(estimator, "stop_reason_", "converged") not in ("converged", "inexact")
    messages += _calibrate(estimator, data, run, schedule.calibration_deadline(seconds))
    return FittedModel(estimator, tuning, seconds, messages, stopped)


def _is_default_rate(estimator: BaseEstimator, given: Mapping[str, Any]) -> bool:
    """Return whether the rate of a threshold that no row misses is a default one."""
    return "target_fpr" not in given and estimator.has_own_threshold


def _tune(
    estimator: BaseEstimator, data: FitData, plan: Plan, run: Run
) -> tuple[BaseEstimator, TuningResult, float]:
    from ...model_selection.tune import tune_within  # slow to import
    from ...model_selection.tuning.search import Search

    schedule = run.schedule
    seconds = schedule.seconds_for("settings")
    title = f"choosing settings, at most {seconds:.2g} s, and fitting"
    with run.observer.progress_bar(title) as bar:
        search = Search(
            seconds,
            bar,
            plan.options.parameters.get("random_state"),
            expected=plan.expected_seconds,
            total_seconds=schedule.seconds_for("training"),
            fits_to_come=estimator.task.fits_to_come,
            groups=data.groups,
        )
        estimator = tune_within(search, estimator, data.X, data.y, contaminated=plan.contaminated)
    return estimator, estimator.tuning_, estimator.tuning_.fit_seconds


def _fit(
    estimator: BaseEstimator,
    data: FitData,
    observer: Observer,
) -> float:
    started = time.perf_counter()
    arguments: dict[str, Any] = {}
    if "callback" in inspect.signature(estimator.fit).parameters:
        arguments["callback"] = observer.round
    if data.propensity is not None:
        arguments["propensity"] = data.propensity
    estimator.fit(data.X, data.y, **arguments)
    return time.perf_counter() - started


def _calibrate(
    estimator: BaseEstimator,
    data: FitData,
    run: Run,
    end: Deadline,
) -> list[str]:
    """Have the map to probabilities made, which needs the training rows and is kept."""
    if not hasattr(estimator, "predict_proba"):
        return []
    run.observer.report_stage("calibrating probabilities")
    try:
        with capture_warnings() as messages:
            within = hasattr(estimator, "curve_within")
            if within and (end.has_end or data.groups is not None):
                _, cut = estimator.curve_within(end.left(), data.groups)
                messages.extend(run.schedule.describe_cut(what) for what in cut)
            estimator.predict_proba(data.X[:1])
    except ValueError as error:
        return [f"the model gives no probabilities: {template(error).rstrip('.')}"]
    except KeyboardInterrupt:
        return ["the model gives no probabilities, because Ctrl-C ended the calibration"]
    return messages
