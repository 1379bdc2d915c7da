"""Names of classes: which texts are one value, and which can't be the name of a class."""

import unicodedata
from collections.abc import Iterable, Sequence

from ..labels.blanks import reads_as_blank
from ..options.words import UserError, quoted

_TRUTH = {text: name for name in ("True", "False") for text in (name.lower(), name.upper())}


def cell_text(text: str) -> str:
    """A text as tables write it: truth values are True and False however they were typed."""
    return _TRUTH.get(text, text)


def number_of(text: str) -> float | None:
    """The number that a text is; None for other texts."""
    try:
        # Python reads 1_000, which no other program would.
        return float(text) if "_" not in text else None
    except ValueError:
        return None


def value_key(text: str, merge_case: bool = False) -> str | float:
    """Return one key for texts of one value: "1" and "1.0", " a" and "a", perhaps "A" and "a"."""
    number = number_of(text)
    if number is not None:
        return number
    return _folded(text) if merge_case else text.strip()


def _folded(text: str) -> str:
    """A text without capital letters, repeated spaces, and other ways to write its letters."""
    for _ in range(2):  # small letters of capitals may have other ways again
        text = unicodedata.normalize("NFKC", text).casefold()
    return " ".join(text.split())


def check_class_names(names: Iterable[str], known: Sequence[str] = ()) -> list[str]:
    """New names of classes as tables write them; those that would lose labels are refused.

    Parameters
    ----------
    names : iterable of str
        Names that somebody gives.
    known : sequence of str
        Classes that there are. They are not checked.

    Returns
    -------
    list of str
        Each name once.

    Raises
    ------
    UserError
        A name reads as a blank cell, or differs from another one in nothing but its spelling.
    """
    taken = {value_key(cell_text(name), True): name for name in known}
    found = []
    for name in dict.fromkeys(cell_text(name.strip()) for name in names):
        if reads_as_blank(name):
            raise UserError(
                f"{quoted(name)} can't be the name of a class, because tables read it as a blank "
                "cell; choose another name."
            )
        if name in known:
            found.append(name)
            continue
        other = taken.setdefault(value_key(name, True), name)
        if other != name:
            raise UserError(
                f"{quoted(name)} and the class {quoted(other)} are one value or differ only in "
                "case, spaces or Unicode form; use one spelling."
            )
        found.append(name)
    return found
