"""Rows that are held out together and count once: copies."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...options.words import plural
from ...training.repeats import Groups, repeated_rows

_ONCE = "are held out together and count once"


class Grouping(NamedTuple):
    """Numbers of groups by row, None where every row is its own, and notes for the user."""

    groups: Groups | None
    notes: list[str]


def find_groups(X: Any, y: NDArray[np.intp] | None, task: Any) -> Grouping:
    """Find copies among the encoded rows of a table; ``y`` as the ``task`` has it."""
    codes = None
    if y is not None:
        codes = np.where(task.is_known(y), np.asarray(y), -1).astype(np.intp)
    groups = repeated_rows(X, codes)
    if groups is None:
        return Grouping(None, [])
    return Grouping(groups, [_words(groups, codes)])


def _words(groups: Groups, codes: NDArray[np.intp] | None) -> str:
    """The sentence on copies: among the labelled rows, or else among all."""
    rows, kind = groups, "row"
    if codes is not None:
        known = groups[codes >= 0]
        if len(np.unique(known)) < len(known):
            rows, kind = known, "labelled row"
    sizes = np.unique(rows, return_counts=True)[1]
    why = f"more often than chance allows: copies {_ONCE}"
    if (sizes == sizes[0]).all():
        return f"{plural(len(sizes), kind)} occur {sizes[0]} times each, {why}"
    return f"{len(rows) - len(sizes)} of {plural(len(rows), kind)} repeat others, {why}"
