"""USMO, Algorithm 1 of the paper: pairs of unlabelled samples, one closed form each.

    minimise_s   1/2 s' K s + sum_u (linear_u s_u - min(s_u, c2_u - s_u))
    subject to   sum_u s_u = c1 p,   0 <= s_u <= c2_u                           (6)

over the unlabelled samples; s is the paper's sigma, its delta stands at the optimum
``2 min(s, c2 - s)`` and ``linear = -c1 K_UP 1``. With ``F = -(K s + linear)``, the paper's
f without the bias, and

    D1 = {0 <= s < c2/2},   D2 = {c2/2 < s <= c2},   D3 = {0 < s < c2},

s is tau-optimal if and only if

    max_D1 F - min_D3 F     <= tau
    max_D3 F - min_D2 F     <= tau
    max_D1 F - min_D2 F + 2 <= tau                                             (13)
    max_D3 F - min_D3 F - 2 <= tau

The paper's (13) and (14) lack the last line. It does not follow from the others, but is
needed: (12) asks for ``-1 - tau/2 <= f <= 1 + tau/2`` on D3, so that values there may not
be further apart than ``2 + tau``. Two samples on their kink satisfy the paper's (13)
whatever f is.

Samples with ``0 < s < c2``, ``s != c2/2`` are *non-bound*. Their F is kept up to date by
(15); F of any other sample is computed from its kernel row when the sample is examined.
The search for violating pairs alternates (section 4.3):

* the most violating pair of the non-bound set, until that set is tau-optimal;
* all samples one at a time, each against the most critical values of the non-bound set and
  of the samples examined since the last step.

It ends with a scan of the second kind that finds no violating pair. Not the paper's:
``linear`` is computed once instead of with every f, and kernel rows are evaluated a few
dozen at a time and kept within a bound on memory. Neither changes a decision.
"""

from __future__ import annotations

import time
from collections.abc import Iterator

import numpy as np

from ..._core import usmo as core
from ..._typing import FloatArray, IntArray, VectorLike
from ...kernels.operators import GramOperator
from ...kernels.operators.column_cache import ColumnCache
from ...problem import DualProblem
from ..run import Callback, HistoryEntry, Result, Status, certify

# Samples whose rows are evaluated at a time.
_ROWS_AT_A_TIME = 64
# Updates of single values in one compiled call: about a third of a second.
_WORK_PER_CALL = 3e8
# What rounding may leave of the shape of the penalty.
_ROUNDING = 1e-9


def solve_usmo(
    problem: DualProblem,
    start: VectorLike | Result | None = None,
    *,
    tol: float = 1e-3,
    max_iter: int = -1,
    max_time: float = np.inf,
    cache_size: float = 200e6,
    callback: Callback | None = None,
) -> Result:
    """Solve the positive-unlabelled problem with the double hinge loss by USMO.

    ``problem`` is a ``DoubleHinge``'s, or any of its shape; ``start`` a feasible point or
    Result, such as ``usmo_start`` returns (None fills one variable after the other); ``tol`` the
    paper's tau. ``max_iter`` limits pair steps (-1: no limit), ``cache_size`` the bytes for kernel
    rows, of which at least four are held. ``callback(entry)`` is called after every scan;
    returning True stops.

    ``multiplier`` of the Result is the bias beta: (16) averaged over the non-bound samples, or the
    middle of the interval that optimality leaves when there are none. A step costs O(non-bound
    samples), a scan of the second kind O(n^2).
    """
    _check_shape(problem)
    run = _Run(problem, start, tol, max_iter, max_time, cache_size, callback)
    try:
        run.begin()
        while run.status is None:
            run.scan_non_bound()
            if run.status is None:
                run.scan_whole()
    except KeyboardInterrupt:
        run.status = Status.INTERRUPTED
    return run.result()


