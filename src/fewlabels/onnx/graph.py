"""A graph that is being written, and the rows that its steps pass on."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from .._typing import IntArray
from .._util.extras import require

if TYPE_CHECKING:
    from onnx import NodeProto, TensorProto

# The largest finite number.
FINITE = float(np.finfo(np.float64).max)
# The first operator set whose Equal compares text.
OPSET = 19
# The file version that came with it.
IR_VERSION = 9


class Graph:
    """Nodes and constants; ``unique`` makes a free name of a proposal, if others have names too.

    With ``float32`` numbers come in and go out as float32; between, they are float64. A graph
    can't raise an error: it keeps note of the rows that the library would refuse.
    """

    def __init__(self, unique: Callable[[str], str] | None = None, float32: bool = False) -> None:
        require("writing an ONNX graph", "onnx")
        import onnx

        self.onnx = onnx
        self.float32 = float32
        self.nodes: list[NodeProto] = []
        self.constants: list[TensorProto] = []
        self._refused: list[str] = []
        self._checked: set[tuple[str, float, bool]] = set()
        self._unique = unique or (lambda name: f"{name}_{len(self.nodes) + len(self.constants)}")

    def add(self, op: str, *inputs: str | npt.ArrayLike, **attributes: Any) -> str:
        """Add a node and return its output; inputs are names, or values to become constants."""
        names = [value if isinstance(value, str) else self.constant(value) for value in inputs]
        output = self._unique(op.lower())
        self.nodes.append(
            self.onnx.helper.make_node(op, names, [output], name=f"make_{output}", **attributes)
        )
        return output

    def constant(self, value: npt.ArrayLike) -> str:
        value = np.asarray(value)
        name = self._unique("constant")
        if value.dtype.kind in "OU":
            texts: list[Any] = [str(text).encode() for text in value.ravel()]
            kind = self.onnx.TensorProto.STRING
            self.constants.append(self.onnx.helper.make_tensor(name, kind, value.shape, texts))
        else:
            value = np.ascontiguousarray(value).reshape(value.shape)
            self.constants.append(self.onnx.numpy_helper.from_array(value, name))
        return name

    def cast(self, name: str, dtype: npt.DTypeLike) -> str:
        """Cast numbers to another type of NumPy."""
        kind = self.onnx.helper.np_dtype_to_tensor_dtype(np.dtype(dtype))
        return self.add("Cast", name, to=kind)

    def row_sums(self, name: str) -> str:
        """Write sums over each row, shape (n, 1)."""
        return self.add("ReduceSum", name, np.array([1]), keepdims=1)

    def refuse(self, cells: str) -> None:
        """Refuse the rows that have a true one among such cells, bool of shape (n, k)."""
        self._refused.append(self.row_sums(self.cast(cells, np.float64)))

    def refuse_beyond(self, name: str, largest: float, allow_nan: bool = False) -> None:
        """Refuse the rows with numbers beyond ``largest`` in size, and with NaN unless allowed."""
        if (name, largest, allow_nan) in self._checked:
            return
        self._checked.add((name, largest, allow_nan))
        size = self.add("Abs", name)
        if allow_nan:
            self.refuse(self.add("Greater", size, np.float64(largest)))
        else:
            self.refuse(self.add("Not", self.add("LessOrEqual", size, np.float64(largest))))

    def is_refused(self) -> str:
        """Write whether each row has been refused so far, bool of shape (n, 1)."""
        return self.add("Greater", self.add("Sum", *self._refused), np.float64(0.0))

    def rename(self, name: str, new_name: str) -> None:
        """Give a value the name that users see."""
        self.nodes.append(
            self.onnx.helper.make_node("Identity", [name], [new_name], name=f"name_{new_name}")
        )


class Matrix(NamedTuple):
    """Numbers: name of a float64 value of shape (n, width)."""

    name: str
    width: int

    def take(self, graph: Graph, places: Sequence[int] | IntArray) -> Matrix:
        if list(places) == list(range(self.width)):
            return self
        selected = graph.add("Gather", self.name, np.asarray(places, dtype=np.int64), axis=1)
        return Matrix(selected, len(places))

    def numbers(self, graph: Graph) -> Matrix:
        return self

    def column(self, graph: Graph, place: int) -> tuple[str, bool]:
        """Return one column and whether it is text."""
        return graph.add("Gather", self.name, np.array([place], dtype=np.int64), axis=1), False


class InputColumns(NamedTuple):
    """Names of values of shape (n, 1), float64 or text."""

    names: tuple[str, ...]
    is_text: tuple[bool, ...]

    @property
    def numeric(self) -> list[str]:
        """Names of the columns that aren't text."""
        return [name for name, text in zip(self.names, self.is_text, strict=True) if not text]

    def take(self, graph: Graph, places: Sequence[int] | IntArray) -> InputColumns:
        names = tuple(self.names[k] for k in places)
        return InputColumns(names, tuple(self.is_text[k] for k in places))

    def numbers(self, graph: Graph) -> Matrix:
        if any(self.is_text):
            raise ValueError(
                "a column of text reaches a step that needs numbers; put a OneHotEncoder or "
                "OrdinalEncoder before it."
            )
        return concatenate(graph, [Matrix(name, 1) for name in self.names])

    def column(self, graph: Graph, place: int) -> tuple[str, bool]:
        return self.names[place], self.is_text[place]


#: What steps of a pipeline pass on.
Rows: TypeAlias = Matrix | InputColumns


def concatenate(graph: Graph, matrices: Sequence[Matrix]) -> Matrix:
    """Concatenate matrices side by side."""
    if len(matrices) == 1:
        return matrices[0]
    name = graph.add("Concat", *(matrix.name for matrix in matrices), axis=1)
    return Matrix(name, sum(matrix.width for matrix in matrices))
