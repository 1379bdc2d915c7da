"""What an option is: its help, where it can be given, and which values it allows."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable, Iterable, Mapping
from difflib import get_close_matches
from numbers import Real
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple, Self, cast

from .messages import UserError, quoted, ref

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

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
# A name, which may hold commas, and a number.
_NAMED = re.compile(r"([^=]+)=([^=,]+)(?:,|$)")


class Range(NamedTuple):
    """Allowed numbers: ``contains`` checks one, and ``words`` describe them.

    The command line checks a smallest number, ``min``, itself.
    """

    words: str
    contains: Callable[[Any], bool]
    min: int | None = None


def at_least(least: int) -> Range:
    """Return the range of numbers from ``least`` on."""
    return Range(f"{least} or more", lambda value: value >= least, least)


class Option(NamedTuple):
    """An option, beside the name, type and default of its field.

    Parameters
    ----------
    help : str
        What it does, for the command line and for docstrings. Other options are named with
        :func:`~fewlabels._util.messages.ref`.
    group : str, default=""
        Its group in the help.
    unset : str, default=""
        What happens if it isn't given, where the field's default doesn't say so.
    metavar : str, default=""
        Its value in the help.
    flag, off : str, default=""
        Its flags, if they don't follow from its name.
    letter : str, default=""
        A short flag, such as "-o".
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
    letter: str = ""
    range: Range | None = None
    choices: tuple[str, ...] = ()
    words: Mapping[str, Any] = MappingProxyType({})
    by_name: bool = False
    accepts: str = ""
    is_parameter: bool = False
    is_recorded: bool = False
    shown: frozenset[str] = ANYWHERE

    def check_value(self, name: str, value: Any) -> Any:
        """Return a value that was given, as the jobs use it.

        Parameters
        ----------
        name : str
            The option's name, for messages.
        value : object
            What was given; None if nothing was.

        Returns
        -------
        object
            The value. Texts on the command line become the numbers or constants that they stand
            for.

        Raises
        ------
        UserError
            The value isn't allowed.
        """
        if value is None:
            return None
        if isinstance(value, str):
            if self.words:
                return self._word_or_number(name, value)
            if self.choices and value not in self.choices:
                allowed = f"{', '.join(self.choices[:-1])} or {self.choices[-1]}"
                raise UserError(f"Unknown {ref(name, text=value)}; choose {allowed}.")
            return value
        if self.by_name and not isinstance(value, Real):
            return self._check_several(name, value)
        if self.range and not (isinstance(value, Real) and self.range.contains(value)):
            given = ref(name, value if isinstance(value, Real) else str(value))
            raise UserError(f"{given} is out of range; it must be {self.range.words}.")
        return value

    def _word_or_number(self, name: str, text: str) -> object:
        if text in self.words:
            meaning = self.words[text]
            return text if meaning is None else meaning
        number: float | dict[str, float] | None
        try:
            number = float(text)
        except ValueError:
            number = _parse_numbers(text) if self.by_name else None
        if number is None:
            raise self._not_valid(name, text)
        return self.check_value(name, number)

    def _check_several(self, name: str, values: Any) -> dict[Any, Any] | list[Any]:
        """Return a dict of numbers, or a list of them; both may come from NumPy or pandas."""
        if isinstance(values, Mapping) or hasattr(values, "items"):
            return {key: self.check_value(name, value) for key, value in values.items()}
        try:
            return [self.check_value(name, value) for value in values]
        except TypeError:
            raise self._not_valid(name, values) from None

    def _not_valid(self, name: str, given: object) -> UserError:
        allowed = self.range.words if self.range else ""
        return UserError(f"{ref(name, text=given)} is not valid; it must be {allowed}.")


def option(default: object, help: str, group: str = "", **details: Any) -> Any:
    """Declare an option: the default and metadata of a field of a dataclass."""
    return declare(default, Option(help, group, **details))


def declare(default: object, option: Option) -> Any:
    """Declare an option that is described already, such as one of another schema."""
    return dataclasses.field(default=default, metadata={"option": option})


def parameter(help: str, group: str = PARAMETERS, **details: Any) -> Any:
    """Declare a parameter of an estimator; None leaves the estimator's own default."""
    return option(None, help, group, is_parameter=True, **details)


class OptionRecord:
    """Base of the dataclasses whose fields are options: it checks the values that were given.

    None means that an option wasn't given.
    """

    def __post_init__(self) -> None:
        schema = cast("type[DataclassInstance]", type(self))
        for field in dataclasses.fields(schema):
            value, own = getattr(self, field.name), field.metadata["option"]
            if value is None:
                value = field.default
            elif field.default == () and not isinstance(value, Mapping):
                value = as_names(value)
            elif field.type in (str | None, "str | None") and not own.is_parameter:
                value = str(value)
            object.__setattr__(self, field.name, own.check_value(field.name, value))

    @classmethod
    def from_given(cls, given: Mapping[str, Any]) -> Self:
        """Return the options that were given by name; refuse other names."""
        refuse_unknown(cast("type[DataclassInstance]", cls), given)
        return cls(**given)


def options_of_schema(schema: type[DataclassInstance]) -> dict[str, Option]:
    """Return the options of a dataclass by name, its own before those that it inherits."""
    inherited = [
        name
        for base in schema.__bases__
        if dataclasses.is_dataclass(base)
        for name in options_of_schema(base)
    ]
    known = {field.name: field for field in dataclasses.fields(schema)}
    order = [name for name in known if name not in inherited] + inherited
    return {name: known[name].metadata["option"] for name in order}


def given_options(options: object, names: Iterable[str]) -> dict[str, Any]:
    """Return the values of some options by name, without options that were not given."""
    values = {name: getattr(options, name) for name in names}
    return {name: value for name, value in values.items() if value is not None}


def help_text(option: Option) -> str:
    """Return the help of an option, and what happens if it isn't given."""
    return f"{option.help} (default: {option.unset})" if option.unset else option.help


def refuse_unknown(schema: type[DataclassInstance], given: Iterable[str]) -> None:
    """Refuse names that are no options of a schema."""
    known = list(options_of_schema(schema))
    for name in given:
        if name not in known:
            close = get_close_matches(name, known, n=1)
            hint = f"is {quoted(close[0])} meant?" if close else f"there are {', '.join(known)}."
            raise UserError(f"Unknown option {quoted(name)}; {hint}")


def as_names(names: str | Iterable[object]) -> tuple[str, ...]:
    """Return names of columns, given one or several."""
    return (names,) if isinstance(names, str) else tuple(str(one) for one in names)


def _parse_numbers(text: str) -> dict[str, float] | None:
    """Return the numbers of a text such as "A=0.6,B=0.4" by name; None if it isn't one."""
    parts = _NAMED.findall(text)
    if ",".join(f"{key}={number}" for key, number in parts) != text:
        return None
    try:
        return {key.strip(): float(number) for key, number in parts} or None
    except ValueError:
        return None
