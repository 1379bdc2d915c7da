"""Truth values as people write them."""

import numpy as np

# The words for no and yes, by language and custom.
_WRITTEN = (
    "no yes",
    "n y",
    "false true",
    "f t",
    "off on",
    "nein ja",
    "n j",
    "falsch wahr",
    "aus an",
    "non oui",
    "faux vrai",
    "no si",
    "no sí",
    "no sì",
    "falso verdadero",
    "falso vero",
    "não sim",
    "nao sim",
    "falso verdadeiro",
    "nee ja",
    "onwaar waar",
    "nej ja",
    "nei ja",
    "nie tak",
    "ne ano",
    "ei kyllä",
    "нет да",
    "hayır evet",
    "いいえ はい",
    "否 是",
)
_PAIRS = tuple(tuple(pair.split()) for pair in _WRITTEN)
#: Words for no and yes, in small letters; numbers stand for them only beside such words.
FALSE = (*dict.fromkeys(no for no, _ in _PAIRS), "0")
TRUE = (*dict.fromkeys(yes for _, yes in _PAIRS), "1")
_VALUES = {**dict.fromkeys(FALSE, 0.0), **dict.fromkeys(TRUE, 1.0)}
_WORDS = {word for pair in _PAIRS for word in pair}


def are_truth_values(texts):
    """Whether all texts are words for yes and no, and two of them make a pair."""
    if len(texts) > 2 * len(_WORDS):
        return False
    words = {text.strip().casefold() for text in texts}
    return words <= _WORDS and any(words.issuperset(pair) for pair in _PAIRS)


def truth_of(texts):
    """1 for yes, 0 for no, NaN for anything else."""
    import pandas as pd

    codes, different = pd.factorize(np.asarray(texts, dtype=object))
    values = [_VALUES.get(str(text).strip().casefold(), np.nan) for text in different]
    return np.array([*values, np.nan])[codes]
