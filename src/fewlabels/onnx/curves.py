"""From scores to p-values and probabilities: both look a place up among sorted values."""

from __future__ import annotations

import numpy as np

from ..fitted import Curve, TwoSidedCurve


def p_values(graph, conformal, score):
    """Conformal p-values: the share of calibration scores that are at most the row's."""
    least = conformal.tie_bounds()[0]
    count = graph.cast(_at_most(graph, least, score), np.float64)
    count = graph.add("Add", count, np.float64(1.0))
    share = graph.add("Mul", count, np.float64(1.0 / (len(least) + 1)))
    return graph.add("Where", graph.add("IsNaN", score), np.float64(np.nan), share)


def probabilities(graph, curve, decision):
    """Probabilities of the two classes, shape (n, 2), of a :class:`Curve` or TwoSidedCurve."""
    columns = [graph.add("Unsqueeze", column, np.array([1]))
               for column in _CURVES[type(curve)](graph, curve, decision)]  # fmt: skip
    return graph.add("Concat", *columns, axis=1)


def _one_sigmoid(graph, curve, decision):
    """A sigmoid, or the mean of one and of a function that is linear between knots."""
    z = graph.add("Mul", decision, np.float64(curve.slope))
    columns = _sigmoids(graph, graph.add("Add", z, np.float64(curve.intercept)))
    if curve.knots is None:
        return columns
    step = _interpolated(graph, np.asarray(curve.knots), curve.values, decision)
    steps = [graph.add("Sub", np.float64(1.0), step), step]
    return [
        graph.add("Mul", graph.add("Add", *pair), np.float64(0.5))
        for pair in zip(columns, steps, strict=True)
    ]


def _two_slopes(graph, curve, decision):
    """A sigmoid whose argument is linear above zero and below."""
    scaled = graph.add("Mul", decision, np.float64(1.0 / curve.spread))
    sides = [graph.add("Max", scaled, np.float64(0.0)), graph.add("Min", scaled, np.float64(0.0))]
    parts = [
        graph.add("Mul", side, np.float64(slope))
        for side, slope in zip(sides, curve.slopes, strict=True)
    ]
    return _sigmoids(graph, graph.add("Add", *parts))


def _sigmoids(graph, z):
    return [graph.add("Sigmoid", graph.add("Neg", z)), graph.add("Sigmoid", z)]


def _interpolated(graph, knots, values, x):
    """Linear between knots, constant outside them."""
    values = np.asarray(values, dtype=np.float64)
    slopes = np.append(np.diff(values) / np.diff(knots), 0.0)
    x = graph.add("Clip", x, np.float64(knots[0]), np.float64(knots[-1]))
    place = graph.add("Sub", _at_most(graph, knots, x), np.int64(1))
    beyond = graph.add("Sub", x, graph.add("Gather", knots, place))
    rise = graph.add("Mul", graph.add("Gather", slopes, place), beyond)
    return graph.add("Add", graph.add("Gather", values, place), rise)


def _at_most(graph, ascending, x):
    """How many of the values are at most x, int64 of the shape of x; 0 where x is NaN."""
    n_steps = max(1, len(ascending).bit_length())
    padded = np.full(2**n_steps, np.nan)  # which nothing reaches
    padded[: len(ascending)] = ascending
    count = None
    for step in (2**k for k in reversed(range(n_steps))):
        bound = np.float64(padded[step - 1])
        if count is not None:
            bound = graph.add("Gather", padded, graph.add("Add", count, np.int64(step - 1)))
        reached = graph.cast(graph.add("LessOrEqual", bound, x), np.int64)
        further = graph.add("Mul", reached, np.int64(step))
        count = further if count is None else graph.add("Add", count, further)
    return count


_CURVES = {Curve: _one_sigmoid, TwoSidedCurve: _two_slopes}
