"""What the machines answer, as nodes of a graph."""

from __future__ import annotations

import numpy as np
from sklearn.base import is_outlier_detector

from .curves import p_values, probabilities
from .encoders import is_missing
from .functions import check_kernel, on_boundary, values


def answers(graph, machine, x, labels=None):
    """Nodes for all that a fitted machine says about rows x, float64 of shape (n, d).

    Gives names of values by the names that users see: "label" and "score", and where the machine
    has them "score_samples", "p_value", "probabilities". ``labels`` are what the label says at or
    below the threshold, and above, in place of the classes.
    """
    function = machine.function_
    check_kernel(type(machine).__name__, function.kernels[0])
    if is_outlier_detector(machine):
        found = _one_class(graph, machine, function, x)
        above = graph.add("GreaterOrEqual", found["score"], np.float64(0.0))
    else:
        found = _two_classes(graph, machine, function, x)
        above = graph.add("Greater", found["score"], np.float64(0.0))
    label = graph.add("Gather", label_values(machine, labels), graph.cast(above, np.int64))
    return {"label": label, **found}


def names_of_answers(machine):
    """Names of what :func:`answers` gives, in its order."""
    if is_outlier_detector(machine):
        further = ["score_samples", *(["p_value"] if hasattr(machine, "conformal_") else [])]
    else:
        further = ["probabilities"] if machine.has_curve_ else []
    return ["label", "score", *further]


def label_values(machine, labels=None):
    """What the label says below and above the threshold, in a type that graphs have.

    Whole numbers, numbers, truth values, or text in an array of objects.
    """
    if labels is not None:
        return np.array([str(label) for label in labels], dtype=object)
    if is_outlier_detector(machine):
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


def _two_classes(graph, machine, function, x):
    decision, noise = values(graph, function, x)
    if noise > function.rounding:
        decision = on_boundary(graph, decision, 0.0, noise)
    found = {"score": decision}
    if machine.has_curve_:
        found["probabilities"] = probabilities(graph, machine.curve_, decision)
    return found


def _one_class(graph, machine, function, x):
    conformal = getattr(machine, "conformal_", None)
    score, noise = values(graph, function, x, exact=conformal is not None)
    decision = graph.add("Sub", score, np.float64(np.ravel(machine.offset_)[0]))
    if machine.target_fpr is None:
        decision = on_boundary(graph, decision, 0.0, max(function.rounding, noise))
    found = {"score": decision, "score_samples": score}
    if conformal is not None:
        found["p_value"] = p_values(graph, conformal, score)
    return found
