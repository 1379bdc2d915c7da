"""What K(x, z) is: small immutable objects, and the map from parameter names to them."""

from .objects import (
    RBF,
    Callable,
    Linear,
    Polynomial,
    Precomputed,
    Sigmoid,
    make_kernel,
)

__all__ = ["RBF", "Callable", "Linear", "Polynomial", "Precomputed", "Sigmoid", "make_kernel"]
