"""Folds that hold out the rows of a group together, and count them once.

``groups`` are numbers of the groups by row, None where every row is its own.
"""

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .repeats import Groups, repeated_rows

Split = tuple[NDArray[np.intp], NDArray[np.intp]]


def groups_of(X: Any, y: NDArray[np.intp] | None = None, groups: Any = None) -> Groups | None:
    """Return groups as numbers from 0; copies among the rows where none are given."""
    if groups is None:
        return repeated_rows(X, y) if hasattr(X, "dtype") and X.dtype.kind in "fiub" else None
    found = np.unique(np.asarray(groups), return_inverse=True)[1].ravel()
    if len(found) != X.shape[0]:
        raise ValueError(
            f"groups has {len(found)} values for {X.shape[0]} rows; pass one for each row."
        )
    return found


class WholeGroups:
    """A splitter of scikit-learn that splits groups by the kind of each, if there are any."""

    def __init__(self, splitter: Any) -> None:
        self.splitter = splitter

    def split(self, X: Any, y: Any = None, groups: Any = None) -> Iterable[Split]:
        """Yield training and test rows, as splitters of scikit-learn do."""
        if groups is None:
            yield from self.splitter.split(X, y)
            return
        place = np.unique(np.asarray(groups), return_inverse=True)[1].ravel()
        kinds = kinds_of_groups(np.zeros(len(place)) if y is None else y, place)
        for train, test in self.splitter.split(kinds, kinds):
            yield np.flatnonzero(np.isin(place, train)), np.flatnonzero(np.isin(place, test))


def take_groups(groups: Groups | None, rows: NDArray[np.intp]) -> Groups | None:
    """Return the groups of some rows."""
    return None if groups is None else groups[rows]


def kinds_of_groups(kinds: NDArray[Any], groups: Groups | None) -> NDArray[Any]:
    """Return the kind of each group in ascending order, the rarest of its rows; or of each row."""
    if groups is None:
        return kinds
    _, place, counts = np.unique(kinds, return_inverse=True, return_counts=True)
    order = np.lexsort((counts[place], groups))
    _, first = np.unique(groups[order], return_index=True)
    return kinds[order[first]]


def count_once(rows: NDArray[np.intp], kinds: NDArray[Any], groups: Groups | None) -> Any:
    """Return the first of the rows of every group and kind, ascending; all without groups.

    ``kinds`` and ``groups`` are of all rows.
    """
    if groups is None:
        return rows
    kind = np.unique(kinds, return_inverse=True)[1].ravel()
    key = groups[rows] * (kind.max(initial=0) + 1) + kind[rows]
    return rows[np.sort(np.unique(key, return_index=True)[1])]


def splits_counted_once(
    splits: Iterable[Split], kinds: NDArray[Any], groups: Groups | None
) -> list[Split]:
    """Return splits whose test rows count once: one of every group and kind."""
    return [(train, count_once(test, kinds, groups)) for train, test in splits]
