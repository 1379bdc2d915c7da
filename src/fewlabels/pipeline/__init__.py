"""Work on tables, as functions: what the command line runs.

``data`` are files, data frames of pandas or polars, or matrices. A ``model`` is a file or what
``fit_table`` returned. ``n_jobs`` are threads. Nothing is printed: an :class:`Observer` receives
the progress. What cannot be done raises a :class:`UserError` that says why.
"""

from importlib import import_module
from typing import TYPE_CHECKING

from .._util.extras import require
from .._util.messages import UserError
from .observer import Observer

if TYPE_CHECKING:
    from .encoder import TableEncoder
    from .explaining import explain
    from .exporting import export
    from .priors import prior
    from .scoring.score import score, score_file
    from .table import TableFit, fit_table, load
    from .training.fit import fit_file
    from .updating import update
    from .watching.watch import watch

# Imported on first use, since every job takes other libraries.
_HOMES = {
    "TableEncoder": "encoder",
    "TableFit": "table",
    "explain": "explaining",
    "export": "exporting",
    "fit_file": "training.fit",
    "fit_table": "table",
    "load": "table",
    "prior": "priors",
    "score": "scoring.score",
    "score_file": "scoring.score",
    "update": "updating",
    "watch": "watching.watch",
}

__all__ = [
    "Observer",
    "TableEncoder",
    "TableFit",
    "UserError",
    "explain",
    "export",
    "fit_file",
    "fit_table",
    "load",
    "prior",
    "score",
    "score_file",
    "update",
    "watch",
]


def __getattr__(name: str) -> object:
    if name in _HOMES:
        require(f"fewlabels.pipeline.{name}", "pandas", "pyarrow")
        return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
