"""Methods on folds, within a time budget, and what they score there."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager
from itertools import product
from typing import Any, Protocol, TypeAlias

import numpy as np
import pandas as pd
from sklearn.base import clone
from sklearn.pipeline import Pipeline
from sklearn.utils import _safe_indexing

from ..._typing import AnyArray, BoolArray, FloatArray, IntArray, RowMatrix, VectorLike
from ..._util.threads import one_blas_thread
from ...baselines.candidates import describe_error
from ...baselines.methods import ComparedMethod
from ...metrics.intervals import cross_fitted_interval
from ...rows.grouped_folds import Split, group_rows, splits_counted_once, take_groups
from .verdict import cannot_change, corrected_error

# Most rows that take part.
MOST_ROWS = 4000
# Why a comparison ends although there is time.
NO_CHANGE_EXPECTED = (
    "more folds are unlikely to change which methods are significantly better or worse"
)


# What a method gave on a fold; each task has arrays of its own in it.
Output: TypeAlias = tuple[Any, ...]
Evaluate: TypeAlias = Callable[[ComparedMethod, int, IntArray, IntArray], Output]


class Timing(Protocol):
    """Duration of a comparison, and what ended it early."""

    @property
    def seconds(self) -> float: ...
    @property
    def stopped(self) -> str: ...


class RunClock(Timing, Protocol):
    """Time and progress bar of a comparison that runs."""

    def running(self, what: str, total: int) -> AbstractContextManager[None]:
        """Return the context in which ``total`` steps are made; Ctrl-C ends it, and no more."""

    def is_over(self) -> bool:
        """Return whether another step would end too late."""

    def note_duration(self, seconds: float) -> None:
        """Note how long a step took."""

    def advance(self, text: str = "") -> None:
        """Count a step."""


class Splitter(Protocol):
    """Cross-validation as scikit-learn has it."""

    def split(self, X: Any, y: Any, groups: Any) -> Iterable[Split]:
        """Yield training and test rows."""


class Scores:
    """Outputs of methods on folds, and the scores of those that ran.

    By method ``outputs`` by fold, ``seconds``, ``failures`` (why it could not be run) and
    ``notes``; by ``running`` method, over the ``folds`` in common, ``mean`` scores and their
    ``error``, and for proportions their intervals, ``ends``; ``rows`` were held out. ``protocol``
    says how the scores were made, and ``caution`` what they do not show. If further folds were not
    needed, ``stop_reason`` says why. ``agreement`` and ``disagreements`` are as in a
    ``BaselineComparison``.
    """

    def __init__(self, methods: list[ComparedMethod]) -> None:
        self.methods = methods
        self.outputs: list[dict[int, Output]] = [{} for _ in methods]
        self.seconds: list[list[float]] = [[] for _ in methods]
        self.failures = [""] * len(methods)
        self.running: list[int] = []
        self.folds: list[int] = []
        self.rows = 0
        self.notes: dict[int, str] = {}
        self.protocol = self.caution = self.stop_reason = ""
        self.ends: list[tuple[float, float]] | None = None
        self.agreement: pd.DataFrame | None = None
        self.disagreements: pd.DataFrame | None = None
        # Filled in once the folds are done.
        self.mean: FloatArray
        self.by_fold: FloatArray
        self.error: FloatArray
        self.between: FloatArray
        self.difference_error: FloatArray

    def find_common(self, first: int = 0) -> None:
        """Find methods that can be compared; with the first fold alone, those that finished it.

        The ``first`` methods go through folds before the others. Others that are more than a fold
        behind when the time is over are left out, so that no folds are lost.
        """
        running = [k for k, why in enumerate(self.failures) if not why]
        if not running or not self.outputs[0]:
            return
        ahead = [set(self.outputs[k]) for k in running if k < first]
        if ahead and (done := set.intersection(*ahead)):
            running = [k for k in running if k < first or len(done - set(self.outputs[k])) < 2]
        common = sorted(set.intersection(*(set(self.outputs[k]) for k in running)))
        if not common:
            running = [k for k in running if 0 in self.outputs[k]]
            common = [0]
        self.running, self.folds = running, common

    def with_winner(self, place: int) -> Scores:
        """Return these outputs with another method first, in place of ours; not yet filled in."""
        order = [place, *(k for k in range(len(self.methods)) if k != place)]
        other = Scores([self.methods[k] for k in order])
        for name in ("outputs", "seconds", "failures"):
            setattr(other, name, [getattr(self, name)[k] for k in order])
        other.rows, other.stop_reason = self.rows, self.stop_reason
        other.running, other.folds = sorted(order.index(k) for k in self.running), self.folds
        return other

    def fill_hits(self, hits: FloatArray, ratio: float) -> None:
        """Fill in scores from hits, shape (n_running, n_folds, n_rows), NaN unless held out.

        The error of a difference is at least that between rows: with a handful of rows folds may
        agree by chance.
        """
        n_rows = hits.shape[2]
        by_row = np.nanmean(hits, axis=1)
        self._fill_means(by_row.mean(axis=1), np.nanmean(hits, axis=2), ratio)
        self.ends = [cross_fitted_interval(right, n_rows) for right in by_row.sum(axis=1).round(9)]
        # Under no difference its mean is known to be zero (McNemar).
        apart = np.sqrt(np.square(by_row - by_row[0]).sum(axis=1)) / n_rows
        self.between = apart
        self.difference_error = np.maximum(self.difference_error, apart)

    def fill_folds(
        self,
        values: FloatArray,
        ratio: float,
        own: float | FloatArray = 0.0,
        of_difference: float | FloatArray = 0.0,
    ) -> None:
        """Fill in scores of shape (n_running, n_folds), and errors that all folds share."""
        self._fill_means(values.mean(axis=1), values, ratio)
        self.error = np.hypot(self.error, own)
        self.between = np.broadcast_to(of_difference, self.difference_error.shape)
        self.difference_error = np.hypot(self.difference_error, of_difference)

    def is_decided(self, parts: int, n_planned: int) -> bool:
        """Return whether further folds are unlikely to change a verdict about a baseline.

        ``n_planned`` folds are planned, ``parts`` to a pass. The scores have to be filled in.
        """
        if len(self.running) < 2 or len(self.folds) % parts:
            return False
        differences = self.by_fold[0] - self.by_fold[1:]
        return cannot_change(differences, self.between[1:], parts, n_planned, 1.0 / (parts - 1))

    def fill_placements(self, placements: FloatArray, positive: BoolArray, ratio: float) -> None:
        """Fill in areas under ROC curves, row by row.

        ``placements`` are of shape (n_running, n_folds, n_rows), NaN where a row was not held out:
        how many of the held-out rows of the other kind a row is on the right side of. An error is
        at least that between rows (DeLong et al. 1988), as folds may agree by chance.
        """
        areas = np.nanmean(placements[:, :, positive], axis=2)
        self._fill_means(areas.mean(axis=1), areas, ratio)
        by_row = np.nanmean(placements, axis=1)
        self.error = np.maximum(self.error, _error_between_rows(by_row, positive))
        apart = _error_between_rows(by_row - by_row[0], positive)
        self.between = apart
        self.difference_error = np.maximum(self.difference_error, apart)

    def _fill_means(self, mean: FloatArray, by_fold: FloatArray, ratio: float) -> None:
        self.mean, self.by_fold = mean, by_fold
        self.error = corrected_error(by_fold, ratio)
        self.difference_error = corrected_error(by_fold - by_fold[0], ratio)


def _error_between_rows(values: FloatArray, positive: BoolArray) -> FloatArray:
    """Return standard errors of mean placements by row; infinite if a kind has one row."""
    kinds = [values[:, positive], values[:, ~positive]]
    if min(kind.shape[1] for kind in kinds) < 2:
        return np.full(len(values), np.inf)
    return np.sqrt(sum(np.var(kind, axis=1, ddof=1) / kind.shape[1] for kind in kinds))


def run(
    methods: list[ComparedMethod],
    splits: list[Split],
    evaluate: Evaluate,
    search: RunClock,
    *,
    find_stop_reason: Callable[[Scores], str],
    every: int,
    first: int = 0,
) -> Scores:
    """Run every method, ours first, by ``evaluate(method, fold, train, test)``; return ``Scores``.

    After ``every`` so many folds ``find_stop_reason`` gets the scores so far, and returns why no
    further fold is needed, or nothing. The ``first`` methods go through so many folds before the
    others begin, and all others before candidates, which come last and may be slow; else all
    methods run on a fold before the next one.
    """
    scores = Scores(methods)

    def attempt(place: int, *fold: Any) -> Output | None:
        if scores.failures[place]:
            return None
        started = time.perf_counter()
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                output = evaluate(methods[place], *fold)
        except (ValueError, ArithmeticError, np.linalg.LinAlgError) as error:
            if place == 0:
                raise
            scores.failures[place] = f"failed: {str(error).splitlines()[0]}"
            return None
        except Exception as error:
            if not methods[place].is_candidate:
                raise
            scores.failures[place] = f"failed: {describe_error(error)}"
            return None
        scores.seconds[place].append(time.perf_counter() - started)
        search.note_duration(scores.seconds[place][-1])
        return output

    n, every = len(methods), min(every, len(splits))
    own = n - sum(method.is_candidate for method in methods)
    order = [
        *product(range(every), range(first)),
        *product(range(every), range(first, own)),
        *product(range(every), range(own, n)),
        *product(range(every, len(splits)), range(n)),
    ]
    if own < n:
        first = first or own
    with one_blas_thread(), search.running("baselines", n * len(splits)):
        for fold, place in order:
            if search.is_over():
                break
            output = attempt(place, fold, *splits[fold])
            if output is not None:
                scores.outputs[place][fold] = output
            search.advance(methods[place].name)
            done = fold + 1
            if place == n - 1 and done % every == 0 and done < len(splits):
                scores.find_common(first)
                scores.stop_reason = find_stop_reason(scores) if len(scores.folds) == done else ""
                if scores.stop_reason:
                    break
    scores.find_common(first)
    scores.rows = len(set().union(*(splits[fold][1].tolist() for fold in scores.folds)))
    return scores


def folds_in_words(folds: list[int]) -> str:
    """Return the number of folds in words."""
    return "1 fold" if len(folds) == 1 else f"{len(folds)} folds"


def choose_rows(
    marked: BoolArray, most_marked: int, word: str, rng: np.random.RandomState
) -> tuple[IntArray, str]:
    """Return the rows that take part, and a note if these are not all."""
    ours, others = np.flatnonzero(marked), np.flatnonzero(~marked)
    if len(marked) <= MOST_ROWS:
        return np.arange(len(marked)), ""
    if len(ours) > most_marked:
        ours = rng.choice(ours, most_marked, replace=False)
    others = rng.choice(others, min(len(others), MOST_ROWS - len(ours)), replace=False)
    sample_words = (
        f" All methods used a sample: {len(ours)} {word} and {len(others)} unlabelled rows of "
        f"{len(marked)}."
    )
    return np.sort(np.concatenate([ours, others])), sample_words


class ComparedRows:
    """Rows of a comparison; a pipeline's steps are fitted once to the training rows of a fold.

    Rows of one of the ``groups`` are held out together and count once.
    """

    def __init__(
        self,
        X: RowMatrix | pd.DataFrame,
        y: VectorLike | None,
        steps: Pipeline | None,
        groups: IntArray | None = None,
    ) -> None:
        self.X, self.y, self.steps, self.groups = X, y, steps, groups
        self._fold: int | None = None
        self._encoder: Pipeline | None = None

    def find_groups(self, codes: IntArray | None = None) -> None:
        """Find copies, unless groups were given; ``codes`` are of classes, -1 without a label."""
        if self.groups is None:
            self.groups = group_rows(self.X, codes)

    def splits(
        self, splitter: Splitter, rows: IntArray, kinds: AnyArray, counted: AnyArray | None = None
    ) -> list[Split]:
        """Return training and test rows among some rows, by a splitter of these and their kinds.

        One row of each group is tested; one of each kind in ``counted``, if that is given.
        """
        groups = take_groups(self.groups, rows)
        splits = splitter.split(rows, kinds[rows], groups)
        counted = np.zeros(len(rows)) if counted is None else counted[rows]
        splits = splits_counted_once(splits, counted, groups)
        return [(rows[train], rows[test]) for train, test in splits]

    def encode(self, fold: int, train: IntArray, *others: IntArray | RowMatrix) -> list[RowMatrix]:
        """Return training rows and others (positions, or rows) as the model gets them."""
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
        assert self._encoder is not None
        return [self._encoder.transform(part) for part in parts]
