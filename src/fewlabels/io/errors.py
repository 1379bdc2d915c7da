"""The exceptions that reach the user as a sentence."""

from ..options.words import Message, UserError, printable
from ..options.words import quote as quoted

__all__ = [
    "Interrupted",
    "UserError",
    "listing",
    "meant",
    "plural",
    "printable",
    "quoted",
]


class Interrupted(KeyboardInterrupt):
    """Ctrl-C, with a sentence on what it left behind."""

    def __init__(self, message=""):
        super().__init__(Message(message))


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
