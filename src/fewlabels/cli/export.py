"""``fewlabels export``: a model as an ONNX file, for programs without Python."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from .. import pipeline
from ..pipeline.formatting import size
from . import progress, show
from .options import Model, Quiet, SummaryAsJson, plain_option
from .show import say

Dtype = StrEnum("Dtype", ["float64", "float32"])


def export(
    model: Model,
    out: Annotated[
        Path,
        plain_option("-o", "--output", metavar="FILE", help="File to write, ending in .onnx."),
    ],
    dtype: Annotated[
        Dtype,
        typer.Option(
            help="Type of inputs and outputs. float32 is faster, but loses precision in columns "
            "far from zero, such as timestamps."
        ),
    ] = Dtype.float64,
    quiet: Quiet = False,
    json: SummaryAsJson = False,
) -> None:
    """Export a model as an ONNX graph, to score rows without Python.

    ```
    fewlabels export m.fewlabels -o m.onnx
    ```

    The graph's inputs are the table's columns, or a matrix X; its outputs are the score and the
    label of 'fewlabels predict'. Needs onnx: pip install "fewlabels[onnx]".
    """
    summary = pipeline.export(
        model,
        out,
        dtype="float32" if dtype is Dtype.float32 else "float64",
        observer=progress.Quiet(),
    )
    if show.print_summary(summary, json, quiet, summary["notes"]):
        say(f"{out}: {summary['method']} as an ONNX graph, {size(summary['bytes'])}")
        for title in ("inputs", "outputs"):
            say(f"{title}:")
            show.print_pairs((value["name"], _describe_value(value)) for value in summary[title])


def _describe_value(value: dict[str, Any]) -> str:
    shape = " x ".join("n" if d is None else str(d) for d in value["shape"])
    note = ", days since 1970-01-01" if value.get("kind") == "date" else ""
    return f"{value['type']}, {shape}{note}"
