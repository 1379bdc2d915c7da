"""The outputs of models, as nodes: places among sorted values give p-values and curves."""

from collections.abc import Sequence

import numpy as np
from sklearn.base import BaseEstimator, is_outlier_detector

from .._typing import AnyArray, FloatArray
from ..base.solution import ClassFunctions
from ..calibration.conformal import Conformal
from ..calibration.curve import AHEAD, Curve, TwoSidedCurve
from ..kernels.base import LARGEST, distinct_kernels
from .functions import check_kernel, snap_to_boundary, write_class_values, write_values
from .graph import Graph
from .transformers import is_missing


def add_outputs(
    graph: Graph, model: BaseEstimator, x: str, labels: Sequence[str] | None = None
) -> dict[str, str]:
    """Write the outputs of a fitted model for rows x, float64 of shape (n, d), by name.

    ``labels`` represent the classes at or below the threshold, and above. Rows that the library
    would refuse have no numbers, and a label that is none, as far as its type has one.
    """
    function = model.function_
    check_kernel(type(model).__name__, function)
    graph.refuse_beyond(x, LARGEST)
    for kernel in distinct_kernels(function):
        kernel.graph_check(graph, x)
    refused = graph.is_refused()
    x = graph.add("Where", refused, np.float64(0.0), x)
    write = _add_class_outputs if isinstance(function, ClassFunctions) else _add_function_outputs
    found = write(graph, model, x)
    flat = graph.add("Squeeze", refused, np.array([1]))
    for name, value in found.items():
        if name == "label":  # the place of the class
            values = get_label_values(model, labels)
            place = graph.add("Where", flat, np.int64(len(values)), value)
            found[name] = graph.add("Gather", _append_blank(values), place)
        else:
            of_row = flat if len(get_output_shape(name, model, None)) == 1 else refused
            found[name] = graph.add("Where", of_row, np.float64(np.nan), value)
    return found


def _append_blank(values: AnyArray) -> AnyArray:
    """Return labels and a blank one: the numbers of a refused row are all NaN."""
    blanks = {"O": "", "i": np.iinfo(np.int64).min, "f": np.nan, "b": False}
    return np.append(values, np.array([blanks[values.dtype.kind]], values.dtype))


def _add_function_outputs(graph: Graph, model: BaseEstimator, x: str) -> dict[str, str]:
    """Write the outputs of a model that has one function; the label is the place of the class."""
    function = model.function_
    one_class = is_outlier_detector(model)
    conformal = getattr(model, "conformal_", None) if one_class else None
    score, noise = write_values(graph, function, x, exact=conformal is not None)
    decision = score
    if one_class:
        decision = graph.add("Sub", score, np.float64(np.ravel(model.offset_)[0]))
    if model.target_fpr is None if one_class else noise > function.rounding:
        decision = snap_to_boundary(graph, decision, 0.0, max(function.rounding, noise))
    above = graph.add("GreaterOrEqual" if one_class else "Greater", decision, np.float64(0.0))
    place = graph.cast(above, np.int64)
    found = {"label": place, "score": decision}
    if one_class:
        found["score_samples"] = score
        if conformal is not None:
            found["p_value"] = _add_p_values(graph, conformal, score)
    elif model.has_curve_:
        p = _add_probabilities(graph, model.curve_, decision)
        found["probabilities"] = _make_agree(graph, p, place, 2) if model.curve_.agrees else p
    return found


def _add_class_outputs(graph: Graph, model: BaseEstimator, x: str) -> dict[str, str]:
    """Write the outputs of a model of several classes; the label is the place of the class."""
    decision = write_class_values(graph, model.function_, x)
    first = graph.add("ArgMax", decision, axis=1, keepdims=0)
    found = {"label": first, "score": decision}
    if model.has_curve_:
        curves = model.curve_
        z = graph.add("Mul", decision, np.float64(curves.slope))
        p = graph.add("Softmax", graph.add("Add", z, np.asarray(curves.intercept)), axis=1)
        if curves.steps is not None:
            p = _average_with_steps(graph, curves.steps, decision, p)
        n_classes = len(model.classes_)
        found["probabilities"] = _make_agree(graph, p, first, n_classes) if curves.agrees else p
    return found


