"""Requests of the page: typed values, checked before anything is done with them.

Among them are names that people type: of classes, of themselves and of their answers.
"""

import json
from collections.abc import Iterable, Sequence
from dataclasses import MISSING, dataclass, fields
from types import NoneType, UnionType
from typing import Any, Self, get_args, get_type_hints

from .._util.messages import UserError
from ..tables.names import check_class_names

_NAMES = {str: "text", int: "a whole number", float: "a number", NoneType: "null"}


@dataclass(frozen=True)
class Request:
    """A request's values. Those without a default must be there; others may be missing."""

    @classmethod
    def of_json(cls, body: str | bytes) -> Self:
        """Read the request from a JSON object, whose other values are ignored."""
        try:
            values = json.loads(body)
        except (ValueError, RecursionError):
            values = None
        if not isinstance(values, dict):
            raise UserError("The request is not a JSON object.")
        kinds = get_type_hints(cls)
        checked = {}
        for field in fields(cls):
            if field.name not in values and field.default is MISSING:
                raise UserError(f"The request has no {field.name!r}.")
            value = values.get(field.name, field.default)
            allowed = _kinds(kinds[field.name])
            if type(value) not in allowed:  # not isinstance: true is no number
                words = " or ".join(_NAMES[kind] for kind in allowed)
                raise UserError(
                    f"The {field.name!r} of the request is {value!r:.40}, not {words}."
                )
            checked[field.name] = value
        return cls(**checked)


def _kinds(hint: Any) -> tuple[type, ...]:
    return get_args(hint) if isinstance(hint, UnionType) else (hint,)


@dataclass(frozen=True)
class AnswerRequest(Request):
    """An answer about a row."""

    id: str
    annotator: str
    row: int
    kind: str
    label: str | None = None


@dataclass(frozen=True)
class UndoRequest(Request):
    """A request to undo the newest answer of somebody."""

    id: str
    annotator: str


@dataclass(frozen=True)
class ClassRequest(Request):
    """A new class."""

    name: str
    annotator: str = "me"


@dataclass(frozen=True)
class FinishRequest(Request):
    """A request to fit a model to the labels."""


def row_of(text: str, n_rows: int) -> int:
    """Return the number of a row in an address."""
    if not (text.isascii() and text.isdigit() and len(text) <= len(str(n_rows))):
        row = None
    else:
        row = int(text)
    if row is None or row >= n_rows:
        raise UserError(f"There is no row {text[:40]}; rows are 0 to {n_rows - 1}.")
    return row


def rate_of(text: str) -> float:
    """Return the false discovery rate in an address."""
    try:
        rate = float(text)
    except ValueError:
        rate = -1.0
    if not 0 < rate < 1:
        raise UserError("The false discovery rate must be a number between 0 and 1.")
    return rate


_LONGEST_NAME = 80


class InvalidAnswer(UserError):
    """An answer that cannot be taken, and why."""


def check_names(names: Iterable[object], known: Sequence[str] = ()) -> list[str]:
    """Return class names as tables write them, and refuse those that a fit would lose.

    ``known`` are the classes that there are.
    """
    texts = [str(name).strip() for name in names]
    for name in texts:
        if not name or len(name) > _LONGEST_NAME or not name.isprintable():
            raise InvalidAnswer(
                f"{name!r:.90} is not a valid class name; use 1 to {_LONGEST_NAME} "
                "printable characters."
            )
    return check_class_names(texts, known)


def check_text(what: str, text: object) -> None:
    """Refuse names of people and answers that are none."""
    if not isinstance(text, str) or not 0 < len(text) <= _LONGEST_NAME or not text.isprintable():
        raise InvalidAnswer(
            f"{text!r:.90} is not a valid {what}; use 1 to {_LONGEST_NAME} printable characters."
        )
