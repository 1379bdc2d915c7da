"""Fitted models and pipelines as ONNX graphs, which need neither Python nor this library."""

from .._util.extras import require

require("fewlabels.onnx", "pandas", "pyarrow")

from .export import to_onnx
from .skl2onnx import register_with_skl2onnx

__all__ = ["register_with_skl2onnx", "to_onnx"]
