"""A kernel deformed by the neighbourhood graph of all rows, labelled or not."""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp
from scipy.linalg import LinAlgError, cholesky, eigh, solve_triangular
from sklearn.base import BaseEstimator
from sklearn.utils._param_validation import (
    Interval,
    StrOptions,
    validate_parameter_constraints,
)

from .._typing import FloatArray, IntArray, MatrixLike, RowMatrix, VectorLike
from .._util.messages import Message, ref
from .base import FormedKernel, Kernel, MappedKernel
from .inner_products import Linear, Polynomial
from .rbf import RBF
from .rows import center_of, centered, checked_rows

# Inner products that can be deformed.
_BASES: dict[str, type[MappedKernel]] = {"rbf": RBF, "poly": Polynomial, "linear": Linear}
# Rows up to which all are points of the kernel.
_MAX_ROWS_WITHOUT_LANDMARKS = 3000
# Points of the kernel where there are more rows, at most.
_MAX_LANDMARKS = 1000
# Kernel values between points and rows, at most.
_MAX_LANDMARK_VALUES = 50_000_000
# Relative to the largest: eigenvalues of landmarks below are rounding.
_MIN_RELATIVE_EIGENVALUE = 1e-11
_VALUES_AT_A_TIME = 4_000_000
# Eigenvalues of a matrix I + ... up to which Cholesky's factors keep the smallest ones, near 1.
_MAX_WELL_CONDITIONED = 1e12
# Mean degree of a graph below which all its weights are 0.
_MIN_MEAN_DEGREE = 1e-300
# Least width of a weight: its square is not 0.
_MIN_WIDTH = 1e-150
_CONSTRAINTS = {
    "r": [Interval(Real, 0.0, None, closed="left")],
    "n_neighbors": [Interval(Integral, 1, None, closed="left")],
    "scaling": [StrOptions({"mean", "local"})],
    "power": [Interval(Integral, 1, None, closed="left")],
    "base": [StrOptions(set(_BASES))],
    "share": [Interval(Real, 0.0, 1.0, closed="right")],
    "n_landmarks": [StrOptions({"auto"}), Interval(Integral, 1, None, closed="left")],
}


