"""Values that were given for options: checked, and in one form for both interfaces."""

import re
from collections.abc import Mapping
from numbers import Real

from .errors import UserError
from .option import declared
from .words import quote, ref

# A name, which may hold commas, and a number.
_NAMED = re.compile(r"([^=]+)=([^=,]+)(?:,|$)")


def refuse_unknown(schema, given):
    """Refuse names that are no options of a schema."""
    known = list(declared(schema))
    for name in given:
        if name not in known:
            from difflib import get_close_matches

            close = get_close_matches(name, known, n=1)
            hint = f"is {quote(close[0])} meant?" if close else f"there are {', '.join(known)}."
            raise UserError(f"Unknown option {quote(name)}; {hint}")


def checked(option, name, value):
    """The value of an option as the jobs use it, if it is allowed.

    Parameters
    ----------
    option : Option
        What the option allows.
    name : str
        Its name, for messages.
    value : object
        What was given; None if nothing was.

    Returns
    -------
    object
        The value. Texts on the command line become the numbers or constants that they stand for.

    Raises
    ------
    UserError
        The value isn't allowed.
    """
    if value is None:
        return None
    if isinstance(value, str):
        if option.words:
            return _word_or_number(option, name, value)
        if option.choices and value not in option.choices:
            allowed = f"{', '.join(option.choices[:-1])} or {option.choices[-1]}"
            raise UserError(f"Unknown {ref(name, text=value)}; choose {allowed}.")
        return value
    if option.by_name and not isinstance(value, Real):
        return _several(option, name, value)
    if option.range and not (isinstance(value, Real) and option.range.contains(value)):
        given = ref(name, value if isinstance(value, Real) else str(value))
        raise UserError(f"{given} is out of range; it must be {option.range.words}.")
    return value


def _word_or_number(option, name, text):
    if text in option.words:
        meaning = option.words[text]
        return text if meaning is None else meaning
    try:
        number = float(text)
    except ValueError:
        number = _numbers_of(text) if option.by_name else None
    if number is None:
        raise UserError(f"{ref(name, text=text)} is not valid; it must be {option.range.words}.")
    return checked(option, name, number)


def _numbers_of(text):
    """The numbers of a text such as "A=0.6,B=0.4" by name; None if it isn't one."""
    parts = _NAMED.findall(text)
    if ",".join(f"{key}={number}" for key, number in parts) != text:
        return None
    try:
        return {key.strip(): float(number) for key, number in parts} or None
    except ValueError:
        return None


def _several(option, name, values):
    """A dict of numbers, or a list of them; both may come from NumPy or pandas."""
    if isinstance(values, Mapping) or hasattr(values, "items"):
        return {key: checked(option, name, value) for key, value in values.items()}
    try:
        return [checked(option, name, value) for value in values]
    except TypeError:
        given = ref(name, text=values)
        raise UserError(f"{given} is not valid; it must be {option.range.words}.") from None


def names_of(names):
    """Names of columns, given one or several."""
    return (names,) if isinstance(names, str) else tuple(str(one) for one in names)
