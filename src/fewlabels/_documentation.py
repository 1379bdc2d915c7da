"""Paragraphs that many docstrings have, written once."""

import re
from textwrap import indent

_PLACE = re.compile(r"^( *)<(\w+)(?: (.+))?>$", re.MULTILINE)


def filled(doc, texts):
    """A docstring with ``texts[name]`` where a line says ``<name>``, or ``<name words>``."""
    if doc is None:  # python -OO
        return None

    def paragraph(match):
        spaces, name, words = match.groups()
        return indent(texts[name].format(words).strip("\n"), spaces)

    return _PLACE.sub(paragraph, doc)


def documented(texts):
    """Decorator that fills the docstring of a class or function."""

    def fill(thing):
        thing.__doc__ = filled(thing.__doc__, texts)
        return thing

    return fill
