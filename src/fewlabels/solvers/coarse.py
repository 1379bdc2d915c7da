"""Start coarse to fine: solve a sample, predict the state of every row, repair the sum."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from .result import Status

SAMPLE = 6  # one row in six
SMALLEST = 2048  # fewer rows are solved directly
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
    if n // SAMPLE < SMALLEST // 4:
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
    a = predicted_state(problem, smooth, result.multiplier)
    # Between breakpoints the sample knows better than the prediction.
    stretch = problem.stretch(sample)
    inside = (result.a > coarse.penalty.lower) & (result.a < coarse.penalty.upper)
    inside &= result.a != coarse.penalty.kink
    a[sample[inside]] = result.a[inside] / stretch[inside]
    n_values = result.history[-1]["kernel_values"] if result.history else 0
    return repaired(problem, a, smooth), result.n_iter, n_values


def predicted_state(problem, smooth, multiplier):
    """The optimal variable of every row if ``smooth`` were the final gradient."""
    a = problem.penalty.minimiser(smooth - multiplier, problem.ridge)
    lower, upper = problem.penalty.lower, problem.penalty.upper
    nearest_zero = np.clip(0.0, lower, upper)
    return np.where(np.isfinite(a), a, nearest_zero)


def repaired(problem, a, smooth):
    """Restore the sum by moving the rows nearest to a threshold first."""
    penalty = problem.penalty
    a = np.clip(a, penalty.lower, penalty.upper)
    for _ in range(100):
        missing = problem.total - a.sum()
        if missing == 0.0:
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
        with np.errstate(divide="ignore", invalid="ignore"):
            # A ridge makes a row's cost rise as it moves: never the whole sum to one row.
            limit = np.where(problem.ridge > 0, abs(missing) / 8, np.inf)
        room = np.minimum(room, limit)
        order = np.argsort(cost, kind="stable")
        before = np.concatenate([[0.0], np.cumsum(room[order])[:-1]])
        step = np.clip(abs(missing) - before, 0.0, room[order])
        target = a[order] + np.sign(missing) * step
        full = (step == room[order]) & (room[order] == np.abs(to - a)[order])
        a[order] = np.where(full & (step > 0), to[order], target)
        if abs(problem.total - a.sum()) <= 1e-12 * max(1.0, np.abs(a).sum()):
            break
    return a