def _make_agree(graph: Graph, p: str, chosen: str, n_classes: int) -> str:
    """Write probabilities in which no class is ahead of the chosen one."""
    chosen = graph.add("Unsqueeze", chosen, np.array([1]))
    is_own = graph.add("Equal", np.arange(n_classes), chosen)
    own, rival = (
        graph.add("ReduceMax", graph.add("Where", is_own, *ends), np.array([1]), keepdims=1)
        for ends in ((p, np.float64(-1.0)), (np.float64(-1.0), p))
    )
    deficit = graph.add("Add", graph.add("Sub", rival, own), np.float64(AHEAD))
    deficit = graph.add("Max", deficit, np.float64(0.0))
    moved = graph.add("Where", is_own, deficit, np.float64(0.0))
    return graph.add("Div", graph.add("Add", p, moved), graph.add("Add", deficit, np.float64(1.0)))


def _average_with_steps(
    graph: Graph, steps: Sequence[tuple[FloatArray, FloatArray]], decision: str, p: str
) -> str:
    """Write the mean of probabilities and of an increasing function of each decision."""
    columns = []
    for place, (knots, heights) in enumerate(steps):
        own = graph.add("Gather", decision, np.array(place), axis=1)
        step = _interpolate(graph, np.asarray(knots), heights, own)
        columns.append(graph.add("Unsqueeze", step, np.array([1])))
    other = graph.add("Concat", *columns, axis=1)
    total = graph.row_sums(other)
    share = graph.add("Div", other, graph.add("Max", total, np.float64(1e-300)))
    other = graph.add("Where", graph.add("Greater", total, np.float64(0.0)), share, p)
    return graph.add("Mul", graph.add("Add", p, other), np.float64(0.5))


def list_output_names(model: BaseEstimator) -> list[str]:
    """Return the names of the outputs that :func:`add_outputs` writes, in its order."""
    if is_outlier_detector(model):
        further = ["score_samples", *(["p_value"] if hasattr(model, "conformal_") else [])]
    else:
        further = ["probabilities"] if model.has_curve_ else []
    return ["label", "score", *further]


def get_output_shape(name: str, model: BaseEstimator, n_rows: int | None) -> list[int | None]:
    """Return the shape of an output."""
    several = isinstance(model.function_, ClassFunctions)
    if name == "probabilities" or (name == "score" and several):
        return [n_rows, len(model.classes_)]
    return [n_rows]


def get_label_values(model: BaseEstimator, labels: Sequence[str] | None = None) -> AnyArray:
    """Return the labels below and above the threshold; texts in an array of objects."""
    if labels is not None:
        return np.array([str(label) for label in labels], dtype=object)
    if is_outlier_detector(model):
        return np.array([-1, 1], dtype=np.int64)
    classes = np.asarray(model.classes_)
    if classes.dtype.kind == "O" and len(set(map(type, classes))) == 1:
        alike = np.array(classes.tolist())  # numbers, beside None in y
        classes = alike if alike.dtype.kind in "iufb" else classes
    if classes.dtype.kind in "iu":
        return classes.astype(np.int64)
    if classes.dtype.kind in "fb":
        return classes
    values = ["" if is_missing(value) else value for value in classes.tolist()]
    if all(isinstance(value, str) for value in values):
        return np.array(values, dtype=object)
    raise ValueError(
        f"the classes {values} are neither numbers nor text; pass labels=, one text per class "
        "(with two classes: for rows below and above the threshold)."
    )


def _add_p_values(graph: Graph, conformal: Conformal, score: str) -> str:
    least = conformal.tie_bounds()[0]
    count = graph.cast(_count_at_most(graph, least, score), np.float64)
    count = graph.add("Add", count, np.float64(1.0))
    return graph.add("Mul", count, np.float64(1.0 / (len(least) + 1)))