def _check_shape(problem: DualProblem) -> None:
    p = problem.penalty
    (low, *kinks, high), height = p.ends, np.abs(p.slopes[0]) + np.abs(p.slopes[-1])
    fits = (
        not low.any()
        and np.isfinite(high).all()
        and len(kinks) == 1
        and (np.abs(kinks[0] - 0.5 * high) <= _ROUNDING * high).all()
        and (np.abs(p.slopes[1] - p.slopes[0] - 2.0) <= _ROUNDING * height).all()
        and problem.scale == 1.0
        and not problem.ridge.any()
    )
    if not fits:
        raise ValueError(
            "USMO solves the positive-unlabelled problem with the double hinge loss alone: "
            "variables in [0, c2], slopes that differ by 2 and meet at c2 / 2, and Q = K; "
            "use solve_decomposition or solve_qp for another problem."
        )


def _make_output() -> core.ScanOutput:
    return core.ScanOutput(np.array([0.0, -np.inf]), np.zeros(2, np.int64))


class _Run:
    def __init__(
        self,
        problem: DualProblem,
        start: VectorLike | Result | None,
        tol: float,
        max_iter: int,
        max_time: float,
        cache_size: float,
        callback: Callback | None,
    ) -> None:
        self.started = time.perf_counter()
        self.tol, self.max_iter, self.max_time = tol, max_iter, max_time
        self.callback = callback
        self.problem = problem
        # Rounding of float32 kernel values would pass for violations.
        gram = problem.gram.refined() or problem.gram
        self.rows = _Rows(gram, cache_size)
        p, n = problem.penalty, problem.n
        self.linear = 0.5 * (p.slopes[0] + p.slopes[1])
        self.sigma, self.F = self._start(start), np.zeros(n)
        self.members, self.place = np.zeros(n, np.int64), np.full(n, -1, np.int64)
        self.count = 0
        self.samples = core.Samples(
            self.sigma,
            np.ascontiguousarray(p.kinks[0]),
            np.ascontiguousarray(p.upper),
            self.linear,
            np.ascontiguousarray(gram.diagonal(), dtype=float),
            self.F,
            self.members,
            self.place,
        )
        self.n_iter = 0
        self.history: list[HistoryEntry] = []
        self.status: Status | None = None
        self.gradient: FloatArray | None = None
        self.evaluated_at = -1

    def _start(self, start: VectorLike | Result | None) -> FloatArray:
        if start is None:
            return self.problem.feasible_start()
        sigma = np.array(start.a if isinstance(start, Result) else start, dtype=float)
        if sigma.shape != (self.problem.n,) or not self.problem.is_feasible(sigma):
            raise ValueError(
                f"the start is not feasible: pass {self.problem.n} values in their intervals "
                f"that sum to {self.problem.total:g} (here shape {sigma.shape}, sum "
                f"{sigma.sum():g})."
            )
        # Steps keep the sum: what it lacks would make a sample non-bound in the end.
        return self.problem.round_to_breakpoints(sigma)

    def begin(self) -> None:
        """Fill the function cache of the start."""
        for u in np.flatnonzero(self.problem.penalty.between(self.sigma)):
            self.count = core.set_membership(int(u), True, self.members, self.place, self.count)
        self._evaluate_members()

    def _evaluate_members(self) -> None:
        for samples in self.rows.parts(self.members[: self.count].copy()):
            self.rows.load(samples)
            core.evaluate(samples, self.samples, self.rows.stored)

    # -- the two scans -----------------------------------------------------------------

    def scan_non_bound(self) -> None:
        """Steps within the non-bound set until it is tau-optimal."""
        before, output = self.n_iter, _make_output()
        code = core.STEP_LIMIT
        while code in (core.STEP_LIMIT, core.NEED_ROWS) and not self._is_out_of_time():
            code, steps, self.count = core.scan_non_bound(
                self.samples,
                self.count,
                self.rows.stored,
                self.tol,
                self._steps(self.count),
                output,
            )
            self.n_iter += steps
            if self._handle_code(code, output.need):
                break
        self._record("non-bound", before, output.tally)

    def scan_whole(self) -> None:
        """Examine every sample once; converged if none is part of a violating pair."""
        n, before, output = self.problem.n, self.n_iter, _make_output()
        critical = core.find_critical(self.samples, self.count)
        for samples in self.rows.parts(np.arange(n)):
            self.rows.load(samples[self.place[samples] < 0])
            position, last = int(samples[0]), int(samples[-1]) + 1
            while position < last and not self._is_out_of_time():
                code, steps, self.count, position = core.scan_whole(
                    range(position, last),
                    critical,
                    self.samples,
                    self.count,
                    self.rows.stored,
                    self.tol,
                    self._steps(n),
                    output,
                )
                self.n_iter += steps
                if self._handle_code(code, output.need):
                    break
            if self.status is not None:
                break
        if self.status is None and self.n_iter == before:
            self._check_optimality()
        self._record("whole", before, output.tally)

    def _check_optimality(self) -> None:
        """After a scan without a step F is complete: converged, unless the cache drifted."""
        self._evaluate_members()
        gradient = -(self.F + self.linear)
        if self.problem.survey(self.sigma, gradient).violation <= self.tol:
            self.gradient, self.status = gradient, Status.CONVERGED
        elif self.evaluated_at == self.n_iter:
            self.status = Status.STALLED
        self.evaluated_at = self.n_iter

    def _steps(self, width: int) -> int:
        most = max(1, int(_WORK_PER_CALL / max(100, width)))
        return most if self.max_iter < 0 else min(most, max(0, self.max_iter - self.n_iter))

    def _handle_code(self, code: int, need: IntArray) -> bool:
        """Fetch what a compiled call requested; whether the limit on steps ends the run."""
        if code == core.NEED_ROWS:
            self.rows.load(np.unique(need))
        if code == core.STEP_LIMIT and 0 <= self.max_iter <= self.n_iter:
            self.status = Status.MAX_ITER
        return self.status is not None

    def _is_out_of_time(self) -> bool:
        if time.perf_counter() - self.started >= self.max_time:
            self.status = Status.MAX_TIME
        return self.status is not None

    def _record(self, scan: str, before: int, tally: FloatArray) -> None:
        entry = {
            "round": len(self.history) + 1,
            "scan": scan,
            "violation": max(0.0, float(tally[1])),
            "steps": self.n_iter - before,
            "decrease": float(tally[0]),
            "non_bound": self.count,
            "kernel_values": self.rows.n_values(),
            "seconds": time.perf_counter() - self.started,
        }
        self.history.append(entry)
        if self.callback is not None and self.callback(entry) and self.status is None:
            self.status = Status.STOPPED

    def result(self) -> Result:
        """Return the state reached, certified."""
        sigma, gradient = self.problem.round_to_breakpoints(self.sigma), self.gradient
        if gradient is None:
            gradient = self.problem.gradient(sigma)
        assert self.status is not None
        return certify(self.problem, sigma, gradient, self.status, self.n_iter, self.history)


class _Rows:
    """Kernel rows in float64, the least recently loaded dropped first."""

    def __init__(self, gram: GramOperator, max_bytes: float) -> None:
        n = gram.n
        self.gram, self.before = gram, gram.n_values
        self.capacity = min(n, max(4, int(max_bytes / (8 * max(1, n)))))
        self.cache = ColumnCache(n, 8 * n * self.capacity)
        self.stored = core.KernelRows(self.cache.storage, self.cache.slots(slice(None)))

    def n_values(self) -> int:
        """Return kernel values evaluated so far."""
        return self.gram.n_values - self.before

    def parts(self, samples: IntArray) -> Iterator[IntArray]:
        """``samples`` in parts that fit, with room for two more rows."""
        step = max(1, min(_ROWS_AT_A_TIME, self.capacity - 2))
        return (samples[k : k + step] for k in range(0, len(samples), step))

    def load(self, samples: IntArray) -> None:
        """Hold the rows of all ``samples`` at once; no more than ``capacity``."""
        self.cache.begin()
        self.cache.find(samples, self.gram.columns)
