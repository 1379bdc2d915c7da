"""Columns that separate labelled from unlabelled rows: they may have come with the labels."""

from itertools import combinations

import numpy as np
import pandas as pd
import scipy.sparse as sp
from scipy.stats import rankdata
from sklearn.ensemble import ExtraTreesClassifier
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import StratifiedKFold, cross_val_predict
from sklearn.tree import DecisionTreeClassifier

from ..._typing import BoolArray, FloatArray, IntArray
from ..fit import InputRows

# Held-out ROC AUC from which labelled and unlabelled rows are separate.
SEPARATE = 0.99
# Columns that are tried, alone and in pairs: those that a forest of so many trees uses most.
_COLUMNS_TRIED = 4
_TREES = 60
# Of more columns, a forest gets those that differ most by themselves.
_MAX_COLUMNS = 200
# Most rows of either kind.
_MAX_ROWS = 2000
_FOLDS = 3
_BLANK = -1e30


def find_separating_columns(rows: InputRows, labelled: BoolArray) -> list[str]:
    """Return the one or two columns that separate labelled from unlabelled rows by themselves.

    Parameters
    ----------
    rows : DataFrame, ndarray or sparse matrix of shape (n, d)
        The rows of a table, as they are before encoding.
    labelled : ndarray of bool of shape (n,)
        The rows with a label.

    Returns
    -------
    list of str
        Names of columns, or their numbers from 0 in a matrix without names. Empty if no one or two
        columns suffice.
    """
    rng = np.random.default_rng(0)
    kinds = [np.flatnonzero(labelled), np.flatnonzero(~labelled)]
    if min(map(len, kinds)) < 2:
        return []
    chosen = [k if len(k) <= _MAX_ROWS else rng.choice(k, _MAX_ROWS, False) for k in kinds]
    row_ids = np.sort(np.concatenate(chosen))
    y = labelled[row_ids].astype(int)
    names, X = _encode_columns(rows, row_ids, y)
    if X.shape[1] > _MAX_COLUMNS:
        ranks = rankdata(X, axis=0)
        differences = np.abs(ranks[y == 1].mean(axis=0) - ranks[y == 0].mean(axis=0))
        top_columns = np.argsort(-differences, kind="stable")[:_MAX_COLUMNS]
        names, X = [names[k] for k in top_columns], X[:, top_columns]
    forest = ExtraTreesClassifier(
        _TREES, max_features=None, class_weight="balanced", random_state=0
    ).fit(X, y)
    used = np.argsort(-forest.feature_importances_, kind="stable")[:_COLUMNS_TRIED]
    for size in (1, 2):
        areas = {
            columns: _held_out_auc(X[:, columns], y)
            for columns in combinations(used.tolist(), size)
        }
        best = max(areas, key=lambda columns: areas[columns], default=())
        if best and areas[best] >= SEPARATE:
            return [names[k] for k in sorted(best)]
    return []


def _encode_columns(
    rows: InputRows, row_ids: IntArray, y: IntArray
) -> tuple[list[str], FloatArray]:
    """Return names and numbers of columns; categories are numbered, and blanks come first.

    Of a wide sparse matrix, columns that are filled more often for one kind of rows.
    """
    if not isinstance(rows, pd.DataFrame):
        block, names = rows[row_ids], np.arange(rows.shape[1])
        if sp.issparse(block):
            filled = (block != 0).astype(float).tocsr()
            differences = np.abs(filled[y == 1].mean(axis=0) - filled[y == 0].mean(axis=0))
            names = np.sort(np.argsort(-np.ravel(differences), kind="stable")[:_MAX_COLUMNS])
            block = sp.csr_array(block)[:, names].toarray()
        return list(map(str, names)), np.nan_to_num(np.asarray(block, float), nan=_BLANK)
    columns = []
    for name in rows.columns:
        cells = rows[name].iloc[row_ids]
        if pd.api.types.is_numeric_dtype(cells):
            numbers = cells.to_numpy(dtype=float, na_value=np.nan)
        else:
            # Sorted, because labelled rows that come first would show in the order of the rows.
            texts = cells.astype(object).map(str, na_action="ignore")
            codes = pd.factorize(texts, sort=True)[0]
            numbers = np.where(codes < 0, np.nan, codes)
        columns.append(np.nan_to_num(numbers, nan=_BLANK))
    return list(map(str, rows.columns)), np.column_stack(columns)


def _held_out_auc(X: FloatArray, y: IntArray) -> float:
    """Return the held-out ROC AUC of a tree."""
    folds = StratifiedKFold(min(_FOLDS, int(np.bincount(y).min())), shuffle=True, random_state=0)
    tree = DecisionTreeClassifier(class_weight="balanced", random_state=0)
    chances = cross_val_predict(tree, X, y, cv=folds, method="predict_proba")[:, 1]
    return float(roc_auc_score(y, chances))
