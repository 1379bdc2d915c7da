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
    "KERNELS",
    "RBF",
    "Callable",
    "FormedKernel",
    "Kernel",
    "Linear",
    "Map",
    "MappedKernel",
    "Polynomial",
    "Precomputed",
    "Sigmoid",
    "make_kernel",
]


def make_kernel(kernel, gamma=1.0, degree=3, coef0=0.0):
    """Kernel object named by scikit-learn's parameters.

    Parameters
    ----------
    kernel : str or callable
        A name in ``KERNELS``, or a function of two arrays.
    gamma : float, default=1.0
        Coefficient of "rbf", "poly" and "sigmoid", already a number, >= 0.
    degree : int, default=3
        Degree of "poly", >= 0.
    coef0 : float, default=0.0
        Independent term of "poly" and "sigmoid".
    """
    if callable(kernel):
        return Callable(kernel)
    if kernel not in KERNELS:
        raise ValueError(
            f"kernel={kernel!r} is not known; pass {', '.join(map(repr, KERNELS))} "
            "or a function of two arrays."
        )
    return KERNELS[kernel].of(gamma=float(gamma), degree=int(degree), coef0=float(coef0))
