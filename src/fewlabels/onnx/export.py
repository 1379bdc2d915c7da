"""Fitted models and pipelines to ONNX."""

from __future__ import annotations

import os
from importlib.metadata import version
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from sklearn.base import BaseEstimator, is_outlier_detector
from sklearn.compose import ColumnTransformer
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from .._util.messages import ref
from ..base.locking import take_snapshot
from ..kernels.base import LARGEST
from ..tables.encoding.texts import TextEncoder
from .functions import MOST_BYTES
from .graph import IR_VERSION, OPSET, Graph, InputColumns, Matrix, Rows
from .outputs import add_outputs, get_label_values, get_output_shape
from .transformers import list_used_columns, text_columns, transform

if TYPE_CHECKING:
    from collections.abc import Sequence

    from onnx import ModelProto, ValueInfoProto


def to_onnx(
    model: Any,
    path: str | os.PathLike[str] | None = None,
    *,
    dtype: Literal["float32", "float64"] = "float64",
    labels: Sequence[str] | None = None,
) -> ModelProto:
    """Write a fitted model, or a pipeline that ends in one, as an ONNX graph.

    The graph takes any number of rows, none included. Without names of columns its input is
    ``X`` of shape (n, n_features). A pipeline that begins with a ColumnTransformer fitted to a
    table with names, or with one that takes text, has an input of shape (n, 1) per column,
    by its name; a missing text is the empty one.

    Parameters
    ----------
    model : estimator or Pipeline
        A fitted model of this library with kernel "rbf", "linear", "poly" or "sigmoid", or
        a pipeline of it and scikit-learn's StandardScaler, MinMaxScaler, MaxAbsScaler,
        RobustScaler, SimpleImputer, OneHotEncoder, OrdinalEncoder, ColumnTransformer, PCA,
        TruncatedSVD or selection of columns.
    path : path-like, optional
        File to write as well.
    dtype : {"float64", "float32"}, default="float64"
        Type of the numbers that go in and come out. With "float32", RBF kernel values are
        float32 too where these keep 1e-5 of their size (the rule of the models
        themselves), all else stays float64. Columns far from zero compared to their spread,
        such as times in seconds, need "float64".
    labels : sequence of str, optional
        What the output ``label`` says for rows below and above the threshold, in place of -1
        and 1 or of ``classes_``; of several classes one text for each.

    Returns
    -------
    onnx.ModelProto
        With the outputs ``label`` (as ``predict``) and ``score`` (``decision_function``), shape
        (n,), or (n, n_classes) of more than two; of one-class models also ``score_samples``,
        and ``p_value`` where the model is calibrated; of the others ``probabilities``, shape
        (n, n_classes), where ``predict_proba`` needs no training (of S3VM, once it was called).
        For a row that the model would refuse all numbers are NaN, and ``label`` is NaN, an empty
        text, the smallest int64 or False, by its type.

    Raises
    ------
    ValueError
        For kernels and steps without an ONNX form, and for models of more than 2 GB.
    ImportError
        Without the package onnx (``pip install 'fewlabels[onnx]'``).

    Examples
    --------
    >>> import numpy as np
    >>> from fewlabels import SVDD
    >>> from fewlabels.onnx import to_onnx
    >>> model = SVDD().fit(np.random.default_rng(0).normal(size=(50, 2)))
    >>> [output.name for output in to_onnx(model).graph.output]
    ['label', 'score', 'score_samples']
    """
    proto = make_graph(model, dtype, labels)
    if path is not None:
        Graph().onnx.save_model(proto, os.fspath(path))
    return proto


