"""The function that a model has learned, as nodes: kernel values block by block."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

import numpy as np

from .._typing import AnyArray, FloatArray, RowMatrix
from ..base.solution import ClassFunctions, Function
from ..kernels import (
    KERNELS,
    RBF,
    Cells,
    FeatureKernel,
    Kernel,
    Map,
    MappedKernel,
    SharedLeaves,
    Trees,
)
from ..kernels.forest import Forest
from ..kernels.isolation import EQUALLY_NEAR
from ..kernels.operators.rows import RowMap
from ..kernels.rows import is_sparse, squared_norms
from ..one_class.fitted_bags import FLOOR, Bag, BaggedFunction
from .graph import Graph

# Support vectors at a time: their kernel values stay in cache.
BLOCK = 256
# Blocks at most, as each costs some nodes.
MOST_BLOCKS = 256
# Scaled entries beyond this are out of reach of every support vector; their squares still fit.
_MAX_ENTRY = {np.float32: 1e15, np.float64: 1e150}
# Rounding errors of float32 values are independent: their sum is rarely larger by this factor.
_NOISE_MARGIN = 8.0
# Rounding of a sum of float64 values, relative to the sum of their sizes.
_SUM_ROUNDING = 1e-12
# A dense block of support vectors larger than this does not fit into a model file.
MOST_BYTES = 2_000_000_000


def check_kernel(name: str, function: Function | ClassFunctions | BaggedFunction) -> None:
    """Refuse a function with a kernel that no graph can hold; ``name`` of the model with it."""
    kernel = function.kernels[0]
    if not _can_write(kernel, isinstance(function, ClassFunctions)):
        what = f"kernel={kernel.name!r}" if kernel.name else "a function"
        *first, last = (repr(name) for name in _list_kernel_names() if name != kernel.name)
        raise ValueError(
            f"this {name} has {what} as its kernel, which ONNX can't express; fit it with "
            f"kernel={', '.join(first)} or {last}."
        )


def _can_write(kernel: Kernel, of_classes: bool) -> bool:
    """Return whether there are nodes for functions in a kernel: one, or one of every class."""
    plain = kernel.base if isinstance(kernel, SharedLeaves) else kernel.plain
    if kernel.onnx_form not in _WRITERS or plain.onnx_form not in _WRITERS:
        return False
    if plain.onnx_form in _MAPS:
        return (
            isinstance(plain, MappedKernel)
            and plain.is_mapped
            and plain.map in _MAPS[plain.onnx_form]
        )
    return plain.has_features or not of_classes


def _list_kernel_names() -> list[str]:
    """Return the names of kernels that graphs can express."""
    known = [name for name, kind in KERNELS.items() if kind.learns or kind.onnx_form in _WRITERS]
    return [*known, Trees.name]


def write_values(
    graph: Graph, function: Function | BaggedFunction, x: str, exact: bool = False
) -> tuple[str, float]:
    """Write values of a ``Function`` at rows x, float64 of shape (n,); return their rounding too.

    Where rounding alone would decide on the side of the boundary, values are on it to the last
    bit. Kernel values are float64 in every graph if ``exact``.
    """
    if isinstance(function, BaggedFunction):
        return _score_bags(graph, function, x), 0.0
    if function.shift is not None:
        x = graph.add("Sub", x, function.shift)
    write = _WRITERS[function.kernels[0].onnx_form]
    if any(kernel.has_leaves for kernel in function.kernels):
        write = _write_leaves
    value, noise = write(graph, function, x, exact)
    value = graph.add("Squeeze", value, np.array([1]))
    return snap_to_boundary(graph, value, function.boundary, function.rounding), noise


def _score_bags(graph: Graph, function: BaggedFunction, x: str) -> str:
    """Write the mean of the scores of all bags, or the smallest of the standardised parts."""
    scores = []
    for part in function.parts:
        if part.isolated is None:
            found = _average_bags(graph, [function.bags[number] for number in part.bags], x)
        else:
            isolated = part.isolated
            found = _sum_cells(graph, isolated.kernel, isolated.weights[None], x)
            found = graph.add("Squeeze", found, np.array([1]))
            found = graph.add("Max", found, np.float64(0.0))
            found = graph.add("Log", graph.add("Add", found, np.float64(FLOOR)))
        apart = graph.add("Sub", found, np.float64(part.middle))
        scores.append(graph.add("Mul", apart, np.float64(1.0 / part.spread)))
    if not scores:
        return _average_bags(graph, function.bags, x)
    return scores[0] if len(scores) == 1 else graph.add("Min", *scores)


def _average_bags(graph: Graph, bags: Sequence[Bag], x: str) -> str:
    """Write the mean of the scores of bags, each in deviations from its median."""
    parts = []
    for bag in bags:
        function = bag.function
        level, _ = write_values(graph, function, x, exact=True)
        if tail := function.tail:  # see ``fewlabels.one_class.fitted_bags.level``
            beyond = graph.add("Mul", level, np.float64(1.0 / tail))
            beyond = graph.add("Add", beyond, np.float64(np.log(tail) - 1.0))
            log = graph.add("Log", graph.add("Max", level, np.float64(tail)))
            level = graph.add("Where", graph.add("Less", level, np.float64(tail)), beyond, log)
        apart = graph.add("Sub", level, np.float64(bag.middle))
        parts.append(graph.add("Mul", apart, np.float64(1.0 / bag.spread)))
    return graph.add("Mul", graph.add("Sum", *parts), np.float64(1.0 / len(bags)))


def write_class_values(graph: Graph, functions: ClassFunctions, x: str) -> str:
    """Write values of ``ClassFunctions``, float64 of shape (n, n_classes)."""
    if functions.shift is not None:
        x = graph.add("Sub", x, functions.shift)
    coef: FloatArray = functions.coef
    kernel, noise = functions.kernel, 0.0
    vectors, weights = functions.vectors, functions.weights
    has_graph = kernel.has_graph
    if has_graph:
        vectors, coef = kernel.expand(vectors, coef, functions.on_points)
        kernel = kernel.plain
        if kernel.has_features:
            assert isinstance(kernel, FeatureKernel)
            weights = kernel.weights(vectors, coef)
    leaves = None
    if isinstance(kernel, SharedLeaves):
        leaves = _sum_leaves(graph, kernel.forest, kernel.weights(vectors, coef), x)
        coef = (1.0 - kernel.share) * coef
        kernel = kernel.base
    if kernel.has_features:
        assert isinstance(kernel, FeatureKernel) and weights is not None
        total = _sum_features(graph, kernel, weights, x)
    elif not vectors.shape[0]:
        total = _add_zeros(graph, x)
    else:
        if kernel.onnx_form == "gaussian":
            gamma = _gamma_of(kernel)
            blocks, rough = _compute_exponents(graph, _to_dense(vectors), gamma, x, has_graph)
            mapped: Iterator[tuple[slice, str]]
            mapped = ((block, graph.add("Exp", exponent)) for block, exponent in blocks)
            if rough is not None:
                noise = _NOISE_MARGIN * rough * np.linalg.norm(coef, axis=1)
        else:
            assert isinstance(kernel, MappedKernel)
            mapped = _evaluate_mapped(graph, kernel, _to_dense(vectors), x)
        parts = [
            graph.add("MatMul", graph.cast(values, np.float64), coef[:, block].T.copy())
            for block, values in mapped
        ]
        total = graph.add("Sum", *parts)
    if leaves is not None:
        total = graph.add("Add", total, leaves)
    value = graph.add("Add", total, functions.bias)
    rounding = np.maximum(functions.rounding, noise)
    return snap_to_boundary(graph, value, 0.0, rounding)


def snap_to_boundary(
    graph: Graph, value: str, boundary: float, rounding: float | FloatArray
) -> str:
    """Move values within ``rounding`` of a boundary onto it."""
    boundary = np.float64(boundary)
    difference = graph.add("Abs", graph.add("Sub", value, boundary))
    is_rounding = graph.add("LessOrEqual", difference, np.asarray(rounding, dtype=np.float64))
    return graph.add("Where", is_rounding, boundary, value)


def _write_linear(graph: Graph, function: Function, x: str, exact: bool) -> tuple[str, float]:
    weights, own = function.weights, function.self_weight
    assert weights is not None
    if not own:
        total = graph.add("MatMul", x, weights[:, None])
        return graph.add("Add", total, np.float64(function.bias)), 0.0
    # The squared distance to a centre, without cancellation.
    center = weights / (2.0 * own)
    difference = graph.add("Sub", x, center)
    distance = graph.row_sums(graph.add("Mul", difference, difference))
    at_center = np.float64(own * (center @ center) + function.bias)
    return graph.add("Sub", at_center, graph.add("Mul", distance, np.float64(own))), 0.0


def _write_mapped(graph: Graph, function: Function, x: str, exact: bool) -> tuple[str, float]:
    kernel, own, vectors = function.kernel, function.self_weight, _to_dense(function.vectors)
    assert isinstance(kernel, MappedKernel)
    parts = []
    for block, values in _evaluate_mapped(graph, kernel, vectors, x):
        weights = function.coef[0, block][:, None]
        parts.append(graph.add("MatMul", values, weights))
    total = graph.add("Sum", *parts) if parts else _add_zeros(graph, x)
    if own:
        norm = graph.row_sums(graph.add("Mul", x, x))
        scale = 0.0 if kernel.of_distance else kernel.factor**2
        inner = graph.add("Mul", norm, np.float64(scale))
        inner = graph.add("Add", inner, np.float64(kernel.coef0))
        of_self = kernel.graph_mapped(graph, inner)
        total = graph.add("Sub", total, graph.add("Mul", of_self, np.float64(own)))
    return graph.add("Add", total, np.float64(function.bias)), 0.0


def _write_cells(graph: Graph, function: Function, x: str, exact: bool) -> tuple[str, float]:
    kernel, weights = function.kernel, function.weights
    assert isinstance(kernel, Cells) and weights is not None
    total = _sum_cells(graph, kernel, weights[None], x)
    constant = np.float64(function.bias - function.self_weight)  # K(x, x) is 1
    return graph.add("Add", total, constant), 0.0


def _write_features(graph: Graph, function: Function, x: str, exact: bool) -> tuple[str, float]:
    kernel, own, weights = function.kernel, function.self_weight, function.weights
    assert isinstance(kernel, FeatureKernel) and weights is not None
    features = kernel.graph_features(graph, x)
    total = graph.add("MatMul", features, weights[:, None])
    if own:
        norm = graph.row_sums(graph.add("Mul", features, features))
        total = graph.add("Sub", total, graph.add("Mul", norm, np.float64(own)))
    return graph.add("Add", total, np.float64(function.bias)), 0.0


def _sum_features(graph: Graph, kernel: FeatureKernel, weights: FloatArray, x: str) -> str:
    """Write sums of features by ``weights`` of shape (k, n_features), shape (n, k)."""
    if isinstance(kernel, Cells):
        return _sum_cells(graph, kernel, weights, x)
    features = x if kernel.is_linear else kernel.graph_features(graph, x)
    return graph.add("MatMul", features, np.ascontiguousarray(weights.T))


def _sum_cells(graph: Graph, kernel: Cells, weights: FloatArray, x: str) -> str:
    """Write ``kernel.sums``, float64 of shape (n, k), with weights of shape (k, n_cells).

    As in Python, the first of the centres counts that are equally near.
    """
    if kernel.center is not None:
        x = graph.add("Sub", x, kernel.center)
    places, shape = kernel.draws.ravel(), np.array([-1, *kernel.draws.shape])
    centers = _to_dense(kernel.centers)
    columns, norms = centers[places], squared_norms(centers)[places]
    inner = graph.add("MatMul", x, np.ascontiguousarray(columns.T))
    near = graph.add("Sub", inner, 0.5 * norms)
    length = graph.add("Sqrt", graph.row_sums(graph.add("Mul", x, x)))
    slack = graph.add("Add", graph.add("Mul", length, np.sqrt(norms)[None]), norms)
    near = graph.add("Reshape", near, shape)
    slack = graph.add("Reshape", graph.add("Mul", slack, np.float64(0.5 * EQUALLY_NEAR)), shape)
    best = graph.add("ReduceMax", near, np.array([2]), keepdims=1)
    is_nearest = graph.add("GreaterOrEqual", graph.add("Add", near, slack), best)
    cells = graph.add("ArgMax", graph.cast(is_nearest, np.float32), axis=2, keepdims=0)
    cells = graph.add("Add", cells, kernel.number_first_cells())
    table = np.ascontiguousarray(weights.T) * len(kernel.draws) ** -0.5
    found = graph.add("Gather", table, cells, axis=0)
    return graph.add("ReduceSum", found, np.array([1]), keepdims=0)


def _write_leaves(graph: Graph, function: Function, x: str, exact: bool) -> tuple[str, float]:
    """Write functions of Gaussian kernels and trees: the leaves of a row add to the former."""
    total: str | None = None
    kernels: list[Kernel] = []
    coef = []
    for kernel, own in zip(function.kernels, function.coef, strict=True):
        share = 0.0
        if isinstance(kernel, SharedLeaves):
            share, weights = kernel.share, kernel.weights(function.vectors, own)
            leaves = _sum_leaves(graph, kernel.forest, weights[None], x)
            total = leaves if total is None else graph.add("Add", total, leaves)
            kernel = kernel.base
        kernels.append(kernel)
        coef.append((1.0 - share) * own)
    plain = replace(
        function,
        kernels=tuple(kernels),
        coef=np.array(coef),
        on_leaves=(None,) * len(kernels),
        repeats=None,
        shares=None,
    )
    value, noise = _write_gaussian(graph, plain, x, exact)
    assert total is not None
    return graph.add("Add", value, total), noise


def _sum_leaves(graph: Graph, forest: Forest, weights: FloatArray, x: str) -> str:
    """Write sums over the trees of the ``weights`` of leaves, float64 of shape (n, k).

    Rows are compared in single precision, as in Python. ``weights`` are of shape (k, n_leaves).
    """
    x = graph.cast(graph.cast(x, np.float32), np.float64)
    first = forest.roots
    at: str | None = None
    feature: str | AnyArray
    threshold: str | AnyArray
    left: str | AnyArray
    right: str | AnyArray
    tables = [
        np.asarray(forest.feature, np.int64),
        np.asarray(forest.threshold, float),
        np.asarray(forest.left, np.int64),
        np.asarray(forest.right, np.int64),
    ]
    for _ in range(max(1, forest.depth)):
        if at is None:  # the same nodes for all rows
            feature, threshold, left, right = (table[first] for table in tables)
            value = graph.add("Gather", x, feature, axis=1)
        else:
            feature, threshold, left, right = (graph.add("Gather", table, at) for table in tables)
            value = graph.add("GatherElements", x, feature, axis=1)
        goes_left = graph.add("LessOrEqual", value, threshold)
        at = graph.add("Where", goes_left, left, right)
    assert at is not None
    found = graph.add("Gather", np.ascontiguousarray(weights.T), at, axis=0)
    return graph.add("ReduceSum", found, np.array([1]), keepdims=0)


def _write_deformed(graph: Graph, function: Function, x: str, exact: bool) -> tuple[str, float]:
    if function.self_weight:
        raise ValueError(
            "an SVDD with a manifold kernel can't be exported, because of its K(x, x); fit a "
            "OneClassSVM with that kernel, or an SVDD with kernel='rbf'."
        )
    plain = function.to_base_kernel()  # whose large coefficients take each other's values away
    return _WRITERS[plain.kernel.onnx_form](graph, plain, x, True)


def _evaluate_mapped(
    graph: Graph, kernel: MappedKernel, vectors: FloatArray, x: str
) -> Iterator[tuple[slice, str]]:
    """Yield values of a ``MappedKernel`` block by block."""
    if kernel.of_distance:
        products = _compute_distances(graph, vectors, kernel.factor, x, np.float64)
    else:
        products = _multiply_rows(graph, vectors, kernel.factor**2, kernel.coef0, x)
    for block, z in products:
        yield block, kernel.graph_mapped(graph, z)


def _multiply_rows(
    graph: Graph, vectors: FloatArray, scale: float, constant: float, x: str
) -> Iterator[tuple[slice, str]]:
    """Yield ``scale <x_j, x> + constant``, block by block."""
    scaled = graph.add("Mul", x, np.float64(scale))
    for block in _split_blocks(vectors):
        constants = np.full(len(vectors[block]), constant)
        yield block, graph.add("Gemm", scaled, vectors[block].T, constants)


def _to_dense(vectors: RowMatrix) -> FloatArray:
    if is_sparse(vectors):
        if 8 * np.prod(vectors.shape, dtype=float) > MOST_BYTES:
            raise ValueError(
                f"the {vectors.shape[0]} support vectors of {vectors.shape[1]} columns are "
                "sparse and would need more than 2 GB as a dense ONNX matrix; reduce the "
                "columns, or use kernel='linear', which needs only one weight per column."
            )
        vectors = vectors.toarray()
    return np.asarray(vectors, dtype=np.float64)


def _add_zeros(graph: Graph, x: str) -> str:
    """Write a zero for each row."""
    return graph.add("Mul", graph.row_sums(x), np.float64(0.0))


def _write_gaussian(graph: Graph, function: Function, x: str, exact: bool) -> tuple[str, float]:
    """Write ``sum_k sum_j coef[k, j] exp(-gamma_k ||x_j - x||^2)``, shape (n, 1), and noise.

    With a column for its own norm, a row's exponents come from one product of matrices: ``<x, z> -
    ||x||^2 / 2 - ||z||^2 / 2`` of rows around the mean x_j, scaled by sqrt(2 gamma). Sums below
    the function's ``tail`` continue in log scale.
    """
    vectors, coef = _to_dense(function.vectors), function.coef
    gammas = np.array([_gamma_of(kernel) for kernel in function.kernels])
    constant = np.float64(function.bias - function.self_weight)  # K(x, x) is 1
    if not len(vectors):
        return graph.add("Add", _add_zeros(graph, x), constant), 0.0
    exponents, value_error = _compute_exponents(graph, vectors, gammas.max(), x, exact)
    dtype = np.float64 if value_error is None else np.float32
    ratios = gammas / gammas.max() if gammas.max() else np.ones(len(gammas))
    parts, logs, tail = [], [], function.tail
    for block, exponent in exponents:
        for k in np.flatnonzero(coef[:, block].any(axis=1)):
            scaled = exponent if ratios[k] == 1 else graph.add("Mul", exponent, dtype(ratios[k]))
            if tail:  # values are the nearest vector's times what does not end
                nearest = graph.add("ReduceMax", scaled, np.array([1]), keepdims=1)
                scaled = graph.add("Sub", scaled, nearest)
                nearest = graph.cast(nearest, np.float64)
            values = graph.add("Exp", scaled)
            values = values if dtype is np.float64 else graph.cast(values, np.float64)
            part = graph.add("MatMul", values, coef[k, block][:, None])
            if tail:
                logs.append(graph.add("Add", nearest, graph.add("Log", part)))
                part = graph.add("Mul", part, graph.add("Exp", nearest))
            parts.append(part)
    noise = _SUM_ROUNDING * float(np.abs(coef).sum())
    if value_error is not None:
        noise = max(noise, _NOISE_MARGIN * value_error * float(np.linalg.norm(coef)))
    total = graph.add("Sum", *parts)
    if tail:
        total = _continue_in_log_scale(graph, total, logs, tail)
    return graph.add("Add", total, constant), noise


def _gamma_of(kernel: Kernel) -> float:
    assert isinstance(kernel, RBF)
    return kernel.gamma


def _compute_exponents(
    graph: Graph, vectors: FloatArray, gamma: float, x: str, exact: bool
) -> tuple[Iterator[tuple[slice, str]], float | None]:
    """Return exponents of an RBF kernel block by block, and the error of its values if float32."""
    row_map = RowMap(RBF(gamma), vectors)
    # float32 where its kernel values are good enough for the models themselves.
    rough = graph.float32 and not exact and row_map.dtype == np.float32
    blocks = _compute_distances(
        graph, vectors, np.sqrt(2.0 * gamma), x, np.float32 if rough else np.float64
    )
    return blocks, row_map.value_error if rough else None


def _compute_distances(
    graph: Graph,
    vectors: FloatArray,
    scale: float,
    x: str,
    dtype: type[np.float32] | type[np.float64],
) -> Iterator[tuple[slice, str]]:
    """Yield ``-scale^2 ||x_j - x||^2 / 2``, block by block, computed in ``dtype``."""
    center = vectors.mean(axis=0)
    far = np.float64(_MAX_ENTRY[dtype])
    moved = graph.add("Mul", graph.add("Sub", x, center), scale)
    moved = graph.add("Clip", moved, -far, far)
    if dtype is np.float32:  # the norm of the rounded row
        moved = graph.cast(graph.cast(moved, dtype), np.float64)
    norm = graph.row_sums(graph.add("Mul", moved, moved))
    rows = graph.add("Concat", moved, graph.add("Mul", norm, np.float64(-0.5)), axis=1)
    rows = rows if dtype is np.float64 else graph.cast(rows, dtype)

    points = (scale * (vectors - center)).astype(dtype)
    column_term = (-0.5 * np.einsum("ij,ij->i", points, points, dtype=np.float64)).astype(dtype)
    for block in _split_blocks(points):
        columns = np.vstack([points[block].T, np.ones((1, len(points[block])), dtype)])
        yield block, graph.add("Gemm", rows, columns, column_term[block])


def _continue_in_log_scale(graph: Graph, total: str, logs: Sequence[str], tail: float) -> str:
    """Write ``extend_tail`` of ``kernels/operators/expansion.py``, from logarithms of parts."""
    largest = graph.add("Max", *logs)
    shares = [graph.add("Exp", graph.add("Sub", log, largest)) for log in logs]
    log = graph.add("Add", largest, graph.add("Log", graph.add("Sum", *shares)))
    beyond = graph.add("Mul", log, np.float64(tail))
    beyond = graph.add("Add", beyond, np.float64(tail - tail * np.log(tail)))
    return graph.add("Where", graph.add("Less", total, np.float64(tail)), beyond, total)


def _split_blocks(vectors: AnyArray) -> list[slice]:
    size = max(BLOCK, -(-len(vectors) // MOST_BLOCKS))
    return [slice(first, first + size) for first in range(0, len(vectors), size)]


# What writes the function, by ``Kernel.onnx_form``.
_WRITERS: dict[str | None, Callable[[Graph, Function, str, bool], tuple[str, float]]] = {
    "gaussian": _write_gaussian,
    "linear": _write_linear,
    "mapped": _write_mapped,
    "graph": _write_deformed,
    "cells": _write_cells,
    "leaves": _write_leaves,
    "features": _write_features,
}
# The compiled maps that the nodes of a form compute.
_MAPS = {"gaussian": {Map.EXP2}, "mapped": set(Map)}
