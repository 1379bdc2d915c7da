"""What the three solvers of the paper's penalised problem share.

SVDD with squared slack is (P) with a >= 0, linear penalties -u_i a_i and a ridge; the paper's case
is scale = 2, u_i = K_ii, ridge_i = 1 / (2 C_i) and total = 1, its eqs. (9)-(10). Turning the
equality into the quadratic term rho (sum(a) - total)^2 leaves

    minimise_a   1/2 a' Q a - v' a   subject to   a >= 0                        (13)

    Q = scale * K + diag(ridge) + 2 rho 1 1',      v = u + 2 rho total 1        (12)

which is solved exactly where the multiplier ``w = Q a - v`` satisfies

    0 <= w,   0 <= a,   w' a = 0                                                (14)

The larger rho > 0, the closer sum(a) comes to total; it never arrives. These solvers form the n x
n matrix: they are the references that the engine is measured against. Rows may have weights (``C_i
= C w_i``). Each solver takes ``rho``, ``epsilon`` (its stopping rule), a limit on iterations and a
``callback``, called after every iteration with its entry of ``history`` and the iterate ``a``;
returning True stops it.

Source of every number in brackets: Zheng 2018, "A fast iterative algorithm for support vector data
description", sections 2 and 3.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from typing import TypeAlias

import numpy as np

from ..._typing import FloatArray
from ...problem import DualProblem
from ..run import Callback, HistoryEntry, Result, Status, certify

# The next vector, whether the tolerance is reached, and the entry of the history.
Iterate: TypeAlias = tuple[FloatArray, bool, HistoryEntry]

NOT_CONVEX = (
    "the kernel matrix is not positive semi-definite, which this solver needs; use another "
    "kernel or solver='decomposition'."
)


@dataclass(kw_only=True)
class PenalisedResult(Result):
    """A solution of (13), and the feasible point of (P) that it means.

    ``a`` is the solver's vector as the paper returns it: it sums to ``total`` only up to the
    penalty (to 0.2 % for rho = 200) and may hold tiny or negative entries where the solution has
    zeros. ``gradient`` and ``multiplier`` belong to it, ``penalised_objective`` is its value of
    (11), with the constant ``rho total^2``. ``objective``, ``duality_gap`` and ``violation``
    belong to ``feasible``, since only a feasible point has a certificate: entries that (16)
    classifies as zero (``w_i > gamma a_i``) are zero, the others are scaled to sum to ``total``.
    """

    feasible: Result
    penalised_objective: float


@dataclass(frozen=True)
class PenalisedProblem:
    """The problem (13) in place of ``problem``; ``started`` is the time before Q was formed."""

    problem: DualProblem
    rho: float
    Q: FloatArray
    v: FloatArray
    started: float

    @classmethod
    def from_problem(cls, problem: DualProblem, rho: float, solver: str) -> PenalisedProblem:
        """Form Q and v of ``problem``; refuse what the paper does not cover."""
        started = time.perf_counter()
        penalty = problem.penalty
        bent = penalty.first_slope < penalty.slopes[-1]
        if penalty.lower.any() or not np.isposinf(penalty.upper).all() or bent.any():
            raise ValueError(
                f"solver={solver!r} needs variables a >= 0 without upper bounds and kinks, as "
                "SVDD with slack='squared' has them; use solver='decomposition' or 'qp' here."
            )
        if not (problem.ridge > 0).all() or problem.total <= 0 or rho <= 0:
            raise ValueError(
                f"solver={solver!r} needs a positive ridge, a positive total and rho > 0 "
                f"(here {problem.ridge.min():g}, {problem.total:g} and {rho:g}); use "
                "solver='decomposition' or 'qp' instead."
            )
        Q = problem.block(np.arange(problem.n))
        Q += 2.0 * rho
        return cls(problem, rho, Q, 2.0 * rho * problem.total - penalty.slopes[-1], started)

    def gamma(self, rate: float = 0.95) -> float:
        """``rate / max(C_i)``, the gamma of Algorithm 1.

        The proof of Proposition 2 needs ``0 < gamma < 2 lambda_min(Q)``, and Q is at
        least ``diag(ridge)`` with ``ridge_i = 1 / (2 C_i)``, so that any gamma below
        ``1 / max(C_i) = 2 min(ridge)`` will do, with weights as without.
        """
        return 2.0 * rate * float(self.problem.ridge.min())

    def result(
        self, a: FloatArray, status: Status, history: list[HistoryEntry]
    ) -> PenalisedResult:
        """Certify the solver's final vector."""
        problem, rho = self.problem, self.rho
        w = self.Q @ a - self.v
        # (P) has neither the penalty's matrix nor its linear term.
        shift = 2.0 * rho * float(a.sum() - problem.total)
        gradient = w - problem.penalty.slopes[-1] - shift
        feasible = self._make_feasible(a, w, status, history)
        return PenalisedResult(
            a=a,
            gradient=gradient,
            multiplier=-shift,
            objective=feasible.objective,
            duality_gap=feasible.duality_gap,
            violation=feasible.violation,
            status=status,
            n_iter=len(history),
            history=history,
            feasible=feasible,
            penalised_objective=0.5 * float(a @ (w - self.v)) + rho * problem.total**2,
        )

    def _make_feasible(
        self, a: FloatArray, w: FloatArray, status: Status, history: list[HistoryEntry]
    ) -> Result:
        problem = self.problem
        support = (a > 0) & (w <= self.gamma() * a)
        if not support.any():  # stopped before anything was learnt
            support = np.ones(problem.n, dtype=bool)
            a = np.ones(problem.n)
        at = np.where(support, a, 0.0)
        at *= problem.total / at.sum()
        gradient = self.Q[:, support] @ at[support] - 2.0 * self.rho * problem.total
        return certify(problem, at, gradient, status, len(history), history)


def check_convex(Q: FloatArray) -> None:
    """Refuse a matrix that is not positive definite."""
    try:
        np.linalg.cholesky(Q)
    except np.linalg.LinAlgError:
        raise ValueError(NOT_CONVEX) from None


def iterate(
    penalised: PenalisedProblem,
    start: FloatArray,
    steps: Iterator[Iterate],
    max_iter: int,
    callback: Callback | None,
) -> PenalisedResult:
    """Run a solver that is a generator, with history, limit, callback and Ctrl-C.

    ``steps`` yields the next vector, whether the tolerance is reached, and what to record; if it
    ends by itself it found no further progress. The vector given to ``callback`` is a view.
    """
    a, status = start, None
    history: list[HistoryEntry] = []
    try:
        for a, done, entry in islice(steps, max_iter):
            entry = {"round": len(history) + 1, **entry}
            entry["seconds"] = time.perf_counter() - penalised.started
            history.append(entry)
            if done:
                status = Status.CONVERGED
            if callback is not None and callback({**entry, "a": a}):
                status = status or Status.STOPPED
            if status is not None:
                break
    except KeyboardInterrupt:
        status = Status.INTERRUPTED
    if status is None:
        status = Status.MAX_ITER if len(history) == max_iter else Status.STALLED
    return penalised.result(a, status, history)
