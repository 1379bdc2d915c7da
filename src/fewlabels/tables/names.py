"""Names of classes: which texts are one value, and which can't be the name of a class."""

import re
import unicodedata
from collections.abc import Iterable, Sequence

from .._util.messages import UserError, quoted
from ..data.labels.blanks import reads_as_blank

# What stands between words, and words that count: Roman numbers, and grades such as "AA".
_BETWEEN_WORDS = re.compile(r"[\s_./-]+")
_COUNTS = re.compile(r"[ivxlcdm]+|(\w)\1+")
# Letters of a word that can have typing errors.
_FEWEST_LETTERS = 3
_TRUTH = {text: name for name in ("True", "False") for text in (name.lower(), name.upper())}


def cell_text(text: str) -> str:
    """Return a text as tables write it: truth values are True and False, however typed."""
    return _TRUTH.get(text, text)


def parse_number(text: str) -> float | None:
    """Return the number that a text holds, or None."""
    try:
        # Python reads 1_000, which no other program would.
        return float(text) if "_" not in text else None
    except ValueError:
        return None


def value_key(text: str, merge_case: bool = False) -> str | float:
    """Return one key for texts of one value: "1" and "1.0", " a" and "a", perhaps "A" and "a"."""
    number = parse_number(text)
    if number is not None:
        return number
    return _fold_case(text) if merge_case else text.strip()


def _fold_case(text: str) -> str:
    """Return a text in small letters, with single spaces and one form of each letter."""
    for _ in range(2):  # small letters of capitals may have other ways again
        text = unicodedata.normalize("NFKC", text).casefold()
    return " ".join(text.split())


def misspelling(text: str, usual: str) -> str:
    """Return how a name differs from a usual one if it may be that name, misspelt.

    Parameters
    ----------
    text, usual : str
        Two different names.

    Returns
    -------
    str
        "slip" for an added, a missing or two swapped letters, or other signs between words;
        "letter" for another letter, by which classes such as "nitrite" and "nitrate" differ as
        well; else "".
    """
    are_numbers = parse_number(text) is not None or parse_number(usual) is not None
    if are_numbers or value_key(text, True) == value_key(usual, True):
        return ""
    words, usuals = (_BETWEEN_WORDS.split(name.strip()) for name in (text, usual))
    joined = ["".join(map(_fold_case, all_words)) for all_words in (words, usuals)]
    if joined[0] == joined[1]:
        return "slip" if joined[0].isalpha() else ""
    pairs = list(zip(words, usuals, strict=False))
    differing = [pair for pair in pairs if _fold_case(pair[0]) != _fold_case(pair[1])]
    if len(words) != len(usuals) or len(differing) != 1:
        return ""
    one, other = differing[0]
    if not all(_is_word(word) for word in (one, other)):
        return ""
    return _classify_edit(_fold_case(one), _fold_case(other))


def _is_word(text: str) -> bool:
    """Return whether a text can have typing errors: a word, no code such as "imU" or "III"."""
    is_usual = text.islower() or text.isupper() or text[1:].islower()
    return text.isalpha() and is_usual and not _COUNTS.fullmatch(_fold_case(text))


def _classify_edit(one: str, other: str) -> str:
    """Return the kind of the one edit between two words, as ``misspelling`` names it."""
    short, long = sorted((one, other), key=len)
    start = next((k for k in range(len(short)) if short[k] != long[k]), len(short))
    if len(long) == len(short) + 1 and short[start:] == long[start + 1 :]:
        is_double = 0 < start and long[start] == long[start - 1]
        # A first letter may be a prefix, as in "typical" and "atypical".
        is_slip = is_double or (start > 0 and len(short) >= _FEWEST_LETTERS)
        return "slip" if is_slip and len(long) >= _FEWEST_LETTERS else ""
    if len(long) != len(short) or short == long:
        return ""
    if short[start + 1 :] == long[start + 1 :]:
        return "letter" if start > 0 and len(long) >= _FEWEST_LETTERS else ""
    swapped = short[start + 1 : start + 2] + short[start : start + 1] + short[start + 2 :]
    return "slip" if swapped == long[start:] and len(long) >= _FEWEST_LETTERS else ""


def check_class_names(names: Iterable[str], known: Sequence[str] = ()) -> list[str]:
    """Return new names of classes as tables write them; refuse names that would lose labels.

    Parameters
    ----------
    names : iterable of str
        Names that somebody gives.
    known : sequence of str
        Classes that there are. They are not checked.

    Returns
    -------
    list of str
        Each name once.

    Raises
    ------
    UserError
        A name reads as a blank cell, or differs from another one in nothing but its spelling.
    """
    taken = {value_key(cell_text(name), True): name for name in known}
    found = []
    for name in dict.fromkeys(cell_text(name.strip()) for name in names):
        if reads_as_blank(name):
            raise UserError(
                f"{quoted(name)} can't be the name of a class, because tables read it as a blank "
                "cell; choose another name."
            )
        if name in known:
            found.append(name)
            continue
        other = taken.setdefault(value_key(name, True), name)
        if other != name:
            raise UserError(
                f"{quoted(name)} and the class {quoted(other)} are one value or differ only in "
                "case, spaces or Unicode form; use one spelling."
            )
        found.append(name)
    return found
