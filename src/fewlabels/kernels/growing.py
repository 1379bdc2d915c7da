"""Forests grown on rows of several classes, and their votes."""

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from .._core.forest import GrowthOptions, draw_rows, grow_trees
from .._typing import FloatArray, IntArray, RowMatrix, VectorLike
from .._util.threads import run_ranges
from .forest import Forest, add_leaf_sums, to_float32

# Nodes that there is room for while trees grow.
_NODES_AT_A_TIME = 2**22
# Sparse rows of more numbers stay sparse, and scikit-learn grows the trees.
_MAX_DENSE_NUMBERS = 2**26


class GrownForest(NamedTuple):
    """A forest, and a function that returns how often each tree has drawn each row.

    That is an array of shape (n_trees, n_rows).
    """

    forest: Forest
    times: Callable[[], IntArray]


def grow_forest(
    X: RowMatrix,
    place: VectorLike,
    n_trees: int,
    *,
    splits: str = "random",
    min_samples_leaf: int = 1,
    drawn: int = 0,
    seed: int = 0,
    n_jobs: int = 1,
) -> GrownForest:
    """Grow trees that separate classes of equal weight.

    Every node takes the best of thresholds of sqrt(d) columns, by Gini impurity. It is what
    scikit-learn's ``RandomForestClassifier`` and ``ExtraTreesClassifier`` grow with balanced
    classes, without the millisecond that each of their trees takes however few the rows are.

    Parameters
    ----------
    X : {ndarray, sparse} of shape (n_samples, n_features)
        Rows.
    place : array-like of int of shape (n_samples,)
        Their classes, from 0.
    n_trees : int
        Trees.
    splits : {"best", "random"}, default="random"
        Whether all thresholds of a column are tried (Breiman 2001), or a random one (Geurts, Ernst
        and Wehenkel 2006).
    min_samples_leaf : int, default=1
        Distinct rows in a leaf at least.
    drawn : int, default=0
        Rows that each tree sees, drawn with replacement; 0 for all once.
    seed : int, default=0
        Seed. The same trees grow on any number of threads.
    n_jobs : int, default=1
        Threads.

    Returns
    -------
    GrownForest
    """
    if sp.issparse(X) and X.shape[0] * X.shape[1] > _MAX_DENSE_NUMBERS:
        return _grow_with_scikit_learn(
            X, place, n_trees, splits, min_samples_leaf, drawn, seed, n_jobs
        )
    place = np.ascontiguousarray(place, dtype=np.int32)
    (n, d), n_classes = X.shape, int(place.max()) + 1
    most = 2 * min(drawn or n, n) - 1
    step, tried = max(1, _NODES_AT_A_TIME // most), max(1, int(np.sqrt(d)))
    columns = to_float32(X.T)
    options = GrowthOptions(
        n_classes, drawn, int(splits == "best"), tried, min_samples_leaf, int(seed)
    )
    batches = []
    for first in range(0, n_trees, step):
        count = min(step, n_trees - first)
        kinds = (np.int64, np.float64, np.int64, np.int64)
        nodes = [np.empty((count, most), kind) for kind in kinds]
        sizes, depths = np.empty(count, np.int64), np.empty(count, np.int64)
        out = [*nodes, sizes, depths]
        run_ranges(partial(grow_trees, columns, place, options, first, out), count, n_jobs)
        is_there = np.arange(most) < sizes[:, None]
        batches.append([*(part[is_there] for part in nodes), sizes, depths])
    parts = [np.concatenate(part) for part in zip(*batches, strict=True)]
    feature, threshold, left, right, sizes, depths = parts
    roots = np.cumsum(sizes) - sizes
    shift = np.repeat(roots, sizes)
    forest = Forest(
        feature=feature,
        threshold=threshold,
        left=left + shift,
        right=right + shift,
        value=np.zeros(len(left)),
        roots=roots,
        depth=int(depths.max()),
    )
    return GrownForest(forest, partial(_count_draws, n, n_trees, drawn, int(seed)))


def _count_draws(n: int, n_trees: int, drawn: int, seed: int) -> IntArray:
    times = np.empty((n_trees, n), dtype=np.int32)
    draw_rows(drawn, seed, times, 0, n_trees)
    return times


def _grow_with_scikit_learn(
    X: RowMatrix,
    place: VectorLike,
    n_trees: int,
    splits: str,
    min_samples_leaf: int,
    drawn: int,
    seed: int,
    n_jobs: int,
) -> GrownForest:
    from sklearn.ensemble import ExtraTreesClassifier, RandomForestClassifier  # slow to import

    kind = RandomForestClassifier if splits == "best" else ExtraTreesClassifier
    grown = kind(
        n_trees,
        min_samples_leaf=min_samples_leaf,
        bootstrap=bool(drawn),
        max_samples=drawn or None,
        class_weight="balanced_subsample" if drawn else "balanced",
        random_state=int(seed),
        n_jobs=n_jobs,
    ).fit(X, np.asarray(place))

    def times() -> IntArray:
        rows_of = grown.estimators_samples_ if drawn else [np.arange(X.shape[0])] * n_trees
        return np.stack([np.bincount(rows, minlength=X.shape[0]) for rows in rows_of])

    forest = Forest.from_trees(grown.estimators_, lambda nodes: np.zeros(nodes.node_count))
    return GrownForest(forest, times)


class VotingForest:
    """A forest that predicts the mean share of each class in the leaves of a row.

    Parameters
    ----------
    X : {ndarray, sparse} of shape (n_samples, n_features)
        Rows.
    place : ndarray of int of shape (n_samples,)
        Their classes, from 0.
    n_trees : int
        Trees.
    n_jobs : int, default=1
        Threads.
    **options
        Of :func:`grow_forest`.
    """

    def __init__(
        self, X: RowMatrix, place: IntArray, n_trees: int, *, n_jobs: int = 1, **options: Any
    ) -> None:
        self._forest, times = grow_forest(X, place, n_trees, n_jobs=n_jobs, **options)
        self._times = times()
        self._leaves = self._forest.leaves(X, n_jobs)
        self._n_jobs = n_jobs
        sums = np.empty((int(place.max()) + 1, len(self._forest.left)))
        for number, own in enumerate(sums):
            is_own = place == number
            weight = self._times[:, is_own]
            weight = weight / np.maximum(1, weight.sum(axis=1, keepdims=True))
            own[:] = np.bincount(
                self._leaves[is_own].ravel(), weight.T.ravel(), minlength=len(own)
            )
        # Nodes that aren't leaves have no rows.
        self._shares = sums / np.maximum(sums.sum(axis=0), np.finfo(float).tiny)

    def predict_shares(self, X: RowMatrix) -> FloatArray:
        """Return mean shares of the classes at rows, of shape (n_rows, n_classes)."""
        found = np.zeros((X.shape[0], len(self._shares)))
        leaves = self._forest.leaves(X, self._n_jobs)
        add_leaf_sums(leaves, self._shares, found, self._n_jobs)
        return found / leaves.shape[1]

    def predict_out_of_bag(self) -> FloatArray:
        """Return such shares of the training rows, by trees that weren't grown on them.

        NaN for rows that every tree was grown on.
        """
        unseen = self._times.T == 0
        sums = [np.sum(own[self._leaves], axis=1, where=unseen) for own in self._shares]
        with np.errstate(invalid="ignore"):
            return np.stack(sums, axis=1) / unseen.sum(axis=1)[:, None]
