"""The plan of a fit, made once from the labels, the options and the time."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..._typing import IntArray
from ..._util.messages import UserError, ref
from ...base.task import Task
from ...tables.columns.target import RowSelection
from ...tables.reading.training import TrainingFile
from ...tasks import METHODS, estimator_class, list_methods_with, task_of
from ..options.fit import FitOptions
from ..tasks import Choice
from ..tasks.one_class import BAG_PARAMETERS
from ..tasks.steps import steps_of
from .method import choose_method
from .propensities import check_takes_propensities
from .schedule import Schedule
from .settings import CHOSEN, collect_parameters

# Why an ensemble has no trees.
_FASTER = "Gaussian kernels only, because trees would take too much of the time budget"
# Parameters that say how much effort is made, or what holds for every method.
_SHARED_PARAMETERS = {
    "n_jobs",
    "random_state",
    "prior",
    "target_fpr",
    "tol",
    "max_iter",
    "max_time",
    "cache_size",
}


@dataclass(frozen=True, eq=False)
class Plan:
    """The steps of a fit, decided before anything is learned.

    Attributes
    ----------
    options : FitOptions
        What the user asked for.
    task : Task
        What kind of labels is learned from.
    choice : Choice
        The method, and why it is this one.
    settings : dict
        Parameters of its estimator; a search may change those that aren't given.
    selection : RowSelection
        Which rows of the table are learned from, and as what.
    other_rows : ndarray of int
        Positions of rows of classes that a model of one class doesn't learn from.
    is_searched : bool
        Whether settings are searched for.
    settings_source : str
        Where the settings are from, if they aren't searched for.
    contaminated : bool
        Whether rows of one class may hold others.
    keeps_rows : bool
        Whether the model will hold its training rows.
    kept_because : str
        Why the method is delivered in any case; empty if a better one may take its place.
    notes : list of str
        What the user should know.
    alternatives : tuple of Plan
        Plans that take this one's place if it would take too long, or if too few rows differ; the
        first that suits.
    expected_seconds : float
        How long a fit takes, as far as that is known.
    """

    options: FitOptions
    task: Task
    choice: Choice
    settings: dict[str, Any]
    selection: RowSelection
    other_rows: IntArray
    is_searched: bool
    settings_source: str
    contaminated: bool
    keeps_rows: bool
    kept_because: str
    notes: list[str]
    alternatives: tuple[Plan, ...] = ()
    expected_seconds: float = 0.0

    @property
    def method(self) -> str:
        """Return the name of the method."""
        return self.choice.method

    @property
    def can_rank(self) -> bool:
        """Return whether labels can show which method is better."""
        return self.selection.y is not None or self.other_rows.size > 0


def make_plan(
    table: TrainingFile, options: FitOptions, schedule: Schedule, *, can_switch: bool = True
) -> Plan:
    """Plan the fit of a table.

    ``can_switch``: whether another method that is clearly better can be delivered. The schedule
    learns whether methods will be compared.
    """
    seconds = schedule.seconds
    choice = choose_method(table.labels, options, n_rows=table.n_rows, seconds=seconds)
    task = task_of(choice.method)
    if options.candidates:
        from ...baselines.candidates import check_candidates  # slow to import

        check_candidates(options.candidates, task)
    steps = steps_of(task)
    plan = _plan_method(choice, options, steps.roles(table, choice.method, options), table)
    if not (plan.kept_because or can_switch):
        kept_because = "because it was trained on all rows of the file"
        plan = replace(plan, kept_because=kept_because)
    if options.method is None:
        plan = replace(plan, alternatives=tuple(_plan_alternatives(plan, table)))
    schedule.can_rank = not plan.kept_because and plan.can_rank
    return plan


def _plan_method(
    choice: Choice, options: FitOptions, selection: RowSelection, table: TrainingFile
) -> Plan:
    """Plan the fit of a method."""
    settings, notes = collect_parameters(choice, options.parameters)
    source, contaminated, implied = _plan_search(choice.method, options)
    if options.weighing:
        check_takes_propensities(options, choice)
        settings = {"sampling": "one-sample", **settings}
        source = f"defaults, because of {ref(options.weighing)}"
    task = task_of(choice.method)
    return Plan(
        options,
        task,
        choice,
        settings=steps_of(task).adapt_settings(settings | implied, selection, options),
        selection=selection,
        other_rows=_find_other_rows(table, selection),
        is_searched=not source,
        settings_source=source,
        contaminated=contaminated,
        keeps_rows=_keeps_rows(choice.method, options.rows),
        kept_because=_explain_keeping(options),
        notes=notes,
    )


def _plan_alternatives(plan: Plan, table: TrainingFile) -> Iterator[Plan]:
    """Plan what takes a plan's place where it takes too long, or where too few rows differ."""
    options, given = plan.options, plan.options.parameters.keys()
    if plan.method == "pu-ensemble" and "n_bags" not in given:
        if "kernel" not in plan.settings:  # Gaussian kernels alone are several times as fast
            choice = plan.choice._replace(why=f"{plan.choice.why}; {_FASTER}")
            yield replace(plan, choice=choice, settings={**plan.settings, "kernel": "rbf"})
        if all("pusvm" in list_methods_with(name) for name in given):
            quick = choose_method(table.labels, options, n_rows=table.n_rows, seconds=None)
            yield _plan_method(quick, options, plan.selection, table)
    elif plan.method == "svdd-ensemble" and not given & {"target_fpr", *BAG_PARAMETERS}:
        known = options if plan.is_searched else replace(options, clean=None)
        single = _plan_method(Choice("svdd", plan.choice.why), known, plan.selection, table)
        yield replace(single, options=options)