@dataclass(frozen=True, eq=False)
class Deformed(FormedKernel):
    """A kernel deformed over a cloud of points, as :class:`Manifold` makes it: frozen numbers.

    With ``g(x) = K(x, points) @ factor`` and K of the ``base``, it is
    ``scale (K(x, z) - g(x).g(z))``; or ``scale g(x).g(z)`` if ``is_low_rank``, where the points
    are landmarks among more rows.
    """

    base: MappedKernel
    points: RowMatrix
    factor: FloatArray
    scale: float
    is_low_rank: bool

    name: ClassVar = "manifold"
    is_inner_product = True
    has_graph: ClassVar = True
    onnx_form: ClassVar = "graph"

    @property
    def has_features(self) -> bool:  # type: ignore[override]  # computed, where the base has a constant
        return self.is_low_rank

    @property
    def weights_of_sum(self) -> tuple[float, float] | None:  # type: ignore[override]  # computed, where the base has a constant
        """Weights of the base kernel and of the features; None for features alone."""
        return None if self.is_low_rank else (self.scale, -1.0)

    def diagonal(self, X: RowMatrix) -> FloatArray:
        features = self.features(X)
        inner = np.einsum("ij,ij->i", features, features)
        return inner if self.is_low_rank else self.scale * self.base.diagonal(X) - inner

    @property
    def plain(self) -> MappedKernel:
        """The base kernel, under which functions have more rows, or others."""
        return self.base

    def expand(
        self, X: RowMatrix, coef: FloatArray, on_points: FloatArray | None = None
    ) -> tuple[RowMatrix, FloatArray]:
        """Return rows and coefficients (in the last axis) of functions under the base kernel."""
        coef = np.asarray(coef, dtype=float)
        own = self.on_points(X, coef) if on_points is None else on_points
        if self.is_low_rank:
            return self.points, own
        stack = sp.vstack if sp.issparse(X) else np.concatenate
        rows = stack([X, self.points])
        coef = np.concatenate([self.scale * coef, own], axis=-1)
        return sp.csr_array(rows) if sp.issparse(rows) else rows, coef

    def values(self, X: RowMatrix, Z: RowMatrix) -> FloatArray:
        inner = self.features(X) @ self.features(Z).T
        return inner if self.is_low_rank else self.scale * self.base.values(X, Z) - inner

    def __deepcopy__(self, memo: dict[int, object]) -> Deformed:
        return self

    def is_equal(self, other: object) -> bool:
        """Return whether another kernel has the same numbers."""
        if not isinstance(other, Deformed) or self.points.shape != other.points.shape:
            return False
        apart = abs(self.points - other.points).max() > 0.0
        return not apart and np.array_equal(self.factor, other.factor)

    def features(self, X: RowMatrix, n_jobs: int = 1) -> FloatArray:
        """Return ``sqrt(scale) g(x)`` of rows, shape (len(X), rank)."""
        step = max(1, _VALUES_AT_A_TIME // len(self.factor))
        out = np.empty((X.shape[0], self.factor.shape[1]))
        for first in range(0, X.shape[0], step):
            part = slice(first, first + step)
            out[part] = self.base.values(X[part], self.points) @ self.factor
        out *= np.sqrt(self.scale)
        return out

    def on_points(self, X: RowMatrix, coef: FloatArray) -> FloatArray:
        """Return the coefficients of K at the points, for ``sum_j coef_j k(x_j, .)``."""
        inner = np.sqrt(self.scale) * ((coef @ self.features(X)) @ self.factor.T)
        return inner if self.is_low_rank else -inner


@dataclass(repr=False)
class Manifold(BaseEstimator):
    """A kernel deformed by the graph of all training rows, labelled or not.

    Functions are smooth where rows lie dense: along the sheets and threads that the rows form,
    labels travel far, and across gaps they do not. With K the base kernel over all rows and L a
    power of the normalised Laplacian of their nearest-neighbour graph (Sindhwani, Niyogi and
    Belkin 2005),

    ``k(x, z) = K(x, z) - K_x' (I + r L K)^-1 r L K_z``,

    scaled to a mean of 1 over the diagonal, so that costs mean what they do without. It takes new
    rows: ``fit`` builds the graph, which stays. ``gamma``, ``degree`` and ``coef0``
    of the model apply to the base kernel.

    Parameters
    ----------
    r : float, default=100.0
        How much the graph matters, >= 0; 0 gives the base kernel itself.
    n_neighbors : int, default=10
        Neighbours that a row is connected with.
    power : int, default=2
        Power of the Laplacian, >= 1.
    base : {"rbf", "poly", "linear"}, default="rbf"
        The kernel that is deformed.
    n_landmarks : int or "auto", default="auto"
        Where there are more distinct rows than this, K is replaced by its approximation from so
        many of them, drawn at random, while the graph still has all; the kernel is then one
        of so many features. "auto" means all up to 3000 rows, and up to 1000 of more.
    share : float, default=1.0
        Share of the deformed kernel, > 0; the rest is the base kernel as it is, scaled to a mean
        of 1 over the diagonal too. An average of both does less harm where the graph misleads.
    scaling : {"mean", "local"}, default="mean"
        How distances d between neighbours become weights. "mean" takes ``exp(-d^2 / (2 s^2))``,
        s the mean distance, and the normalised Laplacian (Sindhwani et al. 2005). "local" takes
        ``exp(-d^2 / (s_i s_j))``, s_i the distance to the furthest of the neighbours of row i
        (Zelnik-Manor and Perona 2004), and ``(D - W) / mean(D)``. Constants cost nothing under
        this Laplacian, so that a model's intercept takes them up and strong graphs (``r`` of
        1000 and more) stay informative; the kernel is scaled to a mean squared distance of 1
        from the mean of the rows' images.

    Examples
    --------
    >>> import numpy as np
    >>> from fewlabels import S3VM
    >>> from fewlabels.kernels import Manifold
    >>> angle = np.linspace(0, np.pi, 100)
    >>> moon = np.c_[np.cos(angle), np.sin(angle)]
    >>> moons = np.r_[moon, [1, 0] - moon]
    >>> y = np.full(200, np.nan)
    >>> y[[50, 150]] = 0, 1
    >>> model = S3VM(kernel=Manifold(r=1000)).fit(moons, y)
    >>> int(np.sum(model.predict(moons) != np.repeat([0, 1], 100)))
    0
    """

    r: float = 100.0
    n_neighbors: int = 10
    power: int = 2
    base: str = "rbf"
    n_landmarks: int | str = "auto"
    share: float = 1.0
    scaling: str = "mean"

    name: ClassVar = "manifold"
    learns: ClassVar = "rows"

    @property
    def takes(self) -> tuple[str, ...]:
        """Coefficients of the model that the base kernel has."""
        self._check()
        return _BASES[self.base].takes

    @property
    def is_similarity(self) -> bool:
        """True if the base kernel is a similarity, whose width is chosen from distances."""
        self._check()
        return _BASES[self.base].is_similarity

    def _check(self) -> None:
        validate_parameter_constraints(
            _CONSTRAINTS, self.get_params(deep=False), caller_name=type(self).__name__
        )

    def with_rows(
        self,
        X: MatrixLike,
        sample_weight: VectorLike | None = None,
        *,
        gamma: float = 1.0,
        degree: int = 3,
        coef0: float = 1.0,
        random_state: int = 0,
    ) -> Kernel:
        """Return the kernel deformed by the graph of the rows ``X``, as a model's ``fit`` does.

        A model takes the outcome as ``kernel`` too, with the point cloud as it is here.

        Parameters
        ----------
        X : {array-like, sparse} of shape (n_samples, n_features)
            The point cloud. Of equal rows one counts.
        sample_weight : ignored
            For compatibility.
        gamma, degree, coef0 : float, int, float
            Coefficients of the base kernel.
        random_state : ignored
            For compatibility.

        Returns
        -------
        kernel
            A :class:`Deformed`; the base kernel itself where there is nothing to deform it
            (``r=0``, or one row).
        """
        self._check()
        base: Any = _BASES[self.base].from_parameters(
            gamma=float(gamma), degree=int(degree), coef0=float(coef0)
        )
        if not base.is_inner_product:
            raise ValueError(
                Message(
                    f"{ref('coef0', coef0)} < 0 makes the polynomial kernel indefinite, and the "
                    "manifold kernel needs a positive semi-definite one; pass coef0 >= 0."
                )
            )
        X = checked_rows(X, accept_sparse="csr", dtype=[np.float64, np.float32], order="C")
        X = distinct_rows(X)
        n = X.shape[0]
        if self.r == 0 or n < 2:
            return base
        laplacian = graph_laplacian(X, self.n_neighbors, self.scaling)
        auto = (
            n
            if n <= _MAX_ROWS_WITHOUT_LANDMARKS
            else max(1, min(_MAX_LANDMARKS, _MAX_LANDMARK_VALUES // n))
        )
        n_points = auto if isinstance(self.n_landmarks, str) else self.n_landmarks
        if n_points >= n:
            points = X
            factor, scale = self._factor_exactly(base, X, laplacian)
        else:
            points = X[np.sort(np.random.default_rng(0).choice(n, n_points, replace=False))]
            factor, scale = self._factor_with_landmarks(base, X, points, laplacian)
        if not np.isfinite(scale):
            return base  # all its values are 0
        return Deformed(base, points, factor, scale, n_points < n)

    def _factor_exactly(
        self, base: MappedKernel, X: RowMatrix, laplacian: sp.csr_array
    ) -> tuple[FloatArray, float]:
        """Return ``factor`` and ``scale``, where all rows are points.

        With L = S S', ``(I + r L K)^-1 r L = r S (I + r S' K S)^-1 S'``, whose inner matrix has
        no eigenvalue below 1.
        """
        root = np.sqrt(self.r) * _compute_matrix_root(laplacian, self.power)
        values = base.values(X, X)
        inner = root @ (root @ values).T
        inner[np.diag_indices_from(inner)] += 1.0
        root = root.toarray() if sp.issparse(root) else root
        factor = solve_with_root(0.5 * (inner + inner.T), root)
        removed = values @ factor.T
        plain = float(base.diagonal(X).mean())
        size = plain - np.einsum("ij,ij->", removed, removed) / len(values)
        if self.scaling == "local":
            size -= values.mean() - np.square(removed.mean(axis=0)).sum()
        if not size > 0.0:
            return factor, np.inf
        of_deformed = self.share / size
        scale = of_deformed + (1.0 - self.share) / plain
        return np.ascontiguousarray(factor.T) * np.sqrt(of_deformed / scale), scale

    def _factor_with_landmarks(
        self, base: MappedKernel, X: RowMatrix, points: RowMatrix, laplacian: sp.csr_array
    ) -> tuple[FloatArray, float]:
        """Return them with K approximated from points, as features: ``F (I + r F'LF)^-1 F'``."""
        eigenvalues, vectors = eigh(base.values(points, points))
        used = eigenvalues > _MIN_RELATIVE_EIGENVALUE * eigenvalues[-1]
        root = vectors[:, used] / np.sqrt(eigenvalues[used])
        features = Deformed(base, points, root, 1.0, True).features(X)
        inner = features.T @ features / len(features)
        smoothed = features
        for _ in range(self.power // 2):
            smoothed = laplacian @ smoothed
        rough = smoothed.T @ (laplacian @ smoothed if self.power % 2 else smoothed)
        roughness, rotation = eigh(0.5 * (rough + rough.T))
        damping = 1.0 / (1.0 + self.r * np.maximum(roughness, 0.0))
        variance_along = np.einsum("ij,ij->j", rotation, inner @ rotation)
        deformed, plain = float(damping @ variance_along), float(variance_along.sum())
        if self.scaling == "local":
            deformed -= float(damping @ np.square(features.mean(axis=0) @ rotation))
        if not deformed > 0.0:
            return root, np.inf
        damping = self.share * damping + (1.0 - self.share) * deformed / plain
        return root @ (rotation * np.sqrt(damping)), 1.0 / deformed


def graph_laplacian(X: RowMatrix, n_neighbors: int, scaling: str = "mean") -> sp.csr_array:
    """Return the sparse Laplacian of the symmetric nearest-neighbour graph of distinct rows."""
    n = X.shape[0]
    distance, neighbor = find_neighbors(X, n_neighbors)
    if scaling == "mean":
        width = distance.mean()
        weight = np.exp(-0.5 * np.square(distance / width if width > 0.0 else distance))
    else:
        width = np.maximum(distance[:, -1], _MIN_WIDTH)
        weight = np.exp(-distance / width[:, None] * (distance / width[neighbor]))
    first = np.repeat(np.arange(n), neighbor.shape[1])
    graph = sp.csr_array((weight.ravel(), (first, neighbor.ravel())), shape=(n, n))
    graph = graph.maximum(graph.T)
    degree = graph.sum(axis=1)
    if scaling == "local":
        return sp.csr_array(
            (sp.diags_array(degree) - graph) / max(degree.mean(), _MIN_MEAN_DEGREE)
        )
    connected = degree > 0.0  # a row far from all others has weights of 0
    inverse = np.zeros(n)
    inverse[connected] = 1.0 / np.sqrt(degree[connected])
    inverse = sp.diags_array(inverse)
    return sp.csr_array(sp.diags_array(connected.astype(float)) - inverse @ graph @ inverse)


def find_neighbors(X: RowMatrix, n_neighbors: int) -> tuple[FloatArray, IntArray]:
    """Return distances to the nearest rows, up to a factor, and their numbers."""
    X = centered(X, center_of(X))  # distances without cancellation
    largest = abs(X).max()
    from sklearn.neighbors import NearestNeighbors  # slow to import

    k = min(n_neighbors, X.shape[0] - 1)
    return NearestNeighbors(n_neighbors=k).fit(X / largest if largest > 0.0 else X).kneighbors()


def graph_clustering(X: RowMatrix, n_neighbors: int) -> float:
    """Return how often two neighbours of a row are neighbours themselves, from 0 to 1.

    Large where rows lie on threads or sheets of few dimensions, near 0 where they fill many.
    """
    neighbor = find_neighbors(X, n_neighbors)[1]
    n, k = neighbor.shape
    graph = sp.csr_array((np.ones(n * k), (np.repeat(np.arange(n), k), neighbor.ravel())), (n, n))
    graph = graph.maximum(graph.T)
    degree = graph.sum(axis=1)
    pairs = float(degree @ (degree - 1.0))
    return (graph @ graph).multiply(graph).sum() / pairs if pairs > 0.0 else 0.0


def solve_with_root(inner: FloatArray, columns: FloatArray) -> FloatArray:
    """Return A with ``A' A = columns' inner^-1 columns``; eigenvalues of ``inner`` are >= 1.

    Where the largest eigenvalue is so large that rounding hides the others, directions of
    eigenvalues within rounding are left out: ``columns`` have no part in them either.
    """
    if inner.diagonal().max() < _MAX_WELL_CONDITIONED:
        try:
            return solve_triangular(cholesky(inner, lower=True), columns, lower=True)
        except LinAlgError:  # by rounding it has
            pass
    eigenvalues, vectors = eigh(inner)
    rounding = len(inner) * np.finfo(float).eps * eigenvalues[-1]
    known = eigenvalues > rounding
    return (vectors[:, known] / np.sqrt(np.maximum(eigenvalues[known], 1.0))).T @ columns


def _compute_matrix_root(laplacian: sp.csr_array, power: int) -> RowMatrix:
    """Return a symmetric S with ``S S = laplacian^power``."""
    if power % 2 == 0:
        root = laplacian
        for _ in range(power // 2 - 1):
            root = root @ laplacian
        return root
    eigenvalues, vectors = eigh(laplacian.toarray())
    return (vectors * np.maximum(eigenvalues, 0.0) ** (0.5 * power)) @ vectors.T


def distinct_rows(X: RowMatrix) -> RowMatrix:
    """Return the first of each group of equal rows, in an order that only values decide."""
    weight = np.random.default_rng(0).normal(size=X.shape[1])
    keys = X @ weight if sp.issparse(X) else np.einsum("ij,j->i", X, weight)
    return X[np.unique(keys, return_index=True)[1]]
