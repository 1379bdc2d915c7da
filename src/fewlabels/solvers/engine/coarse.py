"""Start coarse to fine: solve a sample, predict the state of every row, repair the sum."""

import math
from operator import methodcaller

from .rows import Rows

SAMPLE = 6  # one row in six
SMALLEST = 3072  # fewer rows are solved directly
LOOSER = 3.0  # the sample's tolerance, relative to the problem's

# Half of the first interval of the search for a multiplier, relative to it.
_FIRST_STEP = 1e-4
# Half of the last interval, in which hardly a row jumps, relative to the multiplier.
_LAST_STEP = 1e-10
# Intervals that are tried at most.
_MAX_HALVINGS = 100
# What the sum may miss, relative to the total; a repair does the rest.
_SUM_TOLERANCE = 1e-12


def draw_sample(rows: Rows, seed: int) -> Rows:
    """Return a random sample as a problem of its own, whose rows represent all of them.

    Variables that are free, or fixed but not at 0, count separately and are always in it.
    """
    size = min(rows.n // SAMPLE, rows.max_sampled_rows)
    counts = rows.call_all(methodcaller("choose_sample", rows.n, size, seed))
    n_kept = rows.facts.n_kept
    share = (rows.n - n_kept) / max(1, sum(counts) - n_kept)
    firsts = [sum(counts[:k]) for k in range(len(counts))]
    sample = rows.sampled(share, firsts)
    # Where intervals differ, the sample's intervals may not reach the total.
    extent = sample.facts.extent
    sample.total = min(max(rows.total, extent.lowest), extent.highest)
    return sample


def start_from_sample(rows: Rows, sample: Rows) -> None:
    """Go where the solution of a sample says that rows belong; the gradient is owed."""
    multiplier = sample.totals().multiplier
    rows.call_all(methodcaller("predict"))
    rows.add_contributions(sample, sample.count_pending_updates(everything=True))
    rows.call_all(methodcaller("set_to_minimiser", _find_multiplier(rows, multiplier), True))
    rows.repair()


def _find_multiplier(rows: Rows, multiplier: float) -> float:
    """The multiplier for which the sum is right to rounding, or to the last row that jumps."""

    def excess(at: float) -> float:
        return math.fsum(rows.call_all(methodcaller("set_to_minimiser", at, False))) - rows.total

    ends = [(multiplier, excess(multiplier))]
    step = max(_FIRST_STEP * abs(multiplier), 1e-12)
    while (ends[-1][1] > 0) == (ends[0][1] > 0) and step < 1e300:
        at = multiplier - math.copysign(step, ends[0][1])
        ends, step = [*ends[-1:], (at, excess(at))], 8.0 * step
    (low, below), (high, above) = sorted(ends)
    rounding, secant = _SUM_TOLERANCE * abs(rows.total), True
    for _ in range(_MAX_HALVINGS if below <= 0 < above else 0):
        # The sum is nearly linear in the multiplier where no row jumps.
        width = high - low
        middle = low - below * (width / (above - below)) if secant else 0.5 * (low + high)
        if not low < middle < high:
            middle = 0.5 * (low + high)
        if width <= _LAST_STEP * (abs(low) + abs(high)):
            break
        found = excess(middle)
        if abs(found) <= rounding:
            return middle
        if found > 0:
            high, above = middle, found
        else:
            low, below = middle, found
        secant = high - low < 0.5 * width or not secant
    return low
