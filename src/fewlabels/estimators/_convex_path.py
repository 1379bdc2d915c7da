"""Training rows of a convex machine that come and go, and the path of its exact solution."""

from __future__ import annotations

from abc import ABC, abstractmethod

import numpy as np

from .._threads import resolve_n_jobs
from ..gram import make_gram
from ..solvers import Status
from ..solvers.path import PathFollower
from ..solvers.result import certify

# A variable this near an end of its interval, relative to the interval (or to the largest
# variable where that is infinite), is on it: after rounding, and in a start.
_ON, _ON_AT_FIRST = 1e-12, 1e-9
# Relative rounding beyond which h is computed afresh.
_ROUNDING = 1e-11
# Rows between breakpoints beyond which their factor would take gigabytes.
_MOST_MEMBERS = 20_000


class ConvexPath(ABC):
    """Rows of a machine, and the path that follows its solution.

    The rows change at once; the path may lag behind when its steps are limited. A subclass
    states the machine's problem such that few quantities move with the number of rows:
    variables are ``unit(mass)`` times those of the machine, where ``mass`` is the sum of the
    weights on the path.

    Parameters
    ----------
    machine : KernelMachine
        Fitted. Its parameters, kernel and centre count from now on.
    rows : HeldRows
        With "weight"; rows of weight 0 have no part in the problem.
    start : tuple of ndarray of shape (n_places,) and float
        Variables and multiplier to start from, those of the machine.

    Attributes
    ----------
    path : PathFollower or None
        None until it begins.
    on_path : ndarray of int
        Places of the rows on the path (before it begins, of those that it starts from), sorted.
    done : bool
        Whether the path has caught up with the rows.
    stale : bool
        Whether slopes have yet to move.
    """

    scale = 1.0  # factor of K in Q
    moves_total = True  # whether the total depends on the mass
    moves_slopes = False  # whether the slopes do
    marks = ("calibrates",)  # what the machine knows of rows and the path does not

    def __init__(self, machine, rows, start):
        self.kernel, self.shift = machine._kernel, getattr(machine, "_shift", None)
        self.cache_size = machine.cache_size * 1e6
        self.n_jobs = resolve_n_jobs(machine.n_jobs)
        self.rows = rows
        self.read(machine)
        self.path = None
        self.on_path = np.flatnonzero(self._wanted())
        self.mass = float(rows["weight"][self.on_path].sum())
        self.done = False
        self.stale = False
        self._leaving = np.zeros(0, np.int64)
        self._steps_before, self._history_before = 0, []
        unit = self.unit(self.mass)
        self._start = start[0] * unit, self.path_multiplier(start[1], self.mass)

    # -- the machine's problem ------------------------------------------------------------------

    @abstractmethod
    def read(self, machine):
        """Take the machine's parameters, and what the problem needs of the rows."""

    @abstractmethod
    def unit(self, mass):
        """What the machine's variables are multiplied by."""

    @abstractmethod
    def total(self, mass):
        """Sum of the path's variables."""

    @abstractmethod
    def penalties(self, places, mass):
        """RowPenalties of rows on the path."""

    @abstractmethod
    def path_multiplier(self, multiplier, mass):
        """The path's multiplier from the machine's."""

    @abstractmethod
    def problem(self, places, gram):
        """The machine's DualProblem of some rows."""

    @abstractmethod
    def decision(self, k, a, h, multiplier, mass):
        """What the machine of the other rows decides about the k-th row of the path.

        From a path on which that row has no part: variables, h and multiplier (see
        ``settled_shift``), and the mass of the others.
        """

    def takes(self):
        """Mask of the places whose rows belong on a path."""
        return self.rows["weight"] > 0

    # -- rows -----------------------------------------------------------------------------------

    def __len__(self):
        return len(self.rows)

    def kernel_rows(self, places):
        """Rows at some places, as the kernel sees them."""
        rows = self.rows.rows(places)
        return rows if self.shift is None else rows - self.shift

    def _make_gram(self, X):
        return make_gram(self.kernel, X, dtype=np.float64, n_jobs=self.n_jobs)

    def _wanted(self):
        return self.rows.alive & self.takes()

    def check_left(self, left):
        """Refuse what leaves no machine. ``left``: mask of the places that would stay."""
        if not np.any(left & self.takes()):
            raise ValueError("no training row would be left; keep at least one.")

    def check_one_left_out(self, places):
        """Refuse to leave out a row without which there is no machine."""
        for kind in self.kinds():
            here = places[kind[places]]
            if len(here):
                left = self.rows.alive.copy()
                left[here[np.argmax(self.rows["weight"][here])]] = False
                self.check_left(left)

    def kinds(self):
        """Masks of the kinds of rows that a machine needs one of."""
        return [np.ones(self.rows.n_places, bool)]

    def add(self, X, weight, **values):
        """Add rows; their places."""
        return self.rows.append(X, weight=weight, **values)

    def remove(self, places):
        """Let rows go."""
        left = self.rows.alive.copy()
        left[places] = False
        self.check_left(left)
        self.rows.drop(places)

    # -- the path -------------------------------------------------------------------------------

    def run(self, max_steps=None):
        """Let the path catch up with the rows.

        Returns
        -------
        bool
            Whether it has, within ``max_steps``.
        """
        self.done = False
        try:
            try:
                self.done = self._catch_up(max_steps)
            except ArithmeticError:  # another path may go another way
                self._begin_again()
                self.done = self._catch_up(max_steps)
        except BaseException:
            self._begin_again()
            raise
        return self.done

    def _catch_up(self, max_steps):
        if self.path is None:
            self._begin()
        path = self.path
        last = None if max_steps is None else path.n_steps + max_steps
        done = path.run(max_steps)
        while done:
            left = None if last is None else max(0, last - path.n_steps)
            done = self._next(left)
            if done is None:
                return True
        return False

    def _next(self, max_steps):
        """One operation of the path; None when there is nothing to do.

        Rows arrive before others leave, so that every sum on the way can be reached.
        """
        self._notice()
        wanted, there = self._wanted(), np.zeros(self.rows.n_places, bool)
        there[self.on_path] = True
        weight = self.rows["weight"]
        joining, leaving = np.flatnonzero(wanted & ~there), np.flatnonzero(there & ~wanted)
        if len(joining):
            mass = self._set_mass(weight[wanted | there].sum())
            rows, penalties = self.kernel_rows(joining), self.penalties(joining, mass)
            self.on_path = np.concatenate([self.on_path, joining])
            return self.path.add(rows, penalties, total=self.total(mass), max_steps=max_steps)
        if len(leaving):
            mass = self._set_mass(weight[wanted].sum())
            self._leaving = leaving
            where = np.flatnonzero(~wanted[self.on_path])
            return self.path.remove(where, total=self.total(mass), max_steps=max_steps)
        if self.stale:
            self.stale = False
            return self.move_to(self.path, self.mass, max_steps)
        self._check_rounding()
        moved = self.rows.compact()
        if moved is not None:
            self.on_path = moved[self.on_path]
        return None

    def _set_mass(self, mass):
        self.stale |= self.moves_slopes and mass != self.mass
        self.mass = float(mass)
        return self.mass

    def _notice(self):
        """See whether rows that were leaving have left the path."""
        if len(self.on_path) > len(self.path):
            gone = np.isin(self.on_path, self._leaving)
            self.on_path = self.on_path[~gone] if gone.any() else self.on_path[: len(self.path)]

    def move_to(self, path, mass, max_steps=None):
        """Move a path over the present rows to the problem of a mass."""
        return path.move(
            np.arange(len(self.on_path)), self.penalties(self.on_path, mass),
            total=self.total(mass), max_steps=max_steps,
        )  # fmt: skip

    def _check_rounding(self):
        """Compute afresh what steps of a path have left of its sum and conditions."""
        path, total = self.path, self.total(self.mass)
        a, slopes = path.a, path.penalty_arrays()[3:]
        size = np.abs(slopes).max() + np.abs(path.h).max() + abs(path.multiplier)
        lost = abs(a.sum() - total) > _ROUNDING * np.abs(a).sum()
        if lost or path.violation() > _ROUNDING * size:
            path.refresh()

    def _begin(self):
        """Begin the path at a solution, and make that exact."""
        places = np.flatnonzero(self._wanted())
        self.mass = float(self.rows["weight"][places].sum())
        penalties = self.penalties(places, self.mass)
        a = np.zeros(self.rows.n_places)
        known, multiplier = self._start
        a[: len(known)] = known
        a = snapped(a[places], penalties.penalty, _ON_AT_FIRST)
        p = penalties.penalty
        members = int(np.sum((a > p.lower) & (a < p.upper) & (a != p.kink)))
        if members > _MOST_MEMBERS:
            raise ValueError(
                f"{members} training rows lie exactly on the boundary; an update holds a matrix "
                f"of that size and allows {_MOST_MEMBERS}. Fit again instead, or choose "
                "parameters with fewer such rows."
            )
        self.path = PathFollower(
            self.kernel, scale=self.scale, total=self.total(self.mass),
            cache_size=self.cache_size, n_jobs=self.n_jobs,
        )  # fmt: skip
        self.on_path, self.stale = places, False
        self.path.load(self.kernel_rows(places), penalties, a, multiplier)

    def _begin_again(self):
        """After an exception: let another path begin where this one ended."""
        path, a = self.path, np.zeros(self.rows.n_places)
        if path is None:
            return
        self._steps_before += path.n_steps
        self._history_before = self.history
        if len(path):
            self._notice()
            a[self.on_path] = path.a
            self._start = a, path.multiplier
        self.path = None

    @property
    def n_steps(self):
        """Steps of this path and of those before."""
        return self._steps_before + (0 if self.path is None else self.path.n_steps)

    @property
    def history(self):
        """What the newest operations took."""
        return self._history_before + ([] if self.path is None else list(self.path.history))

    # -- what the estimator shows ---------------------------------------------------------------

    def solution(self, gram=None):
        """The machine's problem over the rows on the path, and its Result."""
        if self.path is not None:
            self._notice()
        path, unit = self.path, self.unit(self.mass)
        if gram is None:
            gram = self._make_gram(self.kernel_rows(self.on_path))
        problem = self.problem(self.on_path, gram)
        a = self._start[0][self.on_path] if path is None else path.a
        a = snapped(a / unit, problem.penalty)
        if path is None:
            gradient = problem.gradient(a)
        else:
            gradient = (path.h + path.multiplier) / unit
        status = Status.CONVERGED if self.done else Status.MAX_ITER
        result = certify(problem, a, gradient, status, self.n_steps, self.history)
        if not self.done:
            result.objective, result.duality_gap = np.nan, np.inf
        return problem, result

    def state(self, parameters):
        """What a machine needs to be updated again, as plain values."""
        rows = self.rows.state()
        weight = rows["weight"]
        marks = {name: rows[name] for name in self.marks if name in rows}
        return {
            "parameters": parameters,
            "X": rows["X"],
            "weight": None if np.all(weight == 1.0) else weight,
            "multiplier": float(self.solution()[1].multiplier),
            **marks,
        }

    def numbers(self, places):
        """What users call the rows at some places; -1 for those that are leaving."""
        alive = self.rows.alive
        return np.where(alive, np.cumsum(alive) - 1, -1)[places]


def snapped(a, penalty, near=_ON):
    """Variables on the ends of their intervals and on the kinks that they nearly reach."""
    width = penalty.upper - penalty.lower
    near = near * np.where(np.isfinite(width), width, np.abs(a).max(initial=0.0))
    for edge in (penalty.kink, penalty.lower, penalty.upper):
        a = np.where(np.abs(a - edge) <= near, edge, a)
    return np.clip(a, penalty.lower, penalty.upper)


def settled_shift(a, h, penalty):
    """What to take from h so that its multiplier is the one that a fit would choose.

    The mean over rows between breakpoints, or the middle of the interval that optimality leaves;
    as ``DualProblem.multiplier``.
    """
    a = snapped(a, penalty)
    between = (a > penalty.lower) & (a < penalty.upper) & (a != penalty.kink)
    if between.any():
        slope = np.where(a > penalty.kink, penalty.slope_right, penalty.slope_left)
        return float(np.mean((h + slope)[between]))
    right, left = penalty.step_slopes(a)
    ends = [float(np.min(h + right, initial=np.inf)), float(np.max(h + left, initial=-np.inf))]
    ends = [v for v in ends if np.isfinite(v)]
    return float(np.mean(ends)) if ends else 0.0
