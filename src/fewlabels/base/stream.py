"""Rows of a convex model that come and go, and the path of its exact solution."""

import json
from abc import abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from .._typing import AnyArray, BoolArray, FloatArray, IntArray, RowMatrix
from .._util.deadline import ENDLESS, Deadline
from ..kernels import Kernel, centered
from ..kernels.operators import GramOperator, make_gram
from ..kernels.rows import DuplicateRows, row_keys
from ..problem import DualProblem, RowPenalties
from ..problem.dual import Formulation, RowArrays, find_missing_curvature
from ..problem.penalty import group_sums
from ..rows.row_store import BREAKDOWNS, AnomalyMarks, PlainState, RowStore, run_until_current
from ..solvers import Result, Status
from ..solvers.path import PathFollower
from ..solvers.run import HistoryEntry, certify
from .retrain import solve_near_start, solve_to_rounding
from .solution import TrainingRows

# A variable of a start that is this near a breakpoint, relative to its interval, is on it.
_BREAKPOINT_TOLERANCE = 1e-9
# Relative rounding beyond which h is computed afresh.
_ROUNDING = 1e-11
# Paths that are tried: another one may go another way.
_MAX_PATHS = 2
# Rows between breakpoints beyond which their factor would take gigabytes.
_MAX_BOUNDARY_ROWS = 20_000


class SavedStream(PlainState):
    """The saved state of a ``ConvexStream``: its rows, and where its path continues."""

    # Numbers of rows that follow from the others, and are not saved.
    derived_values: tuple[str, ...] = ("diagonal", "key", "followed")
    # What counts as lost to rounding, and the violation at the end of the last training.
    tol: float = np.inf
    is_relative = True
    _last_violation = (0.0, 0.0)
    # What a stream of a model has.
    stated: Formulation
    kernel: Kernel
    shift: FloatArray | None
    rows: RowStore
    version: int
    done: bool
    on_path: IntArray | None
    _start: tuple[FloatArray, float]

    if TYPE_CHECKING:  # attributes of some streams, and properties of others

        @property
        def n_steps(self) -> int:
            """Steps so far."""

        @property
        def history(self) -> list[HistoryEntry]:
            """Entries of the solution and of all updates since."""

    @abstractmethod
    def solution(self) -> tuple[DualProblem, Result]:
        """Return the problem of the rows on the path, and its solution."""

    def __getstate__(self) -> dict[str, Any]:
        """Plain values: the rows that are there, and the solution that a path continues from."""
        alive, rows = self.rows.alive, self.rows.state()
        a, multiplier = self._start
        if self.on_path is not None:
            # In the model's own variables; leaving rows are gone, and a path makes good for it.
            _, result = self.solution()
            a = self.rows.scatter(self.on_path, result.a)[alive]
            multiplier = result.multiplier
        weight, own = weight_in_training(rows), rows.pop("weight")
        kept = {name: value for name, value in rows.items() if name not in self.derived_values}
        if np.any(own[weight != own] != 1.0):
            kept["weight_before"] = own
        if "anomaly" in kept and not kept["anomaly"].any():
            del kept["anomaly"]
        return {
            "formulation": self.stated,
            "kernel": self.kernel,
            "shift": self.shift,
            "rows": kept | {"weight": None if np.all(weight == 1.0) else weight},
            "a": a,
            "multiplier": float(multiplier),
            "n_steps": self.n_steps,
            "history": json.dumps(self.history, default=float),
            "version": self.version,
            "done": self.done,
        }

    def rounding_violation(self) -> float:
        """Return the violation of the solution where rounding keeps it above ``tol``, else 0.

        ``tol`` is in units of the gradient or, with ``is_relative``, of the size of its
        terms.
        """
        violation, size = self._violation_now() if self.done else (0.0, 0.0)
        return violation if violation > self.tol * (size if self.is_relative else 1.0) else 0.0

    def _violation_now(self) -> tuple[float, float]:
        """Return the violation of the solution, and the size of the gradient's terms."""
        return self._last_violation

    def certify_solution(
        self, problem: DualProblem, a: FloatArray, gradient: FloatArray
    ) -> Result:
        """Return the Result of a problem at its variables.

        Uncertified while rows are on their way.
        """
        status = Status.CONVERGED if self.done else Status.MAX_ITER
        status = Status.STALLED if self.rounding_violation() else status
        result = certify(problem, a, gradient, status, self.n_steps, self.history)
        if not self.done:
            result.objective, result.duality_gap = np.nan, np.inf
        return result

    def __setstate__(self, state: dict[str, Any]) -> None:
        rows = dict(state["rows"])
        if rows["weight"] is None:
            rows["weight"] = np.ones(rows["X"].shape[0])
        if "calibrates" in rows:  # marked rows are saved with a weight of 0
            known = np.where(rows["calibrates"], 1.0, rows["weight"])
            rows["weight"] = rows.pop("weight_before", known)
        self.__init__(  # type: ignore[misc]  # all streams are made of these
            state["formulation"],
            state["kernel"],
            RowStore(**rows),
            (state["a"], state["multiplier"]),
            shift=state["shift"],
            n_steps=state["n_steps"],
            history=json.loads(state["history"]),
        )
        self.version, self.done = state["version"], state["done"]


