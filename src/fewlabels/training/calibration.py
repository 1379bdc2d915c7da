"""Scores of rows by machines of one class that were not trained on them."""

import numpy as np
import scipy.sparse as sp

from ..fitted.function import continued
from .leave_one_out import sums_without

# "auto" leaves single rows out where that takes seconds: always up to here, ...
_FEW_ROWS = 1000
# ... and up to here when not more than so many rows have to be forgotten and put back.
_MANY_ROWS, _FEW_SUPPORT = 10_000, 1000
# Rows that a split holds out, in units of 1 / rate: the rate that a single split ends at
# deviates from it by a tenth, and more rows are better used for training.
_HELD_OUT = 100


def is_split(calibration, is_matrix, n, n_support=None):
    """Whether rows are to be held out of training; with None, before ``n_support`` is known."""
    if calibration != "auto":
        return calibration == "split"
    if is_matrix or n > _MANY_ROWS:
        return True
    return n > _FEW_ROWS and n_support is not None and n_support > _FEW_SUPPORT


def draw_held_out(n, rate, seed):
    """Mask of the rows that are held out."""
    held_out = np.zeros(n, bool)
    size = min(n // 2, int(np.ceil(_HELD_OUT / rate)))
    held_out[np.random.default_rng(seed).permutation(n)[:size]] = True
    return held_out


def held_out_marks(stream):
    """Mask of the rows that were held out, None when all were trained on."""
    marks = stream.rows.get("calibrates")
    return None if marks is None else marks[stream.rows.alive]


def held_rows(stream, places):
    """Rows of a stream as a function takes them."""
    rows = stream.rows.rows(places)
    return sp.csr_array(rows) if sp.issparse(rows) else rows


def scores_left_out(stream, self_weight, score, tail=0.0):
    """Scores of all rows of a stream at its end, each by the machine of all others.

    On no machine's scale; ``score`` gives those of rows that have no part, ``self_weight`` is
    that of K(x, x), and below ``tail`` scores are in log scale.
    """
    places = stream.rows.places
    out = ~stream.takes()[places]
    if np.sum(~out) == 1 == len(places):
        return np.zeros(0)
    stream.check_one_left_out(places)
    scores = np.empty(len(places))
    scores[~out] = continued(sums_without(stream, places[~out]), tail)
    if self_weight:
        scores[~out] -= self_weight * stream.rows["diagonal"][places[~out]]
    if out.any():
        scores[out] = score(held_rows(stream, places[out]))
    return scores