def _add_probabilities(graph: Graph, curve: Curve | TwoSidedCurve, decision: str) -> str:
    """Write the probabilities of the two classes, shape (n, 2)."""
    if isinstance(curve, TwoSidedCurve):
        shares = _add_two_slopes(graph, curve, decision)
    else:
        shares = _add_sigmoid(graph, curve, decision)
    columns = [graph.add("Unsqueeze", share, np.array([1])) for share in shares]
    return graph.add("Concat", *columns, axis=1)


def _add_sigmoid(graph: Graph, curve: Curve, decision: str) -> list[str]:
    """Write sigmoids, or their mean with a function that is linear between knots."""
    several, x = np.ndim(curve.slope) > 0, decision
    if several:
        x = graph.add("Unsqueeze", decision, np.array([1]))
    z = graph.add("Mul", x, np.asarray(curve.slope, dtype=np.float64))
    columns = _add_sigmoids(
        graph, graph.add("Add", z, np.asarray(curve.intercept, dtype=np.float64))
    )
    if several:
        axis = np.array([1])
        columns = [graph.add("ReduceMean", column, axis, keepdims=0) for column in columns]
    if curve.knots is None:
        return columns
    assert curve.values is not None
    step = _interpolate(graph, np.asarray(curve.knots), curve.values, decision)
    steps = [graph.add("Sub", np.float64(1.0), step), step]
    return [
        graph.add("Mul", graph.add("Add", *pair), np.float64(0.5))
        for pair in zip(columns, steps, strict=True)
    ]


def _add_two_slopes(graph: Graph, curve: TwoSidedCurve, decision: str) -> list[str]:
    """Write a sigmoid whose argument is linear above zero and below."""
    scaled = graph.add("Mul", decision, np.float64(1.0 / curve.spread))
    sides = [graph.add("Max", scaled, np.float64(0.0)), graph.add("Min", scaled, np.float64(0.0))]
    parts = [
        graph.add("Mul", side, np.float64(slope))
        for side, slope in zip(sides, curve.slopes, strict=True)
    ]
    return _add_sigmoids(
        graph, graph.add("Add", graph.add("Add", *parts), np.float64(curve.level))
    )


def _add_sigmoids(graph: Graph, z: str) -> list[str]:
    return [graph.add("Sigmoid", graph.add("Neg", z)), graph.add("Sigmoid", z)]


def _interpolate(graph: Graph, knots: FloatArray, values: FloatArray, x: str) -> str:
    """Interpolate linearly between knots; values are constant outside them."""
    values = np.asarray(values, dtype=np.float64)
    slopes = np.append(np.diff(values) / np.diff(knots), 0.0)
    x = graph.add("Clip", x, np.float64(knots[0]), np.float64(knots[-1]))
    place = graph.add("Sub", _count_at_most(graph, knots, x), np.int64(1))
    beyond = graph.add("Sub", x, graph.add("Gather", knots, place))
    rise = graph.add("Mul", graph.add("Gather", slopes, place), beyond)
    return graph.add("Add", graph.add("Gather", values, place), rise)


def _count_at_most(graph: Graph, ascending: FloatArray, x: str) -> str:
    """Count the values that are at most x, int64 of the shape of x."""
    n_steps = max(1, len(ascending).bit_length())
    padded = np.full(2**n_steps, np.nan)  # which nothing reaches
    padded[: len(ascending)] = ascending
    count: str | None = None
    for step in (2**k for k in reversed(range(n_steps))):
        bound: str | np.float64 = np.float64(padded[step - 1])
        if count is not None:
            bound = graph.add("Gather", padded, graph.add("Add", count, np.int64(step - 1)))
        reached = graph.cast(graph.add("LessOrEqual", bound, x), np.int64)
        further = graph.add("Mul", reached, np.int64(step))
        count = further if count is None else graph.add("Add", count, further)
    assert count is not None
    return count
