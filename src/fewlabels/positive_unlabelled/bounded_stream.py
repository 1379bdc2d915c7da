"""Positive and unlabelled rows that come and go, with a bound on selection bias."""

from collections.abc import Iterable
from typing import NoReturn

import numpy as np

from .._typing import AnyArray, FloatArray, IntArray, RowMatrix
from .._util.deadline import ENDLESS
from ..base.retrain import solve_near_start, solve_to_rounding
from ..base.solution import TrainingRows
from ..base.stream import SavedStream, measure_violation
from ..kernels import Kernel, centered
from ..problem import DualProblem
from ..rows.row_store import RowStore
from ..solvers import Result, Status
from ..solvers.run import HistoryEntry
from .data import PUData, PUSolution
from .problem import DoubleHingeOverAll
from .rows import PURows
from .training import bounded_problem, bounded_solution


class BoundedPUStream(SavedStream):
    """Rows with the mark "positive", and the solution of a ``DoubleHingeOverAll`` with a bias.

    A row that comes or goes moves the intervals of all positive rows, and a path would be long.
    So every update solves the problem afresh, from the solution before. ``start`` are the
    variables of all rows and the multiplier of a solution, which took ``n_steps`` and has a
    ``history``; ``shift`` is taken from all rows before the kernel sees them. ``version`` goes up
    with everything that may change the solution. ``done``: the solution is for the present
    rows. ``on_path`` are the places of the rows that it has variables of, None for all.
    """

    cache_size, n_jobs, deadline = 200e6, 1, ENDLESS
    derived_values, is_relative = (), False
    stated: DoubleHingeOverAll
    n_steps: int
    history: list[HistoryEntry]

    def __init__(
        self,
        formulation: DoubleHingeOverAll,
        kernel: Kernel,
        rows: RowStore,
        start: tuple[FloatArray, float],
        *,
        shift: FloatArray | None = None,
        n_steps: int = 0,
        history: Iterable[HistoryEntry] = (),
    ) -> None:
        self.stated, self.kernel, self.shift, self.rows = formulation, kernel, shift, rows
        self.n_steps, self.history = n_steps, list(history)
        self.version, self.done = 0, True
        self.on_path: IntArray | None = None
        self._start = start
        self._gradient: FloatArray | None = None

    # -- rows -----------------------------------------------------------------------------------

    def __len__(self) -> int:
        return len(self.rows)

    def training_rows(self) -> TrainingRows:
        """Return the rows that are there, as ``TrainingRows``."""
        state = self.rows.state()
        return TrainingRows(state["X"], state["weight"], state["positive"].astype(np.int8))

    def check_removable(self, places: IntArray) -> NoReturn:
        """Refuse leave-one-out decisions, each of which would need a fit."""
        raise ValueError(
            f"leave-one-out decisions need a model with bias=1, and this one has "
            f"bias={self.stated.bias:g}; fit again with bias=1, or score rows that were not "
            "trained on."
        )

    def add(self, X: RowMatrix, **values: AnyArray) -> IntArray:
        """Add rows with their numbers by name; their places."""
        self._fix_places()
        self.done = False
        self.version += 1
        return self.rows.append(X, **values)

    def remove(self, indices: IntArray) -> IntArray:
        """Let rows go, by what users call them; their places."""
        self._fix_places()
        places, left = self.rows.places[indices], self.rows.alive.copy()
        left[places] = False
        self.stated.check_remaining(self.rows.at(left))
        self.done = False
        self.version += 1
        self.rows.drop(places)
        return places

    def _current_places(self) -> IntArray:
        return np.flatnonzero(self.rows.alive & (self.rows["weight"] > 0))

    def _fix_places(self) -> None:
        if self.on_path is None:
            self.on_path = self._current_places()

    def _data(self, places: IntArray) -> PUData:
        rows, factor = self.rows, self.rows.get("factor")
        positive = rows["positive"][places]
        return PUData(
            centered(rows.rows(places), self.shift),
            positive,
            rows["weight"][places],
            self.kernel,
            self.n_jobs,
            float64=True,
            factor=None if factor is None else factor[places[positive]],
        )

    # -- the solution ---------------------------------------------------------------------------

    def run(self, max_steps: int | None = None) -> bool:
        """Solve the problem of the present rows; whether that was possible in time."""
        if max_steps is not None:
            raise ValueError(
                f"max_steps={max_steps} is for models with bias=1; one with "
                f"bias={self.stated.bias:g} is solved afresh. Pass max_steps=None."
            )
        if self.done:
            return True
        places = self._current_places()
        data, known = self._data(places), self._start[0]
        known = np.append(known, np.zeros(self.rows.n_places - len(known)))[places]
        stated = self.stated.with_positives(float(data.weight_positive.sum()))
        problem = bounded_problem(data, stated)
        result = solve_near_start(
            problem, known, None, data.gram_of, self.deadline, self.cache_size
        )
        if result is None:
            result = solve_to_rounding(problem, self.deadline, self.cache_size)
        self.stated, self.on_path, self._gradient = stated, places, result.gradient
        self._start = self.rows.scatter(self.on_path, result.a), result.multiplier
        entry = {"operation": "solve", "rows": len(places), "steps": result.n_iter, "flips": 0}
        self.done = result.status in (Status.CONVERGED, Status.STALLED)
        self.history.append({**entry, "finished": self.done})
        self.n_steps += result.n_iter
        self._last_violation = measure_violation(problem, result)
        self.version += 1
        moved = self.rows.compact()
        if moved is not None:
            self.on_path = moved[self.on_path]
            self._start = self.rows.scatter(self.on_path, result.a), result.multiplier
        return self.done

    def solution(self) -> tuple[DualProblem, Result]:
        """Return the model's problem over the rows on the path, and its Result."""
        return self._solution(self._data(self._places()))

    def _places(self) -> IntArray:
        return self._current_places() if self.on_path is None else self.on_path

    def _solution(self, data: PUData) -> tuple[DualProblem, Result]:
        problem, places = bounded_problem(data, self.stated), self._places()
        a = problem.penalty.rounded(self._start[0][places])
        gradient = problem.gradient(a) if self._gradient is None else self._gradient
        return problem, self.certify_solution(problem, a, gradient)

    def current_solution(self) -> tuple[PURows, PUSolution]:
        """``PURows`` with the weights of the solution, and it as a ``PUSolution``."""
        places = self._places()
        data = self._data(places)
        found, data = bounded_solution(*self._solution(data), data, self.stated)
        return PURows.from_row_store(self.rows, places, data, self.shift), found
