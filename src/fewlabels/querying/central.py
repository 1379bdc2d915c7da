"""Rows that together show what there is, for the first labels."""

import warnings
from collections.abc import Iterator

import numpy as np
from sklearn.cluster import KMeans
from sklearn.metrics import pairwise_distances

from .._typing import FloatArray, IntArray, RandomStateLike, RowMatrix
from .base import Choice, Question, Strategy, check_whole_number

# Rows that the clusters are made of.
_N_ROWS_CLUSTERED = 2000


class Central(Strategy):
    """The most central row of each cluster: for the first labels, before there is a model.

    The next row belongs to the cluster that has the fewest labels. Of those that have equally few,
    the largest one comes first.

    Parameters
    ----------
    n_clusters : int, default=20
        Clusters, by k-means, >= 1.
    missing_label, random_state
        As of all strategies.
    """

    why = "many rows are similar, and none or few of them have labels"
    why_without_model = "there is no model yet, and many rows are similar"

    def __init__(
        self,
        n_clusters: int = 20,
        missing_label: object = np.nan,
        random_state: RandomStateLike = None,
    ) -> None:
        super().__init__(missing_label, random_state)
        self.n_clusters = check_whole_number("n_clusters", n_clusters)
        self._cached: tuple[RowMatrix, IntArray, FloatArray] | None = None

    def utilities(self, question: Question) -> FloatArray:
        return next(iter(self.choose(question, 1)))[1]

    def choose(self, question: Question, batch_size: int) -> Iterator[Choice]:
        cluster, distance = self._clusters(question.X)
        sizes = np.bincount(cluster)
        taken = np.bincount(cluster[question.labeled], minlength=len(sizes)).astype(float)
        candidates = question.candidates
        for _ in range(min(batch_size, len(candidates))):
            # Sizes are whole numbers, and so distances decide within a cluster only.
            values = -taken[cluster] + (sizes[cluster] - distance) / (len(cluster) + 1.0)
            row = int(candidates[np.argmax(values[candidates])])
            yield row, values, self.reason(question)
            taken[cluster[row]] += 1.0
            candidates = candidates[candidates != row]

    def _clusters(self, X: RowMatrix) -> tuple[IntArray, FloatArray]:
        """Return the cluster of every row, and its distance from the centre as a share below 1."""
        if self._cached is None or self._cached[0] is not X:
            n = X.shape[0]
            rows = self._rng.permutation(n)[:_N_ROWS_CLUSTERED]
            means = KMeans(min(self.n_clusters, len(rows)), n_init=3, random_state=self._rng)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # fewer distinct rows than clusters
                means.fit(X[rows])
            D = pairwise_distances(X, means.cluster_centers_)
            cluster = D.argmin(axis=1)
            distance = D[np.arange(n), cluster]
            self._cached = X, cluster, distance / (2.0 * distance.max() or 1.0)
        return self._cached[1:]
