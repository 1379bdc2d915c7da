"""The models as steps that skl2onnx converts, in pipelines with any of its transformers."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np
from sklearn.base import BaseEstimator

from ..base.locking import take_snapshot
from ..tasks import estimator_class, list_own_methods
from .graph import Graph
from .outputs import add_outputs, get_label_values, get_output_shape, list_output_names

if TYPE_CHECKING:
    from skl2onnx.common._container import ModelComponentContainer
    from skl2onnx.common._topology import Operator, Scope, Variable


def register_with_skl2onnx() -> None:
    """Register converters for the models of this library with skl2onnx.

    Needed for pipelines with transformers that :func:`to_onnx` has no form for; after it
    ``skl2onnx.to_onnx(pipeline, X[:1])`` works. The outputs are as in :func:`to_onnx`.

    Raises
    ------
    ImportError
        Without the package skl2onnx.
    """
    try:
        from skl2onnx import update_registered_converter
    except ImportError as error:
        raise ImportError(
            "register_with_skl2onnx needs the package skl2onnx; install it with "
            "pip install skl2onnx."
        ) from error
    for model in map(estimator_class, list_own_methods()):
        alias = f"Fewlabels{model.__name__}"
        update_registered_converter(model, alias, _set_shapes, _convert, parser=_parse)


def _parse(
    scope: Scope,
    model: BaseEstimator,
    inputs: list[Variable],
    custom_parsers: dict[type, Callable[..., object]] | None = None,
) -> list[Variable]:
    from skl2onnx.common import data_types as types

    label_types = {
        "i": types.Int64TensorType,
        "f": types.DoubleTensorType,
        "b": types.BooleanTensorType,
        "O": types.StringTensorType,
    }
    operator = scope.declare_local_operator(f"Fewlabels{type(model).__name__}", model)
    operator.inputs = inputs
    for name in list_output_names(model):
        kind = type(inputs[0].type)
        if name == "label":
            kind = label_types[get_label_values(model).dtype.kind]
        operator.outputs.append(scope.declare_local_variable(name, kind()))
    return operator.outputs


def _set_shapes(operator: Operator) -> None:
    rows = operator.inputs[0].get_first_dimension()
    names = list_output_names(operator.raw_operator)
    for name, output in zip(names, operator.outputs, strict=True):
        output.type.shape = get_output_shape(name, operator.raw_operator, rows)


def _convert(scope: Scope, operator: Operator, container: ModelComponentContainer) -> None:
    from skl2onnx.common.data_types import FloatTensorType

    float32 = isinstance(operator.inputs[0].type, FloatTensorType)
    graph = Graph(unique=scope.get_unique_variable_name, float32=float32)
    x = graph.cast(operator.inputs[0].full_name, np.float64)
    found = add_outputs(graph, take_snapshot(operator.raw_operator), x)
    for (name, value), output in zip(found.items(), operator.outputs, strict=True):
        if float32 and name != "label":
            value = graph.cast(value, np.float32)
        graph.rename(value, output.full_name)
    container.initializers.extend(graph.constants)
    for node in graph.nodes:
        attributes = {
            attribute.name: graph.onnx.helper.get_attribute_value(attribute)
            for attribute in node.attribute
        }
        container.add_node(
            node.op_type, list(node.input), list(node.output), name=node.name, **attributes
        )