def _plan_search(method: str, options: FitOptions) -> tuple[str, bool, dict[str, Any]]:
    """Decide whether settings are searched for; those given end the search.

    Returns where settings are from (empty: a search finds them), whether rows of one class may
    hold others, and settings that follow from that.
    """
    given, clean = options.parameters, options.clean
    if clean and "clean" not in task_of(method).options:
        raise UserError(
            f"{ref('clean', True)} is for one-class models, but the model is {method}; omit the "
            "option."
        )
    if METHODS[method].is_baseline:
        if clean:
            raise UserError(
                f"{ref('clean', True)} affects the choice of settings, and {method} has none; "
                "omit one of the options."
            )
        return "defaults", True, {}
    fixed = [ref(name) for name in CHOSEN if name in given]
    if fixed:
        source = f"set with {' and '.join(fixed)}, otherwise defaults"
    elif not options.time_budget:
        source = f"defaults ({ref('time_budget', 0)})"
    else:
        return "", not clean, {}
    if clean and method in list_methods_with("trim") and "trim" not in given:
        return source, False, {"trim": 0.0}
    if clean:
        raise UserError(
            f"{ref('clean', True)} affects the choice of settings, but they are {source}; omit "
            "one of the options."
        )
    return source, True, {}


def _keeps_rows(method: str, asked: bool | None) -> bool:
    """Return whether the model will hold its training rows."""
    if asked and not hasattr(estimator_class(method), "partial_fit"):
        raise UserError(
            f"{ref('rows', True)} stores rows for 'fewlabels update', which can't update "
            f"{method} models; omit the option."
        )
    return METHODS[method].keeps_rows if asked is None else asked


def _explain_keeping(options: FitOptions) -> str:
    """Return why the user's method is kept; empty where a better one may take its place."""
    if options.method is not None:
        return f"because of {ref('method')}"
    fixed = [name for name in options.parameters if name not in _SHARED_PARAMETERS]
    if options.parameters.get("target_fpr") == "none":
        fixed.append("target_fpr")
    if fixed:
        return f"because of {' and '.join(ref(name) for name in fixed)}"
    if options.weighing:
        return f"because of {ref(options.weighing)}"
    return f"because of {ref('rows', True)}" if options.rows else ""


def _find_other_rows(table: TrainingFile, selection: RowSelection) -> IntArray:
    """Find rows of classes that a model of one class doesn't learn from."""
    if selection.y is not None or table.labels is None:
        return np.empty(0, np.intp)
    return np.flatnonzero(~selection.keep & (table.labels.index >= 0))
