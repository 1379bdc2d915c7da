"""A graph that is being written: nodes, constants and names."""

from __future__ import annotations

import numpy as np

# The first operator set whose Equal compares text, and the file version that came with it.
OPSET, IR_VERSION = 19, 9


def needed():
    """The package onnx, or a sentence on how to get it."""
    try:
        import onnx
    except ImportError as error:
        raise ImportError(
            "writing ONNX graphs needs the package onnx; install it with "
            "pip install 'fewlabels[onnx]'."
        ) from error
    return onnx


class Graph:
    """Nodes and constants; every value gets a name of its own.

    ``unique`` makes a free name of a proposal, in graphs that become part of another one. With
    ``float32`` numbers come in and go out as float32; between, they are float64.
    """

    def __init__(self, unique=None, float32=False):
        self.onnx = needed()
        self.float32 = float32
        self.nodes, self.constants = [], []
        self._unique = unique or (lambda name: f"{name}_{len(self.nodes) + len(self.constants)}")

    def add(self, op, *inputs, **attributes):
        """Add a node with one output and give that one's name.

        Inputs are names, or numbers and arrays, which become constants of their type.
        """
        names = [value if isinstance(value, str) else self.constant(value) for value in inputs]
        output = self._unique(op.lower())
        self.nodes.append(
            self.onnx.helper.make_node(op, names, [output], name=f"make_{output}", **attributes)
        )
        return output

    def constant(self, value):
        """Add a constant and give its name."""
        value = np.asarray(value)
        name = self._unique("constant")
        if value.dtype.kind in "OU":
            texts = [str(text).encode() for text in value.ravel()]
            kind = self.onnx.TensorProto.STRING
            self.constants.append(self.onnx.helper.make_tensor(name, kind, value.shape, texts))
        else:
            value = np.ascontiguousarray(value).reshape(value.shape)
            self.constants.append(self.onnx.numpy_helper.from_array(value, name))
        return name

    def cast(self, name, dtype):
        """The same numbers in another type of NumPy."""
        kind = self.onnx.helper.np_dtype_to_tensor_dtype(np.dtype(dtype))
        return self.add("Cast", name, to=kind)

    def row_sums(self, name):
        """Sums over each row, shape (n, 1)."""
        return self.add("ReduceSum", name, np.array([1]), keepdims=1)

    def flat(self, name):
        """Shape (n,) from (n, 1)."""
        return self.add("Squeeze", name, np.array([1]))

    def rename(self, name, wanted):
        """Give a value the name that users see."""
        self.nodes.append(
            self.onnx.helper.make_node("Identity", [name], [wanted], name=f"name_{wanted}")
        )
