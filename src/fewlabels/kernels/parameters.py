"""From the parameters of an estimator to its kernel: kernels by name, gamma from the rows."""

from __future__ import annotations

from collections import abc
from collections.abc import Iterable
from functools import lru_cache
from typing import Any, TypeAlias, TypeGuard, cast

import numpy as np
import scipy.sparse as sp
from sklearn.metrics.pairwise import euclidean_distances

from .._typing import AnyArray, FloatArray, RowMatrix
from .base import FeatureKernel, Kernel, MappedKernel
from .inner_products import Linear, Polynomial, Sigmoid
from .isolation import Isolation
from .manifold import Deformed, Manifold
from .rbf import RBF
from .rows import canonical, center_of, centered, is_sparse
from .trees import MIXTURE, Trees
from .user_defined import Callable, Precomputed

# What users may name. A new kernel is a file and its place here.
KERNELS: dict[str, type[Kernel] | type[Manifold] | type[Isolation]] = {
    str(kernel.name): kernel
    for kernel in (RBF, Polynomial, Sigmoid, Linear, Precomputed, Manifold, Isolation)
}

# What names a kernel, or makes it from the rows of a fit.
KernelChoice: TypeAlias = type[Kernel] | Isolation | Manifold | Trees
# What estimators take as ``kernel``.
KernelLike: TypeAlias = str | Kernel | Isolation | Manifold | Trees | abc.Callable[[Any, Any], Any]

# Those whose values compiled code and array libraries compute from two rows. Where rows aren't in
# memory, nobody can look at a whole matrix, so it has to be known to be positive semi-definite.
MAPPED = tuple(
    kind for kind in KERNELS.values() if isinstance(kind, type) and issubclass(kind, MappedKernel)
)
MAPPED_OUT_OF_CORE = tuple(kind for kind in MAPPED if kind.is_inner_product is not False)

# Those whose parameters are settings: the kernel itself is made of the rows of a fit.
LEARNED = (Isolation, Manifold)
# What estimators take as ``kernel`` besides names and functions.
KERNEL_TYPES = (*LEARNED, Deformed, FeatureKernel, MappedKernel)

#: A number, or the name of a rule.
GammaLike: TypeAlias = str | float


def list_kinds(kinds: Iterable[KernelChoice]) -> str:
    """How to pass one of some kernels, such as "kernel='rbf' or 'linear'"."""
    *first, last = (repr(kind.name) for kind in kinds)
    return f"kernel={', '.join(first)} or {last}" if first else f"kernel={last}"


def kind_of(kernel: KernelLike) -> KernelChoice:
    """Kernel class (or object) that a parameter ``kernel`` names, for ``takes`` and the like."""
    if not isinstance(kernel, str):
        if isinstance(kernel, (*LEARNED, Trees)):
            return kernel
        if isinstance(kernel, Kernel) or callable(kernel):
            return Callable  # it has its numbers, or needs none
    elif kernel in (Trees.name, MIXTURE):
        return Trees()
    if kernel not in KERNELS:
        raise ValueError(
            f"kernel={kernel!r} is not valid; pass {', '.join(map(repr, KERNELS))}, a "
            "fewlabels.kernels.Isolation or Manifold, or a function of two arrays."
        )
    kind = KERNELS[kernel]
    return kind if issubclass(kind, Kernel) else kind()


def learns_labels(kind: KernelChoice) -> TypeGuard[Trees]:
    """Return whether kernels of this ``kind`` are made of labelled rows."""
    return kind.learns == "labels"


def make_kernel(
    kernel: KernelLike,
    gamma: float = 1.0,
    degree: int = 3,
    coef0: float = 0.0,
    X: RowMatrix | None = None,
    weight: FloatArray | None = None,
    seed: int = 0,
) -> Kernel:
    """Make a kernel from a name in ``KERNELS``, a kernel object, or a function.

    ``gamma``, ``degree`` and ``coef0`` are numbers; a kernel takes those that it has. ``X`` are
    the rows of a :class:`Manifold` or :class:`Isolation`, which others do not need. The latter
    also takes their ``weight`` and a ``seed``.
    """
    if isinstance(kernel, Kernel):
        return kernel
    kind = kind_of(kernel)
    if kind is Callable:
        assert callable(kernel)
        return Callable(kernel)
    if isinstance(kind, type):
        return _make_named(kind, float(gamma), int(degree), float(coef0))
    assert X is not None
    return cast(Isolation | Manifold, kind).with_rows(
        X, weight, gamma=gamma, degree=degree, coef0=coef0, random_state=seed
    )


@lru_cache(64)
def _make_named(kind: type[Kernel], gamma: float, degree: int, coef0: float) -> Kernel:
    """Return a kernel by its numbers, cached: a fit needs it several times."""
    return kind.from_parameters(gamma=gamma, degree=degree, coef0=coef0)


# -- gamma from the rows --------------------------------------------------------------------------

# Rows whose distances tell how many dimensions there are in effect.
_SAMPLE_ROWS = 500
# gamma times the mean squared distance, in few effective dimensions.
_FEW_DIMENSIONS_FACTOR = 1.4
# The same in many effective dimensions, times their number.
_MANY_DIMENSIONS_FACTOR = 100.0
# Effective dimensions for each column, at most.
_MAX_DIMENSIONS_PER_COLUMN = 2.0
# Relative to the mean: a variance below this share of its square is rounding.
_VARIANCE_ROUNDING = 1e-28


def choose_gamma_rule(kernel: KernelChoice, gamma: GammaLike) -> GammaLike:
    """Return the rule that ``gamma`` names for a kernel: "distance" is for similarities alone."""
    return "scale" if gamma == "distance" and not kernel.is_similarity else gamma


