"""Start coarse to fine: solve a sample, predict the state of every row, repair the sum."""

from __future__ import annotations

import math
from operator import methodcaller

from .rows import Rows

SAMPLE = 6  # one row in six
SMALLEST = 3072  # fewer rows are solved directly
LOOSER = 3.0  # the sample's tolerance, relative to the problem's

# Halvings of the interval of multipliers; the last ones move nothing.
_HALVINGS = 100


def sample_of(rows, seed):
    """A random sample as a problem of its own, whose rows stand for all of them.

    Free variables stand for themselves and are always in it.
    """
    counts = rows.ask(methodcaller("draw", rows.n, rows.n // SAMPLE, seed))
    n_free = rows.facts.n_free
    share = (rows.n - n_free) / max(1, sum(counts) - n_free)
    firsts = [sum(counts[:k]) for k in range(len(counts))]
    parts = rows.tell([methodcaller("sample", share, first) for first in firsts])
    sample = Rows(parts, rows.total, rows.scale)
    # Where intervals differ, those of the sample may not reach the total.
    extent = sample.facts.extent
    sample.total = min(max(rows.total, extent.lowest), extent.highest)
    return sample


def take_over(rows, sample):
    """Go where the solution of a sample says that rows belong; the gradient is owed."""
    multiplier = sample.totals().multiplier
    rows.ask(methodcaller("predict"))
    rows.receive(sample, sample.ask(methodcaller("forget")))
    _settle(rows, multiplier)
    rows.ask(methodcaller("adopt"))
    rows.repair()


def _settle(rows, multiplier):
    """Move the multiplier until the sum is right to rounding, or to the last row that jumps."""

    def excess(at):
        return math.fsum(rows.ask(methodcaller("settle", at))) - rows.total

    step = max(1e-6 * abs(multiplier), 1e-12)
    low = high = multiplier
    while excess(low) > 0 and step < 1e300:
        low, step = low - step, 4.0 * step
    step = max(1e-6 * abs(multiplier), 1e-12)
    while excess(high) < 0 and step < 1e300:
        high, step = high + step, 4.0 * step
    for _ in range(_HALVINGS):
        middle = 0.5 * (low + high)
        if not low < middle < high:
            break
        if excess(middle) > 0:
            high = middle
        else:
            low = middle
    excess(low)
