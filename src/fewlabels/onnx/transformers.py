"""scikit-learn's transformers as nodes. A missing text is the empty text."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.compose import ColumnTransformer
from sklearn.decomposition import PCA, TruncatedSVD
from sklearn.feature_selection import SelectorMixin
from sklearn.impute import MissingIndicator, SimpleImputer
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    MaxAbsScaler,
    MinMaxScaler,
    OneHotEncoder,
    OrdinalEncoder,
    RobustScaler,
    StandardScaler,
)
from sklearn.utils import get_tags

from .._typing import AnyArray, BoolArray, FloatArray, IntArray
from ..tables.encoding.blanks import BlankColumns
from ..tables.encoding.rare import RareCategories, RareColumns
from ..tables.encoding.truth import TruthColumns
from .graph import FINITE, Graph, InputColumns, Matrix, Rows, concatenate


def transform(graph: Graph, transformer: BaseEstimator | str, rows: Rows) -> Rows:
    """Write what a fitted transformer makes of rows, a Matrix or InputColumns.

    Rows in which it doesn't accept a number are refused, as the transformer itself would.
    """
    if isinstance(transformer, str) and transformer == "passthrough":
        return rows
    kind = type(transformer)
    if hasattr(transformer, "infrequent_categories_"):
        what = "an OrdinalEncoder" if kind is OrdinalEncoder else "a OneHotEncoder"
        raise ValueError(
            f"{what} with infrequent categories (min_frequency, max_categories) can't be "
            "exported; merge these categories before encoding."
        )
    if kind in _WRITERS:
        return _WRITERS[kind](graph, transformer, rows)
    if isinstance(transformer, SelectorMixin):
        if not get_tags(transformer).input_tags.allow_nan:
            _require_finite(graph, rows)
        return rows.take(graph, transformer.get_support(indices=True))
    raise ValueError(
        f"{kind.__name__} can't be exported; supported are "
        f"{', '.join(sorted(known.__name__ for known in _WRITERS))} and selections of columns. "
        "For others install skl2onnx, call fewlabels.onnx.register_with_skl2onnx() and then "
        "skl2onnx.to_onnx."
    )


def _require_finite(graph: Graph, rows: Rows, allow_nan: bool = False) -> None:
    """Refuse rows with an infinite number, and with NaN unless that is allowed."""
    names = [rows.name] if isinstance(rows, Matrix) else rows.numeric
    for name in names:
        graph.refuse_beyond(name, FINITE, allow_nan)


def _write_standard_scaler(
    graph: Graph, scaler: StandardScaler | RobustScaler, rows: Rows
) -> Matrix:
    robust = isinstance(scaler, RobustScaler)
    center = scaler.center_ if robust else scaler.mean_ if scaler.with_mean else None
    return _shift_and_scale(graph, rows, center, scaler.scale_)


def _write_max_abs_scaler(graph: Graph, scaler: MaxAbsScaler, rows: Rows) -> Matrix:
    rows = _shift_and_scale(graph, rows, None, scaler.scale_)
    return _clip(graph, rows, -1.0, 1.0) if getattr(scaler, "clip", False) else rows


def _write_rare_columns(graph: Graph, step: RareColumns, rows: Rows) -> Matrix:
    rows = rows.numbers(graph)
    _require_finite(graph, rows)
    return Matrix(graph.add("Mul", rows.name, step.weight_), rows.width)


def _write_rare_categories(graph: Graph, step: RareCategories, rows: Rows) -> Matrix:
    rows = rows.numbers(graph)
    _require_finite(graph, rows)
    known = graph.add("MatMul", rows.name, step.mixing_matrix().toarray())
    is_known = graph.add("MatMul", rows.name, step.membership_matrix().toarray())
    is_unseen = graph.add("Sub", np.float64(1.0), is_known)
    unseen = graph.add("MatMul", is_unseen, step.unseen_rows().toarray())
    return Matrix(graph.add("Add", known, unseen), step.n_columns_out_)


def _write_blank_columns(graph: Graph, step: BlankColumns, rows: Rows) -> Matrix:
    """Write the marks of columns with known blanks, and the distance that new blanks make."""
    gaps = [
        _mark_blank(graph, rows, place, text) for place, text in enumerate(step.is_text_.tolist())
    ]
    marked = graph.cast(concatenate(graph, [Matrix(gap, 1) for gap in gaps]).name, np.float64)
    n, known = len(step.is_text_), np.zeros((len(step.is_text_), len(step.known_)))
    known[step.known_, np.arange(len(step.known_))] = 1.0
    new = np.zeros((n, 1))
    new[step.new_, 0] = step.new_weight_
    square = graph.add("MatMul", marked, new)
    is_known = (known.sum(axis=1) > 0)[:, None].astype(np.float64)
    excess = graph.add("Sub", graph.add("MatMul", marked, is_known), np.float64(step.most_))
    excess = graph.add("Relu", excess)
    square = graph.add("Add", square, graph.add("Mul", excess, np.float64(step.excess_weight_)))
    parts = [Matrix(graph.add("Sqrt", square), 1)]
    if len(step.known_):
        marks = graph.add("MatMul", marked, known * step.weight_)
        parts.insert(0, Matrix(marks, len(step.known_)))
    return concatenate(graph, parts)


def _mark_blank(graph: Graph, rows: Rows, place: int, text: bool) -> str:
    """Write 1 where a number is missing, or a truth value is none; else 0."""
    if not text:
        name, _ = rows.column(graph, place)
        return graph.cast(_find_gaps(graph, name, False), np.float64)
    return _find_truth_value(graph, rows, place)[1]


def _write_min_max_scaler(graph: Graph, scaler: MinMaxScaler, rows: Rows) -> Matrix:
    rows = rows.numbers(graph)
    _require_finite(graph, rows, allow_nan=True)
    name = graph.add("Mul", rows.name, scaler.scale_.astype(np.float64))
    rows = Matrix(graph.add("Add", name, scaler.min_.astype(np.float64)), rows.width)
    return _clip(graph, rows, *scaler.feature_range) if scaler.clip else rows


def _clip(graph: Graph, rows: Matrix, low: float, high: float) -> Matrix:
    """Clip rows to two numbers. NaN stays, on which runtimes don't agree."""
    clipped = graph.add("Clip", rows.name, np.float64(low), np.float64(high))
    is_missing = graph.add("IsNaN", rows.name)
    return Matrix(graph.add("Where", is_missing, rows.name, clipped), rows.width)


