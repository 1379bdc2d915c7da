"""The loop of every search: candidates are scored in turn until time or Ctrl-C ends it.

A task brings its candidates, a function that scores one, and a rule that chooses by the scores.
"""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from copy import copy
from functools import partial
from inspect import signature
from numbers import Real
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, Self, TypeVar

import numpy as np
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state

from ..._typing import AnyArray, FloatArray, IntArray, RandomStateLike, RowMatrix, VectorLike
from ..._util.extras import require
from ..._util.threads import n_workers, run_in_order
from ..._util.warn import collect_warnings, warn
from ...base.kernel_estimator import KernelEstimator
from ...rows.grouped_folds import Split, group_rows
from .result import StopReason

if TYPE_CHECKING:
    from rich.progress import Progress

_SEEDS = np.iinfo(np.int32).max
_END_IN_WORDS = {"time budget": "its time budget", "Ctrl-C": "Ctrl-C"}

Candidate = TypeVar("Candidate")
Score = TypeVar("Score")
Estimator = TypeVar("Estimator", bound=KernelEstimator)


class Trial(NamedTuple, Generic[Candidate]):
    """A candidate on a fold, with the places of both."""

    candidate: Candidate
    place: int
    fold: int
    train: IntArray
    test: IntArray


def make_trials(
    candidates: Sequence[Candidate], splits: Sequence[Split]
) -> list[Trial[Candidate]]:
    """Return all candidates on a fold before the next one: an early end leaves whole folds."""
    return [
        Trial(candidate, place, fold, train, test)
        for fold, (train, test) in enumerate(splits)
        for place, candidate in enumerate(candidates)
    ]


