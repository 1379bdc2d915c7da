"""Shapley values of any function of rows, by sampling orders of the columns."""

import numpy as np
from sklearn.utils import check_random_state

from ..._typing import FloatArray, IntArray, RandomStateLike
from .inputs import Decide, Table, mix_rows, stack_rows

# Mixed rows that are evaluated at a time, and numbers that these may hold.
_ROWS_AT_A_TIME, _NUMBERS = 20_000, 8_000_000


def sampled_values(
    function: Decide,
    rows: Table,
    background: Table,
    group: IntArray,
    n_groups: int,
    n_samples: int,
    random_state: RandomStateLike,
) -> tuple[FloatArray, FloatArray]:
    """Sample Shapley values of a function relative to its mean over background rows.

    A sample is an order of the players and a background row: players take the explained row's
    values one after the other, in this order and in the reverse order (antithetic), and the
    changes of the function are their values. Every background row is used equally often, so that
    values add up to the function's value less its mean over the background: ``n_samples`` pairs of
    orders per row are a multiple of their number, at least twice it. ``group`` is the player of
    every column.
    """
    rng = check_random_state(random_state)
    m = background.shape[0]
    values = np.zeros((rows.shape[0], n_groups))
    errors = np.zeros_like(values)
    n_columns = max(1, len(group))
    budget = max(2 * n_groups, min(_ROWS_AT_A_TIME, _NUMBERS // n_columns))
    at_a_time = max(1, budget // (2 * n_groups))
    for i in range(len(values)):
        changes = np.empty((n_samples, n_groups))
        whose = rng.permutation(n_samples) % m
        for first in range(0, n_samples, at_a_time):
            part = slice(first, min(first + at_a_time, n_samples))
            changes[part] = _changes(function, rows, i, background, whose[part], group, rng)
        values[i] = changes.mean(axis=0)
        # Only orders are sampled: the spread is between pairs with the same background row.
        pairs = changes[np.argsort(whose, kind="stable")].reshape(m, -1, n_groups)
        errors[i] = np.sqrt(pairs.var(axis=1, ddof=1).mean(axis=0) / n_samples)
    return values, errors


def _changes(
    function: Decide,
    rows: Table,
    i: int,
    background: Table,
    whose: IntArray,
    group: IntArray,
    rng: np.random.RandomState,
) -> FloatArray:
    """Return changes of the function by player, the mean of an order and its reverse."""
    n, n_groups = len(whose), int(group.max()) + 1
    orders = np.argsort(rng.uniform(size=(n, n_groups)), axis=1)
    both = np.concatenate([orders, orders[:, ::-1]])
    whose = np.concatenate([whose, whose])
    # rank[s, g]: how many players changed before g did.
    rank = np.empty_like(both)
    np.put_along_axis(rank, both, np.arange(n_groups)[None, :], axis=1)
    steps = np.arange(n_groups + 1)
    taken = rank[:, None, :] < steps[None, :, None]
    taken = taken.reshape(-1, n_groups)[:, group]
    whose = np.where(taken, background.shape[0], np.repeat(whose, n_groups + 1)[:, None])
    mixed = mix_rows(stack_rows(background, rows[i : i + 1]), whose)
    f = np.asarray(function(mixed), dtype=float).reshape(2 * n, n_groups + 1)
    changes = np.empty((2 * n, n_groups))
    np.put_along_axis(changes, both, np.diff(f, axis=1), axis=1)
    return np.multiply(0.5, changes[:n] + changes[n:])
