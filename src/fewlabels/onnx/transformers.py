"""scikit-learn's transformers as nodes: scalers, imputers, projections, pipelines of them."""

from __future__ import annotations

import numpy as np
import pandas as pd
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

from .columns import Columns, Matrix, joined
from .encoders import is_missing, is_text, one_hot, ordinal


def transform(graph, transformer, rows):
    """Nodes for what a fitted transformer makes of rows, a Matrix or Columns."""
    if isinstance(transformer, str) and transformer == "passthrough":
        return rows
    kind = type(transformer)
    if kind in _WRITERS:
        return _WRITERS[kind](graph, transformer, rows)
    if isinstance(transformer, SelectorMixin):
        return rows.take(graph, transformer.get_support(indices=True))
    raise ValueError(
        f"{kind.__name__} has no ONNX form here; there is one for "
        f"{', '.join(sorted(known.__name__ for known in _WRITERS))} and selections of columns. "
        "For others install skl2onnx, call fewlabels.onnx.register_with_skl2onnx() and then "
        "skl2onnx.to_onnx."
    )


def _standard(graph, scaler, rows):
    return _affine(graph, rows, scaler.mean_ if scaler.with_mean else None, scaler.scale_)


def _robust(graph, scaler, rows):
    center = scaler.center_ if scaler.with_centering else None
    return _affine(graph, rows, center, scaler.scale_ if scaler.with_scaling else None)


def _max_abs(graph, scaler, rows):
    rows = _affine(graph, rows, None, scaler.scale_)
    if getattr(scaler, "clip", False):
        return _clipped(graph, rows, -1.0, 1.0)
    return rows


def _min_max(graph, scaler, rows):
    rows = rows.numbers(graph)
    name = graph.add("Mul", rows.name, scaler.scale_.astype(np.float64))
    rows = Matrix(graph.add("Add", name, scaler.min_.astype(np.float64)), rows.width)
    return _clipped(graph, rows, *scaler.feature_range) if scaler.clip else rows


def _affine(graph, rows, center, scale):
    rows = rows.numbers(graph)
    name = rows.name
    if center is not None:
        name = graph.add("Sub", name, np.asarray(center, dtype=np.float64))
    if scale is not None:
        name = graph.add("Div", name, np.asarray(scale, dtype=np.float64))
    return Matrix(name, rows.width)


def _clipped(graph, rows, low, high):
    name = graph.add("Clip", rows.name, np.float64(low), np.float64(high))
    return Matrix(name, rows.width)


def _function(graph, transformer, rows):
    if transformer.func is not None:
        raise ValueError(
            "a FunctionTransformer holds a function of Python, which no graph can hold; apply the "
            "function to the rows before, or take a transformer that states what it does."
        )
    return rows


def _pca(graph, pca, rows):
    rows = _affine(graph, rows, pca.mean_, None)
    components = pca.components_.astype(np.float64)
    if pca.whiten:
        scale = np.sqrt(pca.explained_variance_)
        tiny = np.finfo(scale.dtype).eps
        components = components / np.maximum(scale, tiny)[:, None]
    return Matrix(graph.add("MatMul", rows.name, components.T), len(components))


def _svd(graph, svd, rows):
    components = svd.components_.astype(np.float64)
    name = graph.add("MatMul", rows.numbers(graph).name, components.T)
    return Matrix(name, len(components))


def _impute(graph, imputer, rows):
    """Missing numbers are what ``missing_values`` says, missing texts empty ones."""
    parts, flags = [], []
    flagged = set(imputer.indicator_.features_) if imputer.add_indicator else set()
    for place in range(rows.width):
        name, text = rows.column(graph, place)
        value, marker = imputer.statistics_[place], imputer.missing_values
        if text:
            marker = "" if is_missing(marker) else marker
            missing = graph.add("Equal", name, np.array([[marker]], dtype=object))
            value = np.array([["" if is_missing(value) else value]], dtype=object)
        elif is_missing(marker):
            missing = graph.add("IsNaN", name)
        else:
            missing = graph.add("Equal", name, np.float64(marker))
        if place in flagged:
            flags.append(Matrix(graph.cast(missing, np.float64), 1))
        if not text and np.isnan(value):
            continue  # a column that was empty in training is left out
        value = value if text else np.float64(value)
        parts.append((graph.add("Where", missing, value, name), text))
    if any(text for _, text in parts):
        names = [name for name, _ in parts] + [flag.name for flag in flags]
        texts = [text for _, text in parts] + [False] * len(flags)
        return Columns(tuple(names), tuple(texts))
    return joined(graph, [Matrix(name, 1) for name, _ in parts] + flags)


