"""Values that were given for options: checked, and in one form for both interfaces."""

from numbers import Real

from .errors import UserError
from .option import declared
from .words import quote, ref

_COLUMNS = ()  # the default of options that name columns


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
        raise UserError(
            f"{ref(name, text=text)} is not valid; it must be {option.range.words}."
        ) from None
    return checked(option, name, number)


def names_of(names):
    """Names of columns, given one or several."""
    return (names,) if isinstance(names, str) else tuple(str(one) for one in names)
