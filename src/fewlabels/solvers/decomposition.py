"""The engine: block decomposition of problem (P), coarse to fine.

    minimise_a   1/2 a' Q a + sum_i phi_i(a_i)   subject to   sum_i a_i = total

Each round

1. *proposes* a working set: the rows that violate optimality most in either
   direction, and their nearest neighbours in that order;
2. *fetches* the block of Q between them, in float64;
3. solves the block by pair steps in compiled code, to a share of the violation;
4. *updates* the gradient with the columns of the variables that moved.

Only these operations touch anything of size n. The largest array of kernel values is a
working set's block, within ``cache_size``; a problem of about a thousand rows fits into
one, larger ones never form an n x n array unless ``cache_size`` holds it. A cold start on
many rows begins with a random sixth of them (``coarse.py``), which leaves little more to
evaluate than the columns of the final support vectors.
"""

from __future__ import annotations

import time
from dataclasses import replace

import numpy as np

from .._threads import one_blas_thread
from ..gram import CachedGram, PrecomputedGram
from . import _pairs
from .coarse import coarse_start
from .polish import newton_step
from .result import Result, Status, certify
from .settings import Settings

# Newton finishes: a budget of steps of up to _CHEAP variables (larger ones count by their
# cube), down to which violation relative to the multiplier, and how many pair steps per
# variable in between.
_POLISHES = 60
_CHEAP = 200
_EXACT = 1e-13
_STEPS_BETWEEN = 10
# Pair steps in one compiled call: about a third of a second, so that a time limit, a
# callback or Ctrl-C never waits long.
_STEPS_PER_CALL = 50_000
# Rounds without a relative decrease of the objective by this much, nor of the violation by
# a tenth, before giving up.
_IDLE_ROUNDS = 50
_NO_PROGRESS = 1e-14
# Rounds with a violation within the bound on rounding, before giving up.
_NOISY_ROUNDS = 30
# Up to this many working sets of rows the whole matrix is stored; from so many rows on
# the first working set is larger.
_WHOLE = 4
_MANY_ROWS = 20_000
# A round that leaves more than this share of the violation was slow; that alone makes no
# working set larger than this.
_SLOW = 0.5
_MODERATE = 1000
# Share of the memory that the working set's block may take.
_BLOCK_SHARE = 0.5
# Multiply-adds per kernel value from which stored columns beat evaluating again.
_WORTH_STORING = 48


def solve_decomposition(problem, start=None, settings=None, **changes):
    """Solve (P).

    Parameters
    ----------
    problem : DualProblem
        The problem.
    start : ndarray of shape (n,), Result, or None, default=None
        A feasible point, or an earlier Result to resume from (its gradient is then
        not computed again). None starts coarse to fine.
    settings : Settings or None
        Settings; keyword arguments replace single ones.

    Returns
    -------
    Result
        ``n_iter`` counts pair steps. After Ctrl-C the status is ``INTERRUPTED`` and the
        result is feasible, so that it can be used or resumed.
    """
    settings = replace(settings or Settings(), **changes)
    engine = _Engine(problem, settings)
    try:
        engine.begin(start)
        while engine.status is None:
            engine.round()
    except KeyboardInterrupt:
        engine.status = Status.INTERRUPTED
    return engine.result()


