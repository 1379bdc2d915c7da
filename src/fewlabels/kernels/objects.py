"""Kernel functions as immutable values."""

from __future__ import annotations

import collections.abc
from typing import Any, NamedTuple


class RBF(NamedTuple):
    """``K(x, z) = exp(-gamma ||x - z||^2)``."""

    gamma: float


class Polynomial(NamedTuple):
    """``K(x, z) = (gamma x.z + coef0)^degree``."""

    gamma: float
    degree: int
    coef0: float


class Sigmoid(NamedTuple):
    """``K(x, z) = tanh(gamma x.z + coef0)``. Not positive semi-definite in general."""

    gamma: float
    coef0: float


class Linear(NamedTuple):
    """``K(x, z) = x.z``."""


class Precomputed(NamedTuple):
    """The user passes the kernel matrix itself in place of the rows."""


class Callable(NamedTuple):
    """``function(X, Z)`` returns the matrix of kernel values, shape (len(X), len(Z))."""

    function: collections.abc.Callable[[Any, Any], Any]


def make_kernel(kernel, gamma=1.0, degree=3, coef0=0.0):
    """Kernel object named by scikit-learn's parameters.

    Parameters
    ----------
    kernel : {"rbf", "poly", "sigmoid", "linear", "precomputed"} or callable
        Which kernel.
    gamma : float, default=1.0
        Coefficient of "rbf", "poly" and "sigmoid", already a number, >= 0.
    degree : int, default=3
        Degree of "poly", >= 0.
    coef0 : float, default=0.0
        Independent term of "poly" and "sigmoid".
    """
    if callable(kernel):
        return Callable(kernel)
    if kernel == "rbf":
        return RBF(float(gamma))
    if kernel == "poly":
        return Polynomial(float(gamma), int(degree), float(coef0))
    if kernel == "sigmoid":
        return Sigmoid(float(gamma), float(coef0))
    if kernel == "linear":
        return Linear()
    if kernel == "precomputed":
        return Precomputed()
    raise ValueError(
        f"kernel={kernel!r} is not known; pass 'rbf', 'poly', 'sigmoid', 'linear', "
        "'precomputed' or a function of two arrays."
    )
