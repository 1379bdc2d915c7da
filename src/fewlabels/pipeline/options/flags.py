"""Flags of the command line, and messages that name them."""

from ..._util.messages import Reference, render
from .fit import FIT
from .score import SCORE_FILE
from .update import UPDATE
from .watch import WATCH

_ALL = WATCH | UPDATE | SCORE_FILE | FIT
# Arguments of functions for which an option has another name.
_OPTIONS = {"pos_label": "positive", "trusted": "trust"}


def flags(name: str) -> tuple[str, str]:
    """Return the flags that switch an option on and off."""
    name = _OPTIONS.get(name, name)
    option, plain = _ALL.get(name), name.replace("_", "-")
    on, off = (option.flag, option.off) if option else ("", "")
    return on or f"--{plain}", off or f"--no-{plain}"


def flag(reference: Reference) -> str:
    """Return an option of a message, as one types it."""
    on, off = flags(reference.name)
    if reference.flag_value:
        return f"{on} {reference.flag_value}"
    return off if reference.argument_value == "False" else on


def as_flags(message: str | BaseException) -> str:
    """Return a message, or the message of an exception, as the command line shows it."""
    return render(message, flag)
