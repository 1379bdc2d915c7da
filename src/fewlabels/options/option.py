"""What an option is: its help, its range, and where it can be given."""

import dataclasses
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

# Groups of options in the help, in its order; those in DETAILED appear with --help-all only.
ROWS = "Rows and columns"
COLUMNS = "Columns in detail"
MODEL = "Model"
PARAMETERS = "Model parameters"
TIME = "Time and report"
LIMITS = "Limits"
READING = "Reading text files"
CLUSTER = "Cluster"
OUTPUT = "Output in detail"
DETAILED = frozenset({COLUMNS, PARAMETERS, LIMITS, READING, CLUSTER, OUTPUT})

ANYWHERE = frozenset({"command line", "python"})
PYTHON = frozenset({"python"})


# Where dataclasses keep their fields.
_FIELDS = "__dataclass_fields__"


class Range(NamedTuple):
    """Allowed numbers: ``contains`` checks one, and ``words`` describe them."""

    words: str
    contains: Callable[[float], bool]


class Option(NamedTuple):
    """An option, beside the name, type and default of its field.

    Parameters
    ----------
    help : str
        What it does, for the command line and for docstrings. Other options are named with
        :func:`~fewlabels.options.words.ref`.
    group : str, default=""
        Its group in the help.
    unset : str, default=""
        What happens if it isn't given, where the field's default doesn't say so.
    metavar : str, default=""
        Its value in the help.
    flag, off : str, default=""
        Its flags, if they don't follow from its name.
    range : Range, default=None
        The numbers that are allowed.
    choices : tuple of str, default=()
        The only texts that are allowed.
    words : mapping, default={}
        Texts that are allowed beside numbers, and the values that they stand for.
    by_name : bool, default=False
        Whether several numbers are allowed, too: texts such as ``"A=0.6,B=0.4"``, dicts and
        sequences. The range is for each.
    accepts : str, default=""
        Its type in docstrings, if the field's type doesn't say it well.
    is_parameter : bool, default=False
        Whether it is a parameter of an estimator. It applies to the estimators that have it.
    is_recorded : bool, default=False
        Whether the model file says what was asked for, besides the estimator's parameters.
    shown : frozenset, default=ANYWHERE
        Where it can be given: ``"command line"`` and ``"python"``.
    """

    help: str
    group: str = ""
    unset: str = ""
    metavar: str = ""
    flag: str = ""
    off: str = ""
    range: Range | None = None
    choices: tuple[str, ...] = ()
    words: Mapping[str, Any] = MappingProxyType({})
    by_name: bool = False
    accepts: str = ""
    is_parameter: bool = False
    is_recorded: bool = False
    shown: frozenset[str] = ANYWHERE


def option(default, help, group="", **details) -> Any:
    """Declare an option: the default and metadata of a field of a dataclass."""
    return dataclasses.field(default=default, metadata={"option": Option(help, group, **details)})


def parameter(help, group=PARAMETERS, **details) -> Any:
    """Declare a parameter of an estimator; None leaves the estimator's own default."""
    return option(None, help, group, is_parameter=True, **details)


def declared(schema):
    """The options of a dataclass by their names; its own come before those that it inherits."""
    inherited = [one for base in schema.__bases__ for one in getattr(base, _FIELDS, ())]
    known = {field.name: field for field in dataclasses.fields(schema)}
    order = [name for name in known if name not in inherited] + inherited
    return {name: known[name].metadata["option"] for name in order}


def explained(option):
    """The help of an option, and what happens if it isn't given."""
    return f"{option.help} (default: {option.unset})" if option.unset else option.help
