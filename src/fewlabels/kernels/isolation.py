"""The isolation kernel: rows are similar if random centres seldom separate them."""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Integral
from typing import ClassVar

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator
from sklearn.utils._param_validation import Interval, validate_parameter_constraints
from sklearn.utils.validation import _check_sample_weight

from .._typing import BoolArray, FloatArray, IntArray, MatrixLike, RowMatrix, VectorLike
from .._util.threads import one_blas_thread, run_ranges
from .base import FeatureKernel
from .rows import canonical, center_of, centered, checked_rows, is_sparse, squared_norms
from .sampling import WeightedCopies

_CONSTRAINTS = {
    "n_points": [Interval(Integral, 1, 65_536, closed="both")],
    "n_draws": [Interval(Integral, 1, None, closed="left")],
    "random_state": ["random_state"],
}
# Centres are drawn from this many rows; of more rows, from a random sample.
_MAX_ROWS_TO_DRAW_FROM = 20_000
# Products of rows with centres that are held at a time: they should stay in cache.
_PRODUCTS_AT_A_TIME = 1 << 20
# Entries of the differences that decide near-ties, at a time.
_DIFFERENCES_AT_A_TIME = 1 << 22
# A difference of a row and a centre takes about as long as so many products.
_PRODUCTS_PER_DIFFERENCE = 8
# Up to this norm, squares fit into float32 and rows are multiplied in it.
_MAX_NORM_IN_FLOAT32 = 1e15
# Rounding of a product of rows, in units of the last place: the row's length plus this.
_ROUNDING_UNITS = 8.0
#: Centres whose squared distances to a row differ by less, in units of the rounding that products
#: of rows may have, are equally near: the first of them counts, however distances are computed.
EQUALLY_NEAR = 1e-11


