"""The encoder of a table's columns, fitted to the rows a model learns from."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from sklearn.base import BaseEstimator

from ..._typing import AnyArray, BoolArray, FloatArray, IntArray, ObjectArray, RowMatrix
from ..._util.messages import UserError, ref
from ...data.units import common_unit
from ...kernels.parameters import total_variance
from ..columns.column import are_blank
from ..columns.schema import IMPUTE, Schema
from .blanks import BlankColumns
from .rare import RareCategories, RareColumns
from .texts import TextEncoder
from .truth import TruthColumns

if TYPE_CHECKING:
    import pandas as pd

    from ...model_selection.weighing import ColumnWeights

# Rows as an encoder takes them: a data frame of a table, an array or CSR array of a matrix.
EncoderRows: TypeAlias = "pd.DataFrame | RowMatrix"
# What the steps for columns of texts are called, before their number.
_TEXT = "text "


def _make_encoder(
    schema: Schema,
    scale: bool,
    gaps: Sequence[str] | Sequence[int],
    weigh_rare: bool,
    units: FloatArray | None,
    spare: int,
) -> BaseEstimator:
    """Make the transformer from the columns of the schema to numbers.

    Numbers and dates are standardised; categories become one 0/1 column each, all 0 for a category
    that was not seen in training; yes and no become one such column; texts become their words.
    Missing numbers become the median, and
    every column that has some in training (``gaps``: names, of matrices positions) gets another
    one, 1 where its number is missing. With ``weigh_rare`` rare categories count less, and unseen
    categories, blanks and texts without a known word have columns of their own; ``units`` are the
    standard deviations of numbers that aren't standardised, and ``spare`` columns are for
    categories of later updates. Sparse matrices are scaled without centring, which would
    make them dense.
    """
    from sklearn.compose import ColumnTransformer
    from sklearn.impute import MissingIndicator, SimpleImputer
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import (
        FunctionTransformer,
        MaxAbsScaler,
        OneHotEncoder,
        StandardScaler,
    )

    if schema.layout == "sparse":
        return MaxAbsScaler() if scale else FunctionTransformer(accept_sparse=True)
    steps = [SimpleImputer(strategy="median")] if schema.missing == IMPUTE else []
    steps += [StandardScaler()] if scale else []
    numbers = make_pipeline(*steps) if len(steps) > 1 else steps[0] if steps else "passthrough"
    marks = MissingIndicator(features="all")
    if weigh_rare and schema.missing == IMPUTE:
        marks = BlankColumns(units)
    parts: list[tuple[str, Any, Any]]
    if schema.layout == "dense":
        if not gaps:
            return FunctionTransformer() if numbers == "passthrough" else numbers
        parts = [("numbers", numbers, list(range(schema.n_columns)))]
    else:
        categories = schema.names("category")
        encode, truth = OneHotEncoder(handle_unknown="ignore"), TruthColumns()
        if weigh_rare:
            encode = make_pipeline(encode, RareCategories(spare, tuple(categories)))
            truth = make_pipeline(TruthColumns(mark=False), RareColumns(either=True))
        parts = [
            ("numbers", numbers, schema.names("number", "date")),
            ("categories", encode, categories),
            ("booleans", truth, schema.names("boolean")),
        ]
    parts.append(("missing", marks, list(gaps)))
    for k, name in enumerate(schema.names("text")):
        parts.append((f"{_TEXT}{k}", TextEncoder(mark=weigh_rare), name))
    return ColumnTransformer([part for part in parts if part[2]])


def explain_common_unit(schema: Schema, rows: EncoderRows) -> str | None:
    """Return why numbers are better left unscaled, see :func:`common_unit`; None if they aren't.

    Numbers next to columns of other kinds are scaled in any case.
    """
    if schema.layout != "table":
        return common_unit(rows)
    assert not isinstance(rows, np.ndarray)
    only_numbers = len(schema.names("number")) == len(schema.columns)
    return common_unit(rows.to_numpy(float)) if only_numbers else None


def fit_encoder(
    schema: Schema,
    rows: EncoderRows,
    source: object,
    scale: bool | str = "auto",
    weigh_rare: bool = False,
    spare: int = 0,
) -> tuple[BaseEstimator, RowMatrix, Schema]:
    """Return the fitted encoder, the encoded rows, and the schema with its numbers of categories.

    Numbers are scaled, with "auto" unless they share a unit, see :func:`explain_common_unit`.
    Rows that no model could learn from are refused. Texts together have the variance of all
    other columns together, see :func:`weigh_texts`; ``weigh_rare``: rare categories
    count less and whatever is new counts, as they should for models of one class, see
    :mod:`.rare` and :mod:`.blanks`; ``spare`` columns are for categories of later updates.
    """
    is_scaled = explain_common_unit(schema, rows) is None if scale == "auto" else bool(scale)
    gaps, units = _columns_to_mark(schema, rows, is_scaled, weigh_rare)
    encoder = _make_encoder(schema, is_scaled, gaps, weigh_rare, units, spare)
    X = _weigh_by_length(encoder, encoder.fit_transform(rows))
    dense = isinstance(X, np.ndarray)
    if not (np.ptp(X, axis=0) if dense else (X.max(axis=0) - X.min(axis=0)).data).any():
        raise UserError(
            f"All columns of {source} are constant in the training rows, so there is nothing to "
            f"learn; check the file, or the rows selected with {ref('target')}."
        )
    words = {name: len(texts.words()) for name, texts in text_encoders(encoder, schema).items()}
    schema = schema.with_counts(known_categories(encoder, schema), words)
    return encoder, weigh_texts(encoder, X), schema


def _columns_to_mark(
    schema: Schema, rows: EncoderRows, scale: bool, weigh_rare: bool
) -> tuple[list[str] | list[int], FloatArray | None]:
    """Return columns whose blanks are marked, and the standard deviations that they have encoded.

    Models of one class mark all of them, others those with blanks in training.
    """
    if schema.missing != IMPUTE or schema.layout == "sparse":
        return [], None
    if schema.layout == "dense":
        gaps = range(rows.shape[1]) if weigh_rare else np.flatnonzero(np.isnan(rows).any(axis=0))
        units = None if scale or not weigh_rare else _standard_deviations(rows)
        return list(map(int, gaps)), units
    assert not isinstance(rows, np.ndarray)
    names = schema.names("number", "date")
    if not weigh_rare:
        return [name for name in names if rows[name].isna().any()], None
    truth = schema.names("boolean")
    if scale or not names:
        return names + truth, None
    return names + truth, np.append(
        _standard_deviations(rows[names].to_numpy(float)), np.ones(len(truth))
    )


def _standard_deviations(rows: AnyArray) -> FloatArray:
    """Return the standard deviations of columns, without their missing numbers."""
    counts = np.maximum(1, np.count_nonzero(~np.isnan(rows), axis=0))
    middle = np.nansum(rows, axis=0) / counts
    return np.sqrt(np.nansum((rows - middle) ** 2, axis=0) / counts)


def _weigh_by_length(encoder: BaseEstimator, X: RowMatrix) -> RowMatrix:
    """Let columns of texts count as the words in them, as if they were one text.

    Each is of length one by itself, so that titles would count as much as the pages below them.
    """
    steps = getattr(encoder, "output_indices_", {})
    names = [name for name in steps if name.startswith(_TEXT)]
    if len(names) < 2:
        return X
    words = np.array([_count_entries(X[:, steps[name]]) for name in names], float)
    return _apply_weights(encoder, X, dict(zip(names, np.sqrt(words / words.sum()), strict=True)))


def _count_entries(X: RowMatrix) -> int:
    return int(np.count_nonzero(X)) if isinstance(X, np.ndarray) else X.nnz


def _apply_weights(
    encoder: BaseEstimator, X: RowMatrix, factors: Mapping[str, float]
) -> RowMatrix:
    """Multiply steps of the encoder, and their columns of the rows, by these factors."""
    weights, by_column = encoder.transformer_weights or {}, np.ones(X.shape[1])
    for name, factor in factors.items():
        by_column[encoder.output_indices_[name]] = factor
        weights = {**weights, name: float(factor) * weights.get(name, 1.0)}
    encoder.transformer_weights = weights
    if isinstance(X, np.ndarray):
        return X * by_column
    X = X.copy()
    X.data *= by_column[X.indices]
    return X


def known_categories(encoder: BaseEstimator, schema: Schema) -> dict[str, ObjectArray]:
    """Return categories seen in training, by column; of truth values all ways to write them."""

    def step(name: str) -> BaseEstimator:
        found = encoder.named_transformers_[name]
        return found[0] if hasattr(found, "steps") else found

    known: dict[str, ObjectArray] = {}
    if names := schema.names("category"):
        known |= zip(names, step("categories").categories_, strict=True)
    truth = enumerate(schema.names("boolean"))
    return known | {name: step("booleans").known_texts(k) for k, name in truth}


def learn_categories(
    encoder: BaseEstimator, schema: Schema, counts: Mapping[str, Mapping[str, int]]
) -> dict[str, list[str]]:
    """Let a model of one class know categories that it gets rows of.

    ``counts`` are the numbers of these rows, by column and category. A category gets a 0/1 column
    of its own with its second row, as in a fit; its first row is encoded as an unseen one.

    Returns
    -------
    dict
        Lists of the categories that got one, by column.
    """
    from sklearn.preprocessing import OneHotEncoder

    names = schema.names("category")
    step = encoder.named_transformers_["categories"] if names else None
    if step is None or not hasattr(step, "steps"):
        return {}
    (first, one_hot), (_, rare) = step.steps
    known = [list(found) for found in one_hot.categories_]
    learned: dict[str, list[str]] = {}
    for k, name in enumerate(names):
        by_rows = sorted(counts.get(name, {}).items(), key=lambda pair: -pair[1])
        for value, n_rows in by_rows:
            number = known[k].index(value) if value in known[k] else len(known[k])
            is_new = number == len(known[k])
            if is_new and n_rows == 1 and value not in rare.once_[k]:
                rare.once_[k].append(value)
            elif (is_new or not rare.has_own(k)[number]) and rare.learn(k, number):
                learned.setdefault(name, []).append(value)
                known[k] += [value] if is_new else []
    made = OneHotEncoder(
        categories=[np.array(found, dtype=object) for found in known], handle_unknown="ignore"
    )
    step.steps[0] = first, made.fit(schema.blank_rows(1)[names])
    return learned


def encoded_categories(encoder: BaseEstimator, schema: Schema) -> dict[str, ObjectArray]:
    """Return categories that have a 0/1 column of their own, by column of categories."""
    names = schema.names("category")
    step = encoder.named_transformers_["categories"] if names else None
    if step is None or not hasattr(step, "steps"):
        return {name: known_categories(encoder, schema)[name] for name in names}
    categories, rare = step[0].categories_, step[1]
    return {name: categories[k][rare.has_own(k)] for k, name in enumerate(names)}


def text_encoders(encoder: BaseEstimator, schema: Schema) -> dict[str, TextEncoder]:
    """Return the fitted ``TextEncoder`` of every column of texts."""
    names = enumerate(schema.names("text"))
    return {name: encoder.named_transformers_[f"{_TEXT}{k}"] for k, name in names}


def count_wordless(
    encoder: BaseEstimator, schema: Schema, rows: EncoderRows, X: RowMatrix
) -> dict[str, int]:
    """Count texts that are not blank but hold no known word, by column, given encoded rows."""
    counts = {}
    for k, name in enumerate(schema.names("text")):
        places = encoder.output_indices_[f"{_TEXT}{k}"]
        n_words = len(encoder.named_transformers_[f"{_TEXT}{k}"].words())
        words = X[:, places.start : places.start + n_words] != 0
        none = np.asarray(words.sum(axis=1)).ravel() == 0
        counts[name] = int(np.count_nonzero(~are_blank(rows[name][none])))
    return counts


def text_columns(encoder: BaseEstimator, width: int) -> BoolArray:
    """Return which columns of encoded rows come from texts."""
    found = np.zeros(width, dtype=bool)
    for name, places in getattr(encoder, "output_indices_", {}).items():
        found[places] |= name.startswith(_TEXT)
    return found


def feature_names(encoder: BaseEstimator, schema: Schema) -> ObjectArray:
    """Return names of the encoded columns."""
    if not hasattr(encoder, "output_indices_"):
        names = np.array([f"x{k}" for k in range(schema.n_columns)], dtype=object)
        return names
    names = np.empty(max(places.stop for places in encoder.output_indices_.values()), dtype=object)
    for name, step, columns in encoder.transformers_:
        if name.startswith(_TEXT):
            found = [f"{columns}: {word}" for word in step.get_feature_names_out()]
        else:
            # The columns of a matrix are numbers.
            own = [c if isinstance(c, str) else f"x{c}" for c in columns]
            found = step.get_feature_names_out(own)
        names[encoder.output_indices_[name]] = found
    return names


def weigh_by_labels(
    encoder: BaseEstimator,
    schema: Schema,
    X: RowMatrix,
    y: IntArray | None,
    asked: Iterable[str] = (),
) -> ColumnWeights | None:
    """Return the ``ColumnWeights`` of columns by which rows held out are distinguished best.

    Blocks are numbers, categories, and each column of texts; those that hold a column ``asked``
    for by name are not left out. None where there is nothing to choose.
    """
    texts = text_columns(encoder, X.shape[1])
    if y is None or texts.all() or not texts.any():
        return None
    from ...model_selection.weighing import ColumnBlocks, weigh_columns  # slow to import

    steps, places = encoder.output_indices_, {}
    numbers = [steps[name] for name in ("numbers", "missing") if name in steps]
    categories = [steps[name] for name in ("categories", "booleans") if name in steps]
    for names, found in (
        (schema.names("number", "date"), numbers),
        (schema.names("category", "boolean"), categories),
        *(([name], [steps[f"{_TEXT}{k}"]]) for k, name in enumerate(schema.names("text"))),
    ):
        if names:
            places[tuple(names)] = np.r_[tuple(found)]
    of_texts = {(name,) for name in schema.names("text")}
    fixed = [names for names in places if {*names} & {*asked}]
    return weigh_columns(X, y, ColumnBlocks(X, places, of_texts, fixed))


def weigh_texts(encoder: BaseEstimator, X: RowMatrix, ratio: float = 1.0) -> RowMatrix:
    """Give texts ``ratio`` times the variance of all other columns, in encoder and rows.

    So that ten thousand words do not drown six numbers, nor these the words. The variance of all
    columns together stays.
    """
    texts = text_columns(encoder, X.shape[1])
    if texts.all() or not texts.any():
        return X
    of_texts, of_others = total_variance(X[:, texts]), total_variance(X[:, ~texts])
    if not (of_texts > 0.0 and of_others > 0.0):
        return X
    share = (of_texts + of_others) / (1.0 + ratio)
    more, less = np.sqrt(ratio * share / of_texts), np.sqrt(share / of_others)
    return _apply_weights(
        encoder,
        X,
        {name: more if name.startswith(_TEXT) else less for name, *_ in encoder.transformers},
    )
