"""Sums of kernel values, block by block of support vectors."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from ..gram.tiles.features import RowMap
from ..kernels import RBF, Map

# Support vectors at a time: their kernel values stay in cache. At most so many blocks, too, as
# each costs some nodes.
BLOCK, MOST_BLOCKS = 256, 256
# Scaled entries beyond this are out of reach of every support vector; their squares still fit.
_FARTHEST = {np.float32: 1e15, np.float64: 1e150}
# Rounding errors of float32 values are independent, a sum of them rarely is larger by this; one
# of float64 values keeps this share of what it is summed from.
_ROOM, _ROUNDING = 8.0, 1e-12
# A dense block of support vectors larger than this does not fit into a model file.
MOST_BYTES = 2_000_000_000


def dense(vectors):
    """Support vectors as a dense float64 matrix."""
    if sp.issparse(vectors):
        if 8 * np.prod(vectors.shape, dtype=float) > MOST_BYTES:
            raise ValueError(
                f"the {vectors.shape[0]} support vectors of {vectors.shape[1]} columns are sparse "
                "and would fill more than 2 GB as a dense matrix, which is what ONNX has; reduce "
                "the columns, or use kernel='linear', which needs only one weight per column."
            )
        vectors = vectors.toarray()
    return np.asarray(vectors, dtype=np.float64)


def inner_product_sum(graph, x, kernel, vectors, coef):
    """Nodes for ``sum_j coef_j K(x_j, x)`` of a map of the inner product, shape (n, 1)."""
    vectors = dense(vectors)
    if not len(vectors):
        return _zeros(graph, x)
    x = graph.add("Mul", x, np.float64(kernel.gamma))
    parts = []
    for block in _blocks(vectors):
        constant = np.full(len(vectors[block]), kernel.coef0)
        inner = graph.add("Gemm", x, vectors[block].T, constant)
        parts.append(graph.add("MatMul", mapped(graph, kernel, inner), coef[block][:, None]))
    return graph.add("Sum", *parts)


def mapped(graph, kernel, inner):
    """Kernel values from ``gamma x.z + coef0``."""
    if kernel.map is Map.POWER:
        return graph.add("Pow", inner, np.float64(kernel.degree))
    return graph.add("Tanh", inner)


def _zeros(graph, x):
    """A zero for each row; NaN for a row that has one."""
    return graph.add("Mul", graph.row_sums(x), np.float64(0.0))


def rbf_sum(graph, x, gammas, vectors, coef, exact=False):
    """Nodes for ``sum_k sum_j coef[k, j] exp(-gamma_k ||x_j - x||^2)``, shape (n, 1), and noise.

    With a column for its own norm, a row's exponents come from one product of matrices: ``<x, z> -
    ||x||^2 / 2 - ||z||^2 / 2`` of rows around the mean x_j, scaled by sqrt(2 gamma).
    """
    vectors = dense(vectors)
    if not len(vectors):
        return _zeros(graph, x), 0.0
    narrowest = RowMap(RBF(gammas.max()), vectors)
    # float32 where its kernel values are good enough for the machines themselves.
    rough = graph.float32 and not exact and narrowest.dtype == np.float32
    dtype = np.float32 if rough else np.float64
    scale, center = np.sqrt(2.0 * gammas.max()), vectors.mean(axis=0)
    far = _FARTHEST[dtype]

    moved = graph.add("Mul", graph.add("Sub", x, center), scale)
    moved = graph.add("Clip", moved, np.float64(-far), np.float64(far))
    if dtype is np.float32:  # the norm is that of the rounded row
        moved = graph.cast(graph.cast(moved, dtype), np.float64)
    norm = graph.row_sums(graph.add("Mul", moved, moved))
    term = graph.add("Mul", norm, np.float64(-0.5))
    rows = graph.add("Concat", moved, term, axis=1)
    rows = rows if dtype is np.float64 else graph.cast(rows, dtype)

    points = (scale * (vectors - center)).astype(dtype)
    column_term = (-0.5 * np.einsum("ij,ij->i", points, points, dtype=np.float64)).astype(dtype)
    ratios = gammas / gammas.max() if gammas.max() else np.ones(len(gammas))
    parts = []
    for block in _blocks(points):
        columns = np.vstack([points[block].T, np.ones((1, len(points[block])), dtype)])
        exponent = graph.add("Gemm", rows, columns, column_term[block])
        for k in np.flatnonzero(coef[:, block].any(axis=1)):
            scaled = exponent if ratios[k] == 1 else graph.add("Mul", exponent, dtype(ratios[k]))
            values = graph.add("Exp", scaled)
            values = values if dtype is np.float64 else graph.cast(values, np.float64)
            parts.append(graph.add("MatMul", values, coef[k, block][:, None]))
    noise = _ROUNDING * float(np.abs(coef).sum())
    if dtype is np.float32:
        noise = max(noise, _ROOM * narrowest.value_error * float(np.linalg.norm(coef)))
    return graph.add("Sum", *parts), noise


def _blocks(vectors):
    size = max(BLOCK, -(-len(vectors) // MOST_BLOCKS))
    return [slice(first, first + size) for first in range(0, len(vectors), size)]
