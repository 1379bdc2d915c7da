"""Classifiers and detectors of the user's own, which enter a comparison as candidates."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import Any, TypeAlias

import numpy as np
from sklearn.base import BaseEstimator, clone, is_classifier, is_outlier_detector

from .._typing import FloatArray, RowMatrix
from .._util.messages import UserError, quoted, ref
from ..base.task import Task
from ..tasks import METHODS
from .methods import ComparedMethod, compute_normality

# Candidates by the names that the user has given them.
Candidates: TypeAlias = Mapping[str, BaseEstimator]

_HOW = "NAME=package.module:Class", "{'NAME': estimator}"
# Fits that a model takes with those for its threshold and probabilities, in ten or in five parts.
_FITS = {"one_class": 11, "positive_unlabelled": 6, "semi_supervised": 11}


@dataclass(frozen=True, eq=False)
class CandidateScore:
    """Scores that a fitted candidate gives rows: decisions about classes, or how normal they are.

    Decisions about two classes are positive for the second one.
    """

    estimator: BaseEstimator

    def __call__(self, X: RowMatrix) -> FloatArray:
        estimator = self.estimator
        if not is_classifier(estimator):
            return compute_normality(estimator, X)
        if not hasattr(estimator, "predict_proba"):
            return np.asarray(estimator.decision_function(X), dtype=float)
        chances = np.asarray(estimator.predict_proba(X), dtype=float)
        return chances[:, 1] - chances[:, 0] if chances.shape[1] == 2 else chances


def read_candidates(given: Mapping[str, Any] | Iterable[str]) -> dict[str, BaseEstimator]:
    """Return candidates by name, from estimators or from texts such as "NAME=module:Class".

    What can't be a candidate for any task is refused.
    """
    if not isinstance(given, Mapping):
        given = _import_candidates(given)
    for name, estimator in given.items():
        if not isinstance(name, str) or not name.strip() or name in METHODS:
            why = "that is a method of fewlabels" if name in METHODS else "a name is a text"
            raise UserError(
                f"{ref('candidates', text=name)} can't be the name of a candidate, because {why}; "
                "pass another name."
            )
        needed = [part for part in ("fit", "get_params") if not hasattr(estimator, part)]
        if needed or isinstance(estimator, type):
            what = "a class" if isinstance(estimator, type) else f"a {type(estimator).__name__}"
            raise UserError(
                f"The candidate {quoted(name)} must be an estimator in scikit-learn's form, not "
                f"{what}; pass {ref('candidates', some=_HOW)}."
            )
    return dict(given)


def _import_candidates(texts: Iterable[str]) -> dict[str, Any]:
    """Return new estimators of the classes that texts name."""
    found: dict[str, Any] = {}
    for text in texts:
        name, _, path = text.partition("=")
        module, _, kind = path.partition(":")
        if not (name and module and kind):
            raise UserError(
                f"{ref('candidates', text=text)} is not valid; write "
                f"{ref('candidates', some=_HOW)}."
            )
        if name in found:
            raise UserError(f"Two candidates are called {quoted(name)}; pass different names.")
        found[name] = _make_candidate(text, module, kind)
    return found


def _make_candidate(text: str, module: str, kind: str) -> Any:
    """Return a new estimator of a class of a module; it is made without arguments."""
    given = ref("candidates", text=text)
    try:
        home = import_module(module)
    except Exception as error:  # a module of the user's may raise anything
        raise UserError(
            f"{given}: the module {module} can't be imported ({describe_error(error)}); install "
            "its package, or correct the name."
        ) from error
    try:
        return getattr(home, kind)()
    except AttributeError as error:
        if hasattr(home, kind):
            raise
        raise UserError(f"{given}: the module {module} has no class {kind}.") from error
    except Exception as error:
        raise UserError(
            f"{given}: {kind} can't be made without arguments ({describe_error(error)}); pass an "
            "estimator as candidates= of fit_table instead."
        ) from error


def describe_error(error: BaseException) -> str:
    """Return the type and the first line of an error that foreign code raised."""
    lines = str(error).splitlines()
    return ": ".join([type(error).__name__, *lines[:1]]).rstrip(".")


def check_candidates(candidates: Candidates, task: Task) -> None:
    """Refuse candidates that can't learn a task."""
    for name, estimator in candidates.items():
        if is_suitable(estimator, task):
            continue
        needed = "a classifier with predict_proba or decision_function"
        if not task.takes_labels:
            needed = "an outlier detector with score_samples or decision_function"
        raise UserError(
            f"The candidate {quoted(name)} ({type(estimator).__name__}) can't learn from "
            f"{task.rows}, which needs {needed}; omit it."
        )


def is_suitable(estimator: BaseEstimator, task: Task) -> bool:
    """Return whether an estimator can be a candidate for a task."""
    is_right_kind, scores = is_classifier, ("predict_proba", "decision_function")
    if not task.takes_labels:
        # Detectors in another form than scikit-learn's have greater scores for outliers.
        is_right_kind, scores = is_outlier_detector, ("score_samples", "decision_function")
    return is_right_kind(estimator) and any(hasattr(estimator, name) for name in scores)


def with_seed(estimator: BaseEstimator, seed: int) -> BaseEstimator:
    """Return an unfitted copy with a seed wherever the user has set none."""
    copy = clone(estimator)
    unset = {
        name: seed
        for name, value in copy.get_params().items()
        if name.split("__")[-1] == "random_state" and value is None
    }
    return copy.set_params(**unset)


def candidate_methods(candidates: Candidates, task: Task, seed: int) -> list[ComparedMethod]:
    """Return the candidates as methods of a comparison."""
    return [
        ComparedMethod(
            candidate_title(name, estimator),
            with_seed(estimator, seed),
            "labels",
            name,
            {"method": estimator},
            _FITS[task.name],
            f"{name} ({class_name(estimator)})",
            is_candidate=True,
        )
        for name, estimator in candidates.items()
    ]


def candidate_title(name: str, estimator: BaseEstimator) -> str:
    """Return what a candidate is called in a comparison."""
    return f"{name} ({type(estimator).__name__})"


def class_name(estimator: BaseEstimator) -> str:
    """Return the name of an estimator's class with its module."""
    kind = type(estimator)
    return f"{kind.__module__}.{kind.__qualname__}"