def _shift_and_scale(
    graph: Graph, rows: Rows, center: FloatArray | None, scale: FloatArray | None
) -> Matrix:
    """Subtract a centre from rows and divide by a scale. NaN passes, as in all scalers."""
    rows = rows.numbers(graph)
    _require_finite(graph, rows, allow_nan=True)
    name, width = rows
    for op, numbers in (("Sub", center), ("Div", scale)):
        if numbers is not None:
            name = graph.add(op, name, np.asarray(numbers, dtype=np.float64))
    return Matrix(name, width)


def _write_function(graph: Graph, transformer: FunctionTransformer, rows: Rows) -> Rows:
    if transformer.func is not None:
        raise ValueError(
            "a FunctionTransformer contains a Python function, which ONNX can't express; apply "
            "the function before, or use another transformer."
        )
    if transformer.validate:
        _require_finite(graph, rows)
    return rows


def _write_projection(graph: Graph, step: PCA | TruncatedSVD, rows: Rows) -> Matrix:
    _require_finite(graph, rows)
    components = step.components_.astype(np.float64)
    if getattr(step, "whiten", False):
        scale = np.sqrt(step.explained_variance_)
        components /= np.maximum(scale, np.finfo(scale.dtype).eps)[:, None]
    rows = _shift_and_scale(graph, rows, getattr(step, "mean_", None), None)
    return Matrix(graph.add("MatMul", rows.name, components.T), len(components))


def _write_imputer(graph: Graph, imputer: SimpleImputer, rows: Rows) -> Rows:
    """Fill cells equal to ``missing_values``, and empty texts."""
    _require_finite(graph, rows, allow_nan=is_missing(imputer.missing_values))
    parts, flags = [], []
    flagged = set(imputer.indicator_.features_) if imputer.add_indicator else set()
    for place, value in enumerate(imputer.statistics_):
        name, text = rows.column(graph, place)
        gap = _find_gaps(graph, name, text, imputer.missing_values)
        if place in flagged:
            flags.append((graph.cast(gap, np.float64), False))
        if text:
            value = np.array([["" if is_missing(value) else value]], dtype=object)
        elif np.isnan(value):
            continue  # a column that was empty in training is left out
        parts.append((graph.add("Where", gap, value if text else np.float64(value), name), text))
    columns = InputColumns(*zip(*parts, *flags, strict=True))
    return columns if any(columns.is_text) else columns.numbers(graph)


