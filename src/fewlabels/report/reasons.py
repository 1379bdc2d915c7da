"""Which columns and words drive the scores of rows, and tell them apart."""

import warnings
from collections.abc import Callable
from typing import Any, Self, TypeAlias

import numpy as np
import pandas as pd
import scipy.sparse as sp
from sklearn.pipeline import Pipeline

from .._typing import BoolArray, FloatArray, IntArray, RowMatrix
from ..calibration.curve import class_of
from ..inspection import explain
from ..inspection.words import word_changes
from ..tables.columns.schema import Schema
from ..tables.encoding.fit import text_columns, text_encoders
from ..tables.encoding.texts import find_words
from .contents import Excerpt
from .fit import Fit, InputRows, ReportRows
from .page import words

# Columns named per row, and the share of the largest contribution that is worth a name.
_MAX_COLUMNS_NAMED = 3
_MIN_SHARE_OF_LARGEST = 0.1
_BACKGROUND_ROWS = 100
# Explaining goes over all columns of the background, one by one: beyond, it takes minutes.
_MAX_COLUMNS = 10_000
# Rows that are explained before the clock is looked at.
_FIRST_BATCH = 1
# Words of a text that are named as a reason, and words that are marked in its excerpt.
_MAX_WORDS_NAMED = 4
_MAX_WORDS_MARKED = 6
# Characters of an excerpt.
_EXCERPT_LENGTH = 180


# What the report lacks when its time is up.
_CUT_REASONS = "no reasons for the scores of some rows"


# Words of a text, and what the score loses without each.
WordChanges: TypeAlias = list[tuple[str, float]]


class Reason(str):
    """Columns that drive a score, and excerpts of the row's texts by column."""

    __slots__ = ("excerpts",)
    excerpts: dict[str, Excerpt]

    def __new__(cls, text: str, excerpts: dict[str, Excerpt] | None = None) -> Self:
        self = super().__new__(cls, text)
        self.excerpts = excerpts or {}
        return self


def explain_rows(
    fit: Fit, rows: ReportRows, order: IntArray, direction: float | FloatArray
) -> list[Reason]:
    """Name up to three columns per row that push it towards one side, and their values.

    ``direction`` is 1 for what raises the score, -1 for what lowers it, 0 for both. Of texts the
    words are named that do. None are given when the time for the report is up.
    """
    if not len(order) or fit.found.rows.shape[1] > _MAX_COLUMNS:
        return [Reason("")] * len(order)
    directions = np.broadcast_to(np.asarray(direction, dtype=float), len(order))
    answers: list[Reason] = []
    usual_values: dict[str, Any] = {}
    size = _FIRST_BATCH if fit.deadline.has_end else len(order)
    while len(answers) < len(order) and not fit.deadline.is_over():
        left, done = fit.deadline.left(), len(answers)
        part = slice(done, done + size)
        answers += _explain(fit, rows, order[part], directions[part], usual_values)
        if fit.deadline.has_end:
            pace = (len(answers) - done) / max(left - fit.deadline.left(), 1e-6)
            size = max(1, min(len(order), int(pace * fit.deadline.left())))
    if len(answers) == len(order):
        return answers
    if _CUT_REASONS not in fit.deadline.cut:
        fit.deadline.cut.append(_CUT_REASONS)
    rest, names = _select_rows(rows.inputs, order[len(answers) :]), _text_columns(fit)
    return answers + [
        Reason("", {name: make_excerpt(_cell(rest, name, k), []) for name in names})
        for k in range(len(order) - len(answers))
    ]


