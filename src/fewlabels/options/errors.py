"""The exception that reaches the user as a sentence."""

import unicodedata

from .words import Message, named_in, template

# Controls, halves of characters, and ends of lines and paragraphs; and what turns text around.
_STEERING = frozenset({"Cc", "Cs", "Zl", "Zp"})
_TURNING = frozenset("\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")


class UserError(Exception):
    """What was given cannot be used; the message says what is wrong and what to do.

    As text, it names options as arguments. ``fewlabels.options.flags.as_flags(error)`` is the
    message for the command line, and ``options`` are the names of the options in it.
    """

    def __init__(self, message=""):
        message = printable(template(message))
        if message.startswith("the "):  # data frame, matrix
            message = "T" + message[1:]
        super().__init__(Message(message))

    @property
    def options(self):
        return named_in(self)


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
