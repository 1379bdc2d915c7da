"""The functions of rows that simple methods learn, and that files can hold."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator
from sklearn.ensemble import ExtraTreesClassifier, IsolationForest, RandomForestClassifier
from sklearn.neighbors import NearestNeighbors
from sklearn.semi_supervised import LabelSpreading

from .._typing import FloatArray, RowMatrix
from ..kernels.forest import Forest
from .methods import NeighborDistance, TunedSpreading, compute_decision

# Scores of rows, as a method has learned them.
ScoreFunction: TypeAlias = Callable[[RowMatrix], FloatArray]


@dataclass(frozen=True, eq=False)
class EstimatorScore:
    """An estimator of scikit-learn that is made of plain arrays."""

    estimator: BaseEstimator

    def __call__(self, X: RowMatrix) -> FloatArray:
        if hasattr(self.estimator, "score_samples"):
            return np.asarray(self.estimator.score_samples(X), dtype=float)
        return compute_decision(self.estimator, X)


@dataclass(frozen=True, eq=False)
class ForestVotes:
    """The mean value of the leaves that rows fall into: the share of a class, or of each."""

    forest: Forest

    def __call__(self, X: RowMatrix) -> FloatArray:
        return self.forest.mean(X)


@dataclass(frozen=True, eq=False)
class IsolationScore:
    """``-2 ** -(mean depth / usual depth)``, as scikit-learn scores."""

    forest: Forest  # its values are depths

    def __call__(self, X: RowMatrix) -> FloatArray:
        return -np.exp2(-self.forest.mean(X))


@dataclass(frozen=True, eq=False)
class DistanceScore:
    """Minus the distance to the k-th nearest of the rows."""

    rows: RowMatrix
    k: int

    def __call__(self, X: RowMatrix) -> FloatArray:
        return -_fit_neighbors(self.rows, self.k).kneighbors(X)[0][:, -1]

    def left_out(self) -> FloatArray:
        """Return the score of each of the rows, as if it were not there."""
        nearest = _fit_neighbors(self.rows, min(self.k, self.rows.shape[0] - 1))
        return -nearest.kneighbors()[0][:, -1]


@dataclass(frozen=True, eq=False)
class NeighborShares:
    """Mean shares of the classes among the k nearest rows."""

    rows: RowMatrix
    k: int
    shares: np.ndarray

    def __call__(self, X: RowMatrix) -> FloatArray:
        near = _fit_neighbors(self.rows, self.k).kneighbors(X, return_distance=False)
        shares = self.shares[near].sum(axis=1)
        total = shares.sum(axis=1, keepdims=True)
        shares = shares / np.where(total > 0.0, total, 1.0)
        return shares[:, 1] - shares[:, 0] if shares.shape[1] == 2 else shares


def _fit_neighbors(rows: RowMatrix, k: int) -> NearestNeighbors:
    return NearestNeighbors(n_neighbors=min(k, rows.shape[0])).fit(rows)


def make_score_function(estimator: BaseEstimator, X: RowMatrix) -> ScoreFunction:
    """Return the function that an estimator fitted to rows X has found."""
    if isinstance(estimator, TunedSpreading):
        estimator = estimator.spreading_
    if isinstance(estimator, LabelSpreading):
        return NeighborShares(X, estimator.n_neighbors, np.asarray(estimator.label_distributions_))
    if isinstance(estimator, NeighborDistance):
        return DistanceScore(X, estimator.n_neighbors)
    if isinstance(estimator, IsolationForest):
        return IsolationScore(_make_depth_forest(estimator))
    if isinstance(estimator, RandomForestClassifier):
        return ForestVotes(Forest.from_trees(estimator.estimators_, _share_of_second_class))
    if isinstance(estimator, ExtraTreesClassifier):
        return ForestVotes(Forest.from_trees(estimator.estimators_, _shares_of_classes))
    return EstimatorScore(estimator)


def _share_of_second_class(nodes: Any) -> FloatArray:
    shares = nodes.value[:, 0]
    return shares[:, 1] / shares.sum(axis=1)


def _shares_of_classes(nodes: Any) -> FloatArray:
    """Return shares of the classes; of two the second's less the first's."""
    shares = nodes.value[:, 0]
    shares = shares / shares.sum(axis=1, keepdims=True)
    return shares[:, 1] - shares[:, 0] if shares.shape[1] == 2 else shares


def _make_depth_forest(estimator: IsolationForest) -> Forest:
    """A forest of the nodes' depths, and what rows in a leaf would take to be distinguished."""
    usual = _mean_isolation_depth(np.array([estimator.max_samples_]))[0] or 1.0

    def depths(nodes: Any) -> FloatArray:
        depth = np.zeros(nodes.node_count)
        for at, (left, right) in enumerate(
            zip(nodes.children_left, nodes.children_right, strict=True)
        ):
            if left >= 0:  # children stand behind their parent
                depth[[left, right]] = depth[at] + 1.0
        return (depth + _mean_isolation_depth(nodes.n_node_samples)) / usual

    return Forest.from_trees(estimator.estimators_, depths)


def _mean_isolation_depth(n: npt.ArrayLike) -> FloatArray:
    """Mean depth at which one of n rows is alone in a tree of random splits (Liu et al. 2008)."""
    n = np.asarray(n, dtype=float)
    several = np.maximum(n, 3.0) - 1.0
    found = 2.0 * (np.log(several) + np.euler_gamma) - 2.0 * several / (several + 1.0)
    return np.where(n > 2, found, np.where(n == 2, 1.0, 0.0))
