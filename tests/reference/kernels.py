"""Kernel values from their definition. Kernels are tuples: ("rbf", gamma), ..."""

import math
from functools import lru_cache

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
    if kernel[0] == "manifold":
        return manifold_matrix(*kernel[1:6], X, Z, *kernel[6:])
    if kernel[0] == "landmarks":
        return low_rank_manifold_matrix(*kernel[1:], X)
    X = np.asarray(X.toarray() if sp.issparse(X) else X, dtype=np.float64)
    Z = X if Z is None else Z
    Z = np.asarray(Z.toarray() if sp.issparse(Z) else Z, dtype=np.float64)
    name, *parameters = kernel
    if name == "rbf":
        return np.exp(-parameters[0] * cdist(X, Z, "sqeuclidean"))
    inner = _inner_products(X.tobytes(), X.shape, Z.tobytes(), Z.shape)
    if name == "linear":
        return inner.copy()
    if name == "poly":
        gamma, degree, coef0 = parameters
        return (gamma * inner + coef0) ** degree
    if name == "sigmoid":
        return np.tanh(parameters[0] * inner + parameters[1])
    raise KeyError(name)


@lru_cache(maxsize=64)
def _inner_products(X, shape, Z, other):
    """X Z' of the bytes of float64 rows, in extended precision unless there are very many.

    Kernels of the same rows share them.
    """
    X, Z = np.frombuffer(X).reshape(shape), np.frombuffer(Z).reshape(other)
    wide = np.longdouble if X.shape[0] * Z.size < 10**8 else np.float64
    return (X.astype(wide) @ Z.T.astype(wide)).astype(np.float64)


def normalised_laplacian(X, n_neighbors):
    """Of the graph that connects a row with its nearest ones, either way; dense, row by row."""
    X = np.asarray(X.toarray() if sp.issparse(X) else X, dtype=np.float64)
    n = len(X)
    distance = cdist(X, X)
    nearest = [sorted(set(range(n)) - {i}, key=lambda j: distance[i, j]) for i in range(n)]
    nearest = [order[:n_neighbors] for order in nearest]
    width = np.mean([distance[i, j] for i in range(n) for j in nearest[i]])
    weight = np.zeros((n, n))
    for i in range(n):
        for j in nearest[i]:
            value = math.exp(-(distance[i, j] ** 2) / (2.0 * width**2))
            weight[i, j] = weight[j, i] = value
    degree = weight.sum(axis=1)
    return np.eye(n) - weight / np.sqrt(np.outer(degree, degree))


def local_laplacian(X, n_neighbors):
    """Of the same graph with widths of its own for each row, ``(D - W) / mean(D)``; row by row."""
    n = len(X)
    distance = cdist(X, X)
    nearest = [sorted(set(range(n)) - {i}, key=lambda j: distance[i, j]) for i in range(n)]
    nearest = [order[:n_neighbors] for order in nearest]
    weight = np.zeros((n, n))
    for i in range(n):
        for j in nearest[i]:
            widths = distance[i, nearest[i][-1]] * distance[j, nearest[j][-1]]
            weight[i, j] = weight[j, i] = math.exp(-(distance[i, j] ** 2) / widths)
    degree = weight.sum(axis=1)
    return (np.diag(degree) - weight) / degree.mean()


LAPLACIANS = {"mean": normalised_laplacian, "local": local_laplacian}


def size_of(values, scaling):
    """What kernel values over a cloud are divided by."""
    size = np.mean(np.diag(values))
    return size if scaling == "mean" else size - np.mean(values)


def manifold_matrix(kernel, r, n_neighbors, power, cloud, X, Z=None, scaling="mean"):
    """``k(x, z) - k_x' (I + r L K)^-1 r L k_z`` over a cloud, scaled there."""
    Z = X if Z is None else Z
    L = np.linalg.matrix_power(LAPLACIANS[scaling](cloud, n_neighbors), power)
    K = kernel_matrix(kernel, cloud)
    middle = np.linalg.solve(np.eye(len(K)) + r * L @ K, r * L)

    def deformed(A, B):
        to_A, to_B = kernel_matrix(kernel, A, cloud), kernel_matrix(kernel, B, cloud)
        return kernel_matrix(kernel, A, B) - to_A @ middle @ to_B.T

    return deformed(X, Z) / size_of(deformed(cloud, cloud), scaling)


def low_rank_manifold_matrix(kernel, r, n_neighbors, power, cloud, points, X, scaling="mean"):
    """The same with K replaced by ``K_. points (K_points)^-1 K_points .`` everywhere."""
    L = np.linalg.matrix_power(LAPLACIANS[scaling](cloud, n_neighbors), power)
    inner, to_cloud = kernel_matrix(kernel, points), kernel_matrix(kernel, points, cloud)
    middle = np.linalg.inv(inner + r * to_cloud @ L @ to_cloud.T)
    scale = size_of(to_cloud.T @ middle @ to_cloud, scaling)
    to_X = kernel_matrix(kernel, points, X)
    return to_X.T @ middle @ to_X / scale
