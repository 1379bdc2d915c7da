"""The function that a machine has learnt, as nodes."""

from __future__ import annotations

import numpy as np

from ..kernels import RBF, Linear, Polynomial, Sigmoid
from .kernels import inner_product_sum, mapped, rbf_sum


def check_kernel(name, kernel):
    """Refuse a kernel that no graph can hold; ``name`` of the machine that has it."""
    if type(kernel) not in _WRITERS:
        what = f"kernel={kernel.name!r}" if kernel.name else "a function"
        *first, last = (repr(known.name) for known in _WRITERS)
        raise ValueError(
            f"this {name} has {what} for a kernel, which no graph can hold; fit it with "
            f"kernel={', '.join(first)} or {last}."
        )


def values(graph, function, x, exact=False):
    """Nodes for a ``Function`` at rows x, float64 of shape (n, d).

    Gives its values, float64 of shape (n,), and what rounding of kernel values leaves in them.
    Where rounding alone would decide on the side of the boundary, values are on it to the last
    bit. Kernel values are float64 in every graph if ``exact``.
    """
    if function.shift is not None:
        x = graph.add("Sub", x, function.shift)
    value, noise = _WRITERS[type(function.kernels[0])](graph, function, x, exact)
    value = on_boundary(graph, graph.flat(value), function.boundary, function.rounding)
    return value, noise


def on_boundary(graph, value, boundary, rounding):
    """Values, those within ``rounding`` of a boundary moved onto it."""
    boundary = np.float64(boundary)
    beside = graph.add("Abs", graph.add("Sub", value, boundary))
    is_rounding = graph.add("LessOrEqual", beside, np.float64(rounding))
    return graph.add("Where", is_rounding, boundary, value)


def _rbf(graph, function, x, exact):
    gammas = np.array([kernel.gamma for kernel in function.kernels])
    total, noise = rbf_sum(graph, x, gammas, function.vectors, function.coef, exact)
    # K(x, x) is 1.
    return graph.add("Add", total, np.float64(function.bias - function.self_weight)), noise


def _linear(graph, function, x, exact):
    weights, own = function.weights, function.self_weight
    if not own:
        total = graph.add("MatMul", x, weights[:, None])
        return graph.add("Add", total, np.float64(function.bias)), 0.0
    # The squared distance to a centre, without cancellation.
    center = weights / (2.0 * own)
    beside = graph.add("Sub", x, center)
    distance = graph.row_sums(graph.add("Mul", beside, beside))
    at_center = np.float64(own * (center @ center) + function.bias)
    return graph.add("Sub", at_center, graph.add("Mul", distance, np.float64(own))), 0.0


def _inner_product(graph, function, x, exact):
    kernel, own = function.kernel, function.self_weight
    total = inner_product_sum(graph, x, kernel, function.vectors, function.coef[0])
    if own:
        norm = graph.row_sums(graph.add("Mul", x, x))
        inner = graph.add("Mul", norm, np.float64(kernel.gamma))
        of_self = mapped(graph, kernel, graph.add("Add", inner, np.float64(kernel.coef0)))
        total = graph.add("Sub", total, graph.add("Mul", of_self, np.float64(own)))
    return graph.add("Add", total, np.float64(function.bias)), 0.0


# Kernels that graphs can hold: what writes the function, without its constant.
_WRITERS = {RBF: _rbf, Linear: _linear, Polynomial: _inner_product, Sigmoid: _inner_product}
