"""Encoders of categories as nodes. A missing text is the empty text."""

from __future__ import annotations

import numpy as np
from sklearn.preprocessing import OrdinalEncoder

from .columns import Matrix, joined


def is_missing(value):
    """Whether a value is None, NaN or pandas.NA."""
    return value is None or value != value or type(value).__name__ == "NAType"


def is_text(categories):
    """Whether the categories of a column are texts; refuses what is neither text nor number."""
    categories = np.asarray(categories)
    if categories.dtype.kind in "iufb":
        return False
    if all(isinstance(value, str) or is_missing(value) for value in categories.tolist()):
        return True
    raise ValueError(
        f"a column has the categories {categories.tolist()[:5]}, which are neither texts nor "
        "numbers, and a graph has no other types; convert the column to texts before."
    )


def _refuse_infrequent(encoder):
    if hasattr(encoder, "infrequent_categories_"):
        what = "an OrdinalEncoder" if isinstance(encoder, OrdinalEncoder) else "a OneHotEncoder"
        raise ValueError(
            f"{what} that puts infrequent categories together (min_frequency, max_categories) has "
            "no ONNX form here; rename these categories before."
        )


def one_hot(graph, encoder, rows):
    """A column of zeros and ones for each category; all zero for one that was not seen."""
    _refuse_infrequent(encoder)
    parts = []
    for place, categories in enumerate(encoder.categories_):
        dropped = None if encoder.drop_idx_ is None else encoder.drop_idx_[place]
        kept = np.delete(np.arange(len(categories)), [] if dropped is None else [dropped])
        if len(kept):
            same = _matches(graph, rows, place, np.asarray(categories)[kept])
            parts.append(Matrix(graph.cast(same, np.float64), len(kept)))
    return joined(graph, parts)


def ordinal(graph, encoder, rows):
    """The number of the category; NaN for one that was not seen where that is an error."""
    _refuse_infrequent(encoder)
    known = encoder.handle_unknown == "use_encoded_value"
    unknown = float(encoder.unknown_value) if known else np.nan
    parts = []
    for place, categories in enumerate(encoder.categories_):
        codes = [
            # None is a category like others to an OrdinalEncoder.
            float(encoder.encoded_missing_value) if value != value else float(code)
            for code, value in enumerate(np.asarray(categories).tolist())
        ]
        same = _matches(graph, rows, place, categories)
        same = graph.cast(same, np.float64)
        code = graph.add("Gather", np.array(codes), graph.add("ArgMax", same, axis=1, keepdims=1))
        seen = graph.add("Greater", graph.row_sums(same), np.float64(0.0))
        parts.append(Matrix(graph.add("Where", seen, code, np.float64(unknown)), 1))
    return joined(graph, parts)


def _matches(graph, rows, place, categories):
    """Whether each row is of each category, shape (n, n_categories)."""
    name, text = rows.column(graph, place)
    values = np.asarray(categories).tolist()
    if text:
        values = ["" if is_missing(value) else value for value in values]
        return graph.add("Equal", name, np.array([values], dtype=object))
    values = np.array([values], dtype=np.float64)
    if graph.float32:  # as the column comes in
        values = values.astype(np.float32).astype(np.float64)
    same = graph.add("Equal", name, values)
    if np.isnan(values).any():
        nan = graph.add("And", graph.add("IsNaN", name), np.isnan(values))
        same = graph.add("Or", same, nan)
    return same