def resolve_gamma(gamma: GammaLike, X: RowMatrix, weight: FloatArray | None) -> float:
    """Return a number for scikit-learn's "scale" and "auto", and for "distance".

    The variance of "scale" counts a row as often as its weight says, so that weights
    act as repetitions here too.
    """
    if gamma == "auto":
        return 1.0 / X.shape[1]
    if gamma == "distance":
        return distance_gamma(X, weight)
    if gamma != "scale":
        return float(gamma)
    if weight is None and isinstance(X, np.ndarray):
        return _gamma_of_scale(X.shape[1], X.var(dtype=np.float64))
    return _gamma_of_scale(X.shape[1], _compute_entry_variance(X, weight))


def _compute_entry_variance(X: RowMatrix, weight: FloatArray | None) -> float:
    """Return the variance of all entries, including entries that a sparse row doesn't store."""
    n, d = X.shape
    share = np.full(n, 1.0 / (n * d)) if weight is None else weight / weight.sum() / d
    if not is_sparse(X):
        mean = np.sum(share @ X)
        return float(np.sum(share @ np.square(X - mean)))
    X = canonical(X)
    mean, length = np.sum(share @ X), np.diff(X.indptr)
    apart = np.repeat(share, length) @ np.square(X.data - mean)
    return float(apart + (share @ (d - length)) * mean**2)


def gamma_of_moments(
    gamma: str,
    n_columns: int,
    variance: float,
    total: float,
    mean: FloatArray,
    sample: RowMatrix | None,
) -> float:
    """Return gamma of rows that aren't in memory.

    From the variance of all entries, the sum of the columns' variances, their means, and, for
    "distance", so many rows as distances are measured between.
    """
    if gamma == "auto":
        return 1.0 / n_columns
    if gamma == "scale":
        return _gamma_of_scale(n_columns, variance)
    return _gamma_of_distances(
        total if total > _VARIANCE_ROUNDING * float(mean @ mean) else 0.0, sample
    )


def _gamma_of_scale(n_columns: int, variance: float) -> float:
    return 1.0 / (n_columns * variance) if variance > 0 else 1.0


def distance_gamma(X: RowMatrix, weight: FloatArray | None = None) -> float:
    """Return ``min(1.4, 100 / d_eff) / D``, with D the mean squared distance between rows.

    ``d_eff = 2 D**2 / var(squared distance)`` is the number of dimensions of a Gaussian cloud
    whose distances vary as much. With thousands of them all distances are alike: a kernel of
    width D would give every row a coordinate of its own, and rows would learn nothing from
    each other. The rule makes the kernel nearly linear there. More than ``2 d``, which columns
    of random signs come to, are not believed: rows at equal distances, as in a simplex,
    have ``d_eff`` infinite. D is measured within columns; ``X.var()``, which gamma="scale" uses,
    counts columns of different means as spread.

    1.0 when all rows are equal to rounding, or too near to each other for a finite gamma.
    """
    return _gamma_of_distances(total_variance(X, weight), X)


def _gamma_of_distances(total: float, X: RowMatrix) -> float:
    mean_distance = 2.0 * total
    if not mean_distance > 0:
        return 1.0
    # At most twice the columns, so it matters only where these are many.
    is_wide = (
        _MANY_DIMENSIONS_FACTOR >= _FEW_DIMENSIONS_FACTOR * _MAX_DIMENSIONS_PER_COLUMN * X.shape[1]
    )
    wide = (
        _FEW_DIMENSIONS_FACTOR
        if is_wide
        else min(_FEW_DIMENSIONS_FACTOR, _MANY_DIMENSIONS_FACTOR / _estimate_dimension(X))
    )
    return wide / mean_distance if mean_distance > wide / np.finfo(float).max else 1.0


def total_variance(X: RowMatrix, weight: FloatArray | None = None) -> float:
    """Return the sum of the columns' variances; zero when it is rounding."""
    n = X.shape[0]
    share = np.full(n, 1.0 / n) if weight is None else weight / weight.sum()
    if is_sparse(X):
        mean, total = _compute_sparse_moments(X, share)
    else:
        mean = share @ X
        apart = X - mean
        total = float(np.einsum("i,ij,ij->", share, apart, apart))
    return total if total > _VARIANCE_ROUNDING * float(mean @ mean) else 0.0


def _compute_sparse_moments(X: sp.csr_array, share: FloatArray) -> tuple[FloatArray, float]:
    """Return means of the columns, and the sum of their variances without cancellation."""
    X = canonical(X)
    n, d = X.shape
    row_share = np.repeat(share, np.diff(X.indptr))
    mean: AnyArray = np.bincount(X.indices, row_share * X.data, minlength=d)
    stored = np.bincount(X.indices, row_share, minlength=d)
    is_full = np.bincount(X.indices, minlength=d) == n
    apart = X.data - mean[X.indices]
    zeros = np.where(is_full, 0.0, np.maximum(0.0, 1.0 - stored))
    return mean, float(row_share @ apart**2 + zeros @ mean**2)


def _estimate_dimension(X: RowMatrix) -> float:
    if X.shape[0] > _SAMPLE_ROWS:
        X = X[np.sort(np.random.default_rng(0).choice(X.shape[0], _SAMPLE_ROWS, replace=False))]
    X = centered(X, center_of(X))
    squared = euclidean_distances(X, squared=True)[np.triu_indices(X.shape[0], 1)]
    most, largest = _MAX_DIMENSIONS_PER_COLUMN * X.shape[1], float(squared.max(initial=0.0))
    if len(squared) < 2 or largest == 0.0:
        return 1.0
    share = squared.astype(np.float64) / largest
    return most * min(
        1.0, 2.0 * float(share.mean()) ** 2 / max(float(share.var()) * most, _VARIANCE_ROUNDING)
    )
