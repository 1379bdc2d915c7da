"""Which columns drive the scores of rows, in words."""

import warnings

import numpy as np
import pandas as pd
from sklearn.pipeline import Pipeline

from ..inspection import explain
from .page import words

# Columns named per row, and the share of the largest contribution that is worth a name.
_NAMED = 3
_WORTH = 0.1
_BACKGROUND = 100
# Explaining goes over all columns of the background, one by one: beyond, it takes minutes.
_WIDEST = 10_000


def reasons(fit, rows, order, direction):
    """Name up to three columns per row that push it towards one side, and their values.

    ``direction`` is 1 for what raises the score, -1 for what lowers it, 0 for both.
    """
    if not len(order) or fit.found.rows.shape[1] > _WIDEST:
        return [""] * len(order)
    model = Pipeline([("columns", fit.encoder), ("machine", fit.estimator)])
    trained = fit.found.rows
    background = _take(trained, _background(trained))
    with warnings.catch_warnings():
        # A matrix with gaps goes in as a table, whose names are new to the model.
        warnings.filterwarnings("ignore", ".*feature names", UserWarning)
        found = explain(model, _table(_take(rows.inputs, order)), background=_table(background))
    contributions = found.contributions
    names = list(found.columns)
    directions = np.broadcast_to(np.asarray(direction, dtype=float), len(order))
    usual = {}
    told = []
    for row, values, side in zip(order, contributions, directions, strict=True):
        strength = values * side if side else np.abs(values)
        best = np.argsort(-strength, kind="stable")[:_NAMED]
        least = max(_WORTH * strength[best[0]], np.finfo(float).tiny)
        chosen = [j for j in best if strength[j] > least]
        told.append(
            "; ".join(_named(trained, rows.inputs, names[j], j, row, usual) for j in chosen)
        )
    return told


def _background(rows):
    n = rows.shape[0]
    if n <= _BACKGROUND:
        return np.arange(n)
    return np.sort(np.random.default_rng(0).choice(n, _BACKGROUND, replace=False))


def _take(rows, order):
    return rows.iloc[order] if isinstance(rows, pd.DataFrame) else rows[order]


def _table(rows):
    return pd.DataFrame(rows) if isinstance(rows, np.ndarray) else rows


def _named(trained, rows, name, j, row, usual):
    """A column with a row's value and what is usual in training."""
    if not isinstance(rows, pd.DataFrame):
        value = _column(rows[[row]], j)[0]
        return _number(f"column {j + 1}", value, usual, lambda: np.nanmedian(_column(trained, j)))
    column, value = trained[name], rows[name].iloc[row]
    if pd.api.types.is_numeric_dtype(column):
        return _number(name, value, usual, column.median)
    if name not in usual:
        usual[name] = column.value_counts(normalize=True, dropna=False)
    if value is None or value != value or value == "":
        return f"{name} is blank"
    return f"{name} is {value} (in {words.percent(usual[name].get(value, 0.0))} of the rows)"


def _column(rows, j):
    column = rows[:, [j]]
    return column.toarray()[:, 0] if hasattr(column, "toarray") else np.ravel(column)


def _number(name, value, usual, median):
    if name not in usual:
        usual[name] = float(median())
    if value != value:
        return f"{name} is missing (usually {words.number(usual[name])})"
    return f"{name} is {words.number(value)} (usually {words.number(usual[name])})"
