"""Kernels K(x, z), as small immutable objects."""

from .base import FeatureKernel, FormedKernel, Kernel, Map, MappedKernel
from .inner_products import Linear, Polynomial, Sigmoid
from .isolation import Cells, Isolation
from .manifold import Deformed, Manifold
from .parameters import (
    KERNEL_TYPES,
    KERNELS,
    LEARNED,
    MAPPED,
    MAPPED_OUT_OF_CORE,
    KernelLike,
    kind_of,
    learns_labels,
    make_kernel,
)
from .rbf import RBF
from .rows import center_of, centered
from .trees import MIXTURE, TREES_FOR_CLASSES, SharedLeaves, Trees
from .user_defined import Callable, Precomputed

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
