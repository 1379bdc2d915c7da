"""Start coarse to fine: solve a sample, predict the state of every row, repair the sum."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ._settle import settle
from .result import Status

SAMPLE = 6  # one row in six
SMALLEST = 3072  # fewer rows are solved directly
LOOSER = 3.0  # the sample's tolerance, relative to the problem's


def coarse_start(problem, settings, solve):
    """A feasible start predicted from a random sample, or None for few rows.

    Returns
    -------
    a : ndarray of shape (n,)
        Feasible point of ``problem``.
    n_iter : int
        Pair steps spent on the sample.
    n_values : int
        Kernel values evaluated for the sample alone.
    """
    n = problem.n
    if n < SMALLEST:
        return None
    free = np.flatnonzero(problem.penalty.is_free)
    rng = np.random.default_rng(settings.random_state)
    sample = rng.choice(n, n // SAMPLE, replace=False)
    sample = np.union1d(sample, free)
    coarse = problem.subsample(sample)
    result = solve(
        coarse,
        None,
        replace(
            settings,
            tol=LOOSER * settings.tol,
            rtol=LOOSER * settings.rtol,
            polish=0,
            callback=None,
        ),
    )
    if result.status is Status.INTERRUPTED:
        raise KeyboardInterrupt
    # The sample's function at every row.
    support = np.flatnonzero(result.a)
    smooth = np.zeros(n)
    problem.gram.apply(sample[support], problem.scale * result.a[support], smooth)
    # Between breakpoints without a ridge the sample knows better than any prediction.
    a = np.clip(0.0, problem.penalty.lower, problem.penalty.upper)
    inside = (result.a > coarse.penalty.lower) & (result.a < coarse.penalty.upper)
    inside &= (result.a != coarse.penalty.kink) & (coarse.ridge == 0)
    held = np.zeros(n, dtype=bool)
    held[sample[inside]] = True
    a[sample[inside]] = result.a[inside] / problem.stretch(sample)[inside]
    settled(problem, a, smooth, held, result.multiplier)
    n_values = result.history[-1]["kernel_values"] if result.history else 0
    return repaired(problem, a, smooth), result.n_iter, n_values


def settled(problem, a, smooth, held, multiplier):
    """Put every row that is not held into the state that ``smooth`` predicts, in place.

    The multiplier moves from the sample's until the sum is right to rounding, or to the
    last row that jumps between breakpoints.
    """
    fixed = (smooth, *problem.penalty.arrays(), problem.ridge, held, a)

    def excess(at):
        return settle(at, *fixed) - problem.total

    step = max(1e-6 * abs(multiplier), 1e-12)
    low = high = multiplier
    while excess(low) > 0 and step < 1e300:
        low, step = low - step, 4.0 * step
    step = max(1e-6 * abs(multiplier), 1e-12)
    while excess(high) < 0 and step < 1e300:
        high, step = high + step, 4.0 * step
    for _ in range(100):
        middle = 0.5 * (low + high)
        if not low < middle < high:
            break
        if excess(middle) > 0:
            high = middle
        else:
            low = middle
    settle(low, *fixed)


def repaired(problem, a, smooth):
    """Restore the sum by moving the rows nearest to a threshold first."""
    penalty = problem.penalty
    a = np.clip(a, penalty.lower, penalty.upper)
    for _ in range(100):
        missing = problem.total - a.sum()
        if abs(missing) <= 1e-13 * max(1.0, np.abs(a).sum()):
            break
        right, left = penalty.step_slopes(a)
        gradient = smooth + problem.ridge * a
        if missing > 0:
            cost = gradient + right
            to = np.where(a < penalty.kink, penalty.kink, penalty.upper)
        else:
            cost = -(gradient + left)
            to = np.where(a > penalty.kink, penalty.kink, penalty.lower)
        room = np.where(np.isfinite(cost), np.abs(to - a), 0.0)
        order = np.argsort(cost, kind="stable")
        before = np.concatenate([[0.0], np.cumsum(room[order])[:-1]])
        step = np.clip(abs(missing) - before, 0.0, room[order])
        target = a[order] + np.sign(missing) * step
        full = (step == room[order]) & (room[order] == np.abs(to - a)[order])
        a[order] = np.where(full & (step > 0), to[order], target)
        if abs(problem.total - a.sum()) <= 1e-12 * max(1.0, np.abs(a).sum()):
            break
    return a
