"""Checks of the options of a fit before anything is read."""

from __future__ import annotations

import dataclasses
from numbers import Real
from typing import Any

from ..._util.messages import UserError, ref
from ..._util.option import refuse_unknown
from ...tables.answers.file import read_answers
from ...tasks import TASKS, list_methods_for, task_of
from .fit import FitOptions


def parse_options(given: dict[str, Any]) -> FitOptions:
    """Return the options that were given by name, as far as they don't contradict each other.

    This is checked before anything is read.
    """
    refuse_unknown(FitOptions, given)
    options = _with_candidates(_with_label_file(FitOptions(**given)))
    _check_method(options)
    if options.prior_convention is not None and not isinstance(options.prior, Real):
        raise UserError(
            f"{ref('prior_convention')} says what {ref('prior', some='SHARE')} is a share of; "
            f"pass {ref('prior', some='SHARE')} as well, or omit the option."
        )
    if options.propensity is not None and options.selection_depends_on:
        raise UserError(
            f"{ref('propensity')} and {ref('selection_depends_on')} are two sources of the same "
            "numbers; pass one of them."
        )
    if options.propensity is not None and options.propensity == options.target:
        raise UserError(f"{ref('propensity')} and {ref('target')} name the same column.")
    return options


def check_streamable(options: FitOptions) -> None:
    """Refuse options that need the rows in memory."""
    needs = {
        ref(options.weighing or "propensity"): options.weighing is not None,
        ref("prior_convention", "pooled"): options.prior_convention == "pooled",
        ref("rows", True): bool(options.rows),
        ref("groups"): options.groups is not None,
    }
    for name, is_given in needs.items():
        if is_given:
            raise UserError(
                f"{name} needs rows in memory, but this table is read in pieces; pass fewer rows, "
                f"or a larger {ref('memory', some='SIZE')}, or omit the option."
            )


def _with_label_file(options: FitOptions) -> FitOptions:
    """Return the same, with the target of a file of labels, if there is one."""
    if options.labels is None:
        return options
    labels = read_answers(options.labels)
    target = labels.about["target"]
    if options.target not in (None, target):
        raise UserError(
            f"{options.labels} holds labels of the column '{target}', not of '{options.target}'; "
            f"omit {ref('target')}."
        )
    return dataclasses.replace(options, target=target, labels=labels)  # all steps take these


def _with_candidates(options: FitOptions) -> FitOptions:
    """Return the same with estimators for candidates, which need a comparison."""
    if not options.candidates:
        return options
    if options.baselines is False:
        raise UserError(
            f"{ref('candidates')} enters a comparison, and {ref('baselines', False)} skips it; "
            "omit one of the options."
        )
    from ...baselines.candidates import read_candidates  # slow to import

    candidates = read_candidates(options.candidates)
    return dataclasses.replace(options, candidates=candidates, baselines=True)


def _check_method(options: FitOptions) -> None:
    """Refuse a method, a target and classes that contradict each other."""
    method, normal = options.method, options.normal
    for name in ("normal", "positive", "unlabeled"):
        value = getattr(options, name)
        if value is None:
            continue
        if options.target is None:
            raise UserError(
                f"{ref(name, text=value)} is a value of the target column; pass that column as "
                f"{ref('target')}."
            )
        if method is not None and name not in task_of(method).options:
            takers = [task for task in TASKS if name in task.options]
            machines = tuple(list_methods_for(*takers))
            raise UserError(
                f"{ref(name)} needs {ref('method', machines)}, but the model is {method}; omit "
                "one of the options."
            )
    if normal is not None and options.positive is not None:
        raise UserError(
            f"{ref('normal')} is for one-class models and {ref('positive')} for positive and "
            "unlabelled rows; pass one of them."
        )
    if normal is not None and options.unlabeled is not None:
        raise UserError(
            f"{ref('normal')} trains on one class only, without unlabelled rows; omit "
            f"{ref('unlabeled')}."
        )
    if method is None or options.target is not None:
        return
    task = task_of(method)
    if task.takes_labels:
        raise UserError(
            f"{ref('method', method)} needs {task.rows}; pass the column that distinguishes "
            f"them as {ref('target')}."
        )