@dataclass(frozen=True, eq=False)
class Cells(FeatureKernel):
    """The share of draws in which two rows have the same nearest centre: frozen numbers.

    ``draws`` has a row of indices into ``centers`` for each draw. ``center`` has been subtracted
    from the centres. If a row is equally far from several centres, it belongs to the first one.
    Distances that rounding can't tell apart are computed again from differences, so the result
    for a row doesn't depend on the other rows.
    """

    centers: RowMatrix
    draws: IntArray
    center: FloatArray | None

    name: ClassVar = "isolation"
    has_cells: ClassVar = True
    onnx_form: ClassVar = "cells"

    def __deepcopy__(self, memo: dict[int, object]) -> Cells:
        return self

    def diagonal(self, X: RowMatrix) -> FloatArray:
        return np.ones(X.shape[0])

    def features(self, X: RowMatrix, n_jobs: int = 1) -> sp.csr_array:
        """Return the cells of each row, as a sparse row of norm 1: shape (len(X), n_cells)."""
        nearest = self.find_nearest(X, n_jobs)
        n, n_draws = nearest.shape
        columns = nearest + self.number_first_cells()
        entries = np.full(columns.size, n_draws**-0.5), columns.ravel()
        ends = np.arange(0, columns.size + 1, n_draws)
        return sp.csr_array((*entries, ends), shape=(n, self.n_cells))

    def values(self, X: RowMatrix, Z: RowMatrix) -> FloatArray:
        n_draws = len(self.draws)
        common = (self.features(X) @ self.features(Z).T).toarray()
        return np.rint(common * n_draws) / n_draws  # whole numbers of draws

    def weights(self, X: RowMatrix, coef: FloatArray) -> FloatArray:
        """Return the functions ``sum_j coef_j K(x_j, .)`` as sums over cells: (..., n_cells)."""
        return np.ascontiguousarray((self.features(X).T @ np.asarray(coef, dtype=float).T).T)

    def sums(self, X: RowMatrix, weights: FloatArray, n_jobs: int = 1) -> FloatArray:
        """Return values of such functions at rows, shape (len(X), ...)."""
        weights = np.asarray(weights) * len(self.draws) ** -0.5
        out = np.empty((X.shape[0], *weights.shape[:-1]))
        step = max(
            1, _DIFFERENCES_AT_A_TIME // (len(self.draws) * max(1, weights.size // self.n_cells))
        )
        for first in range(0, X.shape[0], step):
            part = slice(first, first + step)
            cells = self.find_nearest(X[part], n_jobs) + self.number_first_cells()
            out[part] = weights[..., cells].sum(axis=-1).T
        return out

    @property
    def n_cells(self) -> int:
        """Cells in all draws."""
        return self.draws.size

    def find_nearest(self, X: RowMatrix, n_jobs: int = 1) -> IntArray:
        """Return the place of each row's nearest centre in each draw, (len(X), n_draws)."""
        n_draws, n_points = self.draws.shape
        out = np.empty((X.shape[0], n_draws), _place_dtype(n_points))
        norms = squared_norms(self.centers)
        largest = float(np.sqrt(norms.max()))
        single = isinstance(self.centers, np.ndarray) and largest <= _MAX_NORM_IN_FLOAT32
        single_centers = self.centers.astype(np.float32) if single else None
        step = max(1, _PRODUCTS_AT_A_TIME // max(len(norms), self.draws.size))
        counts = ~_find_repeats(self.draws)

        def find(start: int, stop: int) -> None:
            for first in range(start, stop, step):
                part = slice(first, min(first + step, stop))
                rows = self._prepare(X[part])
                length = np.sqrt(squared_norms(rows))
                use_single = single and bool(np.all(length <= _MAX_NORM_IN_FLOAT32))
                centers = single_centers if use_single else self.centers
                out[part] = self._find_nearest(rows, length, centers, norms, largest, counts)

        with one_blas_thread():
            run_ranges(find, X.shape[0], n_jobs)
        return out

    def _prepare(self, X: RowMatrix) -> RowMatrix:
        """Return rows in float64, moved and stored like the centres."""
        if isinstance(self.centers, np.ndarray):
            X = np.asarray(X.toarray() if is_sparse(X) else X, dtype=np.float64)
        else:
            X = sp.csr_array(canonical(X), dtype=np.float64)
        return centered(X, self.center)

    def _find_nearest(
        self,
        rows: RowMatrix,
        length: FloatArray,
        centers: RowMatrix,
        norms: FloatArray,
        largest: float,
        counts: BoolArray,
    ) -> IntArray:
        is_near = self._find_near(rows, length, centers, norms, largest, counts)
        # The sum of the places is the place where only one centre is near.
        places = np.arange(len(is_near), dtype=_place_dtype(len(is_near)))[:, None, None]
        found = (is_near * places).sum(axis=0, dtype=places.dtype)
        draw, row = np.nonzero(is_near.sum(axis=0, dtype=places.dtype) != 1)
        near = is_near[:, draw, row].T
        n_pairs, n_products = np.count_nonzero(near), rows.shape[0] * len(norms)
        if centers.dtype == np.float32 and n_pairs * _PRODUCTS_PER_DIFFERENCE > n_products:
            return self._find_nearest(rows, length, self.centers, norms, largest, counts)
        near[~near.any(axis=1)] = True  # products have overflowed
        found[draw, row] = self._find_first_nearest(rows, length, norms, draw, row, near)
        return found.T

    def _find_near(
        self,
        rows: RowMatrix,
        length: FloatArray,
        centers: RowMatrix,
        norms: FloatArray,
        largest: float,
        counts: BoolArray,
    ) -> BoolArray:
        """Return which centres may be the nearest, shape (n_points, n_draws, len(rows))."""
        with np.errstate(over="ignore", invalid="ignore"):
            products = centers @ rows.astype(centers.dtype, copy=False).T
            products = products if isinstance(products, np.ndarray) else products.toarray()
            products -= (0.5 * norms[:, None]).astype(products.dtype)
            products = products[self.draws.T]
            products -= products.max(axis=0)
            rounding = (_ROUNDING_UNITS + rows.shape[1]) * np.finfo(products.dtype).eps
            rounding = max(float(rounding), EQUALLY_NEAR)
            tie = -2.0 * rounding * (length + largest) * largest
            return (products >= tie.astype(products.dtype)) & counts.T[:, :, None]

    def _find_first_nearest(
        self,
        rows: RowMatrix,
        length: FloatArray,
        norms: FloatArray,
        draw: IntArray,
        row: IntArray,
        near: BoolArray,
    ) -> IntArray:
        """Return the first of the nearest among some centres, for pairs of draws and rows."""
        pair, place = np.nonzero(near)
        numbers = row[pair] * len(norms) + self.draws[draw[pair], place]
        distinct, index = np.unique(numbers, return_inverse=True)
        of_row, of_center = np.divmod(distinct, len(norms))
        size = np.sqrt(norms[of_center])
        distance = np.full(near.shape, np.inf)
        with np.errstate(over="ignore", invalid="ignore"):
            far = self._compute_distances(rows, of_row, of_center)[index]
            distance[pair, place] = far
            best = distance.min(axis=1)[pair]
            slack = (EQUALLY_NEAR * size * (size + length[of_row]))[index]
            is_nearest = np.zeros(near.shape, dtype=bool)
            is_nearest[pair, place] = (far <= best + slack) & (far < np.inf)
        # Distances that have overflowed are infinite: then the first near centre counts.
        return np.where(is_nearest.any(axis=1), is_nearest.argmax(axis=1), near.argmax(axis=1))

    def _compute_distances(
        self, rows: RowMatrix, of_row: IntArray, of_center: IntArray
    ) -> FloatArray:
        """Return the squared distances of pairs of rows and centres, from differences."""
        found = np.empty(len(of_row))
        step = max(1, _DIFFERENCES_AT_A_TIME // rows.shape[1])
        for first in range(0, len(of_row), step):
            part = slice(first, first + step)
            found[part] = squared_norms(rows[of_row[part]] - self.centers[of_center[part]])
        return found

    def number_first_cells(self) -> IntArray:
        """Return the number of the first cell of each draw."""
        n_draws, n_points = self.draws.shape
        return np.arange(n_draws) * n_points


@dataclass(repr=False)
class Isolation(BaseEstimator):
    """The isolation kernel of the training rows.

    Every draw takes a few training rows as centres, and every row belongs to the nearest one. The
    similarity of two rows is the share of draws in which they belong to the same centre (Ting,
    Zhu and Zhou 2018, definition 2.1, with the Voronoi cells of Qin et al. 2019, section 3).
    Where rows are dense, cells are small, so the kernel adapts to density: two rows are more
    similar in a sparse region than equally distant ones in a dense region. It has no width, and
    ``gamma``, ``degree`` and ``coef0`` of the estimator don't matter.

    Which rows are drawn depends on their values and the seed alone. So the order of the training
    rows doesn't matter, and sample weights act as repetitions. The centres of the fit stay:
    later updates are exact for the same kernel.

    Parameters
    ----------
    n_points : int, default=32
        Centres in a draw, from 1 to 65536. At most half of the rows are centres of one draw. More
        centres make smaller cells.
    n_draws : int, default=200
        Draws, >= 1.
    random_state : int, RandomState or None, default=None
        Seed of the draws. None means the seed of the estimator.

    References
    ----------
    Ting, K. M., Zhu, Y., Zhou, Z.-H. (2018). Isolation kernel and its effect on SVM. KDD.

    Qin, X., Ting, K. M., Zhu, Y., Lee, V. C. S. (2019). Nearest-neighbour-induced isolation
    similarity and its impact on density-based clustering. AAAI.

    Examples
    --------
    >>> import numpy as np
    >>> from fewlabels import SVDD
    >>> from fewlabels.kernels import Isolation
    >>> normal = np.random.default_rng(0).normal(size=(200, 2))
    >>> model = SVDD(kernel=Isolation(n_points=16), target_fpr=0.1).fit(normal)
    >>> model.predict([[0.0, 0.0], [6.0, 6.0]])
    array([ 1, -1])
    """

    n_points: int = 32
    n_draws: int = 200
    random_state: int | np.random.RandomState | None = None

    name: ClassVar = "isolation"
    takes: ClassVar = ()
    is_similarity: ClassVar = False
    learns: ClassVar = "rows"

    def with_rows(
        self,
        X: MatrixLike,
        sample_weight: VectorLike | None = None,
        *,
        random_state: int = 0,
        **coefficients: float,
    ) -> Cells:
        """Return the kernel with centres drawn from the rows ``X``, as ``fit`` does.

        Estimators accept the result as ``kernel``, too.

        Parameters
        ----------
        X : {array-like, sparse} of shape (n_samples, n_features)
            Rows.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights, which act as repetitions. Rows of weight <= 0 are left out.
        random_state : int, default=0
            Seed, unless the kernel has a ``random_state`` of its own.
        **coefficients
            Coefficients of other kernels, which this one has no use for.

        Returns
        -------
        Cells
        """
        validate_parameter_constraints(
            _CONSTRAINTS, self.get_params(deep=False), caller_name=type(self).__name__
        )
        X = checked_rows(X, accept_sparse="csr", dtype=[np.float64, np.float32])
        X = sp.csr_array(X) if is_sparse(X) else X
        weight = _check_sample_weight(sample_weight, X, dtype=np.float64)
        if not np.any(weight > 0):
            raise ValueError("all rows have a weight of 0 or less; pass rows to draw from.")
        seed = _choose_seed(self.random_state, random_state)
        copies = WeightedCopies(X, weight)
        return self.among(X, copies, copies.lowest(0, _MAX_ROWS_TO_DRAW_FROM, seed), seed)[0]

    def among(
        self, X: RowMatrix, copies: WeightedCopies, places: IntArray, seed: int, first: int = 1
    ) -> tuple[Cells, IntArray]:
        """Return ``Cells`` with centres among some ``WeightedCopies``, and where these are.

        ``first`` is the number of the first sample with the same copies and seed. The
        second result has the place of each centre in ``places``, shape (n_draws, n_points).
        """
        pool = copies.at(places)
        size = min(self.n_points, (len(places) + 1) // 2)
        drawn = np.stack([pool.lowest(first + k, size, seed) for k in range(self.n_draws)])
        # Equal rows are one centre.
        rows, index = np.unique(pool.rows[drawn], return_inverse=True)
        centers = X[rows].astype(np.float64, copy=False)
        center = center_of(centers)
        draws = index.reshape(drawn.shape).astype(np.int32)
        return Cells(centered(centers, center), draws, center), drawn


def _place_dtype(n_points: int) -> type[np.unsignedinteger]:
    """Return the type of places in a draw, which counts to ``n_points`` without coming to 1."""
    return np.uint8 if n_points <= 256 else np.uint16


def _find_repeats(draws: IntArray) -> BoolArray:
    """Return which centres of a draw are equal to an earlier one of it."""
    order = np.argsort(draws, axis=1, kind="stable")
    ordered = np.take_along_axis(draws, order, axis=1)
    is_repeated = np.zeros(draws.shape, bool)
    np.put_along_axis(is_repeated, order[:, 1:], ordered[:, 1:] == ordered[:, :-1], axis=1)
    return is_repeated


def _choose_seed(own: int | np.random.RandomState | None, given: int) -> int:
    if own is None:
        return int(given)
    return int(own.randint(2**31 - 1)) if isinstance(own, np.random.RandomState) else int(own)