def make_graph(
    model: Any,
    dtype: Literal["float32", "float64"],
    labels: Sequence[str] | None,
    *,
    of_table: bool = False,
) -> ModelProto:
    """Return the graph of a fitted model, parameters as in :func:`to_onnx`.

    With ``of_table`` numbers are refused as when the library reads a table, before any scaling.
    """
    if dtype not in ("float32", "float64"):
        raise ValueError(f"dtype={dtype!r} is not known; pass 'float32' or 'float64'.")
    estimator = model[-1] if isinstance(model, Pipeline) else model
    n_labels = max(2, len(getattr(estimator, "classes_", ())))
    if labels is not None and (isinstance(labels, str) or len(labels) != n_labels):
        what = "two texts, for rows below and above" if n_labels == 2 else f"{n_labels} texts"
        raise ValueError(f"labels={labels!r} is not {what}.")
    graph = Graph(float32=dtype == "float32")
    onnx = graph.onnx
    kind = type(estimator)
    known = hasattr(kind, "function_") and isinstance(estimator, BaseEstimator)
    if not known or not hasattr(
        kind, "offset_" if is_outlier_detector(estimator) else "has_curve_"
    ):
        raise ValueError(
            "to_onnx takes a fewlabels estimator with a kernel, or a pipeline that ends in one, "
            f"not {kind.__name__}."
        )
    check_is_fitted(estimator)
    model = take_snapshot(model)
    estimator = model[-1] if isinstance(model, Pipeline) else model
    _check_texts(model)
    inputs, rows = _declare_inputs(graph, model)
    if of_table:
        for name in [rows.name] if isinstance(rows, Matrix) else rows.numeric:
            graph.refuse_beyond(name, LARGEST, allow_nan=True)
    if isinstance(model, Pipeline):
        rows = transform(graph, model[:-1], rows)
    found = add_outputs(graph, estimator, rows.numbers(graph).name, labels)
    outputs = [_declare_output(graph, name, found[name], estimator, labels) for name in found]
    size = sum(constant.ByteSize() for constant in graph.constants)
    if size > MOST_BYTES:
        raise ValueError(
            f"the graph would take {size / 1000000000.0:.1f} GB, but ONNX files are limited to 2 "
            "GB; pass dtype='float32', or fit a model with fewer support vectors."
        )
    proto = onnx.helper.make_model(
        onnx.helper.make_graph(graph.nodes, "fewlabels", inputs, outputs, graph.constants),
        opset_imports=[onnx.helper.make_opsetid("", OPSET)],
        ir_version=IR_VERSION,
        producer_name="fewlabels",
        producer_version=version("fewlabels"),
    )
    onnx.helper.set_model_props(proto, {"estimator": type(estimator).__name__})
    return proto


def _check_texts(model: BaseEstimator | Pipeline) -> None:
    """Refuse models that read words, which no operator takes apart in exactly the same way."""
    first = model[0] if isinstance(model, Pipeline) else model
    if not isinstance(first, ColumnTransformer):
        return
    texts = [columns for _, step, columns in first.transformers_ if isinstance(step, TextEncoder)]
    if texts:
        raise ValueError(
            f"it learns from the words of {', '.join(map(repr, texts))}, but ONNX has no "
            "operator that splits texts exactly as the model does; score with 'fewlabels "
            f"predict', or fit a model without this column ({ref('drop')})."
        )


def _declare_inputs(
    graph: Graph, model: BaseEstimator | Pipeline
) -> tuple[list[ValueInfoProto], Rows]:
    """Return declarations of the inputs, and the rows that they hold, as float64 or text."""
    helper, tensor = graph.onnx.helper, graph.onnx.TensorProto
    kind = tensor.FLOAT if graph.float32 else tensor.DOUBLE
    first = model
    while isinstance(first, Pipeline):
        first = next(step for _, step in first.steps if step not in (None, "passthrough"))
    width = first.n_features_in_
    is_text = text_columns(first, width)
    names = getattr(first, "feature_names_in_", None)
    if not is_text.any() and (names is None or not isinstance(first, ColumnTransformer)):
        declared = [helper.make_tensor_value_info("X", kind, [None, width])]
        return declared, Matrix(graph.cast("X", np.float64) if graph.float32 else "X", width)
    names = [f"x{place}" for place in range(width)] if names is None else list(names)
    declared = []
    for place in list_used_columns(first, width):
        column_kind = tensor.STRING if is_text[place] else kind
        declared.append(helper.make_tensor_value_info(names[place], column_kind, [None, 1]))
        if graph.float32 and not is_text[place]:
            names[place] = graph.cast(names[place], np.float64)
    return declared, InputColumns(tuple(names), tuple(is_text.tolist()))


def _declare_output(
    graph: Graph, name: str, value: str, estimator: BaseEstimator, labels: Sequence[str] | None
) -> ValueInfoProto:
    """Return the declaration of an output, in the type that users see."""
    helper, tensor = graph.onnx.helper, graph.onnx.TensorProto
    kind = tensor.FLOAT if graph.float32 else tensor.DOUBLE
    if name == "label":
        dtype = get_label_values(estimator, labels).dtype
        kind = tensor.STRING if dtype.kind == "O" else helper.np_dtype_to_tensor_dtype(dtype)
    elif graph.float32:
        value = graph.cast(value, np.float32)
    graph.rename(value, name)
    return helper.make_tensor_value_info(name, kind, get_output_shape(name, estimator, None))
