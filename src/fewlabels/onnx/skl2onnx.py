"""The machines as steps that skl2onnx converts, in pipelines with any of its transformers."""

from __future__ import annotations

import numpy as np

from ..io.models.machines import MACHINES, machine_class
from .graph import Graph
from .machines import answers, label_values, names_of_answers


def register_with_skl2onnx() -> None:
    """Tell skl2onnx how to convert the machines of this library.

    Needed for pipelines with transformers that :func:`to_onnx` has no form for; after it
    ``skl2onnx.to_onnx(pipeline, X[:1])`` works. The outputs are those of :func:`to_onnx`.

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
    for machine in map(machine_class, MACHINES):
        alias = f"Fewlabels{machine.__name__}"
        update_registered_converter(machine, alias, _shapes, _convert, parser=_parse)


def _parse(scope, machine, inputs, custom_parsers=None):
    operator = scope.declare_local_operator(f"Fewlabels{type(machine).__name__}", machine)
    operator.inputs = inputs
    number = type(inputs[0].type)
    for name in names_of_answers(machine):
        kind = _label_type(machine) if name == "label" else number
        operator.outputs.append(scope.declare_local_variable(name, kind()))
    return operator.outputs


def _label_type(machine):
    from skl2onnx.common import data_types

    return {
        "i": data_types.Int64TensorType,
        "f": data_types.DoubleTensorType,
        "b": data_types.BooleanTensorType,
        "O": data_types.StringTensorType,
    }[label_values(machine).dtype.kind]


def _shapes(operator):
    rows = operator.inputs[0].get_first_dimension()
    names = names_of_answers(operator.raw_operator)
    for name, output in zip(names, operator.outputs, strict=True):
        output.type.shape = [rows, 2] if name == "probabilities" else [rows]


def _convert(scope, operator, container):
    from skl2onnx.common.data_types import FloatTensorType

    float32 = isinstance(operator.inputs[0].type, FloatTensorType)
    graph = Graph(unique=scope.get_unique_variable_name, float32=float32)
    x = operator.inputs[0].full_name
    x = graph.cast(x, np.float64)
    found = answers(graph, operator.raw_operator, x)
    for name, output in zip(found, operator.outputs, strict=True):
        value = found[name]
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
