"""``fewlabels inspect``: what is in a model."""

from typing import Annotated, Any

import typer

from ..pipeline import summary
from ..pipeline.formatting import size
from . import show
from .options import Model
from .show import say


def inspect(
    model: Model,
    json: Annotated[bool, typer.Option("--json", help="Print as JSON.")] = False,
) -> None:
    """Show what a model contains: its results, settings and columns."""
    from ..tables.models.files import damaged_model_error, read_header  # slow to import

    metadata, n_bytes = read_header(model)
    if json:
        show.print_json(metadata)
        return
    try:
        parts, notes, columns = _describe_model(metadata, n_bytes)
    except (ArithmeticError, LookupError, TypeError, ValueError, AttributeError) as error:
        raise damaged_model_error(model) from error
    say(f"{model}: {metadata['method']}, created {metadata['created']}")
    show.print_sections(parts)
    for message in notes:
        say(f"  note: {message}")
    if columns:
        say("Columns")
        show.print_pairs(columns)


def _describe_model(
    metadata: dict[str, Any], n_bytes: int
) -> tuple[dict[str, list[tuple[str, Any]]], list[str], list[tuple[str, str]]]:
    """Return titled lines, notes and columns of a model file."""
    versions = ", ".join(f"{name} {value}" for name, value in metadata["versions"].items())
    parameters = ", ".join(f"{k}={v}" for k, v in metadata["parameters"].items() if v is not None)
    training = metadata["training"]
    parts = {
        "Result": summary.answer(metadata),
        "How it was fitted": [
            ("data", training["data"]),
            ("target", training["target"]),
            ("normal value", training.get("normal")),
            *summary.details(metadata),
            ("search", _describe_search(training.get("tuning"))),
            ("parameters", parameters),
        ],
        "File": [
            ("format", metadata["format_version"]),
            ("size", size(n_bytes)),
            ("written by", versions),
        ],
    }
    columns = [
        (column["name"], _describe_kind(column)) for column in metadata["schema"]["columns"]
    ]
    return parts, list(training["notes"]), columns


def _describe_search(tuning: dict[str, Any] | None) -> str | None:
    if not tuning:
        return None
    n, scored = tuning["candidates"], tuning["scored"]
    of_all = f"{n:,}" if scored == n else f"{scored:,} of {n:,}"
    fits = f"{tuning['fits']:,} fit{'' if tuning['fits'] == 1 else 's'}"
    tried = f"{of_all} settings tried in {fits}"
    return f"{tried}, ended by {tuning['stopped']}" if tuning["stopped"] else tried


def _describe_kind(column: dict[str, Any]) -> str:
    if column["kind"] == "text":
        return f"text, {column['words']:,} terms"
    if column["kind"] != "category":
        return column["kind"]
    return f"category, {column['categories']} values"