class Search:
    """A search of ``time_budget`` seconds: its loop, clock, progress bar (on stderr) and cost.

    A fit of all rows is ``expected`` to take so many seconds, 0 if that is unknown. If
    ``total_seconds`` is given, the search leaves time for the ``fits_to_come`` after it. Rows of
    one of the ``groups`` are held out together; None means copies.
    """

    def __init__(
        self,
        time_budget: float,
        progress: bool,
        random_state: RandomStateLike,
        *,
        expected: float = 0.0,
        total_seconds: float | None = None,
        fits_to_come: int = 1,
        groups: VectorLike | None = None,
    ) -> None:
        if not (isinstance(time_budget, float | Real) and time_budget > 0):
            raise ValueError(
                f"time_budget={time_budget!r} is not allowed; pass a number of seconds > 0."
            )
        self.started = time.perf_counter()
        self.time_budget = float(time_budget)
        self.progress = progress
        rng = check_random_state(0 if random_state is None else random_state)
        self.seed = int(rng.randint(_SEEDS))
        self.expected = expected
        self.total_seconds = total_seconds
        self.fits_to_come = fits_to_come
        self.groups = groups
        self.fits = self.kernel_values = 0
        self.longest = 0.0  # seconds of one thing that was done
        self.stopped: StopReason = ""
        self.advance_bar: Callable[..., None] | None = None  # what moves the progress bar

    @property
    def seconds(self) -> float:
        """Seconds since the search began."""
        return time.perf_counter() - self.started

    @property
    def early_end_note(self) -> str:
        """Return a note about an early end, for a reason; empty if there was none."""
        return (
            f" The search was ended early by {_END_IN_WORDS[self.stopped]}."
            if self.stopped
            else ""
        )

    def is_over(self) -> bool:
        """Return whether the time is spent, or one more of the longest would end after it."""
        return self._is_spent(self.longest)

    @property
    def _last_start(self) -> float:
        """Seconds until which something may begin that leaves time for the fits to come."""
        if self.total_seconds is None:
            return math.inf
        return self.total_seconds - (1 + self.fits_to_come) * self.longest

    def is_time_for(self, fits: int, seconds: float) -> bool:
        """Return whether so many more fits as long as the longest end within some seconds.

        Time is left for the fits that have to come.
        """
        return self.seconds + fits * self.longest <= min(seconds, self._last_start)

    def _is_spent(self, more: float = 0.0) -> bool:
        if not self.stopped:
            now = self.seconds
            if now + more >= self.time_budget or (more > 0.0 and now >= self._last_start):
                self.stopped = "time budget"
        return bool(self.stopped)

    @contextmanager
    def running(self, what: str, total: int) -> Iterator[None]:
        """Return a context of ``total`` steps, reported by ``advance``; Ctrl-C ends only it."""
        with _make_progress_bar() if self.progress else nullcontext() as bar:
            if bar is not None:
                self.advance_bar = partial(bar.update, bar.add_task(what, total=total, best=""))
            try:
                yield
            except KeyboardInterrupt:
                self.stopped = "Ctrl-C"
            finally:
                self.advance_bar = None

    def group_rows(self, X: RowMatrix, codes: IntArray | None) -> IntArray | None:
        """Return the groups of rows X; ``codes`` are of classes, -1 for rows without a label."""
        return group_rows(X, codes, self.groups)

    def note_duration(self, seconds: float) -> None:
        """Note how long one thing took."""
        self.longest = max(self.longest, seconds)

    def advance(self, text: str = "") -> None:
        """Count a step."""
        if self.advance_bar is not None:
            self.advance_bar(advance=1, best=text)

    def run(
        self,
        title: str,
        candidates: Sequence[Candidate],
        score: Callable[[Candidate, Search], Score | None],
        *,
        until: float | None = None,
        describe: Callable[[list[tuple[Candidate, Score]]], str] | None = None,
    ) -> list[tuple[Candidate, Score]]:
        """Score candidates in their order while there is time; return those that were scored.

        Without ``until`` seconds the run lasts until the search is over. A score of None means
        that no time was left. It ends the run, as Ctrl-C does; an error is raised. The progress
        bar shows what ``describe`` returns for the scores so far. Where a backend of joblib was
        chosen, its workers score.
        """
        scored: list[tuple[Candidate, Score]] = []
        with self.running(title, len(candidates)):
            scores = self._make_scores(candidates, score, until)
            for candidate, found in zip(candidates, scores, strict=False):
                if found is None:
                    break
                scored.append((candidate, found))
                self.advance("" if describe is None else describe(scored))
        return scored

    def _make_scores(
        self,
        candidates: Sequence[Candidate],
        score: Callable[[Candidate, Search], Score | None],
        until: float | None,
    ) -> Iterator[Score | None]:
        """Yield the scores of candidates, in order and while there is time."""

        def due() -> Iterator[Candidate]:
            for candidate in candidates:
                if self.is_over() if until is None else self.seconds > until:
                    return
                yield candidate

        if n_workers() == 1:
            for candidate in due():
                yield score(candidate, self)
            return
        for found, other, warned in run_in_order(
            partial(_score_on_worker, score, candidate, self._copy_for_worker())
            for candidate in due()
        ):
            self.fits += other.fits
            self.kernel_values += other.kernel_values
            self.note_duration(other.longest)
            self.stopped = self.stopped or other.stopped
            for what in warned:
                warn(*what)
            yield found

    def _copy_for_worker(self) -> Self:
        """Return the search as a worker gets it: it counts for itself."""
        sent = copy(self)
        sent.progress, sent.advance_bar = False, None
        sent.fits = sent.kernel_values = 0
        return sent

    def __getstate__(self) -> dict[str, Any]:
        """Return the state with the seconds so far, as other computers have other clocks."""
        return {**vars(self), "started": self.seconds}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        self.started = time.perf_counter() - self.started

    def fit_clone(
        self,
        estimator: Estimator,
        X: RowMatrix,
        y: AnyArray | None = None,
        weight: FloatArray | None = None,
        **settings: Any,
    ) -> Estimator | None:
        """Return a fitted clone that prints nothing, or None if the time ran out first."""
        model = clone(estimator).set_params(verbose=False, **settings)
        options: dict[str, Any] = {} if weight is None else {"sample_weight": weight}
        if "callback" in signature(model.fit).parameters:
            options["callback"] = lambda entry: self._is_spent()
        since = time.perf_counter()
        with quiet():
            model.fit(X, y, **options)
        self.count(model)
        if self.stopped:
            return None
        self.note_duration(time.perf_counter() - since)
        return model

    def count(self, model: KernelEstimator) -> int:
        """Add the cost of a fitted model; its kernel values are returned."""
        values = kernel_values(model)
        self.fits += 1
        self.kernel_values += values
        return values


def _make_progress_bar() -> Progress:
    require("progress=True", "rich")
    from rich import progress
    from rich.console import Console

    return progress.Progress(
        progress.TextColumn("{task.description}"),
        progress.BarColumn(),
        progress.MofNCompleteColumn(),
        progress.TimeElapsedColumn(),
        progress.TextColumn("{task.fields[best]}"),
        console=Console(file=sys.stderr),
        transient=True,
    )


@contextmanager
def quiet() -> Iterator[None]:
    """Return a context without warnings about candidates, whose table has convergence."""
    with collect_warnings() as warned:
        yield
    for message, category in warned:
        if not issubclass(category, ConvergenceWarning):
            warn(message, category)


def _score_on_worker(
    score: Callable[[Candidate, Search], Score | None], candidate: Candidate, search: Search
) -> tuple[Score | None, Search, list[tuple[str, type[Warning]]]]:
    """Return a candidate's score on a worker, the search with its cost, and warnings."""
    with collect_warnings() as warned:
        found = score(candidate, search)
    return found, search, warned


def kernel_values(model: KernelEstimator) -> int:
    """Return the kernel values that a fit evaluated, as far as its history has them."""
    entries = [entry for entry in model.history_ if "kernel_values" in entry]
    return int(entries[-1]["kernel_values"]) if entries else 0
