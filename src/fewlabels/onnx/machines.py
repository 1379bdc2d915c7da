"""What the machines answer, as nodes of a graph."""

from __future__ import annotations

import numpy as np

from ..estimators import SVDD, PUEnsemble
from ..estimators._conformal import ConformalStreaming
from ..kernels import make_kernel
from .curves import has_curve, is_calibrated, p_values, probabilities
from .encoders import is_missing
from .kernels import dense, kernel_sum


def answers(graph, machine, x, labels=None):
    """Nodes for all that a fitted machine says about rows.

    Parameters
    ----------
    graph : Graph
        Where to.
    machine : estimator
        Fitted.
    x : str
        Rows, float64, shape (n, d).
    labels : sequence of two values, optional
        What the label says at or below the threshold, and above, in place of the classes.

    Returns
    -------
    dict
        Names of the values by the names that users see: "label" and "score", and where the
        machine has them "score_samples", "p_value", "probabilities". Numbers are float64.
    """
    check_kernel(machine)
    if isinstance(machine, ConformalStreaming):
        return _one_class(graph, machine, x, labels)
    margin, noise = _margin(graph, machine, x)
    decision = _snapped(graph, graph.flat(margin), max(machine._rounding, noise))
    above = graph.add("Greater", decision, np.float64(0.0))
    found = {"label": _label(graph, machine, above, labels), "score": decision}
    if has_curve(machine):
        found["probabilities"] = probabilities(graph, machine, decision)
    return found


def names_of_answers(machine):
    """Names of what :func:`answers` gives, in its order."""
    if not isinstance(machine, ConformalStreaming):
        return ["label", "score", *(["probabilities"] if has_curve(machine) else [])]
    return ["label", "score", "score_samples", *(["p_value"] if is_calibrated(machine) else [])]


def check_kernel(machine):
    """Refuse kernels that are functions of Python or given as numbers."""
    if callable(machine.kernel) or machine.kernel == "precomputed":
        named = "a function" if callable(machine.kernel) else "kernel='precomputed'"
        raise ValueError(
            f"this {type(machine).__name__} has {named} for a kernel, which no graph can hold; "
            "fit it with kernel='rbf', 'linear', 'poly' or 'sigmoid'."
        )


def label_values(machine, labels=None):
    """What the label says below and above the threshold, in a type that graphs have.

    Whole numbers, numbers, truth values, or text in an array of objects.
    """
    if labels is not None:
        return np.array([str(label) for label in labels], dtype=object)
    if isinstance(machine, ConformalStreaming):
        return np.array([-1, 1], dtype=np.int64)
    classes = np.asarray(machine.classes_)
    if classes.dtype.kind in "iu":
        return classes.astype(np.int64)
    if classes.dtype.kind in "fb":
        return classes
    values = ["" if is_missing(value) else value for value in classes.tolist()]
    if all(isinstance(value, str) for value in values):
        return np.array(values, dtype=object)
    raise ValueError(
        f"the classes {values} are neither numbers nor text; pass labels=, two texts for the rows "
        "below and above the threshold."
    )


def _label(graph, machine, above, labels):
    return graph.add("Gather", label_values(machine, labels), graph.cast(above, np.int64))


def _one_class(graph, machine, x, labels):
    score, noise = _score(graph, machine, x)
    score, cut = graph.flat(score), machine._cut
    own = np.float64(machine._own_offset)
    beside = graph.add("Abs", graph.add("Sub", score, own))
    on_boundary = graph.add("LessOrEqual", beside, np.float64(machine._rounding_of_scores))
    score = graph.add("Where", on_boundary, own, score)
    if cut is None:
        decision = graph.add("Sub", score, own)
        decision = _snapped(graph, decision, max(machine._rounding, noise))
    else:
        decision = graph.add("Sub", score, np.float64(cut))
    inside = graph.add("GreaterOrEqual", decision, np.float64(0.0))
    found = {
        "label": _label(graph, machine, inside, labels),
        "score": decision,
        "score_samples": score,
    }
    if is_calibrated(machine):
        found["p_value"] = p_values(graph, machine, score)
    return found


def _snapped(graph, decision, rounding):
    """Zero where a decision differs from zero by rounding only."""
    is_rounding = graph.add("LessOrEqual", graph.add("Abs", decision), np.float64(rounding))
    return graph.add("Where", is_rounding, np.float64(0.0), decision)


# -- the function --------------------------------------------------------------------------


def _margin(graph, machine, x):
    """f at rows, shape (n, 1), and what rounding of kernel values leaves in it."""
    if machine.kernel == "linear":
        rows = x if machine._shift is None else graph.add("Sub", x, machine._shift)
        total, noise = graph.add("MatMul", rows, machine._weights[:, None]), 0.0
    else:
        vectors = machine.support_vectors_
        total, noise = kernel_sum(graph, x, _kernels(machine), vectors, machine.dual_coef_)
    return graph.add("Add", total, np.float64(machine._bias)), noise


def _kernels(machine):
    gammas = machine.gammas_ if isinstance(machine, PUEnsemble) else [machine.gamma_]
    return [make_kernel(machine.kernel, g, machine.degree, machine.coef0) for g in gammas]


def _score(graph, machine, x):
    """``score_samples`` of a one-class machine, shape (n, 1), and its noise."""
    coef = machine.dual_coef_
    coef = coef if isinstance(coef, np.ndarray) else coef.toarray()
    is_ball = isinstance(machine, SVDD)
    if machine.kernel == "linear":
        if is_ball:
            return _nearness(graph, machine, x, coef[0]), 0.0
        weights = np.asarray(coef @ machine.support_vectors_.astype(np.float64))
        return graph.add("MatMul", x, weights.T), 0.0
    total, noise = kernel_sum(
        graph, x, _kernels(machine), machine.support_vectors_, (2.0 if is_ball else 1.0) * coef,
        exact=is_calibrated(machine),
    )  # fmt: skip
    if is_ball and machine.kernel != "rbf":
        own = graph.add("Add", _self_kernel(graph, machine, x), np.float64(machine._center_norm))
        total = graph.add("Sub", total, own)
    return total, noise


def _nearness(graph, machine, x, coef):
    """Minus the squared distance to the centre, without cancellation."""
    vectors, rows = dense(machine.support_vectors_), x
    if machine._shift is not None:
        vectors, rows = vectors - machine._shift, graph.add("Sub", x, machine._shift)
    rows = graph.add("Sub", rows, coef @ vectors)
    return graph.add("Neg", graph.row_sums(graph.add("Mul", rows, rows)))


def _self_kernel(graph, machine, x):
    """K(x, x), shape (n, 1)."""
    norm = graph.row_sums(graph.add("Mul", x, x))
    inner = graph.add("Mul", norm, np.float64(machine.gamma_))
    inner = graph.add("Add", inner, np.float64(machine.coef0))
    if machine.kernel == "poly":
        return graph.add("Pow", inner, np.float64(machine.degree))
    return graph.add("Tanh", inner)
