"""A run of a solver: its settings, the record that it keeps, and the result that it returns."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from enum import Enum
from typing import Any, TypeAlias

import numpy as np

from .._typing import FloatArray
from ..kernels.operators.rows import MAX_LAZY_ROWS_IN_FLOAT64, MAX_ROWS_IN_FLOAT64
from ..problem import DualProblem, Totals

# Numbers of a round by name, and whatever a callback adds to them.
HistoryEntry: TypeAlias = dict[str, Any]
# Gets the entry of every round; what is true in Python's sense stops the solver.
Callback: TypeAlias = Callable[[HistoryEntry], object]

# Rows that are solved whole: in one working set, and with an exact finish of as many variables.
# Those are rows with float64 kernel values; the larger number where only a share is evaluated.
MAX_ROWS_SOLVED_WHOLE = MAX_ROWS_IN_FLOAT64
MAX_ROWS_SOLVED_LAZILY = MAX_LAZY_ROWS_IN_FLOAT64


@dataclass(frozen=True)
class Settings:
    """How the engine works; none of these changes the problem.

    Attributes
    ----------
    tol : float
        Bound on the KKT violation, in units of the gradient, > 0.
    rtol : float
        Bound on the violation relative to the multiplier; the larger bound counts.
    max_iter : int
        Limit on pair steps; -1 for none.
    max_time : float
        Limit in seconds.
    block_size : int or None
        Variables in a working set to begin with; doubled while progress is slow.
        None takes 256 (128 where kernel values are dear), and 1024 from 20 000 rows on.
    share : float
        A working set is solved until this share of the violation is left, or half of what the
        tolerance allows; little, where it costs much to tell the rows of the changes.
    cache_size : float
        Bytes for the block and for stored columns.
    polish : int
        Largest number of variables between breakpoints for which, with float64 kernel
        values, a converged solution is finished to rounding by Newton steps; 0 for none.
    coarse : bool
        Whether a cold start goes from coarse to fine.
    callback : callable or None
        Called after every round with a dict (the entry of ``history``); returning True
        stops the solver.
    random_state : int
        Seed of the coarse sample.
    """

    tol: float = 1e-3
    rtol: float = 0.0
    max_iter: int = -1
    max_time: float = np.inf
    block_size: int | None = None
    share: float = 0.1
    cache_size: float = 200e6
    polish: int = MAX_ROWS_SOLVED_WHOLE
    coarse: bool = True
    callback: Callback | None = None
    random_state: int = 0

    def __post_init__(self) -> None:
        checks = [
            ("tol", self.tol > 0, "a number > 0"),
            ("rtol", self.rtol >= 0, "a number >= 0"),
            ("max_iter", self.max_iter >= -1, "-1 or a number of steps"),
            ("max_time", self.max_time >= 0, "a number of seconds >= 0"),
            ("block_size", self.block_size is None or self.block_size >= 2, "None or at least 2"),
            ("share", 0 < self.share < 1, "a number between 0 and 1"),
            ("cache_size", self.cache_size > 0, "a number of bytes > 0"),
            ("polish", self.polish >= 0, "a number of variables >= 0"),
        ]
        for name, fine, allowed in checks:
            if not fine:
                raise ValueError(f"{name}={getattr(self, name)!r} is not allowed; pass {allowed}.")


class Status(Enum):
    """Why a solver stopped."""

    CONVERGED = "the tolerance was reached"
    MAX_ITER = "the limit on iterations was reached"
    MAX_TIME = "the time limit was reached"
    STALLED = "rounding prevents further progress"
    INEXACT = "its solver's stopping rule was met, but not the tolerance"
    STOPPED = "a callback stopped the fit"
    INTERRUPTED = "the user interrupted"


class Record:
    """History and limits of a run, perhaps of one that continues from an earlier Result."""

    def __init__(self, settings: Settings, before: Result | None = None) -> None:
        self.settings = settings
        self.n_iter = before.n_iter if before else 0
        self.history = [*before.history] if before else []
        last = self.history[-1] if self.history else {"kernel_values": 0, "seconds": 0.0}
        self.values_before, self._seconds_before = last["kernel_values"], last["seconds"]
        self._started = time.perf_counter()
        self._stop_asked = False

    def add(
        self,
        violation: float,
        tolerance: float,
        n_working: int,
        n_moved: int,
        steps: int,
        n_values: int,
    ) -> None:
        """Note a round with what it began with, and tell the callback."""
        self.n_iter += steps
        entry = {
            "round": len(self.history) + 1,
            "violation": violation,
            "tolerance": tolerance,
            "working_set": n_working,
            "moved": n_moved,
            "steps": steps,
            "kernel_values": self.values_before + n_values,
            "seconds": self._seconds_before + time.perf_counter() - self._started,
        }
        self.history.append(entry)
        if self.settings.callback is not None and self.settings.callback(entry):
            self._stop_asked = True

    def continue_from(self, other: Record, n_values: int) -> None:
        """Count what another run over a sample, with its kernel values, has cost."""
        self.n_iter += other.n_iter
        self.values_before += other.values_before + n_values

    def steps_left(self) -> float:
        """Pair steps that the limit leaves; inf without a limit."""
        limit = self.settings.max_iter
        return math.inf if limit < 0 else max(0, limit - self.n_iter)

    def seconds_left(self) -> float:
        """Return seconds that the limit leaves."""
        return self.settings.max_time - (time.perf_counter() - self._started)

    def limit_reached(self) -> Status | None:
        """Return the Status of a run that must end here, or None."""
        if self.steps_left() == 0:
            return Status.MAX_ITER
        if self.seconds_left() <= 0:
            return Status.MAX_TIME
        return Status.STOPPED if self._stop_asked else None


@dataclass
class Result:
    """A solution of (P) with its certificate.

    Attributes
    ----------
    a : ndarray of shape (n,)
        The variables.
    gradient : ndarray of shape (n,)
        ``Q a``.
    multiplier : float
        Multiplier of the equality.
    objective : float
        Value of (P).
    duality_gap : float
        Upper bound on how far the objective is from optimal; inf when unknown.
    violation : float
        KKT violation, in units of the gradient.
    status : Status
        Why the solver stopped.
    n_iter : int
        Iterations, as the solver counts them (its docstring says what one is).
    history : list of dict
        One entry per outer round: round, violation, seconds, kernel_values and what
        else the solver knows.
    """

    a: FloatArray
    gradient: FloatArray
    multiplier: float
    objective: float
    duality_gap: float
    violation: float
    status: Status
    n_iter: int
    history: list[HistoryEntry] = field(default_factory=list)

    @property
    def converged(self) -> bool:
        """Return whether the tolerance was reached."""
        return self.status is Status.CONVERGED


def check_gap(result: Result, gap: float, allowed: float) -> Result:
    """Return a Result whose status says if its duality ``gap`` is as small as ``allowed``.

    Solvers that stop by a rule of their own don't know how far they came. A ``gap`` of NaN bounds
    nothing and leaves the status as it is, as does an end that somebody asked for.
    """
    if result.status in (Status.STOPPED, Status.INTERRUPTED) or math.isnan(gap):
        return result
    if gap <= allowed:
        return replace(result, status=Status.CONVERGED)
    return replace(result, status=Status.INEXACT) if result.converged else result


def certify(
    problem: DualProblem,
    a: FloatArray,
    gradient: FloatArray,
    status: Status,
    n_iter: int,
    history: list[HistoryEntry],
) -> Result:
    """Return a Result with objective, violation, multiplier and gap of a feasible point."""

    def gap(multiplier: float) -> float:
        return problem.duality_gap(a, gradient, multiplier)

    totals = problem.survey(a, gradient)
    return make_result(totals, gap, a, gradient, status, n_iter, history)


def make_result(
    totals: Totals,
    gap: Callable[[float], float],
    a: FloatArray,
    gradient: FloatArray,
    status: Status,
    n_iter: int,
    history: list[HistoryEntry],
) -> Result:
    """A Result from the Totals at a point, and its duality gap as a function of the multiplier."""
    multiplier = totals.multiplier
    return Result(
        a=a,
        gradient=gradient,
        multiplier=multiplier,
        objective=totals.objective,
        duality_gap=gap(multiplier),
        violation=totals.violation,
        status=status,
        n_iter=n_iter,
        history=history,
    )