def weight_in_training(rows: Mapping[str, RowMatrix]) -> FloatArray:
    """Return weights from numbers of rows by name; 0 for rows that calibrate."""
    weight = rows["weight"]
    return np.where(rows["calibrates"], 0.0, weight) if "calibrates" in rows else weight


def measure_violation(problem: DualProblem, result: Result) -> tuple[float, float]:
    """The violation of a Result, and the size of the terms that its gradient is summed from."""
    return result.violation, problem.largest * float(np.abs(result.a).sum())


class ConvexStream(SavedStream):
    """Rows, and the path that follows the solution of a ``Formulation`` over them.

    The rows change at once; the path may lag behind when its steps are limited. Until the first
    operation there is no path, and the solution is the one that the stream was given.

    ``rows`` are RowStore with "weight". Where they have a mark "calibrates", marked rows keep
    their weight but take no part; for the mark "anomaly" see ``AnomalyMarks``. ``start`` are the
    variables of all rows and the multiplier of the model's solution, which took
    ``n_steps`` and has a ``history``; ``shift`` is taken from all rows before the kernel sees
    them. ``version`` goes up with everything that may change the solution; ``done``: the path has
    caught up with the rows. ``on_path`` are the places of the rows on the path (before it begins,
    of those that it starts from), ``mass`` the sum of their weights.
    """

    cache_size: float = 200e6
    n_jobs: int = 1
    deadline: Deadline = ENDLESS
    formulation: Formulation
    # Places of the rows on the path, which row of the path each is, and their weights together;
    # None before the first operation.
    on_path: Any
    of: Any
    mass: Any

    def __init__(
        self,
        formulation: Formulation,
        kernel: Kernel,
        rows: RowStore,
        start: tuple[FloatArray, float],
        *,
        shift: FloatArray | None = None,
        n_steps: int = 0,
        history: Iterable[HistoryEntry] = (),
    ) -> None:
        self.stated = self.formulation = formulation
        self.kernel, self.shift, self.rows = kernel, shift, rows
        self.marks = AnomalyMarks(rows)
        self.version, self.done = 0, True
        self._start = start  # the model's, until a path has begun: then the path's
        self._steps_before, self._history_before = n_steps, list(history)
        self.path: PathFollower | None = None
        self.on_path = self.of = self.mass = None
        self.heads: Any = None  # a place of every row of the path
        self.stale = False  # whether slopes have yet to move
        self._is_far = False  # whether solving afresh is quicker than following the path
        self._gradient = np.zeros(0)  # of the solution that was solved afresh last
        self._leaving = np.zeros(0, np.int64)

    def _prepare(self) -> None:
        """Compute what the formulation needs of the rows, before anything changes."""
        if self.on_path is not None:
            return
        rows = self.rows
        rows["key"] = row_keys(rows.X)
        self.marks.begin()
        if self.formulation.needs_diagonal:
            rows["diagonal"] = self._diagonal(rows.X)
        self.formulation = self.stated.on_path(cast(RowArrays, rows))
        self.on_path = np.flatnonzero(self._rows_for_path())
        self.mass = self._total_weight(self.on_path)
        a, multiplier = self._start
        self._start = (
            a * self.formulation.unit(self.mass),
            self.formulation.path_multiplier(multiplier, self.mass),
        )

    @property
    def _begun_path(self) -> PathFollower:
        """The path, once it has begun."""
        path = self.path
        assert path is not None
        return path

    def _diagonal(self, X: RowMatrix) -> FloatArray:
        return self.kernel.diagonal(centered(X, self.shift))

    # -- rows -------------------------------------------------------------------------------------

    def __len__(self) -> int:
        return len(self.rows)

    def kernel_rows(self, places: IntArray) -> RowMatrix:
        """Return rows at some places, as the kernel sees them."""
        rows = self.rows.rows(places)
        return centered(rows, self.shift)

    def _gram(self, places: IntArray) -> GramOperator:
        """Exact kernel values of the rows at some places."""
        X = self.kernel_rows(places)
        return make_gram(self.kernel, X, dtype=np.float64, n_jobs=self.n_jobs)

    def takes(self) -> BoolArray:
        """Return the mask of the places whose rows belong on a path."""
        takes = self.formulation.takes(cast(RowArrays, self.rows))
        calibrates = self.rows.get("calibrates")
        return takes if calibrates is None else takes & ~calibrates

    def _rows_for_path(self) -> BoolArray:
        return self.rows.alive & self.takes()

    def _check_left(self, left: BoolArray, calibrates: BoolArray | None) -> None:
        """Refuse to keep only the rows in the mask ``left``, where these leave no model."""
        left = left if calibrates is None else left & ~calibrates
        self.formulation.check_remaining(self.rows.at(left))

    def check_removable(self, places: IntArray) -> None:
        """Refuse to leave out a row without which there is no model."""
        self._prepare()
        for kind in self.kinds():
            here = places[kind[places]]
            if len(here):
                left = self.rows.alive.copy()
                left[here[np.argmax(self.rows["weight"][here])]] = False
                self._check_left(left, self.rows.get("calibrates"))

    def kinds(self) -> Sequence[BoolArray]:
        """Masks of the kinds of rows that a model needs one of."""
        normal, calibrates = ~self.marks.mask, self.rows.get("calibrates")
        return [normal if calibrates is None else normal & ~calibrates]

    def add(self, X: RowMatrix, anomaly: BoolArray | None = None, **values: AnyArray) -> IntArray:
        """Add rows with their numbers, "weight" among them, and perhaps marks; their places."""
        self._prepare()
        values |= self.marks.values_of_new(row_keys(X), anomaly)
        if self.formulation.needs_diagonal:
            values["diagonal"] = self._diagonal(X)
        self.formulation = self.formulation.with_new_rows(values)
        self.version += 1
        return self.rows.append(X, **values)

    def remove(self, indices: IntArray, switching: IntArray | None = None) -> IntArray:
        """Let rows go, by what users call them.

        Those ``switching`` then go from training to calibration, or the other way.
        """
        self._prepare()
        places, left = self.rows.places[indices], self.rows.alive.copy()
        left[places] = False
        calibrates = self.rows.get("calibrates")
        if switching is not None and len(switching):
            assert calibrates is not None  # only rows of a split switch
            moved, calibrates = self.rows.places[switching], calibrates.copy()
            calibrates[moved] = ~calibrates[moved]
        self._check_left(left, calibrates)
        self.version += 1
        if calibrates is not None:
            self.rows["calibrates"] = calibrates
        self.rows.drop(places)
        return places

    def relabel(
        self, indices: IntArray, anomaly: BoolArray, switching: IntArray | None = None
    ) -> None:
        """Let rows become anomalies, or normal rows, by what users call them.

        ``anomaly`` are their marks. Anomalies calibrate no more, and rows that become normal are
        trained on. Those ``switching`` go from training to calibration, or the other way.
        """
        self._prepare()
        self.marks.hold()
        rows, places = self.rows, self.rows.places[indices]
        marks, calibrates = rows["anomaly"].copy(), rows.get("calibrates")
        marks[places] = anomaly
        if calibrates is not None:
            calibrates = calibrates & ~marks
            moved = rows.places[switching]
            calibrates[moved] = ~calibrates[moved]
        left = rows.alive if calibrates is None else rows.alive & ~calibrates
        self.formulation.check_remaining(rows.at(left) | {"anomaly": marks[left]})
        self.version += 1
        self._is_far = self.done and (self.path is None or self._is_path_long(places, anomaly))
        rows["anomaly"] = marks
        if calibrates is not None:
            rows["calibrates"] = calibrates

    def training_rows(self) -> TrainingRows:
        """Return the rows that are there, as ``TrainingRows``."""
        state = self.rows.state()
        anomaly = state.get("anomaly")
        label = None if anomaly is None else np.where(anomaly, -1, 1).astype(np.int8)
        return TrainingRows(state["X"], weight_in_training(state), label)

    # -- the path ---------------------------------------------------------------------------------

    def run(self, max_steps: int | None = None) -> bool:
        """Let the path catch up with the rows, and return whether it has within ``max_steps``."""
        self._prepare()
        is_far, self._is_far = self._is_far, False
        if is_far and max_steps is None and self._retrain():
            return True
        before = self._start, self._steps_before, self._history_before
        is_first = self.path is None and self.done
        is_first = is_first and not self.marks.mask_of_changed_marks(self.on_path).any()
        is_first = is_first and np.array_equal(np.flatnonzero(self._rows_for_path()), self.on_path)
        self.done = False
        try:
            with self.explain_breakdowns():
                self.done = self._catch_up_or_train(max_steps)
        except BaseException as error:
            self._discard_path()
            if is_first and isinstance(error, ValueError):  # no path: the solution is the start
                self._start, self._steps_before, self._history_before = before
                self.done = True
            raise
        finally:
            self.version += 1
        return self.done

    def _catch_up_or_train(self, max_steps: int | None) -> bool:
        """Follow a path, or another one; where both break down, train on the present rows."""
        for _ in range(_MAX_PATHS):
            try:
                return self._catch_up(max_steps)
            except BREAKDOWNS as error:
                self._discard_path()
                broken = error
        if not self._has_curvature():
            raise broken
        places, problem = self._current_problem()
        result = solve_to_rounding(problem, self.deadline, self.cache_size)
        done = result.status in (Status.CONVERGED, Status.STALLED)
        self._start_from_result(places, problem, result, done)
        return done

    def _catch_up(self, max_steps: int | None) -> bool:
        if self.path is None:
            self._begin()
        return run_until_current(self._begun_path, self._next, max_steps, self.deadline)

    def _next(self, max_steps: int | None) -> bool | None:
        """Return one operation of the path; None when there is nothing to do.

        Rows arrive before others leave, so that every sum on the way can be reached.
        """
        self._sync_membership()
        self.marks.follow_current(self.on_path)
        wanted, there = self._rows_for_path(), np.zeros(self.rows.n_places, bool)
        there[self.on_path] = True
        joining = np.flatnonzero(wanted & ~there)
        stays = wanted[self.on_path] & ~self.marks.mask_of_changed_marks(self.on_path)
        if len(joining):
            return self._add_rows(joining, max_steps)
        if not stays.all():
            return self._remove_rows(stays, max_steps)
        if self.stale:
            self.stale = False
            return self.move_to(self._begun_path, self.mass, max_steps)
        self._check_rounding()
        moved = self.rows.compact()
        if moved is not None:
            self.on_path, self.heads = moved[self.on_path], moved[self.heads]
        return None

    def _add_rows(self, joining: IntArray, max_steps: int | None) -> bool:
        """Let rows join the path: those that equal rows on it, or else the others."""
        heads, key = self.heads, self.rows["key"]
        here = key[heads]
        is_alike = here == key[joining] if len(joining) == 1 else np.isin(here, key[joining])
        alike = np.flatnonzero(is_alike)
        places = np.append(heads[alike], joining)
        copies = DuplicateRows.among(self.rows.rows(places), key[places])
        first = copies.first[copies.of[len(alike) :]]
        known = first < len(alike)
        if known.any():
            joining, of = joining[known], alike[first[known]]
            changed = np.unique(of)
        else:
            new, of = np.unique(first, return_inverse=True)
            changed, of = len(heads) + np.arange(len(new)), len(heads) + of
            self.heads = np.append(heads, joining[new - len(alike)])
        on_path, of = np.append(self.on_path, joining), np.append(self.of, of)
        if np.any(on_path[1:] < on_path[:-1]):
            order = np.argsort(on_path)
            on_path, of = on_path[order], of[order]
        self.on_path, self.of = on_path, of
        mass = self._set_mass(self._total_weight(on_path))
        penalties = self.penalties(self.merge_rows(changed), mass)
        total = self.formulation.total(mass)
        if known.any():
            return self._begun_path.change(changed, penalties, total=total, max_steps=max_steps)
        rows = self.kernel_rows(self.heads[changed])
        return self._begun_path.add(rows, penalties, total=total, max_steps=max_steps)

    def _remove_rows(self, stays: BoolArray, max_steps: int | None) -> bool:
        """Let rows leave the path: those that equal rows which stay, or else the others."""
        left = np.bincount(self.of[stays], minlength=len(self._begun_path)) > 0
        is_copy = ~stays & left[self.of]
        stays = ~is_copy if is_copy.any() else stays
        self._leaving = self.on_path[~stays]
        mass = self._set_mass(self._total_weight(self.on_path[stays]))
        changed, total = np.unique(self.of[~stays]), self.formulation.total(mass)
        if not is_copy.any():
            return self._begun_path.remove(changed, total=total, max_steps=max_steps)
        penalties = self.penalties(self.merge_rows(changed, stays), mass)
        return self._begun_path.change(changed, penalties, total=total, max_steps=max_steps)

    def _total_weight(self, places: IntArray) -> float:
        """Return the total weight of the rows at places."""
        if self.rows.get("followed") is None:
            return float(self.rows["weight"][places].sum())
        return float(self.formulation.masses(self.marks.at(places)).sum())

    def _set_mass(self, mass: float) -> float:
        self.stale |= self.formulation.moves_slopes and mass != self.mass
        self.mass = mass
        return mass

    def _sync_membership(self) -> None:
        """See whether rows that were leaving have left the path, and others never joined it."""
        n = len(self._begun_path)
        stays = self.of < n
        if len(self._leaving):
            others = ~np.isin(self.on_path, self._leaving)
            is_off = np.count_nonzero(np.bincount(self.of[others])) == n
            if is_off and (self._begun_path.finished or not stays.all()):
                stays, self._leaving = others, self._leaving[:0]
        if not stays.all():
            of = self.of[stays]
            number = np.cumsum(np.bincount(of) > 0) - 1  # without those that nobody has any more
            self._set_path_rows(self.on_path[stays], number[of])

    def _set_path_rows(self, on_path: IntArray, of: IntArray) -> None:
        """Rows that are on the path, and a place of every row of it (``heads``)."""
        self.on_path, self.of = on_path, of
        self.heads = np.empty(int(of.max(initial=-1)) + 1, np.int64)
        self.heads[of[::-1]] = on_path[::-1]

    def merge_rows(
        self, numbers: slice | IntArray = slice(None), stays: slice | BoolArray = slice(None)
    ) -> dict[str, AnyArray]:
        """Numbers of rows of the path by name, with the weights of the rows that stay together."""
        heads, weight = self.heads, self.rows["weight"][self.on_path[stays]]
        weight = np.bincount(self.of[stays], weight, minlength=len(heads))
        return self.marks.at(heads[numbers]) | {"weight": weight[numbers]}

    def penalties(self, rows: RowArrays, mass: float) -> RowPenalties:
        """RowPenalties of rows of the path, from their numbers."""
        penalty = self.formulation.penalty(rows, mass)
        return RowPenalties.convex(penalty, self.formulation.ridge(rows))

    def move_to(self, path: PathFollower, mass: float, max_steps: int | None = None) -> bool:
        """Move a path over the present rows to the problem of a mass."""
        rows, penalties = np.arange(len(path)), self.penalties(self.merge_rows(), mass)
        total = self.formulation.total(mass)
        return path.move(rows, penalties, total=total, max_steps=max_steps)

    def _check_rounding(self) -> None:
        """Compute afresh what steps of a path have left of its sum and conditions."""
        path, total = self._begun_path, self.formulation.total(self.mass)
        a, penalty = path.a, path.penalty
        steepest = max(np.abs(slope).max() for slope in penalty.slopes)
        size = steepest + np.abs(path.h).max() + abs(path.multiplier)
        lost = abs(a.sum() - total) > _ROUNDING * np.abs(a).sum()
        if lost or path.violation() > _ROUNDING * size:
            path.refresh()

    def _begin(self) -> None:
        """Begin the path at a solution, and make that exact."""
        self._gradient = self._gradient[:0]
        self.marks.follow_current(self.on_path[:0])
        places = np.flatnonzero(self._rows_for_path())
        copies = DuplicateRows.among(self.rows.rows(places), self.rows["key"][places])
        known, multiplier = self._start
        a = np.append(known, np.zeros(self.rows.n_places - len(known)))
        self._start = a, multiplier  # of all rows, also if this is interrupted
        self._set_path_rows(places, copies.of)
        self._leaving = self._leaving[:0]
        self.mass, self.stale = self._total_weight(places), False
        penalties = self.penalties(self.merge_rows(), self.mass)
        a = penalties.penalty.rounded(group_sums(copies, a[places]), _BREAKPOINT_TOLERANCE)
        members = int(penalties.penalty.between(a).sum())
        if members > _MAX_BOUNDARY_ROWS:
            raise ValueError(
                f"{members} training rows lie exactly on the boundary; an update needs a matrix "
                f"of that size, and the limit is {_MAX_BOUNDARY_ROWS}. Fit again instead, or "
                "choose parameters with fewer such rows."
            )
        self.path = PathFollower(
            self.kernel,
            scale=self.formulation.scale,
            total=self.formulation.total(self.mass),
            cache_size=self.cache_size,
            n_jobs=self.n_jobs,
            deadline=self.deadline,
        )
        self._begun_path.load(self.kernel_rows(places[copies.first]), penalties, a, multiplier)

    def _is_path_long(self, places: IntArray, anomaly: BoolArray) -> bool:
        """Return whether a path to other marks takes longer than solving afresh.

        It is short for support vectors that become anomalies. Elsewhere it has many steps.
        """
        return not np.all(anomaly) or bool(np.any(self._all_variables()[places] == 0.0))

    def _discard_path(self) -> None:
        """After an exception: let another path begin where this one ended."""
        path = self.path
        if path is None:
            return
        self._steps_before, self._history_before = self.n_steps, self.history
        if len(path):
            self._sync_membership()
            self._start = self._all_variables(), path.multiplier
        self.path = None

    def _variables(self) -> FloatArray:
        """Return the variables of the rows on the path, shared out among equal rows."""
        a, of = self._begun_path.a, self.of
        if len(a) < len(of):
            rows = self.marks.at(self.on_path)
            penalties = self.penalties(rows, self.mass)
            if penalties.ridge.any():
                return a[of] * (rows["weight"] / self.merge_rows()["weight"][of])
            first = np.searchsorted(self.on_path, self.heads)
            return penalties.penalty.share_out(a, DuplicateRows(of, first))
        return a[of]

    def _all_variables(self) -> FloatArray:
        """Return the variables at all places."""
        return self.rows.scatter(self.on_path, self._variables())

    # Of the start and of all paths since.

    @property
    def n_steps(self) -> int:
        return self._steps_before + (0 if self.path is None else self._begun_path.n_steps)

    @property
    def history(self) -> list[HistoryEntry]:
        return self._history_before + ([] if self.path is None else list(self._begun_path.history))

    # -- without a path ---------------------------------------------------------------------------

    @contextmanager
    def explain_breakdowns(self) -> Iterator[None]:
        """Refuse a kernel under which a path breaks down because it isn't an inner product."""
        try:
            yield
        except BREAKDOWNS as error:
            if self._has_curvature():
                raise ValueError(
                    "models without a row are lost to rounding, because kernel values are so "
                    "large. Scale the columns, and check for outliers."
                ) from error
            raise ValueError(
                "leave-one-out scores and updates need a positive semi-definite kernel, and this "
                "one isn't. Use another kernel, or calibration='split' for calibrated thresholds."
            ) from error

    def _has_curvature(self) -> bool:
        gram = self._gram(self.on_path)
        return not np.isnan(find_missing_curvature(gram, np.zeros(gram.n)))

    def _retrain(self) -> bool:
        """Solve near the last solution, and return whether that gave an exact one."""
        gradient, self._gradient = self._gradient, self._gradient[:0]
        if self.path is not None:
            self._sync_membership()
            gradient = (self.path.h + self.path.multiplier)[self.of]
            gradient /= self.formulation.unit(self.mass)
        self._discard_path()
        places, problem = self._current_problem()
        known = self._start[0]
        known = np.append(known, np.zeros(self.rows.n_places - len(known)))[places]
        start = known / self.formulation.unit(self.mass)
        self.done = False
        self.version += 1
        result = solve_near_start(
            problem,
            start,
            gradient if len(gradient) == len(places) else None,
            lambda chosen: self._gram(places[chosen]),
            self.deadline,
            self.cache_size,
        )
        if result is None:
            return False
        self._start_from_result(places, problem, result)
        self.done = True
        return True

    def _current_problem(self) -> tuple[IntArray, DualProblem]:
        """Return the places of the rows that belong on a path, and the problem over them."""
        self.marks.follow_current(self.on_path[:0])
        places = np.flatnonzero(self._rows_for_path())
        return places, self.stated.problem(self._gram(places), self.marks.at(places))

    def _start_from_result(
        self, places: IntArray, problem: DualProblem, result: Result, finished: bool = True
    ) -> None:
        """Store the Result over the rows at some places as the solution, and start of a path."""
        self._gradient, self._last_violation = result.gradient, measure_violation(problem, result)
        self.on_path, self.mass, self.stale = places, self._total_weight(places), False
        self._start = (
            self.rows.scatter(places, result.a) * self.formulation.unit(self.mass),
            self.formulation.path_multiplier(result.multiplier, self.mass),
        )
        entry = {"operation": "solve", "rows": len(places), "steps": result.n_iter, "flips": 0}
        self._history_before = [*self._history_before, {**entry, "finished": finished}]
        self._steps_before += result.n_iter

    def _violation_now(self) -> tuple[float, float]:
        path = self.path
        if path is None:
            return self._last_violation
        unit = self.formulation.unit(self.mass)
        if not self.is_relative and path.resolution <= self.tol * unit:
            return 0.0, 0.0
        return path.violation() / unit, path.size_of_terms / unit

    # -- the model's solution ---------------------------------------------------------------------

    def solution(self, gram: GramOperator | None = None) -> tuple[DualProblem, Result]:
        """The model's problem over the rows on the path, equal ones each, and its Result."""
        self._prepare()
        path, unit = self.path, self.formulation.unit(self.mass)
        if path is not None:
            self._sync_membership()
        gram = self._gram(self.on_path) if gram is None else gram
        problem = self.stated.problem(gram, self.marks.at(self.on_path))
        a = self._start[0][self.on_path] if path is None else self._variables()
        a = problem.penalty.rounded(a / unit)
        if path is not None:
            gradient = (path.h + path.multiplier)[self.of] / unit
        elif len(self._gradient):
            gradient = self._gradient
        else:
            gradient = problem.gradient(a)
        return problem, self.certify_solution(problem, a, gradient)
