"""Folds that hold out the rows of a group together, and count them once.

``groups`` are numbers of the groups by row, None where every row is its own.
"""

from collections.abc import Iterable
from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from .._typing import AnyArray, IntArray, MatrixLike, RowMatrix, VectorLike
from .._util.messages import plural
from .repeats import Groups, repeated_rows

Split = tuple[IntArray, IntArray]


def group_rows(
    X: RowMatrix, y: IntArray | None = None, groups: VectorLike | None = None
) -> Groups | None:
    """Return groups as numbers from 0; copies among the rows where none are given."""
    if groups is None:
        return repeated_rows(X, y) if hasattr(X, "dtype") and X.dtype.kind in "fiub" else None
    found = np.unique(np.asarray(groups), return_inverse=True)[1].ravel()
    if len(found) != X.shape[0]:
        raise ValueError(
            f"groups has {len(found)} values for {plural(X.shape[0], 'row')}; pass one for each."
        )
    return found


class WholeGroups:
    """A splitter of scikit-learn, with folds of whole groups if there are any."""

    def __init__(self, splitter: Any) -> None:
        self.splitter = splitter

    def split(
        self, X: MatrixLike, y: AnyArray | None = None, groups: AnyArray | None = None
    ) -> Iterable[Split]:
        """Yield training and test rows, as splitters of scikit-learn do."""
        if groups is None:
            yield from self.splitter.split(X, y)
            return
        kinds = np.zeros(len(groups), np.intp) if y is None else y
        n_splits = self.splitter.get_n_splits()
        n_folds = getattr(self.splitter, "n_splits", None) or self.splitter.cvargs["n_splits"]
        rng = check_random_state(self.splitter.random_state)
        for _ in range(n_splits // n_folds):
            fold = group_folds(kinds, groups, n_folds, rng)
            for number in range(n_folds):
                yield np.flatnonzero(fold != number), np.flatnonzero(fold == number)


def group_folds(
    kinds: AnyArray,
    groups: AnyArray,
    n_folds: int,
    rng: np.random.RandomState | None = None,
) -> IntArray:
    """Return the fold of each row, its group's; folds hold about as many groups of every kind.

    Groups are shuffled if there is a generator. Groups with two kinds of rows come between groups
    with one kind. So all groups with rows of a kind are neighbours, and neighbours take turns.
    """
    kind = np.unique(kinds, return_inverse=True)[1].ravel()
    _, place = np.unique(groups, return_inverse=True)
    place = place.ravel()
    n_groups = int(place.max(initial=-1)) + 1
    least, greatest = np.full(n_groups, len(kind)), np.full(n_groups, -1)
    np.minimum.at(least, place, kind)
    np.maximum.at(greatest, place, kind)
    order, names = np.arange(n_groups), np.arange(n_folds)
    if rng is not None:
        order, names = rng.permutation(n_groups), rng.permutation(n_folds)
    order = order[np.lexsort((least[order], (least + greatest)[order]))]
    fold = np.empty(n_groups, np.intp)
    fold[order] = names[np.arange(n_groups) % n_folds]
    return fold[place]


def take_groups(groups: Groups | None, rows: IntArray) -> Groups | None:
    """Return the groups of some rows."""
    return None if groups is None else groups[rows]


def kinds_of_groups(kinds: AnyArray, groups: Groups | None) -> AnyArray:
    """Return the kinds of rows that count, one for every kind of rows that a group has."""
    return kinds[count_once(np.arange(len(kinds)), kinds, groups)]


def count_once(rows: IntArray, kinds: AnyArray, groups: Groups | None) -> IntArray:
    """Return one of the rows of every group and kind, drawn at random; all without groups.

    ``kinds`` and ``groups`` are of all rows.
    """
    if groups is None:
        return rows
    kind = np.unique(kinds, return_inverse=True)[1].ravel()
    key = groups[rows] * (kind.max(initial=0) + 1) + kind[rows]
    order = np.random.default_rng(0).permutation(len(rows))
    return rows[np.sort(order[np.unique(key[order], return_index=True)[1]])]


def splits_counted_once(
    splits: Iterable[Split], kinds: AnyArray, groups: Groups | None
) -> list[Split]:
    """Return splits whose test rows count once: the same one of every group and kind in all."""
    if groups is None:
        return list(splits)
    counts = np.isin(np.arange(len(groups)), count_once(np.arange(len(groups)), kinds, groups))
    return [(train, test[counts[test]]) for train, test in splits]