def _explain(
    fit: Fit,
    rows: ReportRows,
    order: IntArray,
    directions: FloatArray,
    usual_values: dict[str, Any],
) -> list[Reason]:
    """Return the reasons of some rows; ``usual_values`` of the columns are computed once."""
    model = Pipeline([("columns", fit.encoder), ("model", fit.estimator)])
    trained = fit.found.rows
    background = _select_rows(trained, _choose_background(trained))
    with warnings.catch_warnings():
        # A matrix with gaps goes in as a table, whose names are new to the model.
        warnings.filterwarnings("ignore", ".*feature names", UserWarning)
        found = explain(
            model, _as_frame(_select_rows(rows.inputs, order)), background=_as_frame(background)
        )
    contributions = found.contributions
    names = list(found.columns)
    texts = _measure_word_changes(fit, model, _select_rows(rows.inputs, order))
    answers = []
    for k, (row, values, side) in enumerate(zip(order, contributions, directions, strict=True)):
        strength = values * side if side else np.abs(values)
        best = np.argsort(-strength, kind="stable")[:_MAX_COLUMNS_NAMED]
        least = max(_MIN_SHARE_OF_LARGEST * strength[best[0]], np.finfo(float).tiny)
        chosen = [j for j in best if strength[j] > least]
        reason = "; ".join(
            _describe_text(names[j], texts[names[j]][k], side)
            if names[j] in texts
            else _describe_value(trained, rows.inputs, names[j], j, row, usual_values)
            for j in chosen
        )
        excerpts = {
            name: make_excerpt(_cell(rows.inputs, name, row), changes[k])
            for name, changes in texts.items()
        }
        answers.append(Reason(reason, excerpts))
    return answers


def _measure_word_changes(
    fit: Fit, model: Pipeline, rows: InputRows
) -> dict[str, list[WordChanges]]:
    """Measure how the words of texts change the score, by column and row."""
    return {
        name: word_changes(model.decision_function, rows, name, find_words)
        for name in _text_columns(fit)
    }


def _text_columns(fit: Fit) -> list[str]:
    return [c["name"] for c in fit.metadata["schema"]["columns"] if c["kind"] == "text"]


def _describe_text(name: str, changes: WordChanges, side: float) -> str:
    """Name the words of a text that push a row towards a side."""
    pushing = [word for word, change in changes if change * (side or np.sign(change)) > 0]
    if not pushing:
        return f"{name} as a whole" if changes else f"{name} is blank"
    return f"{name} has {words.listing(repr(word) for word in pushing[:_MAX_WORDS_NAMED])}"


