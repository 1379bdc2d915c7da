"""How to use a model, as code to copy."""

from __future__ import annotations

import shlex
from pathlib import Path

from ..io.paths import TABLES, input_format


def usage(metadata, model_path, file, findings):
    """Commands and Python for a model.

    Parameters
    ----------
    metadata : dict
        What the model says of itself.
    model_path : path-like
        The model file.
    file : TrainingFile
        What it was fitted to.
    findings : Findings
        What was found.

    Returns
    -------
    list of (str, str)
        What it does, and the code.
    """
    model, data = Path(model_path).name, Path(file.path).name
    form = input_format(file.path)
    suffix = "".join(Path(file.path).suffixes[-2:]) if form in TABLES else Path(data).suffix
    new, quoted = f"new{suffix}", shlex.quote(model)
    code = [("Score new rows", f"fewlabels predict {quoted} {new} -o scored.csv")]
    if findings.rankings and len(findings.rankings[0].rows):
        row = int(findings.rankings[0].rows["row"].iloc[0])
        code.append((
            "Why a row has its score",
            f"fewlabels explain {quoted} {shlex.quote(data)} --row {row}",
        ))  # fmt: skip
    if metadata["training"].get("rows_held"):
        code.append((
            "Add rows, with or without labels, without fitting anew",
            f"fewlabels update {quoted} more{suffix}",
        ))  # fmt: skip
    code.append(("See what the model holds", f"fewlabels inspect {quoted}"))
    code.append(("From Python", _python(model, new, form)))
    return code


def _python(model, new, form):
    lines = ["from fewlabels.io.models import load_model", ""]
    lines.append(f"model, schema, facts = load_model({model!r})")
    if form in TABLES:
        reader = "parquet" if form == "parquet" else "csv"
        separator = ', sep="\\t"' if form == "tsv" else ""
        lines[0:0] = ["import pandas as pd"]
        lines.append(f'rows = pd.read_{reader}("{new}"{separator})')
    else:
        lines.append("# rows: a matrix with the columns of the training file")
    lines.append("scores = model.decision_function(rows)")
    return "\n".join(lines)
