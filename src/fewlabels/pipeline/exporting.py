"""A model as an ONNX file."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from .._typing import PathLike
from .._util.messages import UserError, listing, quoted, ref
from ..tables.atomic import replacing
from ..tables.models.files import damaged_model_error, read_metadata
from ..tables.paths import check_output
from ..tasks import candidate_facts
from .observer import Observer
from .scoring.scorer import FittedTable, Scorer

if TYPE_CHECKING:
    from onnx import ValueInfoProto


def export(
    model: PathLike | FittedTable,
    out: PathLike,
    *,
    dtype: Literal["float64", "float32"] = "float64",
    observer: Observer | None = None,
) -> dict[str, Any]:
    """Write a model as an ONNX file.

    Parameters
    ----------
    model : path-like or TableFit
        The model file, or what ``fit_table`` returned.
    out : path-like
        The file to write.
    dtype : {"float64", "float32"}, default="float64"
        Type of numbers.
    observer : Observer, optional
        Receives the progress.

    Returns
    -------
    dict
        What was written, and what goes in and comes out of it.
    """
    if Path(out).suffix.lower() != ".onnx":
        raise UserError(f"{out} must end in .onnx, not {quoted(Path(out).suffix)}.")
    check_output(out, inputs=[model])
    known = read_metadata(model) if isinstance(model, str | os.PathLike) else model.metadata
    if candidate_facts(known) is not None:
        raise UserError(
            f"The candidate {known['method']} has no ONNX form; fit a model without "
            f"{ref('candidates')} to export it."
        )
    scorer = Scorer(model)
    schema, metadata = scorer.schema, scorer.metadata
    if not isinstance(metadata["created"], str):
        raise damaged_model_error(scorer.source)
    try:
        from ..onnx.export import make_graph  # an extra

        graph = make_graph(scorer.pipeline, dtype, scorer.columns.labels_in_order, of_table=True)
    except (ImportError, ValueError) as error:
        raise UserError(f"{scorer.source} cannot be exported: {error}") from error
    columns = json.dumps(schema.to_dict()["columns"])
    props = {"model": Path(scorer.source).name, "created": metadata["created"], "columns": columns}
    for key, value in props.items():
        graph.metadata_props.add(key=key, value=value)
    content = graph.SerializeToString()
    with replacing(out) as temporary:
        temporary.write_bytes(content)
    kinds = {column.name: column.kind for column in schema.columns}
    merged = [column.name for column in schema.columns if column.spellings]
    notes = [
        f"the graph accepts the categories of {listing(merged)} only in the model's spelling; "
        "see its metadata property 'columns'"
    ]
    return {
        "notes": notes if merged else [],
        "model": scorer.source,
        "output": str(out),
        "method": metadata["method"],
        "dtype": dtype,
        "bytes": len(content),
        "inputs": [_value(value, kinds.get(value.name)) for value in graph.graph.input],
        "outputs": [_value(value) for value in graph.graph.output],
    }


def _value(value: ValueInfoProto, kind: str | None = None) -> dict[str, Any]:
    """Name, type and shape of an input or output; None means any number of rows."""
    from onnx import TensorProto

    tensor = value.type.tensor_type
    shape = [d.dim_value if d.HasField("dim_value") else None for d in tensor.shape.dim]
    type_ = TensorProto.DataType.Name(tensor.elem_type).lower()
    described = {"name": value.name, "type": type_, "shape": shape}
    return {**described, "kind": kind} if kind else described
