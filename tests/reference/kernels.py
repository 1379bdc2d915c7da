"""Kernel values from their definition. Kernels are tuples: ("rbf", gamma), ..."""

import math

import numpy as np
import scipy.sparse as sp
from scipy.spatial.distance import cdist


def kernel_value(kernel, x, z):
    """K(x, z) of two rows, one Python number at a time."""
    name, *parameters = kernel
    x, z = [float(v) for v in x], [float(v) for v in z]
    if name == "rbf":
        (gamma,) = parameters
        return math.exp(-gamma * math.fsum((u - v) ** 2 for u, v in zip(x, z, strict=True)))
    inner = math.fsum(u * v for u, v in zip(x, z, strict=True))
    if name == "linear":
        return inner
    if name == "poly":
        gamma, degree, coef0 = parameters
        value = 1.0
        for _ in range(degree):
            value *= gamma * inner + coef0
        return value
    if name == "sigmoid":
        gamma, coef0 = parameters
        return math.tanh(gamma * inner + coef0)
    raise KeyError(name)


def kernel_matrix(kernel, X, Z=None):
    """All values at once: distances from differences, never from norms."""
    X = np.asarray(X.toarray() if sp.issparse(X) else X, dtype=np.float64)
    Z = X if Z is None else Z
    Z = np.asarray(Z.toarray() if sp.issparse(Z) else Z, dtype=np.float64)
    name, *parameters = kernel
    if name == "rbf":
        return np.exp(-parameters[0] * cdist(X, Z, "sqeuclidean"))
    wide = np.longdouble if X.shape[0] * Z.size < 10**8 else np.float64
    inner = (X.astype(wide) @ Z.T.astype(wide)).astype(np.float64)
    if name == "linear":
        return inner
    if name == "poly":
        gamma, degree, coef0 = parameters
        return (gamma * inner + coef0) ** degree
    if name == "sigmoid":
        return np.tanh(parameters[0] * inner + parameters[1])
    raise KeyError(name)
