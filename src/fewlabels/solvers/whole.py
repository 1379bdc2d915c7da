"""Small problems whole: one block of Q, pair steps and an exact finish in compiled code.

A problem of up to a thousand rows is a single working set. What a fit costs is then not kernel
values but everything around them, so only what few rows need is done here. What cannot be finished
this way (many solutions that are equal, rounding that hides the tolerance) goes on in the engine.
"""

from __future__ import annotations

import time
from dataclasses import replace

import numpy as np

from ..problem.block import Outcome, add_products, finish_block, solve_block
from .result import Result, Status, certify

# Rows, and the share of the memory that their matrix may take.
LARGEST = 1024
_BLOCK_SHARE = 0.5
# Pair steps in one compiled call, about a third of a second, and how many calls: the engine knows
# when nothing improves.
_STEPS_PER_CALL, _MOST_CALLS = 50_000, 10
# Violation relative to the multiplier that counts as none; what Newton steps may cost, and how
# many variables they take.
_EXACT, _BUDGET, _MOST_BETWEEN = 1e-13, 60.0, 256
# Limits of fewer seconds are for the engine, which looks at the clock more often.
_NO_HURRY = 5.0


def is_whole(problem, settings):
    """Whether a problem is solved here: few rows, and no limit that would cut a run short."""
    return (
        2 <= problem.n <= LARGEST
        and 8 * problem.n**2 <= _BLOCK_SHARE * settings.cache_size
        and (settings.block_size is None or settings.block_size >= problem.n)
        and settings.max_iter < 0
        and settings.max_time > _NO_HURRY
    )


def solve_whole(problem, a, settings, before=None):
    """From a feasible ``a`` as far as compiled code goes; ``before`` is a Result to go on from.

    Returns a Result, and whether it is final.
    """
    run = _Run(problem, a, settings, before)
    try:
        final = run.go()
    except KeyboardInterrupt:
        run.status, final = Status.INTERRUPTED, True
        run.refresh()
    return run.result(final), final


class _Run:
    def __init__(self, problem, a, settings, before):
        self.started = time.perf_counter()
        self.problem, self.settings = problem, settings
        self.a, self.penalty = a, problem.penalty
        self.status = Status.CONVERGED
        self.n_iter, self.history = (
            (0, []) if before is None else (before.n_iter, [*before.history])
        )
        last = self.history[-1] if self.history else {"kernel_values": 0, "seconds": 0.0}
        self._seconds, self._values = (
            last["seconds"],
            last["kernel_values"] - problem.gram.n_values,
        )
        self.Q = problem.block(np.arange(problem.n))
        self._size = np.sqrt(np.abs(problem.gram.diagonal()))
        self._error = problem.gram.value_error * problem.scale * float(self._size.max())
        self.refresh()

    def refresh(self):
        """The gradient afresh: many small steps leave more rounding in it than one product."""
        self.g = add_products(self.Q, self.a, np.zeros(self.problem.n))

    def look(self):
        """Violation, tolerance, and what rounding leaves: in the multiplier and the gradient."""
        low, high = self.penalty.optimality(self.a, self.g)
        level = 0.5 * abs(low + high)
        level = level if np.isfinite(level) else 0.0
        noise = self._error * float(np.linalg.norm(self._size * self.a))
        tol = max(self.settings.tol, self.settings.rtol * level)
        return high - low, tol, max(_EXACT * level, 4.0 * noise), noise

    def go(self):
        """Pair steps, then Newton steps. Whether nothing is left to do."""
        for _ in range(_MOST_CALLS):
            violation, tol, exact, noise = self.look()
            if not 4.0 * noise <= tol:  # nor NaN
                return False
            if violation <= tol:
                return not self.settings.polish or self._finish(tol, exact)
            steps, outcome = solve_block(
                self.Q, self.g, self.a, self.penalty, 0.5 * tol, _STEPS_PER_CALL
            )
            if outcome is Outcome.UNBOUNDED:
                raise ValueError("the problem is unbounded below: a direction never ends.")
            self.n_iter += steps
            self.refresh()
            stop = self._record(violation, steps)
            idle = steps == 0 or outcome is Outcome.STUCK
            if idle or self._seconds_here() > self.settings.max_time:
                return False
            if stop and self.look()[0] > tol:
                self.status = Status.STOPPED
                return True
        return False

    def _finish(self, tol, exact):
        """Let all conditions hold to rounding; False where that takes the engine's means."""
        before = self.a
        self.a = self.problem.snapped(before)
        self.refresh()
        steps, _, outcome = finish_block(
            self.Q, self.g, self.a, self.penalty, exact,
            min(_MOST_BETWEEN, self.settings.polish), _BUDGET,
        )  # fmt: skip
        self.n_iter += steps
        self.refresh()
        if not self.look()[0] <= tol:  # rounding has led astray
            self.a = before
            self.refresh()
            return False
        return outcome is not Outcome.SINGULAR

    def _seconds_here(self):
        return time.perf_counter() - self.started

    def _record(self, violation, steps):
        """An entry of the history; whether the callback asks to stop."""
        entry = {
            "round": len(self.history) + 1,
            "violation": violation,
            "working_set": self.problem.n,
            "moved": self.problem.n,
            "steps": steps,
            "kernel_values": self._values + self.problem.gram.n_values,
            "seconds": self._seconds + self._seconds_here(),
        }
        self.history.append(entry)
        callback = self.settings.callback
        return callback is not None and bool(callback(entry))

    def result(self, final):
        """The state reached, certified when it is final."""
        a = self.problem.snapped(self.a)
        if final:
            return certify(self.problem, a, self.g, self.status, self.n_iter, self.history)
        unknown = Result(a, self.g, 0.0, np.nan, np.inf, np.inf, Status.STOPPED, self.n_iter)
        return replace(unknown, history=self.history)
