"""Labelled rows as searches hold them out, and whether there are enough to compare settings."""

from typing import NamedTuple, Self

import numpy as np

from ..._typing import AnyArray, BoolArray, FloatArray, IntArray, RowMatrix, VectorLike
from ...data.labels.semi_supervised import class_indices, read_semi_labels
from ...rows.grouped_folds import (
    Split,
    count_once,
    kinds_of_groups,
    splits_counted_once,
    take_groups,
)
from ...semi_supervised.s3vm import S3VM
from ..splitters import LabeledKFold
from ..tuning.search import Search

_FOLDS = 5
# Folds are repeated until about so many labels were predicted.
_PREDICTIONS = 100
# Folds are repeated so often at most.
_MAX_REPEATS = 3
# Fewer labels of a class than this cannot tell settings apart.
MIN_LABELS_PER_CLASS = 8
# How many standard errors a setting must be ahead of the first: among several, one of no merit
# often is ahead by one.
MIN_LEAD_IN_ERRORS = 1.5


class LabelledRows(NamedTuple):
    """All rows, the places of their classes (-1 without a label), and which of them count.

    Rows of one of the ``groups`` are held out together. ``sizes`` are the numbers of labels by
    class, where a group counts once.
    """

    X: RowMatrix
    weight: FloatArray | None
    classes: AnyArray
    place: IntArray
    counted: BoolArray
    groups: IntArray | None
    sizes: IntArray

    @classmethod
    def read(
        cls,
        estimator: S3VM,
        X: RowMatrix,
        y: VectorLike,
        weight: FloatArray | None,
        search: Search,
    ) -> Self:
        """Read labels as the estimator takes them."""
        label, classes, _ = read_semi_labels(y, estimator.unlabeled)
        place = class_indices(label, len(classes))
        counted = np.ones(len(label), bool) if weight is None else weight > 0
        groups = None if estimator.kernel == "precomputed" else search.group_rows(X, place)
        known = np.flatnonzero(counted & (place >= 0))
        of_groups = kinds_of_groups(place[known], take_groups(groups, known))
        sizes = np.bincount(of_groups, minlength=len(classes))
        return cls(X, weight, classes, place, counted, groups, sizes)

    @property
    def labelled(self) -> IntArray:
        """The labelled rows that count."""
        return np.flatnonzero(self.counted & (self.place >= 0))

    @property
    def unlabelled(self) -> IntArray:
        """The unlabelled rows that count."""
        return np.flatnonzero(self.counted & (self.place < 0))

    @property
    def coded(self) -> FloatArray:
        """Places of classes, NaN without a label."""
        return np.where(self.place < 0, np.nan, self.place)

    @property
    def n_labels(self) -> int:
        """Number of labelled rows, where a group counts once."""
        return len(count_once(self.labelled, self.place < 0, self.groups))

    @property
    def can_compare(self) -> bool:
        """Return whether labels are enough to compare settings."""
        sizes, fewest = self.sizes, int(self.sizes.min())
        if len(sizes) > 2:  # each may have fewer, as together they are as many
            fewest = min(int(sizes.sum()) // 2, 4 * fewest)
        return fewest >= MIN_LABELS_PER_CLASS

    def split(self, rows: IntArray, seed: int) -> list[Split]:
        """Return training and test places among some rows; labelled rows are tested.

        The folds of few labels are repeated, and each group is tested once.
        """
        coded, groups = self.coded[rows], take_groups(self.groups, rows)
        repeats = int(np.clip(np.ceil(_PREDICTIONS / self.n_labels), 1, _MAX_REPEATS))
        splitter = LabeledKFold(
            _FOLDS if len(self.sizes) == 2 else int(min(_FOLDS, self.sizes.min())),
            shuffle=True,
            n_repeats=repeats,
            random_state=seed,
            unlabeled=None,
        )
        return splits_counted_once(splitter.split(rows, coded, groups), np.isnan(coded), groups)
