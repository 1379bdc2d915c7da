"""Running a model: search for its settings, fit, probabilities; and what it warned of."""

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
from .budget import Budget, describe_cut
from .choice import CHOSEN, SearchPlan

if TYPE_CHECKING:
    from dask.delayed import Delayed

    from ...model_selection import TuningResult


# Rows and labels of a fit; on a cluster, parts of them that workers make.
FitRows: TypeAlias = "RowMatrix | list[Delayed]"
FitLabels: TypeAlias = "IntArray | list[Delayed] | None"


@dataclass(frozen=True)
class Run:
    """The surroundings of a training, which don't change what it learns.

    ``reported``: whether a report will follow, for which methods are compared. ``model`` is the
    file that will be written, if any, for messages. ``save`` gets the training when the model has
    learned, and again when methods were compared. ``spread`` makes the context of search and fit,
    in which others may help. ``started`` is when the time budget began, by ``time.perf_counter``;
    None means now. ``switch``: whether a method that is clearly better may be delivered instead.
    """

    observer: Observer
    reported: bool = False
    model: PathLike | None = None
    save: Callable[[Any], None] | None = None
    spread: Callable[[], AbstractContextManager[object]] = contextlib.nullcontext
    started: float | None = None
    switch: bool = True


class FitResult(NamedTuple):
    """A fitted model: the search for its settings, if any, and seconds of the fit alone.

    ``messages`` are what the user should know. A fit may have ``stopped`` early although the
    model reached its tolerance afterwards, when rows were left out of it.
    """

    estimator: BaseEstimator
    tuning: TuningResult | None
    seconds: float
    messages: list[str]
    stopped: bool = False


class FitData(NamedTuple):
    """Rows and labels of a fit.

    Labelled rows may have a ``propensity``, and rows of one of the ``groups`` are held out
    together.
    """

    X: FitRows
    y: FitLabels
    propensity: FloatArray | None = None
    groups: IntArray | None = None


def fit_estimator(
    estimator: BaseEstimator,
    data: FitData,
    run: Run,
    *,
    given: Mapping[str, Any],
    search: SearchPlan,
    budget: Budget | None = None,
) -> FitResult:
    """Search for settings, fit, and calibrate probabilities.

    The ``budget`` limits the calibration; after Ctrl-C in the search, what follows hurries.
    Messages need the parameters ``given`` by the user.
    """
    observer, seed = run.observer, given.get("random_state")
    try:
        with contextlib.ExitStack() as stack:
            if run.model is not None:
                hint = f" ({ref('max_time', some='SECONDS')} stops a fit and keeps its result.)"
                stack.enter_context(interruptible("no model was written", run.model, hint))
            messages = stack.enter_context(capture_warnings({*CHOSEN, "target_fpr"} - set(given)))
            if search.seconds:
                estimator, tuning, seconds = _tune(estimator, data, search, seed, observer)
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
        if budget is not None:
            budget.expire()
    stopped = getattr(estimator, "stop_reason_", "converged") not in ("converged", "inexact")
    end = budget.calibration(seconds) if budget else Deadline()
    messages += _calibrate(estimator, data, observer, end, budget)
    return FitResult(estimator, tuning, seconds, messages, stopped)


def _is_default_rate(estimator: BaseEstimator, given: Mapping[str, Any]) -> bool:
    """Return whether the rate of a threshold that no row misses is a default one."""
    return "target_fpr" not in given and estimator.has_own_threshold


def _tune(
    estimator: BaseEstimator,
    data: FitData,
    search: SearchPlan,
    seed: int | None,
    observer: Observer,
) -> tuple[BaseEstimator, TuningResult, float]:
    from ...model_selection.tune import tune_within  # slow to import
    from ...model_selection.tuning.search import Search

    title = f"choosing settings, at most {search.seconds:.2g} s, and fitting"
    with observer.progress_bar(title) as bar:
        within = Search(
            search.seconds,
            bar,
            seed,
            expected=search.expected,
            total_seconds=search.total_seconds,
            fits_to_come=estimator.task.fits_to_come,
            groups=data.groups,
        )
        estimator = tune_within(
            within, estimator, data.X, data.y, contaminated=search.contaminated
        )
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
    observer: Observer,
    end: Deadline,
    budget: Budget | None,
) -> list[str]:
    """Have the map to probabilities made, which needs the training rows and is kept."""
    if not hasattr(estimator, "predict_proba"):
        return []
    observer.report_stage("calibrating probabilities")
    try:
        with capture_warnings() as messages:
            within = hasattr(estimator, "curve_within")
            if within and (end.has_end or data.groups is not None):
                _, cut = estimator.curve_within(end.left(), data.groups)
                seconds = 0.0 if budget is None else budget.seconds
                messages.extend(describe_cut(what, seconds) for what in cut)
            estimator.predict_proba(data.X[:1])
    except ValueError as error:
        return [f"the model gives no probabilities: {template(error).rstrip('.')}"]
    except KeyboardInterrupt:
        return ["the model gives no probabilities, because Ctrl-C ended the calibration"]
    return messages
