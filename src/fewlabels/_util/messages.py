"""Messages: their words, the options that they name, and the exceptions that carry them.

An option is a flag on the command line and an argument in Python. Whoever writes a message names
it with :func:`ref`, and doesn't know where the message will be read. Whoever shows it renders it,
with :func:`as_arguments` or with ``as_flags`` (``pipeline/options/flags.py``). Until then the
option stands in the text between two characters that no other text has. A :class:`UserError`
carries such a message.
"""

from __future__ import annotations

import dataclasses
import re
import unicodedata
from collections.abc import Callable, Collection, Iterable
from difflib import get_close_matches
from typing import Any, NamedTuple, Self

# Private characters around an option in a message, and between its fields.
_START = "\ue000"
_BETWEEN = "\ue001"
_END = "\ue002"
# Stands for an option without a value.
_NO_VALUE = object()
# Controls, halves of characters, and ends of lines and paragraphs; and what turns text around.
_STEERING = frozenset({"Cc", "Cs", "Zl", "Zp"})
_TURNING = frozenset("\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")
# Texts between quotes, also where an apostrophe comes before them.
_QUOTED = re.compile(r"(?='([^']+)')")
# What shares of several classes look like, on the command line and in Python.
CLASS_SHARES = ("A=0.6,B=0.3,C=0.1", "{'A': 0.6, 'B': 0.3, 'C': 0.1}")


class Reference(NamedTuple):
    """An option in a message, and its value on the command line and in Python ("" for none).

    A switch, which is a flag without a value, has a value in Python only.
    """

    name: str
    flag_value: str
    argument_value: str

    @property
    def as_argument(self) -> str:
        return f"{self.name}={self.argument_value}" if self.argument_value else self.name

    @property
    def as_setting(self) -> str:
        return f"{self.name} {self.flag_value or self.argument_value}".rstrip()


def ref(
    name: str,
    value: object = _NO_VALUE,
    *,
    text: object = None,
    some: str | list[str] | tuple[str, str] | None = None,
) -> str:
    """Return name an option in a message.

    Parameters
    ----------
    name : str
        The option's name, as in Python.
    value : bool, number, str, list, tuple or Ellipsis, optional
        Its value. A bool is a switch, and a list names columns. A tuple has several values, one of
        which is meant. Ellipsis stands for any number.
    text : str, optional
        A value that the user wrote, which is quoted.
    some : str, list of str or tuple of str, optional
        A value shown as it is, such as ``"SECONDS"``; a list for options that name columns, and a
        tuple if it is written differently on the command line and in Python.

    Returns
    -------
    str
        Part of a message.
    """
    if text is not None:
        flag = argument = quoted(text)
    elif some is not None:
        if isinstance(some, tuple):
            flag, argument = some
        else:
            flag = argument = some if isinstance(some, str) else some[0]
            argument = argument if isinstance(some, str) else f"[{argument}]"
    elif value is _NO_VALUE:
        flag = argument = ""
    elif isinstance(value, bool):
        flag, argument = "", str(value)
    elif value is ...:
        flag, argument = "NUMBER", "..."
    elif isinstance(value, tuple):
        first = ref(name, value[0])
        return " or ".join([first, *value[1:]])
    elif isinstance(value, list):
        flag = " ".join(quoted(one) for one in value)
        argument = f"[{', '.join(quoted(one) for one in value)}]"
    elif isinstance(value, str):
        flag, argument = value, f"'{value}'"
    else:
        flag = argument = f"{value:g}" if isinstance(value, float) else str(value)
    return _encode_reference(Reference(name, flag, argument))


def as_arguments(message: str | BaseException) -> str:
    """Return the message as a function's caller reads it."""
    return render(message, lambda option: option.as_argument)


def with_settings(message: str | BaseException, names: Collection[str]) -> str:
    """Name some options of a message as settings that nobody gave."""
    return render(message, lambda one: one.as_setting if one.name in names else None)


def render(message: str | BaseException, words: Callable[[Reference], str | None]) -> str:
    """Render each option of a message; options without words stay for the next reader."""
    shown = []
    for part in _split_message(template(message)):
        if isinstance(part, Reference):
            words_of_part = words(part)
            shown.append(_encode_reference(part) if words_of_part is None else words_of_part)
        else:
            shown.append(part)
    return "".join(shown)