def make_excerpt(text: object, changes: WordChanges) -> Excerpt:
    """Return a part of a text around the word that matters most, with such words marked."""
    text = text if isinstance(text, str) else ""
    places = [(*place, text[slice(*place)].lower()) for place in find_words(text)]
    strongest = max((abs(change) for _, change in changes), default=0.0)
    sides = {
        word: int(np.sign(change))
        for word, change in changes[:_MAX_WORDS_MARKED]
        if abs(change) > _MIN_SHARE_OF_LARGEST * strongest
    }
    first = next((start for start, _, word in places if changes and word == changes[0][0]), 0)
    begin = max(0, min(first - _EXCERPT_LENGTH // 3, len(text) - _EXCERPT_LENGTH))
    end = min(len(text), begin + _EXCERPT_LENGTH)
    pieces, at = [("... ", 0)] if begin else [], begin
    for start, stop, word in places:
        if start >= begin and stop <= end and word in sides:
            pieces += [(text[at:start], 0), (text[start:stop], sides[word])]
            at = stop
    pieces.append((text[at:end], 0))
    pieces += [(" ...", 0)] if end < len(text) else []
    return Excerpt(tuple((" ".join(p.split("\n")), side) for p, side in pieces if p))


def _choose_background(rows: InputRows) -> IntArray:
    n = rows.shape[0]
    if n <= _BACKGROUND_ROWS:
        return np.arange(n)
    return np.sort(np.random.default_rng(0).choice(n, _BACKGROUND_ROWS, replace=False))


def _select_rows(rows: InputRows, order: IntArray) -> InputRows:
    return rows.iloc[order] if isinstance(rows, pd.DataFrame) else rows[order]


def _cell(rows: InputRows, name: str, row: int) -> Any:
    """Return a cell of a table by its column and its row."""
    assert isinstance(rows, pd.DataFrame)
    return rows[name].iloc[row]


def _as_frame(rows: InputRows) -> InputRows:
    return pd.DataFrame(rows) if isinstance(rows, np.ndarray) else rows


def _describe_value(
    trained: InputRows, rows: InputRows, name: str, j: int, row: int, usual_values: dict[str, Any]
) -> str:
    """Describe a row's value of a column, and the usual value in training."""
    if not isinstance(rows, pd.DataFrame):
        value = _matrix_column(rows[[row]], j)[0]
        return _describe_number(
            f"column {j + 1}",
            value,
            usual_values,
            lambda: np.nanmedian(_matrix_column(trained, j)),
        )
    assert isinstance(trained, pd.DataFrame)
    column, value = trained[name], _cell(rows, name, row)
    if pd.api.types.is_numeric_dtype(column):
        return _describe_number(name, value, usual_values, column.median)
    if name not in usual_values:
        usual_values[name] = column.value_counts(normalize=True, dropna=False)
    if value is None or value != value or value == "":
        return f"{name} is blank"
    return (
        f"{name} is {value} (in {words.percent(usual_values[name].get(value, 0.0))} of the rows)"
    )


def _matrix_column(rows: RowMatrix, j: int) -> FloatArray:
    column = rows[:, [j]]
    return column.toarray()[:, 0] if hasattr(column, "toarray") else np.ravel(column)


def _describe_number(
    name: str, value: float, usual_values: dict[str, Any], median: Callable[[], float]
) -> str:
    if name not in usual_values:
        usual_values[name] = float(median())
    if value != value:
        return f"{name} is missing (median {words.number(usual_values[name])})"
    return f"{name} is {words.number(value)} (median {words.number(usual_values[name])})"


# -- words that tell kinds of rows apart --------------------------------------------------------

# Words shown of each kind of rows.
_MAX_WORDS_SHOWN = 12
# Rows that a kind needs to have distinctive words, and rows that need to contain such a word.
_MIN_ROWS = 3
# Standard errors that a word's weight in rows of one kind is above that in all others.
_MIN_STANDARD_ERRORS = 3.0


def find_distinctive_words(fit: Fit, sides: tuple[str, str]) -> list[tuple[str, str]]:
    """Return names of kinds of rows with the words that they have more of.

    ``sides`` are the names of the rows below and above the threshold. Where hardly any row is
    above, those with a label are taken for them.
    """
    encoders = text_encoders(fit.encoder, Schema.from_dict(fit.metadata["schema"]))
    if not encoders:
        return []
    # Few words in every row leave the encoded rows dense.
    X = sp.csr_array(fit.X[fit.scored_rows][:, text_columns(fit.encoder, fit.X.shape[1])])
    frequent = len(encoders) > 1
    names = np.array(
        [
            f"{name}: {word}" if frequent else word
            for name, one in encoders.items()
            for word in one.words()
        ]
    )
    answers = []
    for name, rows in _split_rows(fit, sides):
        if min(rows.sum(), (~rows).sum()) >= _MIN_ROWS:
            words = names[_rank_words(X, rows)]
            if len(words):
                answers.append((name, ", ".join(words)))
    return answers


def _split_rows(fit: Fit, sides: tuple[str, str]) -> list[tuple[str, BoolArray]]:
    decisions = fit.decisions
    if decisions.ndim == 2:
        answers = class_of(decisions)
        return [(f"'{name}'", answers == k) for k, name in enumerate(fit.training["classes"])]
    above = class_of(decisions) == 1
    if "positive" in fit.training and above.sum() < _MIN_ROWS:
        return [(f"labelled '{fit.training['positive']}'", fit.labels[fit.scored_rows] == 1)]
    return [(sides[1], above), (sides[0], ~above)]


def _rank_words(X: sp.csr_array, rows: BoolArray) -> IntArray:
    """Return columns that are clearly greater in these rows than in others, clearest first."""
    inside, outside = X[rows], X[~rows]
    means = [np.asarray(part.mean(axis=0)).ravel() for part in (inside, outside)]
    squares = [np.asarray(part.multiply(part).mean(axis=0)).ravel() for part in (inside, outside)]
    error = np.sqrt(
        sum(
            np.maximum(square - mean**2, 0.0) / part.shape[0]
            for square, mean, part in zip(squares, means, (inside, outside), strict=True)
        )
    )
    distances = (means[0] - means[1]) / np.maximum(error, np.finfo(float).tiny)
    frequent = np.asarray((inside != 0).sum(axis=0)).ravel() >= _MIN_ROWS
    distances[~frequent] = 0.0
    best = np.argsort(-distances, kind="stable")[:_MAX_WORDS_SHOWN]
    return best[distances[best] > _MIN_STANDARD_ERRORS]
