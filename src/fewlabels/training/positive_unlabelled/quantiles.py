"""Where to cut decisions of rows that are not in memory."""

from operator import methodcaller

import numpy as np

from ...solvers.engine.messages import SpreadOf
from .scores import quantile_cut

# Intervals that a range is divided into, and rows whose decisions are gathered.
_INTERVALS, _GATHERED = 1024, 100_000


def cut_of_rows(rows, ids, g, share, rounding):
    """``quantile_cut`` of minus the gradient of ``Rows``, which is ``g`` at the rows ``ids``.

    Rows weigh as much as their intervals are wide, and those without a width nothing.
    """

    def spread(edges):
        return SpreadOf.combined(rows.ask(methodcaller("spread", edges, ids, g)))

    whole = spread(np.empty(0))
    low, high = whole.least, np.nextafter(whole.most, np.inf)
    target, weight = share * float(whole.weight[0]), float(whole.weight[0])
    below, count = 0.0, int(whole.rows[0])
    while count > _GATHERED and high - low > 8.0 * rounding:
        edges = np.linspace(low, high, _INTERVALS + 1)
        found = spread(edges)
        # Those with an interval beside them, in case that the cut is at its end.
        up_to = np.cumsum(found.weight)
        place = int(np.clip(np.searchsorted(up_to, target), 1, _INTERVALS))
        first, last = max(1, place - 1), min(_INTERVALS, place + 1)
        inside = int(found.rows[first : last + 1].sum())
        if inside == count:
            break
        low, high, below, count = edges[first - 1], edges[last], float(up_to[first - 1]), inside
    cut = _cut(rows, (low, high), (ids, g), (below, weight, share), rounding)
    if cut is None:  # rows that are alike reach beyond
        cut = _cut(rows, (-np.inf, np.inf), (ids, g), (0.0, weight, share), rounding)
    return cut


def _cut(rows, ends, known, weights, rounding):
    """The cut among rows between two ends; None where it is not well inside."""
    below, weight, share = weights
    parts = zip(*rows.ask(methodcaller("within", *ends, *known)), strict=True)
    values, width = (np.concatenate(part) for part in parts)
    above = weight - below - float(width.sum())
    is_all = not np.isfinite(ends[0])
    if not is_all:
        if not len(values):
            return None
        values = np.concatenate([[ends[0]], values, [ends[1]]])
        width = np.concatenate([[below], width, [max(0.0, above)]])
    cut = quantile_cut(-values, width, share, rounding)
    inner = np.sort(values)[1:-1]
    if is_all or (inner[0] < -cut < inner[-1]):
        return cut
    return None