class _Engine:
    def __init__(self, problem, settings):
        self.started = time.perf_counter()
        self.settings = settings
        self.largest_block = int(min(problem.n, np.sqrt(_BLOCK_SHARE * settings.cache_size / 8)))
        dear = problem.gram.value_cost >= _WORTH_STORING
        first = 1024 if problem.n >= _MANY_ROWS else 128 if dear else 256
        first = first if settings.block_size is None else settings.block_size
        self.block_size = min(first, problem.n)
        self.values_before = 0
        self.whole_block = None
        self._use(problem)
        self.polish_goal = np.inf
        self.stop_asked = False
        self.violation_before = np.inf
        self.noise = 0.0
        self.root_diagonal = np.sqrt(np.abs(problem.gram.diagonal()))
        self._forget_progress()
        self.seconds_before = 0.0
        self.polishes_left = float(_POLISHES) if settings.polish else 0.0
        self.status = None
        self.n_iter = 0
        self.history = []
        self.a = problem.feasible_start()
        self.gradient = None
        self.working = np.empty(0, dtype=np.intp)

    def _use(self, problem):
        """Go on with this problem, counting what its operator evaluates from here on."""
        gram = problem.gram
        self.counted = gram, gram.n_values
        self.problem = self._with_stored_values(problem)

    def _n_values(self):
        gram, before = self.counted
        return self.values_before + gram.n_values - before

    def _with_stored_values(self, problem):
        """The problem over stored kernel values, where that is cheaper."""
        gram, n = problem.gram, problem.n
        if gram.value_cost > 0 and n <= min(_WHOLE * self.block_size, self.largest_block):
            # Few rows: every value once, in float64.
            self.block_size = n
            values = gram.block(np.arange(n))
            return replace(problem, gram=PrecomputedGram(values, gram.n_jobs))
        if gram.value_cost >= _WORTH_STORING:
            columns = (1.0 - _BLOCK_SHARE) * self.settings.cache_size
            return replace(problem, gram=CachedGram(gram, columns))
        return problem

    # -- start ---------------------------------------------------------------------

    def begin(self, start):
        """Take a start and make its gradient."""
        problem = self.problem
        if isinstance(start, Result):
            self.a, self.gradient = start.a.copy(), start.gradient.copy()
            self.n_iter, self.history = start.n_iter, list(start.history)
            if self.history:
                self.values_before = self.history[-1]["kernel_values"]
                self.seconds_before = self.history[-1]["seconds"]
        elif start is not None:
            self.a = np.array(start, dtype=float)
        else:
            self._coarse()
        if not problem.is_feasible(self.a):
            raise ValueError(
                "the start is not feasible: every a_i must lie in its interval and "
                f"they must sum to {problem.total:g} (here {self.a.sum():g})."
            )
        if self.gradient is None:
            self._fresh_gradient()
        else:
            self.noise = self._fresh_noise()

    def _coarse(self):
        if not self.settings.coarse or self.settings.max_iter >= 0:
            return
        left = replace(self.settings, max_time=max(0.0, self._seconds_left()))
        coarse = coarse_start(self.problem, left, solve_decomposition)
        if coarse is not None:
            self.a, self.n_iter, self.values_before = coarse

    # -- one round -------------------------------------------------------------------

    def round(self):
        """Propose, fetch, solve, update; or go to the next stage, or stop."""
        lowest_up, highest_down, violation = self.problem.optimality(self.a, self.gradient)
        level = 0.5 * abs(lowest_up + highest_down)
        level = level if np.isfinite(level) else 0.0
        tol = max(self.settings.tol, self.settings.rtol * level)
        # The violation and twice the rounding in the gradient together stay below tol.
        trusted = 2.0 * self.noise <= 0.5 * tol
        goal = min(self.polish_goal, tol - 2.0 * self.noise if trusted else tol)
        if violation <= goal:
            if not self._next_stage(violation, trusted, level):
                self.status = Status.CONVERGED
        elif self._stopped(violation, tol):
            pass
        elif violation > 2.0 * self.noise or not self._less_noise():
            self._pair_steps(violation, tol, goal)
            # The bound on rounding is pessimistic: try, but not for ever.
            self.noisy_rounds += violation <= 2.0 * self.noise
            if self.noisy_rounds > _NOISY_ROUNDS and self.status is None:
                self.status = Status.CONVERGED if violation <= tol else Status.STALLED

    def _pair_steps(self, violation, tol, goal):
        working = self._propose()
        p = self.problem.penalty.take(working)
        if len(working) == self.problem.n:
            if self.whole_block is None:
                self.whole_block = self.problem.block(working)
            block, target = self.whole_block, 0.5 * goal
        else:
            block, target = self.problem.block(working), max(0.1 * violation, 0.5 * goal)
        g, a = self.gradient[working], self.a[working]
        limit = min(self._steps_left(), _STEPS_PER_CALL)
        if goal < tol:
            self.polishes_left -= 1
            limit = min(limit, _STEPS_BETWEEN * len(working))
        steps, code = _pairs.solve_block(block, g, a, *p.arrays(), target, limit)
        if code == _pairs.UNBOUNDED:
            raise ValueError("the problem is unbounded below: a direction never ends.")
        change = a - self.a[working]
        moved = change != 0
        # Afresh: thousands of small steps leave more rounding in g than one product.
        g = self.gradient[working] + change[moved] @ block[moved]
        self._update(working, a, g, working[moved], change[moved])
        self.n_iter += steps
        if goal < tol and code == _pairs.STEP_LIMIT:
            # Perhaps all states are right by now: a Newton step tells. Not many more.
            self.polish_goal = np.inf
            self.polishes_left -= _POLISHES / 12
        self.working = working
        self._record(violation, len(working), int(moved.sum()), steps)
        self._resize(len(working), int(moved.sum()), violation)
        if (steps == 0 or self._idle(violation)) and not self._less_noise():
            violation = self.problem.optimality(self.a, self.gradient)[2]
            self.status = Status.CONVERGED if violation <= tol else Status.STALLED

    def _idle(self, violation):
        """Whether neither the objective nor the violation has improved for some rounds."""
        objective = self.problem.objective(self.a, self.gradient)
        # Less than rounding is no progress: of the objective, and of the gradient in it.
        rounding = _NO_PROGRESS * abs(objective) + 0.01 * self.noise * np.abs(self.a).sum()
        better = not objective >= self.best - rounding
        closer = violation < 0.9 * self.closest
        self.idle_rounds = 0 if better or closer else self.idle_rounds + 1
        self.best = objective if better else self.best
        self.closest = violation if closer else self.closest
        return self.idle_rounds >= _IDLE_ROUNDS

    def _stopped(self, violation, tol):
        """Whether a limit ends the run; during the exact finish ``tol`` is met already."""
        if violation <= tol and self.polishes_left <= 0:
            self.status = Status.CONVERGED
        elif self._steps_left() == 0:
            self.status = Status.CONVERGED if violation <= tol else Status.MAX_ITER
        elif self._seconds_left() <= 0:
            self.status = Status.CONVERGED if violation <= tol else Status.MAX_TIME
        elif self.stop_asked:
            self.status = Status.STOPPED
        return self.status is not None

    def _seconds_left(self):
        return self.settings.max_time - (time.perf_counter() - self.started)

    def _next_stage(self, violation, trusted, level):
        """What follows once the goal is reached: more precision, an exact finish, or nothing."""
        if not trusted and self._less_noise():
            return True
        if self.polishes_left <= 0 or self.problem.gram.dtype != np.float64:
            return False
        exact = max(_EXACT * level, 4.0 * self.noise)
        if violation <= exact and self.polishes_left < _POLISHES:
            return False
        self.a = self.problem.snapped(self.a)
        with one_blas_thread():
            step = newton_step(self.problem, self.a, self.gradient, self.settings.polish)
        if step is None:
            return False
        free, values, full = step
        self.polishes_left -= max(1.0, (len(free) / _CHEAP) ** 3)
        change = values - self.a[free]
        gradient, self.gradient = self.gradient, None
        self.a[free] = values
        self.problem.add_product(free, change, gradient)
        self._add_noise(free, change)
        self.gradient = gradient
        left = self.problem.optimality(self.a, gradient)[2]
        # A step cut short by a breakpoint is followed by another; a full one leaves only
        # rows that are in the wrong state, which pair steps find.
        self.polish_goal = max(exact, 0.1 * left if full else left)
        return True

    def _steps_left(self):
        if self.settings.max_iter < 0:
            return np.iinfo(np.int64).max
        return max(0, self.settings.max_iter - self.n_iter)

    def _propose(self):
        """Half the rows that want up most, half those that want down most."""
        n, q = self.problem.n, self.block_size
        if n <= q:
            return np.arange(n)
        right, left = self.problem.penalty.step_slopes(self.a)
        up, down = self.gradient + right, -(self.gradient + left)
        half = q // 2
        chosen = np.zeros(n, dtype=bool)
        chosen[np.argpartition(up, half)[:half]] = True
        chosen[np.argpartition(down, half)[:half]] = True
        # Rows that count twice leave room for those that moved in the last round.
        kept = self.working[~chosen[self.working]]
        chosen[kept[: q - int(chosen.sum())]] = True
        return np.flatnonzero(chosen)

    def _resize(self, n_working, n_moved, violation):
        """Double a working set that is too small to settle: all of it moves, or in vain."""
        in_vain = violation > _SLOW * self.violation_before and n_working < _MODERATE
        self.violation_before = violation
        if n_working < self.problem.n and (in_vain or n_moved > 0.75 * n_working):
            larger = min(2 * self.block_size, self.largest_block)
            self.block_size = max(self.block_size, larger)

    def _update(self, working, a, g, moved, change):
        """Advance ``a`` and the gradient together."""
        gradient = self.gradient
        self.gradient = None  # stale while it is being written
        self.a[working] = a
        if len(working) < self.problem.n:
            self.problem.add_product(moved, change, gradient)
            self._add_noise(moved, change)
        gradient[working] = g  # from the float64 block
        self.gradient = gradient

    def _record(self, violation, n_working, n_moved, steps):
        self.history.append(
            {
                "round": len(self.history) + 1,
                "violation": violation,
                "working_set": n_working,
                "moved": n_moved,
                "steps": steps,
                "kernel_values": self._n_values(),
                "seconds": self.seconds_before + time.perf_counter() - self.started,
            }
        )
        if self.settings.callback is not None and self.settings.callback(self.history[-1]):
            self.stop_asked = True

    # -- precision ---------------------------------------------------------------------

    def _forget_progress(self):
        self.best = self.closest = np.inf
        self.idle_rounds = self.noisy_rounds = 0

    def _fresh_gradient(self):
        self._forget_progress()
        self.gradient = self.problem.gradient(self.a)
        self.noise = self._fresh_noise()

    def _fresh_noise(self):
        """Rounding in a gradient that is computed from ``a``."""
        return self._rounding(slice(None), self.a)

    def _rounding(self, indices, coef):
        """Rounding in the product with columns: independent errors of kernel values."""
        size = self.root_diagonal
        norm = float(np.linalg.norm(size[indices] * coef))
        return self.problem.gram.value_error * self.problem.scale * size.max() * norm

    def _add_noise(self, indices, change):
        """What a change of some variables leaves in the gradient for good."""
        self.noise = float(np.hypot(self.noise, self._rounding(indices, change)))

    def _less_noise(self):
        """Go on with a fresh gradient or float64 values; False if neither would help."""
        if self._fresh_noise() <= 0.5 * self.noise:
            self._fresh_gradient()
            return True
        refined = self.problem.gram.refined()
        if refined is None:
            return False
        self.values_before = self._n_values()
        self._use(replace(self.problem, gram=refined))
        self._fresh_gradient()
        return True

    # -- result ------------------------------------------------------------------------

    def result(self):
        """The state reached, certified."""
        if self.gradient is None:  # interrupted between two consistent states
            self.gradient = self.problem.gradient(self.a)
        a = self.problem.snapped(self.a)
        return certify(self.problem, a, self.gradient, self.status, self.n_iter, self.history)
