"""What a person wants done with a table, as functions: what the command line runs.

Tables are files, data frames of pandas or polars, or matrices. Nothing is printed: an
:class:`Observer` hears how a job goes on, and what cannot be done is a :class:`UserError` that
says why in a sentence.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from ..io.errors import UserError
from .observer import Observer

if TYPE_CHECKING:
    from .explaining import explain
    from .exporting import export
    from .priors import prior
    from .scoring import score, score_file
    from .table import TableFit, fit_table
    from .training.request import Request
    from .training.train import train, train_file
    from .updating import update

# Imported on first use, since every job takes other libraries.
_HOMES = {
    "Request": "training.request",
    "TableFit": "table",
    "explain": "explaining",
    "export": "exporting",
    "fit_table": "table",
    "prior": "priors",
    "score": "scoring",
    "score_file": "scoring",
    "train": "training.train",
    "train_file": "training.train",
    "update": "updating",
}

__all__ = [
    "Observer",
    "Request",
    "TableFit",
    "UserError",
    "explain",
    "export",
    "fit_table",
    "prior",
    "score",
    "score_file",
    "train",
    "train_file",
    "update",
]


def __getattr__(name):
    if name in _HOMES:
        return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__():
    return sorted(__all__)
