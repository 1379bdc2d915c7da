"""A search as it runs: its clock, its progress bar, what it costs, what ends it."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, nullcontext
from copy import copy
from functools import partial
from inspect import signature
from numbers import Real
from typing import TYPE_CHECKING, Any, NamedTuple, Self, TypeVar

import numpy as np
import pandas as pd
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state

from ..._typing import (
    AnyArray,
    FloatArray,
    IntArray,
    MatrixLike,
    RandomStateLike,
    RowMatrix,
    VectorLike,
)
from ..._util.extras import require
from ..._util.threads import n_workers, run_in_order
from ..._util.warn import collect_warnings, warn
from ...base.kernel_estimator import KernelEstimator
from ...rows.grouped_folds import group_rows
from .result import SearchCurve, UnlabeledRows

if TYPE_CHECKING:
    from rich.progress import Progress

_SEEDS = np.iinfo(np.int32).max
_END_IN_WORDS = {"time budget": "its time budget", "Ctrl-C": "Ctrl-C"}
SETTINGS_KEPT = "The given settings are kept:"


Result = TypeVar("Result")
Estimator = TypeVar("Estimator", bound=KernelEstimator)


class Plan(NamedTuple):
    """Decision of a search; ``weight`` and ``fit`` if these are not as given.

    ``unlabeled``: the ``UnlabeledRows`` of a few labels.
    """

    settings: dict[str, Any]
    reason: str
    candidates: pd.DataFrame
    curve: SearchCurve
    weight: FloatArray | None = None
    fit: Callable[[Any, MatrixLike, VectorLike, VectorLike | None], None] | None = None
    unlabeled: UnlabeledRows | None = None


class Search:
    """Clock, progress bar (on stderr) and cost of one search of ``time_budget`` seconds."""

    def __init__(self, time_budget: float, progress: bool, random_state: RandomStateLike) -> None:
        if not (isinstance(time_budget, float | Real) and time_budget > 0):
            raise ValueError(
                f"time_budget={time_budget!r} is not allowed; pass a number of seconds > 0."
            )
        self.started = time.perf_counter()
        self.time_budget = float(time_budget)
        self.progress = progress
        rng = check_random_state(0 if random_state is None else random_state)
        self.seed = int(rng.randint(_SEEDS))
        self.fits = self.kernel_values = 0
        self.longest = 0.0  # seconds of one thing that was done
        self.expected = 0.0  # seconds that a fit of all rows takes, where that is known
        # Seconds until all is done, where so many fits have to come after the search.
        self.total_seconds: float | None = None
        self.fits_to_come = 1
        self.is_graph_allowed = True
        self.groups: VectorLike | None = (
            None  # of rows that are held out together, if given; else copies are found
        )
        self.stopped = ""
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

    def _is_needed(self) -> bool:
        """Return whether all the time left is needed for the fits that have to come."""
        if self.total_seconds is None:
            return False
        return self.seconds + (1 + self.fits_to_come) * self.longest >= self.total_seconds

    def is_time_for(self, fits: int, seconds: float) -> bool:
        """Return whether so many more fits as long as the longest end within some seconds.

        Time is left for the fits that have to come.
        """
        if self.total_seconds is not None:
            to_come = (1 + self.fits_to_come) * self.longest
            seconds = min(seconds, self.total_seconds - to_come)
        return self.seconds + fits * self.longest <= seconds

    def _is_spent(self, more: float = 0.0) -> bool:
        if self.stopped:
            return True
        if self.seconds + more >= self.time_budget or (more > 0.0 and self._is_needed()):
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

    def run_calls(
        self,
        calls: Iterable[Callable[[Search], Result]],
        is_over: Callable[[], bool] | None = None,
    ) -> Iterator[Result]:
        """Yield the results of calls, which get the search, in order and while there is time.

        Where a backend of joblib was chosen, its workers make them.
        """
        calls = iter(calls)

        def due() -> Iterator[Callable[[Search], Result]]:
            while not (is_over or self.is_over)():
                if (call := next(calls, None)) is None:
                    return
                yield call

        if n_workers() == 1:
            for call in due():
                yield call(self)
            return
        for found, other, warned in run_in_order(
            partial(_call_on_worker, self._copy_for_worker(), c) for c in due()
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


def _call_on_worker(
    search: Search, call: Callable[[Search], Result]
) -> tuple[Result, Search, list[tuple[str, type[Warning]]]]:
    """Return a call's result on a worker, the search with its cost, and warnings."""
    with collect_warnings() as warned:
        found = call(search)
    return found, search, warned


def kernel_values(model: KernelEstimator) -> int:
    """Return the kernel values that a fit evaluated, as far as its history has them."""
    entries = [entry for entry in model.history_ if "kernel_values" in entry]
    return int(entries[-1]["kernel_values"]) if entries else 0
