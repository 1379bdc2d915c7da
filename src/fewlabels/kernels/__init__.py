"""Kernels K(x, z), as small immutable objects, and the map from parameter names to them."""

from __future__ import annotations

from collections import abc
from collections.abc import Iterable
from functools import lru_cache
from typing import Any, TypeAlias, TypeGuard, cast

from .._typing import FloatArray, RowMatrix
from .base import FeatureKernel, FormedKernel, Kernel, Map, MappedKernel
from .inner_products import Linear, Polynomial, Sigmoid
from .isolation import Cells, Isolation
from .manifold import Deformed, Manifold
from .rbf import RBF
from .rows import center_of, centered
from .trees import MIXTURE, TREES_FOR_CLASSES, SharedLeaves, Trees
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

__all__ = [
    "KERNELS",
    "KERNEL_TYPES",
    "LEARNED",
    "MAPPED",
    "MAPPED_OUT_OF_CORE",
    "MIXTURE",
    "RBF",
    "TREES_FOR_CLASSES",
    "Callable",
    "Cells",
    "Deformed",
    "FeatureKernel",
    "FormedKernel",
    "Isolation",
    "Kernel",
    "KernelLike",
    "Linear",
    "Manifold",
    "Map",
    "MappedKernel",
    "Polynomial",
    "Precomputed",
    "SharedLeaves",
    "Sigmoid",
    "Trees",
    "center_of",
    "centered",
    "kind_of",
    "learns_labels",
    "make_kernel",
]


# Those whose parameters are settings: the kernel itself is made of the rows of a fit.
LEARNED = (Isolation, Manifold)
# What estimators take as ``kernel`` besides names and functions.
KERNEL_TYPES = (*LEARNED, Deformed, FeatureKernel, MappedKernel)


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
