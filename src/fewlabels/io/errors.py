"""The exceptions that reach the user as a sentence."""

import unicodedata

# Controls, halves of characters, and ends of lines and paragraphs; and what turns text around.
_STEERING = frozenset({"Cc", "Cs", "Zl", "Zp"})
_TURNING = frozenset("\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")


class UserError(Exception):
    """What was given cannot be used; the message says what is wrong and what to do."""

    def __init__(self, message=""):
        super().__init__(printable(message))


class Interrupted(KeyboardInterrupt):
    """Ctrl-C, with a sentence on what it left behind."""


def printable(text):
    r"""Text of a file with what could steer a terminal written out, such as ``\x1b``."""
    text = str(text)
    if text.isascii() and text.isprintable():
        return text
    return "".join(
        one.encode("unicode_escape").decode()
        if one in _TURNING or unicodedata.category(one) in _STEERING
        else one
        for one in text
    )


def quoted(name, most=100):
    """A name or cell in quotes, cut where it is long."""
    name = str(name)
    return f"'{name}'" if len(name) <= most else f"'{name[: most - 3]}...'"


def listing(names, limit=8):
    """Quote names, only the first few: a wide table must not flood the terminal."""
    names = list(names)
    shown = ", ".join(map(quoted, names[:limit]))
    return shown if len(names) <= limit else f"{shown} and {len(names) - limit} more"


def meant(name, names):
    """A question that names the one of some names that is most like another; "" if none is."""
    from difflib import get_close_matches

    folded = {}
    for known in names:
        folded.setdefault(" ".join(known.split()).casefold(), known)
    close = get_close_matches(" ".join(str(name).split()).casefold(), folded, n=1)
    return f" (is {quoted(folded[close[0]])} meant?)" if close else ""


def plural(count, noun):
    """``1 row``, ``2 rows``."""
    if count == 1:
        return f"1 {noun}"
    return f"{count} {noun[:-1]}ies" if noun.endswith("y") else f"{count} {noun}s"
