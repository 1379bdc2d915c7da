"""Cross-validation that knows which rows carry no label."""

from collections.abc import Iterator
from numbers import Integral

import numpy as np
import pandas as pd
from sklearn.model_selection import BaseCrossValidator, StratifiedKFold
from sklearn.utils import check_consistent_length, check_random_state

from .._typing import IntArray, MatrixLike, RandomStateLike, VectorLike
from ..data.labels.arrays import split_missing
from ..data.labels.positive_unlabelled import split_labels
from ..data.labels.semi_supervised import is_labelled
from ..rows.grouped_folds import WholeGroups, kinds_of_groups

_SEEDS = np.iinfo(np.int32).max


class _RepeatedFolds(BaseCrossValidator):
    """Folds stratified over the kinds of rows that ``_kinds_of_rows`` names."""

    def __init__(
        self, n_splits: int, shuffle: bool, n_repeats: int, random_state: RandomStateLike
    ) -> None:
        for name, value, least in (("n_splits", n_splits, 2), ("n_repeats", n_repeats, 1)):
            if not (isinstance(value, int | Integral) and value >= least):
                raise ValueError(f"{name}={value!r} is not allowed; pass an integer >= {least}.")
        if not shuffle and (n_repeats > 1 or random_state is not None):
            raise ValueError(
                "n_repeats > 1 and random_state have no effect without shuffling; pass "
                "shuffle=True."
            )
        self.n_splits = n_splits
        self.shuffle = shuffle
        self.n_repeats = n_repeats
        self.random_state = random_state

    def get_n_splits(
        self,
        X: MatrixLike | None = None,
        y: VectorLike | None = None,
        groups: VectorLike | None = None,
    ) -> int:
        """Return the number of splits, folds times repeats; the arguments are ignored."""
        return self.n_splits * self.n_repeats

    def _iter_test_indices(
        self,
        X: MatrixLike | None = None,
        y: VectorLike | None = None,
        groups: VectorLike | None = None,
    ) -> Iterator[IntArray]:
        if y is None:
            raise ValueError(f"{type(self).__name__} needs y, because it splits by label.")
        rows, kinds, names = self._kinds_of_rows(y)
        counted, where = kinds, ""
        if groups is not None:
            check_consistent_length(y, groups)
            groups = np.unique(np.asarray(groups)[rows], return_inverse=True)[1].ravel()
            counted, where = kinds_of_groups(kinds, groups), " in different groups"
        for name, count in zip(names, np.bincount(counted, minlength=len(names)), strict=True):
            self._check_size(int(count), f"{name}{where}")
        rng = check_random_state(self.random_state)
        for _ in range(self.n_repeats):
            seed = rng.randint(_SEEDS) if self.shuffle else None
            folds = StratifiedKFold(self.n_splits, shuffle=self.shuffle, random_state=seed)
            for _, test in WholeGroups(folds).split(kinds, kinds, groups):
                yield rows[test]

    def _check_size(self, count: int, what: str) -> None:
        if count < self.n_splits:
            raise ValueError(
                f"y has {count} {what} for {self.n_splits} folds, and every fold needs one; pass "
                f"{f'n_splits={count} or less' if count > 1 else 'more labelled rows'}."
            )


class PUKFold(_RepeatedFolds):
    """Folds that hold positive and unlabelled rows in equal shares.

    For scores that need held-out rows of both kinds, as all of ``fewlabels.metrics`` do:
    unlabelled rows of a test fold were not trained on, and are never taken for negatives
    by those scores. Labels that are not positive-unlabelled (see ``split_labels``), or fewer rows
    of a kind than folds, are refused when splitting. Rows with the same value in the argument
    ``groups`` of ``split`` are in one fold, such as copies of a row, or the visits of a patient.

    Parameters
    ----------
    n_splits : int, default=5
        Number of folds, >= 2.
    shuffle : bool, default=False
        Whether rows are shuffled first.
    n_repeats : int, default=1
        How often all is repeated with other shuffles, >= 1.
    random_state : int, RandomState or None, default=None
        Seed of the shuffles; ``HalvingGridSearchCV`` needs an int with ``shuffle=True``.
    pos_label : value of y or None, default=None
        The positive class, where it is not the greater value.

    Examples
    --------
    >>> import numpy as np
    >>> from fewlabels.model_selection import PUKFold
    >>> y = np.array([1, 1, 0, 0, 0, 0])
    >>> for train, test in PUKFold(2).split(y, y):
    ...     print(train, test)
    [1 4 5] [0 2 3]
    [0 2 3] [1 4 5]
    """

    def __init__(
        self,
        n_splits: int = 5,
        *,
        shuffle: bool = False,
        n_repeats: int = 1,
        random_state: RandomStateLike = None,
        pos_label: object = None,
    ) -> None:
        super().__init__(n_splits, shuffle, n_repeats, random_state)
        self.pos_label = pos_label

    def _kinds_of_rows(self, y: VectorLike) -> tuple[IntArray, IntArray, list[str]]:
        positive, _ = split_labels(y, self.pos_label)
        names = ["unlabelled rows", "positive rows"]
        return np.arange(len(positive)), positive.astype(np.intp), names


class LabeledKFold(_RepeatedFolds):
    """Folds of the labelled rows alone; unlabelled rows are always trained on.

    For semi-supervised classifiers and ordinary scores such as accuracy: no row without a
    label is ever scored. Test folds are stratified over the classes; a class with fewer rows than
    folds is refused when splitting, and ``groups`` are as in ``PUKFold``. Of positive-unlabelled
    labels a test fold would hold positives only, and calling everything positive would win: use
    ``PUKFold`` there.

    Parameters
    ----------
    n_splits, shuffle, n_repeats, random_state
        As in :class:`PUKFold`.
    unlabeled : value of y, default=-1
        The mark of unlabelled rows. Missing values (NaN, None, "") mark them too.

    Examples
    --------
    >>> import numpy as np
    >>> from fewlabels.model_selection import LabeledKFold
    >>> y = np.array([0, 1, 0, 1, -1, -1])
    >>> for train, test in LabeledKFold(2).split(y, y):
    ...     print(train, test)
    [2 3 4 5] [0 1]
    [0 1 4 5] [2 3]
    """

    def __init__(
        self,
        n_splits: int = 5,
        *,
        shuffle: bool = False,
        n_repeats: int = 1,
        random_state: RandomStateLike = None,
        unlabeled: object = -1,
    ) -> None:
        super().__init__(n_splits, shuffle, n_repeats, random_state)
        self.unlabeled = unlabeled

    def _kinds_of_rows(self, y: VectorLike) -> tuple[IntArray, IntArray, list[str]]:
        rows = np.flatnonzero(is_labelled(y, self.unlabeled))
        if len(rows) == 0:
            raise ValueError("y has no labelled row to score with.")
        labels = split_missing(y, self.unlabeled)[0][rows].astype(object)
        codes, classes = pd.factorize(labels)
        return rows, codes, [f"rows of class {label!r}" for label in classes]