def render_all(value: Any, words: Callable[[str], str]) -> Any:
    """Apply ``words`` to all texts of a value made of dicts, lists and dataclasses."""
    if isinstance(value, str):
        return words(value)
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        fields = {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
        return dataclasses.replace(value, **render_all(fields, words))
    if isinstance(value, dict):
        return {key: render_all(one, words) for key, one in value.items()}
    if isinstance(value, list | tuple):
        parts = [render_all(part, words) for part in value]
        return type(value)(*parts) if hasattr(value, "_fields") else type(value)(parts)
    return value


def referenced_options(message: str | BaseException) -> list[str]:
    """Return the names of the options in a message or an exception."""
    parts = _split_message(template(message))
    return [part.name for part in parts if isinstance(part, Reference)]


def _split_message(message: str) -> list[str | Reference]:
    """Return texts and references of a message, in its order."""
    before, *others = message.split(_START)
    found: list[str | Reference] = [before]
    for other in others:
        inside, end, after = other.partition(_END)
        fields = inside.split(_BETWEEN)
        if end and len(fields) == len(Reference._fields):
            found += [Reference(*fields), after]
        else:  # somebody else's characters
            found.append(_START + other)
    return found


def _encode_reference(reference: Reference) -> str:
    return f"{_START}{_BETWEEN.join(reference)}{_END}"


def quoted(name: object, most: int = 100) -> str:
    """Return a name or cell in quotes, cut where it is long."""
    name = str(name)
    return f"'{name}'" if len(name) <= most else f"'{name[: most - 3]}...'"


def listing(names: Iterable[object], limit: int = 8) -> str:
    """Quote names, only the first few: a wide table must not flood the terminal."""
    names = list(names)
    shown = ", ".join(map(quoted, names[:limit]))
    return shown if len(names) <= limit else f"{shown} and {len(names) - limit} more"


def suggest(name: object, names: Iterable[str]) -> str:
    """Return a question that suggests the most similar name; "" if none is similar."""
    folded: dict[str, str] = {}
    for known in names:
        folded.setdefault(" ".join(known.split()).casefold(), known)
    close = get_close_matches(" ".join(str(name).split()).casefold(), folded, n=1)
    return f" (is {quoted(folded[close[0]])} meant?)" if close else ""


def plural(count: int, noun: str) -> str:
    """``1 row``, ``2,000 rows``."""
    if count == 1:
        return f"1 {noun}"
    return f"{count:,} {noun[:-1]}ies" if noun.endswith("y") else f"{count:,} {noun}s"


def ordinal(number: int) -> str:
    """Return 1st, 2nd, 3rd, 4th."""
    is_teen = number % 100 in (11, 12, 13)
    ending = "th" if is_teen else {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    return f"{number}{ending}"


def printable(text: object) -> str:
    r"""Escape what could steer a terminal in the text of a file, such as ``\x1b``.

    Quoted names that differ in nothing but their Unicode form are escaped as well: they would look
    alike.
    """
    text = str(text)
    if text.isascii():
        return text if text.isprintable() else _escape(text)
    forms: dict[str, set[str]] = {}
    for name in _QUOTED.findall(text):
        forms.setdefault(unicodedata.normalize("NFC", name), set()).add(name)
    for alike in forms.values():
        for name in alike if len(alike) > 1 else ():
            text = text.replace(f"'{name}'", ascii(name))
    return _escape(text)


def _escape(text: str) -> str:
    return "".join(
        one.encode("unicode_escape").decode()
        if one in _TURNING or unicodedata.category(one) in _STEERING
        else one
        for one in text
    )


class Message(str):
    """A message of the library in Python's words; ``template`` is for other readers."""

    template: str

    def __new__(cls, template: str) -> Self:
        self = super().__new__(cls, as_arguments(template))
        self.template = str(template)
        return self


def template(message: str | BaseException) -> str:
    """Return the text of a message or an exception in which options aren't rendered yet."""
    if isinstance(message, BaseException):
        first = message.args[0] if message.args else ""
        message = first if isinstance(first, Message) else str(message)
    return message.template if isinstance(message, Message) else str(message)


class UserError(Exception):
    """Input that can't be used; the message says what is wrong and what to do.

    As text, it names options as arguments. ``fewlabels.pipeline.options.flags.as_flags(error)``
    is the message for the command line, and ``options`` are the names of the options in it.
    """

    def __init__(self, message: str | BaseException = "") -> None:
        message = printable(template(message))
        if message.startswith("the "):  # data frame, matrix
            message = "T" + message[1:]
        super().__init__(Message(message))

    @property
    def options(self) -> list[str]:
        return referenced_options(self)


class Interrupted(KeyboardInterrupt):
    """Ctrl-C, with a sentence on what it left behind."""

    def __init__(self, message: str = "") -> None:
        super().__init__(Message(message))
