"""What K(x, z) is: small immutable objects, and the map from parameter names to them."""

from .base import FormedKernel, Kernel, Map, MappedKernel
from .given import Callable, Precomputed
from .inner_products import Linear, Polynomial, Sigmoid
from .rbf import RBF

# What users may name. A new kernel is a file and its place here.
KERNELS: dict[str, type[Kernel]] = {
    str(kernel.name): kernel for kernel in (RBF, Polynomial, Sigmoid, Linear, Precomputed)
}

__all__ = [
    "KERNELS", "RBF", "Callable", "FormedKernel", "Kernel", "Linear", "Map", "MappedKernel",
    "Polynomial", "Precomputed", "Sigmoid", "make_kernel",
]  # fmt: skip


def make_kernel(kernel, gamma=1.0, degree=3, coef0=0.0):
    """The object of ``kernel``: a name in ``KERNELS``, or a function of two arrays.

    ``gamma``, ``degree`` and ``coef0`` are numbers; a kernel takes those that it has.
    """
    if callable(kernel):
        return Callable(kernel)
    if kernel not in KERNELS:
        raise ValueError(
            f"kernel={kernel!r} is not known; pass {', '.join(map(repr, KERNELS))} "
            "or a function of two arrays."
        )
    return KERNELS[kernel].of(gamma=float(gamma), degree=int(degree), coef0=float(coef0))
