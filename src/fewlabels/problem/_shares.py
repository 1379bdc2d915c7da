"""Compiled sums over equal rows, and the way back: shares of these sums."""

import numpy as np

from .._jit import jit


@jit()
def group_sums(group, values, totals):
    """Add ``values`` to the totals of their groups, with compensation; infinite ones too."""
    lost = np.zeros(totals.size)
    for i in range(group.size):
        k = group[i]
        total = totals[k] + values[i]
        if abs(total) < np.inf:
            if abs(totals[k]) >= abs(values[i]):
                lost[k] += (totals[k] - total) + values[i]
            else:
                lost[k] += (values[i] - total) + totals[k]
        totals[k] = total
    for k in range(totals.size):
        totals[k] += lost[k]


@jit()
def share_out(lower, kink, upper, group, is_above, amount, near, a):
    """Fill ``a`` from the lower ends of the groups' pieces, one variable after the other.

    ``is_above`` tells which piece, ``amount`` how far all variables of a group are above its lower
    ends; within ``near`` of an end they are on it.
    """
    used, lost = np.zeros(amount.size), np.zeros(amount.size)
    for i in range(group.size):
        k = group[i]
        low, high = (kink[i], upper[i]) if is_above[k] else (lower[i], kink[i])
        left = amount[k] - (used[k] + lost[k])
        if left <= near[k]:
            a[i] = low
        elif left >= high - low - near[k]:
            a[i] = high
            total = used[k] + (high - low)
            lost[k] += (
                (used[k] - total) + (high - low)
                if used[k] >= high - low
                else (high - low - total) + used[k]
            )
            used[k] = total
        else:
            a[i] = low + left
            used[k], lost[k] = amount[k], 0.0