def _missing(graph, indicator, rows):
    """A column of zeros and ones for each column that had missing values, or for all."""
    if not is_missing(indicator.missing_values):
        raise ValueError(
            f"a MissingIndicator of missing_values={indicator.missing_values!r} has no ONNX form "
            "here; mark missing numbers by NaN."
        )
    flags = []
    for place in indicator.features_:
        name, text = rows.column(graph, place)
        empty = np.array([[""]], dtype=object)
        missing = graph.add("Equal", name, empty) if text else graph.add("IsNaN", name)
        flags.append(Matrix(graph.cast(missing, np.float64), 1))
    return joined(graph, flags)


def _pipeline(graph, pipeline, rows):
    for _, step in pipeline.steps:
        rows = rows if step is None else transform(graph, step, rows)
    return rows


def _by_columns(graph, transformer, rows):
    parts = []
    weights = transformer.transformer_weights or {}
    for name, step, places in _parts(transformer):
        if not len(places) or (isinstance(step, str) and step == "drop"):
            continue
        part = transform(graph, step, rows.take(graph, places)).numbers(graph)
        if name in weights:
            scaled = graph.add("Mul", part.name, np.float64(weights[name]))
            part = Matrix(scaled, part.width)
        parts.append(part)
    return joined(graph, parts)


def _parts(transformer):
    """Names, steps and input columns (their places) of a fitted ColumnTransformer."""
    n = transformer.n_features_in_
    places = pd.Series(np.arange(n), index=getattr(transformer, "feature_names_in_", None))
    for name, step, columns in transformer.transformers_:
        if not isinstance(columns, slice):
            columns = np.atleast_1d(np.asarray(columns)).tolist()
        ends = [columns.start, columns.stop] if isinstance(columns, slice) else columns
        by_name = any(isinstance(end, str) for end in ends)
        yield name, step, (places.loc if by_name else places.iloc)[columns].to_numpy()


def used_columns(transformer, width):
    """Places of the columns that a fitted transformer looks at."""
    if not isinstance(transformer, ColumnTransformer):
        return range(width)
    used = set()
    for _, step, places in _parts(transformer):
        if not (isinstance(step, str) and step == "drop"):
            used.update(places.tolist())
    return sorted(used)


def text_columns(transformer, width):
    """Which columns a fitted transformer takes as text, bool of shape (width,)."""
    found = np.zeros(width, dtype=bool)
    if isinstance(transformer, Pipeline):
        for _, step in transformer.steps:
            if step is not None and step != "passthrough":
                return text_columns(step, width)
    elif isinstance(transformer, ColumnTransformer):
        for _, step, places in _parts(transformer):
            if len(places) and not isinstance(step, str):
                found[places] |= text_columns(step, len(places))
    elif isinstance(transformer, OneHotEncoder | OrdinalEncoder):
        found[:] = [is_text(values) for values in transformer.categories_]
    elif isinstance(transformer, SimpleImputer):
        found[:] = transformer.statistics_.dtype.kind in "OU"
    return found


_WRITERS = {
    ColumnTransformer: _by_columns,
    FunctionTransformer: _function,
    MaxAbsScaler: _max_abs,
    MissingIndicator: _missing,
    MinMaxScaler: _min_max,
    OneHotEncoder: one_hot,
    OrdinalEncoder: ordinal,
    PCA: _pca,
    Pipeline: _pipeline,
    RobustScaler: _robust,
    SimpleImputer: _impute,
    StandardScaler: _standard,
    TruncatedSVD: _svd,
}
