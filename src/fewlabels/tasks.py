"""The methods of all tasks, by their names on the command line."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from inspect import signature
from typing import TYPE_CHECKING, Any

from .base.task import Method, Task
from .one_class.task import ONE_CLASS
from .positive_unlabelled.task import POSITIVE_UNLABELLED
from .semi_supervised.task import SEMI_SUPERVISED

if TYPE_CHECKING:
    from sklearn.base import BaseEstimator

TASKS = (ONE_CLASS, POSITIVE_UNLABELLED, SEMI_SUPERVISED)


def _methods(are_baselines: bool) -> dict[str, Method]:
    return {
        name: method
        for task in TASKS
        for name, method in task.methods.items()
        if method.is_baseline == are_baselines
    }


# Ours first.
METHODS: dict[str, Method] = _methods(False) | _methods(True)
_TASK_OF = {name: task for task in TASKS for name in task.methods}


def task_of(name: str) -> Task:
    """Return the task that a method learns."""
    return _TASK_OF[name]


def simple_method_of(task: Task) -> str:
    """Return a simple method of a task, whose class makes models of candidates, too."""
    return next(name for name, method in task.methods.items() if method.is_baseline)


def method_of(metadata: Mapping[str, Any]) -> str:
    """Return the method whose class a model has, from what its file says.

    A candidate has a name that the user gave it, and the class of a simple method.
    """
    candidate = candidate_facts(metadata)
    if candidate is None:
        return metadata["method"]
    return simple_method_of({task.name: task for task in TASKS}[candidate["task"]])


def candidate_facts(metadata: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return what a model file says of a candidate that was delivered; None for other models."""
    return (metadata["training"].get("delivered") or {}).get("candidate")


def list_methods_for(*tasks: Task) -> list[str]:
    """Return the names of our methods for some tasks."""
    return [name for name in list_own_methods() if task_of(name) in tasks]


def list_own_methods() -> list[str]:
    """Return the names of methods that are no baselines."""
    return [name for name, method in METHODS.items() if not method.is_baseline]


def name_estimators(*tasks: Task) -> str:
    """Return the estimators of some tasks, without the simple ones, in words."""
    names = [name for task in tasks for name in task.estimators]
    return f"{', '.join(names[:-1])} and {names[-1]}"


def baselines() -> list[str]:
    """Return the names of the baselines."""
    return [name for name, method in METHODS.items() if method.is_baseline]


def list_methods_with(parameter: str) -> list[str]:
    """Return methods whose estimators have a parameter."""
    return [
        name
        for name in METHODS
        if parameter in signature(estimator_class(name).__init__).parameters
    ]


def estimator_class(name: str) -> type[BaseEstimator]:
    method = METHODS[name]
    part = "fewlabels.baselines" if method.is_baseline else "fewlabels"
    return getattr(import_module(part), method.estimator)


def added_columns(name: str) -> list[str]:
    """Return names of the columns that may be added to a table that is scored."""
    return ["score", "label", *task_of(name).columns]
