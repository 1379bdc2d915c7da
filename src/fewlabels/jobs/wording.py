"""Messages name options of the command line; callers of functions have arguments instead."""

import contextlib
import re
import warnings

from ..io.models.machines import MACHINES
from .settings import known_names, option

# A value as estimators write it behind the name of an argument.
_ARGUMENT = re.compile(r"\b(\w+)=('[^']*'|\.\.\.|[-+.\d]+(?:e[-+]?\d+)?(?<!\.))")
# An option, and what follows it if that is a value and no word of the sentence.
_OPTION = re.compile(
    r"(?<![\w-])--(?P<name>[A-Za-z][A-Za-z-]*[A-Za-z]|C)(?: (?P<value>"
    r"'[^']*'|\"[^\"]*\"|[A-Z]{2,}\b|[-+]?\d*\.?\d+(?:e[-+]?\d+)?\b"
    rf"|(?:{'|'.join([*MACHINES, 'squared', 'linear', 'skip', 'none'])})(?![\w-])"
    r"|(?:(?<=--positive )|(?<=--normal ))\S+(?= (?:if|to) )))?"
)
_SWITCHES = ("clean", "maybe-dirty", "consolidate", "force", "skip-missing", "no-labels")
_SWITCHED = ("baselines", "header", "merge-case", "report", "rows", "scale")
_LISTS = ("categorical", "dates", "drop", "keep", "text")
_ARGUMENTS = {"bags": "n_bags", "seed": "random_state"}


def as_options(message, chosen=()):
    """What an estimator says of its arguments, in terms of options; ``chosen`` were not given."""

    def spoken(found):
        name, value = found.groups()
        if name not in known_names():
            return found.group()
        shown = name if name in chosen else option(name)
        return f"{shown} {'NUMBER' if value == '...' else value.strip(chr(39))}"

    return _ARGUMENT.sub(spoken, message)


def as_arguments(message):
    """What is said of options, in terms of arguments."""

    def spoken(found):
        name, value = found.group("name"), found.group("value")
        if name in _SWITCHES or name in _SWITCHED:
            return f"{name.replace('-', '_')}=True" + (f" {value}" if value else "")
        if name.removeprefix("no-") in _SWITCHED:
            return f"{name[3:]}=False" + (f" {value}" if value else "")
        name = _ARGUMENTS.get(name, name.replace("-", "_"))
        if value is None:
            return name
        if value[0] not in "'\"" and not re.fullmatch(r"[A-Z]+|[-+.\de]+", value):
            value = f"'{value}'"
        return f"{name}=[{value}]" if name in _LISTS else f"{name}={value}"

    return _OPTION.sub(spoken, message)


@contextlib.contextmanager
def listening(chosen=()):
    """Collect what estimators warn of, as :func:`as_options` says it, when the block is done."""
    messages = []
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        yield messages
    for warning in caught:
        message = as_options(str(warning.message), chosen).rstrip(".")
        if issubclass(warning.category, UserWarning) and message not in messages:
            messages.append(message)
