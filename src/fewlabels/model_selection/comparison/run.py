"""Methods on folds, within a time budget."""

from __future__ import annotations

import time
import warnings
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import clone
from sklearn.utils import _safe_indexing

from ..._threads import one_blas_thread
from ...training.cross_fitting import cross_fit


class Method(NamedTuple):
    """A method by its name for people; ``learns_from`` "labels" trains on these rows only."""

    name: str
    estimator: Any
    learns_from: str = "all"


class Runs:
    """What methods gave on folds.

    By method: ``outputs`` by fold, ``seconds`` of each fold, and ``failures``, which say why one
    could not be run (empty when it could).
    """

    def __init__(self, n_methods):
        self.outputs = [{} for _ in range(n_methods)]
        self.seconds = [[] for _ in range(n_methods)]
        self.failures = [""] * n_methods

    def common_folds(self):
        """Methods that can be compared, and the folds they have in common.

        When not even the first fold was finished, the methods that have it.
        """
        running = [k for k, why in enumerate(self.failures) if not why]
        if not running or not self.outputs[0]:
            return [], []
        done = [set(self.outputs[k]) for k in running]
        common = sorted(set.intersection(*done))
        if not common:
            running = [k for k in running if 0 in self.outputs[k]]
            common = [0]
        return running, common


def run(methods, splits, evaluate, search):
    """``Runs`` of every method, ours first, on every fold until time is spent.

    ``evaluate(method, fold, train, test)`` fits and gives the output.
    """
    runs = Runs(len(methods))

    def attempt(place, *fold):
        if runs.failures[place]:
            return None
        started = time.perf_counter()
        try:
            output = _quietly(evaluate, methods[place], *fold)
        except (ValueError, ArithmeticError, np.linalg.LinAlgError) as error:
            if place == 0:
                raise
            runs.failures[place] = f"failed: {str(error).splitlines()[0]}"
            return None
        runs.seconds[place].append(time.perf_counter() - started)
        return output

    folds = [(fold, *split) for fold, split in enumerate(splits)]
    places = range(len(methods))
    with one_blas_thread(), search.running("baselines", len(methods) * len(splits)):
        for place, fold, output in cross_fit(folds, attempt, places, is_over=search.is_over):
            if output is not None:
                runs.outputs[place][fold] = output
            search.advance(methods[place].name)
    return runs


def _quietly(evaluate, *arguments):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return evaluate(*arguments)


class Rows:
    """Rows of a comparison, encoded by the steps of a pipeline where there is one.

    Every fold fits the steps to its training rows once, for all methods.
    """

    def __init__(self, X, y, steps):
        self.X, self.y, self.steps = X, y, steps
        self._fold, self._encoder = None, None

    def encoded(self, fold, train, *others):
        """Training rows and other rows as the machine gets them.

        ``others`` are positions, or rows beside X.
        """
        parts = [_safe_indexing(self.X, train)]
        for other in others:
            is_places = isinstance(other, np.ndarray) and other.ndim == 1
            parts.append(_safe_indexing(self.X, other) if is_places else other)
        if self.steps is None:
            return parts
        if self._fold != fold:
            y = None if self.y is None else _safe_indexing(self.y, train)
            self._encoder = clone(self.steps).fit(parts[0], y)
            self._fold = fold
        return [self._encoder.transform(part) for part in parts]


def mean_seconds(runs, place):
    """Seconds of a fit and its predictions, NaN without any."""
    return float(np.mean(runs.seconds[place])) if runs.seconds[place] else np.nan