def _write_missing_indicator(graph: Graph, indicator: MissingIndicator, rows: Rows) -> Matrix:
    """Write a column of zeros and ones for each column that had missing values, or for all."""
    if not is_missing(indicator.missing_values):
        raise ValueError(
            f"a MissingIndicator of missing_values={indicator.missing_values!r} can't be "
            "exported; mark missing numbers as NaN."
        )
    _require_finite(graph, rows, allow_nan=True)
    if indicator.features == "missing-only" and indicator.error_on_new:
        for place in np.setdiff1d(np.arange(indicator.n_features_in_), indicator.features_):
            graph.refuse(_find_gaps(graph, *rows.column(graph, place)))
    gaps = (_find_gaps(graph, *rows.column(graph, place)) for place in indicator.features_)
    return concatenate(graph, [Matrix(graph.cast(gap, np.float64), 1) for gap in gaps])


def _find_gaps(graph: Graph, name: str, text: bool, marker: float | str | None = np.nan) -> str:
    """Write which cells of a column are missing."""
    if text:
        marker = "" if is_missing(marker) else marker
        return graph.add("Equal", name, np.array([[marker]], dtype=object))
    if is_missing(marker):
        return graph.add("IsNaN", name)
    return graph.add("Equal", name, np.float64(marker))


def _write_pipeline(graph: Graph, pipeline: Pipeline, rows: Rows) -> Rows:
    for _, step in pipeline.steps:
        rows = rows if step is None else transform(graph, step, rows)
    return rows


def _write_column_transformer(graph: Graph, transformer: ColumnTransformer, rows: Rows) -> Matrix:
    parts = []
    weights = transformer.transformer_weights or {}
    for name, step, places in _each_step(transformer):
        part = transform(graph, step, rows.take(graph, places)).numbers(graph)
        if name in weights:
            part = Matrix(graph.add("Mul", part.name, np.float64(weights[name])), part.width)
        parts.append(part)
    return concatenate(graph, parts)


def _each_step(
    transformer: ColumnTransformer,
) -> Iterator[tuple[str, BaseEstimator | str, IntArray]]:
    """Yield names, steps and places of input columns of a fitted ColumnTransformer."""
    from pandas import Series  # whoever named the columns has pandas

    n = transformer.n_features_in_
    places = Series(np.arange(n), index=getattr(transformer, "feature_names_in_", None))
    for name, step, columns in transformer.transformers_:
        if isinstance(step, str) and step == "drop":
            continue
        if not isinstance(columns, slice):
            columns = np.atleast_1d(np.asarray(columns)).tolist()
        ends = [columns.start, columns.stop] if isinstance(columns, slice) else columns
        by_name = any(isinstance(end, str) for end in ends)
        found = (places.loc if by_name else places.iloc)[columns].to_numpy()
        if len(found):
            yield name, step, found


def list_used_columns(transformer: BaseEstimator, width: int) -> Sequence[int]:
    """Return places of the columns that a fitted transformer uses."""
    if not isinstance(transformer, ColumnTransformer):
        return range(width)
    return sorted({int(place) for *_, places in _each_step(transformer) for place in places})


def text_columns(transformer: BaseEstimator | str, width: int) -> BoolArray:
    """Return which columns a fitted transformer takes as text, bool of shape (width,)."""
    found = np.zeros(width, dtype=bool)
    if isinstance(transformer, Pipeline):
        for _, step in transformer.steps:
            if step is not None and step != "passthrough":
                return text_columns(step, width)
    elif isinstance(transformer, ColumnTransformer):
        for _, step, places in _each_step(transformer):
            found[places] |= text_columns(step, len(places))
    elif isinstance(transformer, OneHotEncoder | OrdinalEncoder):
        found[:] = [_is_text(values) for values in transformer.categories_]
    elif isinstance(transformer, TruthColumns):
        found[:] = True
    elif isinstance(transformer, BlankColumns):
        found[:] = transformer.is_text_
    elif isinstance(transformer, SimpleImputer):
        found[:] = transformer.statistics_.dtype.kind in "OU"
    return found


def is_missing(value: object) -> bool:
    """Return whether a value is None, NaN or pandas.NA."""
    return value is None or value != value or type(value).__name__ == "NAType"


def _is_text(categories: AnyArray) -> bool:
    """Return whether the categories of a column are texts; refuse what isn't text or number."""
    categories = np.asarray(categories)
    if categories.dtype.kind in "iufb":
        return False
    if all(isinstance(value, str) or is_missing(value) for value in categories.tolist()):
        return True
    raise ValueError(
        f"a column has the categories {categories.tolist()[:5]}, which are neither texts nor "
        "numbers; convert the column to text before."
    )


