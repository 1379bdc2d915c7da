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
# Texts looked at to find out what they are, and those that the words are taken from.
_GLANCE, _MOST_TEXTS = 1000, 50_000
# Most columns; rarer words are left out.
_MOST_WORDS = 20_000
# From so many texts on a word has to occur in two of them; more frequent ones tell nothing.
_FEW, _MOST_FREQUENT = 20, 0.8
# Texts of fewer words, on average, are codes or names.
_CODES = 2.0


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
        texts = _some(texts, _MOST_TEXTS)
        self.unit_ = unit_of(texts) if self.unit == "auto" else self.unit
        least = 2 if len(texts) >= _FEW else 1
        limits = (self.unit_, least, _MOST_FREQUENT), (self.unit_, 1, 1.0), (CHARACTERS, 1, 1.0)
        for self.unit_, least, most in limits:  # until some word is left
            vectorizer = _vectorizer(
                self.unit_, min_df=least, max_df=most, max_features=_MOST_WORDS
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
        vectorizer = _vectorizer(self.unit_, vocabulary={word: k for k, word in enumerate(words)})
        vectorizer.idf_ = self.idf_
        found = vectorizer.transform(_as_list(texts))
        if not self.mark:
            return found
        wordless = np.diff(sp.csr_array(found).indptr) == 0
        return sp.hstack([found, sp.csr_array(wordless[:, None].astype(float))], format="csr")

    def words(self) -> list[str]:
        """The words, pairs and parts that are known, in the order of the columns."""
        return self.vocabulary_.split("\n")

    def get_feature_names_out(self, input_features: npt.ArrayLike | None = None) -> ObjectArray:
        return np.array([*self.words(), *(["no known word"] if self.mark else [])], dtype=object)

    def new_words(self, texts: Iterable[object]) -> set[str]:
        """Words of texts, or parts of them, that the encoder does not know; pairs aside."""
        parts = _vectorizer(self.unit_).build_analyzer()
        found = {part for text in _as_list(texts) for part in parts(text)}
        return {part for part in found - set(self.words()) if " " not in part.strip()}

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.one_d_array = tags.input_tags.string = True
        tags.input_tags.two_d_array = False
        return tags


def unit_of(texts: Iterable[object]) -> str:
    """What texts are best taken apart into: "words", or "characters" of scripts and codes."""
    joined = " ".join(_some(texts, _GLANCE))
    letters = sum(map(str.isalpha, joined))
    if 3 * len(_UNSPACED.findall(joined)) > letters:
        return CHARACTERS
    words = np.array([len(text.split()) for text in _some(texts, _GLANCE) if text.strip()])
    return CHARACTERS if words.size and words.mean() < _CODES else WORDS


def plain(text: str) -> str:
    """A text in small letters, with one way to write each."""
    return (text if text.isascii() else unicodedata.normalize("NFKC", text)).lower()


def spans(text: str) -> list[tuple[int, int]]:
    """Where the words of a text begin and end; without spaces between them, all two characters."""
    if is_unspaced(text):
        return [(k, k + 2) for k in range(0, len(text) - 1, 2)]
    return [found.span() for found in _WORD.finditer(text)]


def is_unspaced(text: str) -> bool:
    """Whether a third of a text's letters are of scripts without spaces between words."""
    return 3 * len(_UNSPACED.findall(text)) > sum(map(str.isalpha, text)) > 0


def _vectorizer(unit: str, **options: Any) -> TfidfVectorizer:
    return TfidfVectorizer(
        preprocessor=plain,
        token_pattern=None if unit == CHARACTERS else _WORD.pattern,
        analyzer="char_wb" if unit == CHARACTERS else "word",
        ngram_range=_RANGES[unit],
        sublinear_tf=True,
        **options,
    )


def _as_list(texts: Iterable[object]) -> list[str]:
    return ["" if text is None or text != text else str(text) for text in texts]


def _some(texts: Iterable[object], most: int) -> list[str]:
    """Texts, or as many of them drawn at random."""
    texts = _as_list(texts)
    if len(texts) <= most:
        return texts
    rows = np.random.default_rng(0).choice(len(texts), most, replace=False)
    return [texts[row] for row in np.sort(rows)]
