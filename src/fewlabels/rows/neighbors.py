"""Which rows to trust and how wide a kernel to take, from distances to neighbours."""

import numpy as np

from .._typing import BoolArray, FloatArray, IntArray, MatrixLike, RowMatrix
from ..kernels import center_of, centered
from ..kernels.parameters import total_variance
from ..kernels.rows import checked_rows

_ROWS = {"accept_sparse": "csr", "dtype": [np.float64, np.float32]}
# Rows that neighbours are looked for among; of more rows, a sample.
_REFERENCES = 5000
# Distances below this share of the largest row are rounding.
ROUNDING = 1e-7
# Gamma times the mean squared distance between rows that a decision still tells apart easily.
_FLATTEST = 1e-4
# Mean kernel values below this are lost in the rounding of a decision.
_LOST = 1e-16


def neighbor_gamma(X: MatrixLike, factor: float = 4.0) -> float:
    """Return the width of a Gaussian kernel.

    It is ``factor`` over the squared distance to a near neighbour.

    With n rows, ``gamma = factor / d**2``, where d is the median of the distances of rows to
    their q-th neighbour (not counting themselves), q = sqrt(n) rounded. Of more than 5000
    rows neighbours are looked for in a sample, at the corresponding rank.

    Parameters
    ----------
    X : {array-like, sparse} of shape (n_samples, n_features)
        Rows, at least 2.
    factor : float, default=4.0
        Larger values make narrower kernels, > 0.

    Returns
    -------
    float
        Where the median is 0 (many equal rows), from the smallest distance > 0; 1.0 when all
        distances are 0.

    Examples
    --------
    >>> from fewlabels.model_selection import neighbor_gamma
    >>> neighbor_gamma([[0.0], [1.0], [2.0], [3.0]])
    1.7777777777777777
    """
    return gamma_from_distances(neighbor_distances(checked_rows(X, **_ROWS)), factor)


def gamma_from_distances(distances: FloatArray, factor: float) -> float:
    """Return the width that distances to a near neighbour make, see :func:`neighbor_gamma`."""
    width = float(np.median(distances))
    if width <= 0.0:
        above = distances[distances > 0.0]
        if len(above) == 0:
            return 1.0
        width = float(above.min())
    return factor / width**2


def far_from_neighbors(X: MatrixLike, share: float = 0.4) -> BoolArray:
    """Return the rows that lie farthest from their neighbours, where anomalies are likely.

    Parameters
    ----------
    X : {array-like, sparse} of shape (n_samples, n_features)
        Rows, at least 2.
    share : float, default=0.4
        Share of the rows, in [0, 1), rounded down; at least two rows are not among them.

    Returns
    -------
    ndarray of bool of shape (n_samples,)
        True for the rows of the largest distance to their q-th neighbour, q = sqrt(n) rounded.

    Examples
    --------
    >>> from fewlabels.model_selection import far_from_neighbors
    >>> far_from_neighbors([[0.0], [0.1], [0.2], [0.3], [9.0]], share=0.2)
    array([False, False, False, False,  True])
    """
    if not 0.0 <= share < 1.0:
        raise ValueError(f"share={share!r} is not allowed; pass a number in [0, 1).")
    return mark_farthest(neighbor_distances(checked_rows(X, **_ROWS)), share)


def gamma_for_reach(rows: RowMatrix, far: BoolArray, share: float) -> float:
    """Return the largest gamma at which all but a ``share`` of the rows are within reach.

    Out of reach is where the mean kernel value is lost in the rounding of a decision. However far
    rows are, gamma is not so small that those trained on become one point.
    """
    rows = centered(rows, center_of(rows))
    squared = _distance_to_neighbor(rows, np.flatnonzero(~far), 1) ** 2
    edge = float(np.quantile(squared, 1.0 - share))
    if not edge > 0.0:
        return np.inf
    core = rows[~far]
    spread = 2.0 * total_variance(core)
    return max(_reach_limit(core.shape[0]) / edge, _FLATTEST / spread if spread > 0.0 else 0.0)


def share_out_of_reach(rows: RowMatrix, core: RowMatrix, gamma: float) -> float:
    """Share of ``rows`` out of the reach of a model trained on ``core``."""
    from sklearn.neighbors import NearestNeighbors  # slow to import

    center = center_of(core)
    core, rows = centered(core, center), centered(rows, center)
    nearest = NearestNeighbors(n_neighbors=1).fit(core).kneighbors(rows)[0][:, 0]
    return float(np.mean(gamma * nearest**2 > _reach_limit(core.shape[0])))


def _reach_limit(n: int) -> float:
    """Return the gamma times squared distance to one of n rows, at the edge of the reach."""
    return max(1.0, float(-np.log(_LOST * n)))


def mark_farthest(distances: FloatArray, share: float) -> BoolArray:
    """Return the mask of the ``share`` of rows with the largest distances."""
    n = len(distances)
    n_kept = min(n, max(2, int(np.ceil((1.0 - share) * n))))
    far = np.ones(n, dtype=bool)
    far[np.argsort(distances, kind="stable")[:n_kept]] = False
    return far


def neighbor_rank(n: int) -> int:
    """Return Q = sqrt(n), rounded, below n."""
    return max(1, min(n - 1, round(float(np.sqrt(n)))))


def neighbor_distances(X: RowMatrix) -> FloatArray:
    """Return the distance of every row to its q-th neighbour, q = ``neighbor_rank(n)``."""
    n = X.shape[0]
    if n < 2:
        raise ValueError(f"X has {n} row(s); distances to neighbours need 2 rows at least.")
    X = centered(X, center_of(X))  # differences without cancellation
    rank = neighbor_rank(n)
    if n > _REFERENCES:
        rank = max(1, round(rank * _REFERENCES / n))
    found = _distance_to_neighbor(X, np.arange(n), rank)
    squares = X * X if isinstance(X, np.ndarray) else X.multiply(X)
    largest = float(np.sqrt(np.asarray(squares.sum(axis=1)).max()))
    return np.where(found <= ROUNDING * largest, 0.0, found)


def _distance_to_neighbor(X: RowMatrix, among: IntArray, rank: int) -> FloatArray:
    """Distance of every row to its ``rank``-th neighbour, itself aside, of some, or a sample."""
    if len(among) > _REFERENCES:
        draw = np.random.default_rng(0).choice(len(among), _REFERENCES, replace=False)
        among = among[np.sort(draw)]
    from sklearn.neighbors import NearestNeighbors  # slow to import

    neighbors = NearestNeighbors(n_neighbors=min(rank + 1, len(among))).fit(X[among])
    distance = neighbors.kneighbors(X)[0]
    found = distance[:, rank - 1].copy()
    found[among] = distance[among, -1]  # each is its own nearest one
    return found
