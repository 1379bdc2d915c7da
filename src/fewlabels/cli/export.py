"""``fewlabels export``: a model as an ONNX file, for programs without Python."""

from __future__ import annotations

import json as json_text
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from ..io.errors import UserError
from . import show
from .answers import answer_of

Dtype = StrEnum("Dtype", ["float64", "float32"])


def export(
    model: Annotated[
        Path,
        typer.Argument(
            metavar="MODEL", help="Model that 'fewlabels fit' wrote.", show_default=False
        ),
    ],
    out: Annotated[
        Path,
        typer.Option("-o", "--output", help="File to write: .onnx.", show_default=False),
    ],
    dtype: Annotated[
        Dtype,
        typer.Option(
            help="Type of the numbers that go in and come out. float32 is faster; columns far "
            "from zero compared to their spread, such as times, need float64."
        ),
    ] = Dtype.float64,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Print only errors.")] = False,
    json: Annotated[
        bool, typer.Option("--json", help="Print the summary as JSON on stdout.")
    ] = False,
):
    """Write MODEL as an ONNX graph, which scores rows in any language without this program.

    The graph takes the columns of the table by their names, or a matrix X, and gives score and
    label as 'fewlabels predict' does. Needs the package onnx: pip install "fewlabels[onnx]".
    """
    summary = export_model(model, out, dtype=dtype.value)
    if json:
        show.as_json(summary)
    elif not quiet:
        typer.echo(f"{out}: {summary['machine']} as an ONNX graph, {show.size(summary['bytes'])}")
        for title in ("inputs", "outputs"):
            typer.echo(f"{title}:")
            show.lines((value["name"], _described(value)) for value in summary[title])


def export_model(model, out, *, dtype="float64"):
    """Write a model file as an ONNX file.

    Parameters
    ----------
    model, out : path-like
        What to read and what to write.
    dtype : {"float64", "float32"}, default="float64"
        Type of numbers.

    Returns
    -------
    dict
        Summary for :func:`show.as_json`.
    """
    from ..io.atomic import replacing
    from ..io.models.files import load_model
    from ..io.paths import check_output

    if Path(out).suffix.lower() != ".onnx":
        raise UserError(f"The extension '{Path(out).suffix}' of {out} is not .onnx; name it so.")
    check_output(out, inputs=[model])
    pipeline, schema, metadata = load_model(model)
    above, below = answer_of(metadata).labels
    try:
        from ..onnx import to_onnx

        graph = to_onnx(pipeline, dtype=dtype, labels=(below, above))
    except (ImportError, ValueError) as error:
        raise UserError(f"{model} cannot be exported: {error}") from error
    for key, value in {
        "model": Path(model).name,
        "created": metadata["created"],
        "columns": json_text.dumps(schema.to_dict()["columns"]),
    }.items():
        graph.metadata_props.add(key=key, value=value)
    content = graph.SerializeToString()
    with replacing(out) as temporary:
        temporary.write_bytes(content)
    kinds = {column.name: column.kind for column in schema.columns}
    return {
        "model": str(model),
        "output": str(out),
        "machine": metadata["machine"],
        "dtype": dtype,
        "bytes": len(content),
        "inputs": [_value(value, kinds.get(value.name)) for value in graph.graph.input],
        "outputs": [_value(value) for value in graph.graph.output],
    }


def _value(value, kind=None):
    """Name, type and shape of an input or output; None stands for any number of rows."""
    from onnx import TensorProto

    tensor = value.type.tensor_type
    shape = [d.dim_value if d.HasField("dim_value") else None for d in tensor.shape.dim]
    described = {
        "name": value.name,
        "type": TensorProto.DataType.Name(tensor.elem_type).lower(),
        "shape": shape,
    }
    return {**described, "kind": kind} if kind else described


def _described(value):
    shape = " x ".join("n" if d is None else str(d) for d in value["shape"])
    note = ", days since 1970-01-01" if value.get("kind") == "date" else ""
    return f"{value['type']}, {shape}{note}"
