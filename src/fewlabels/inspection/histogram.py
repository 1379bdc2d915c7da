"""The histogram of scores: bins that kinds of rows share, with the threshold between two."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np

from .._typing import FloatArray, IntArray

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def bin_edges(
    groups: Iterable[FloatArray], bins: int, *, threshold: float = 0.0, cut: float = 0.0
) -> FloatArray:
    """Return edges of bins of one width, one of them the threshold.

    ``groups`` are the scores of the rows of each kind; those that are not finite do not count. A
    share ``cut`` of the scores of a kind, on either side, may lie beyond. One or two more bins
    than requested reach past the least and the greatest score.
    """
    finite = [np.asarray(scores)[np.isfinite(scores)] - threshold for scores in groups]
    ends = [np.quantile(scores, [cut, 1.0 - cut]) for scores in finite if len(scores)]
    low = min([0.0, *(end[0] for end in ends)])
    high = max([0.0, *(end[1] for end in ends)])
    width = (high - low) / bins or 1.0
    first, last = math.floor(low / width) - 1, math.ceil(high / width) + 1
    return threshold + np.arange(first, last + 1) * width


def counts(scores: FloatArray, edges: FloatArray) -> IntArray:
    """Count the scores in each bin, with those beyond in the outer ones."""
    return np.histogram(np.clip(scores, edges[0], edges[-1]), edges)[0]


def draw(axes: Axes, scores: FloatArray, edges: FloatArray, **style: Any) -> None:
    """Draw bars on Matplotlib axes, in percent of the scores."""
    share = np.full(len(scores), 100.0 / max(len(scores), 1))
    axes.hist(scores, edges.tolist(), weights=share, **style)
