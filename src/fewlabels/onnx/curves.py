"""From scores to p-values and probabilities: both look a place up among sorted values."""

from __future__ import annotations

import numpy as np

from ..estimators import PUEnsemble


def is_calibrated(machine):
    """Whether p-values are known without leaving out each row in turn."""
    return "calibration_scores_" in machine.__dict__ or machine.target_fpr is not None


def has_curve(machine):
    """Whether probabilities are known without training again."""
    if isinstance(machine, PUEnsemble):
        return True
    return hasattr(machine, "predict_proba") and bool(machine.__dict__.get("_curve"))


def p_values(graph, machine, score):
    """Conformal p-values: the share of calibration scores that are at most the row's."""
    least = machine._ends(machine.calibration_scores_)[0]
    count = graph.cast(_at_most(graph, least, score), np.float64)
    count = graph.add("Add", count, np.float64(1.0))
    share = graph.add("Mul", count, np.float64(1.0 / (len(least) + 1)))
    return graph.add("Where", graph.add("IsNaN", score), np.float64(np.nan), share)


def probabilities(graph, machine, decision):
    """Probabilities of the two classes, shape (n, 2), as the machine has them."""
    if isinstance(machine, PUEnsemble):
        return _both(graph, *_sigmoids(graph, _two_slopes(graph, machine, decision)))
    curve = machine._curve_now()
    z = graph.add("Mul", decision, np.float64(curve["slope"]))
    z = graph.add("Add", z, np.float64(curve["intercept"]))
    columns = _sigmoids(graph, z)
    if curve["knots"] is not None:
        step = _interpolated(graph, np.asarray(curve["knots"]), curve["values"], decision)
        steps = [graph.add("Sub", np.float64(1.0), step), step]
        columns = [
            graph.add("Mul", graph.add("Add", *pair), np.float64(0.5))
            for pair in zip(columns, steps, strict=True)
        ]
    return _both(graph, *columns)


def _two_slopes(graph, machine, decision):
    """The logit of a PUEnsemble: linear above zero and below."""
    scaled = graph.add("Mul", decision, np.float64(1.0 / machine._spread))
    sides = [graph.add("Max", scaled, np.float64(0.0)), graph.add("Min", scaled, np.float64(0.0))]
    parts = [
        graph.add("Mul", side, np.float64(slope))
        for side, slope in zip(sides, machine._slopes, strict=True)
    ]
    return graph.add("Add", *parts)


def _sigmoids(graph, z):
    return [graph.add("Sigmoid", graph.add("Neg", z)), graph.add("Sigmoid", z)]


def _both(graph, *columns):
    columns = [graph.add("Unsqueeze", column, np.array([1])) for column in columns]
    return graph.add("Concat", *columns, axis=1)


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