def _write_one_hot(graph: Graph, encoder: OneHotEncoder, rows: Rows) -> Matrix:
    """Write a column of zeros and ones for each category.

    All are zero for an unknown category, where that is no error.
    """
    _require_finite(graph, rows, allow_nan=True)
    parts = []
    for place, categories in enumerate(encoder.categories_):
        dropped = None if encoder.drop_idx_ is None else encoder.drop_idx_[place]
        if encoder.handle_unknown == "error":
            _refuse_unseen(graph, rows, place, categories)
        remaining = np.delete(np.arange(len(categories)), [] if dropped is None else [dropped])
        if len(remaining):
            same = _match_categories(graph, rows, place, np.asarray(categories)[remaining])
            parts.append(Matrix(graph.cast(same, np.float64), len(remaining)))
    return concatenate(graph, parts)


def _write_ordinal(graph: Graph, encoder: OrdinalEncoder, rows: Rows) -> Matrix:
    """Write the number of the category; ``unknown_value`` for an unknown one, or an error."""
    _require_finite(graph, rows, allow_nan=True)
    known = encoder.handle_unknown == "use_encoded_value"
    unknown = float(encoder.unknown_value) if known else np.nan
    parts = []
    for place, categories in enumerate(encoder.categories_):
        codes = [
            # None is a category like others to an OrdinalEncoder.
            float(encoder.encoded_missing_value) if value != value else float(code)
            for code, value in enumerate(np.asarray(categories).tolist())
        ]
        if not known:
            _refuse_unseen(graph, rows, place, categories)
        same = graph.cast(_match_categories(graph, rows, place, categories), np.float64)
        code = graph.add("Gather", np.array(codes), graph.add("ArgMax", same, axis=1, keepdims=1))
        is_known = graph.add("Greater", graph.row_sums(same), np.float64(0.0))
        parts.append(Matrix(graph.add("Where", is_known, code, np.float64(unknown)), 1))
    return concatenate(graph, parts)


def _refuse_unseen(graph: Graph, rows: Rows, place: int, categories: AnyArray) -> None:
    """Refuse rows with a category that isn't among these."""
    same = graph.cast(_match_categories(graph, rows, place, categories), np.float64)
    graph.refuse(graph.add("Equal", graph.row_sums(same), np.float64(0.0)))


def _write_truth_columns(graph: Graph, step: TruthColumns, rows: Rows) -> Matrix:
    """Write 1 for yes, 0 for no, the usual value for anything else, which may be marked."""
    values, gaps = [], []
    for place, usual in enumerate(step.usual_):
        yes, gap = _find_truth_value(graph, rows, place)
        values.append(Matrix(graph.add("Add", yes, graph.add("Mul", gap, np.float64(usual))), 1))
        if step.mark and place in step.gaps_:
            gaps.append(Matrix(gap, 1))
    return concatenate(graph, values + gaps)


def _find_truth_value(graph: Graph, rows: Rows, place: int) -> tuple[str, str]:
    """Write 1 for yes and else 0, and 1 for what is neither yes nor no and else 0."""
    no, yes = (
        graph.row_sums(graph.cast(_match_categories(graph, rows, place, words), np.float64))
        for words in TruthColumns.spellings()
    )
    return yes, graph.add("Sub", np.float64(1.0), graph.add("Add", no, yes))


def _match_categories(
    graph: Graph, rows: Rows, place: int, categories: AnyArray | Sequence[str]
) -> str:
    """Write whether each row is of each category, shape (n, n_categories)."""
    name, text = rows.column(graph, place)
    if text:
        texts = ["" if is_missing(value) else value for value in np.asarray(categories).tolist()]
        return graph.add("Equal", name, np.array([texts], dtype=object))
    values = np.array([categories], dtype=np.float64)
    if graph.float32:  # as the column comes in
        values = values.astype(np.float32).astype(np.float64)
    same = graph.add("Equal", name, values)
    if np.isnan(values).any():
        nan = graph.add("And", graph.add("IsNaN", name), np.isnan(values))
        return graph.add("Or", same, nan)
    return same


_WRITERS: dict[type, Callable[[Graph, Any, Rows], Rows]] = {
    BlankColumns: _write_blank_columns,
    ColumnTransformer: _write_column_transformer,
    FunctionTransformer: _write_function,
    MaxAbsScaler: _write_max_abs_scaler,
    MissingIndicator: _write_missing_indicator,
    RareCategories: _write_rare_categories,
    RareColumns: _write_rare_columns,
    MinMaxScaler: _write_min_max_scaler,
    OneHotEncoder: _write_one_hot,
    OrdinalEncoder: _write_ordinal,
    PCA: _write_projection,
    Pipeline: _write_pipeline,
    RobustScaler: _write_standard_scaler,
    SimpleImputer: _write_imputer,
    StandardScaler: _write_standard_scaler,
    TruncatedSVD: _write_projection,
    TruthColumns: _write_truth_columns,
}
