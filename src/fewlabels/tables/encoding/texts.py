"""A column of texts as numbers: which words, pairs of words or characters occur in each."""

from __future__ import annotations

import contextlib
import re
import unicodedata
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.utils.validation import check_is_fitted

from ..._typing import ObjectArray

if TYPE_CHECKING:
    from sklearn.utils import Tags

WORDS, CHARACTERS = "words", "characters"
# Words and pairs of words, or parts of words.
_RANGES = {WORDS: (1, 2), CHARACTERS: (2, 4)}
# Letters and digits with the marks that some scripts put beside them, which are no letters to
# Python; of Latin letters and digits at least two.
_MARKS = "\u0300-\u036f\u0591-\u05bd\u0610-\u061a\u064b-\u065f\u0900-\u0963\u0970-\u0dff"
_WORD = re.compile(rf"[\w{_MARKS}]{{2,}}")
# Scripts that put no space between words: Thai to Burmese, Khmer, Chinese, Japanese.
_UNSPACED = re.compile("[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff]")
# Texts that decide on the unit.
_MAX_UNIT_TEXTS = 1000
# Texts that the words are taken from.
_MAX_FIT_TEXTS = 50_000
# Most columns; rarer words are left out.
_MAX_WORDS = 20_000
# From so many texts on a word has to occur in two of them.
_MIN_TEXTS_FOR_RARE_WORDS = 20
# Words in a larger share of the texts tell nothing.
_MAX_WORD_SHARE = 0.8
# Texts of fewer words, on average, are codes or names.
_MAX_CODE_WORDS = 2.0


class TextEncoder(TransformerMixin, BaseEstimator):
    """Texts as TF-IDF rows of length one: scikit-learn's, with limits that suit the texts.

    The ``unit`` is "words" (and pairs of words), "characters" (two to four within a word, for
    codes and scripts without spaces) or "auto". Words that occur in one text only, or nearly in
    all, are left out; a frequent word within a text counts by its logarithm. ``vocabulary_`` is
    one text with a word a line, so that model files stay small.

    Without a known word a text would be all 0, which is nearer to every text than most texts are.
    With ``mark`` a last column is 1 for such texts.
    """

    def __init__(self, unit: str = "auto", mark: bool = False) -> None:
        self.unit = unit
        self.mark = mark

    def fit(self, texts: Iterable[object], y: object = None) -> Self:
        texts = _sample_texts(texts, _MAX_FIT_TEXTS)
        self.unit_ = choose_unit(texts) if self.unit == "auto" else self.unit
        least = 2 if len(texts) >= _MIN_TEXTS_FOR_RARE_WORDS else 1
        limits = (self.unit_, least, _MAX_WORD_SHARE), (self.unit_, 1, 1.0), (CHARACTERS, 1, 1.0)
        for self.unit_, least, most in limits:  # until some word is left
            vectorizer = _make_vectorizer(
                self.unit_, min_df=least, max_df=most, max_features=_MAX_WORDS
            )
            with contextlib.suppress(ValueError):
                vectorizer.fit(texts)
                break
        else:
            raise ValueError("all texts are blank")
        self.vocabulary_ = "\n".join(vectorizer.get_feature_names_out())
        self.idf_ = vectorizer.idf_
        return self

    def transform(self, texts: Iterable[object]) -> sp.csr_array:
        check_is_fitted(self)
        words = self.words()
        vectorizer = _make_vectorizer(
            self.unit_, vocabulary={word: k for k, word in enumerate(words)}
        )
        vectorizer.idf_ = self.idf_
        found = vectorizer.transform(_to_texts(texts))
        if not self.mark:
            return found
        wordless = np.diff(sp.csr_array(found).indptr) == 0
        return sp.hstack([found, sp.csr_array(wordless[:, None].astype(float))], format="csr")

    def words(self) -> list[str]:
        """Return the words, pairs and parts that are known, in the order of the columns."""
        return self.vocabulary_.split("\n")

    def get_feature_names_out(self, input_features: npt.ArrayLike | None = None) -> ObjectArray:
        return np.array([*self.words(), *(["no known word"] if self.mark else [])], dtype=object)

    def new_words(self, texts: Iterable[object]) -> set[str]:
        """Return words of texts, or parts of them, that the encoder does not know; pairs aside."""
        parts = _make_vectorizer(self.unit_).build_analyzer()
        found = {part for text in _to_texts(texts) for part in parts(text)}
        return {part for part in found - set(self.words()) if " " not in part.strip()}

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.one_d_array = tags.input_tags.string = True
        tags.input_tags.two_d_array = False
        return tags


def choose_unit(texts: Iterable[object]) -> str:
    """Choose the unit of texts: "words", or "characters" of codes and of some scripts."""
    joined = " ".join(_sample_texts(texts, _MAX_UNIT_TEXTS))
    letters = sum(map(str.isalpha, joined))
    if 3 * len(_UNSPACED.findall(joined)) > letters:
        return CHARACTERS
    words = np.array(
        [len(text.split()) for text in _sample_texts(texts, _MAX_UNIT_TEXTS) if text.strip()]
    )
    return CHARACTERS if words.size and words.mean() < _MAX_CODE_WORDS else WORDS


def fold_text(text: str) -> str:
    """Return a text in small letters, with one way to write each."""
    return (text if text.isascii() else unicodedata.normalize("NFKC", text)).lower()


def find_words(text: str) -> list[tuple[int, int]]:
    """Return where the words of a text begin and end; every two characters without spaces."""
    if is_unspaced(text):
        return [(k, k + 2) for k in range(0, len(text) - 1, 2)]
    return [found.span() for found in _WORD.finditer(text)]


def is_unspaced(text: str) -> bool:
    """Return whether a third of a text's letters are of scripts without spaces between words."""
    return 3 * len(_UNSPACED.findall(text)) > sum(map(str.isalpha, text)) > 0


def _make_vectorizer(unit: str, **options: Any) -> TfidfVectorizer:
    return TfidfVectorizer(
        preprocessor=fold_text,
        token_pattern=None if unit == CHARACTERS else _WORD.pattern,
        analyzer="char_wb" if unit == CHARACTERS else "word",
        ngram_range=_RANGES[unit],
        sublinear_tf=True,
        **options,
    )


def _to_texts(texts: Iterable[object]) -> list[str]:
    return ["" if text is None or text != text else str(text) for text in texts]


def _sample_texts(texts: Iterable[object], most: int) -> list[str]:
    """Return texts, or as many of them drawn at random."""
    texts = _to_texts(texts)
    if len(texts) <= most:
        return texts
    rows = np.random.default_rng(0).choice(len(texts), most, replace=False)
    return [texts[row] for row in np.sort(rows)]
