"""Names that people type: of classes, of themselves and of their answers."""

from collections.abc import Iterable, Sequence

from .._util.messages import UserError
from ..tables.names import check_class_names

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
