"""Truth values: as people write them, and as 0/1 columns."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING, Self

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from ..._typing import FloatArray, ObjectArray, VectorLike
from ...data.labels.blanks import MISSING

if TYPE_CHECKING:
    import pandas as pd

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
_LETTERS = (str, str.upper, str.capitalize)


def are_truth_values(texts: Collection[str]) -> bool:
    """Return whether all texts are words for yes and no, and two of them make a pair."""
    if len(texts) > 2 * len(_WORDS):
        return False
    words = {text.strip().casefold() for text in texts}
    return words <= _WORDS and any(words.issuperset(pair) for pair in _PAIRS)


def parse_truth_values(texts: VectorLike) -> FloatArray:
    """Return 1 for yes, 0 for no, NaN for anything else."""
    import pandas as pd

    codes, different = pd.factorize(np.asarray(texts, dtype=object))
    values = [_VALUES.get(str(text).strip().casefold(), np.nan) for text in different]
    return np.array([*values, np.nan])[codes]


class TruthColumns(TransformerMixin, BaseEstimator):
    """Columns of yes and no as 1 and 0, and one more for each that has blanks, 1 where they are.

    A blank takes the value that is more frequent in training, and so does any other word. With
    ``mark=False`` there are no columns that mark blanks.
    """

    def __init__(self, mark: bool = True) -> None:
        self.mark = mark

    def fit(self, X: pd.DataFrame | ObjectArray, y: object = None) -> Self:
        values = _parse_columns(X)
        names = getattr(X, "columns", range(values.shape[1]))
        self.names_ = np.array([str(name) for name in names], dtype=object)
        self.usual_ = np.where(np.nanmean(values, axis=0) > 0.5, 1.0, 0.0)
        self.gaps_ = np.flatnonzero(np.isnan(values).any(axis=0))
        return self

    def transform(self, X: pd.DataFrame | ObjectArray) -> FloatArray:
        check_is_fitted(self)
        values = _parse_columns(X)
        missing = np.isnan(values)
        filled = np.where(missing, self.usual_, values)
        return np.column_stack([filled, missing[:, self.gaps_]]) if self.mark else filled

    def get_feature_names_out(
        self, input_features: Sequence[str] | ObjectArray | None = None
    ) -> ObjectArray:
        names = self.names_ if input_features is None else input_features
        flags = [f"missingindicator_{names[k]}" for k in self.gaps_.tolist() if self.mark]
        return np.array([*names, *flags], dtype=object)

    @staticmethod
    def spellings() -> list[list[str]]:
        """Return texts for no, and for yes, in small and capital letters."""
        return [
            list(dict.fromkeys(write(word) for word in words for write in _LETTERS))
            for words in (FALSE, TRUE)
        ]

    def known_texts(self, k: int) -> ObjectArray:
        """Return texts that are not new to a column; blanks are where training had none."""
        no, yes = self.spellings()
        return np.array([*no, *yes, *(MISSING if k in self.gaps_ else ())], dtype=object)


def _parse_columns(X: pd.DataFrame | ObjectArray) -> FloatArray:
    import pandas as pd

    X = pd.DataFrame(X)
    return np.column_stack([parse_truth_values(X.iloc[:, k]) for k in range(X.shape[1])])
