"""Settings of models of one class by a rule, and what other settings would give."""

from functools import partial
from itertools import product
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import scipy.sparse as sp
from scipy.stats import spearmanr
from sklearn.base import BaseEstimator
from sklearn.metrics import roc_auc_score
from sklearn.utils import check_random_state

from ..._typing import FloatArray, MatrixLike, RowMatrix
from ...kernels.rows import canonical
from ...one_class.base import OneClassEstimator
from ...rows.neighbors import (
    gamma_for_reach,
    mark_farthest,
    neighbor_distances,
    neighbor_gamma,
    neighbor_rank,
    share_out_of_reach,
)
from ..tuning.result import SearchCurve
from ..tuning.search import Plan, Search

# The rule.
# Share of the rows that is dropped from training.
_TRIM = 0.4
# Gamma is this, divided by a squared distance to neighbours.
_FACTOR = 4.0
_COSTS = {"C": 0.1, "nu": 0.1}
_TARGET_FPR = 0.05
# Rows beyond the kernel's reach, as a share of the target.
_SHARE_BEYOND_REACH = 0.5
# What is shown beside it.
_BAG_TRIMS = (0.0, 0.1, 0.2, 0.3)
_BAG_SIZES = (128, 512)
_TRIMS = (0.0, 0.3, 0.4)
_FACTORS = (2.0, 4.0, 8.0)
# Rows that the table is made with at most.
_MAX_TABLE_ROWS = 2000
# Share of these rows that is held out.
_HELD_OUT_SHARE = 0.2
# Fewer rows say nothing about held-out rows.
_MIN_ROWS = 20
_MEASURES = ["auc_shuffled", "rank_correlation", "converged"]
_COLUMNS = ["trim", "factor", "gamma", "dropped", "support_share", "beyond_reach", *_MEASURES]


class HeldOutRows(NamedTuple):
    """Rows that candidates are trained on, others, and these with shuffled columns."""

    train: RowMatrix
    held: RowMatrix
    shuffled: RowMatrix


def tune_one_class(
    estimator: OneClassEstimator,
    X: RowMatrix,
    weight: FloatArray | None,
    search: Search,
    contaminated: bool,
) -> Plan:
    """Return the rule's settings, and a table of others on held-out rows."""
    name = type(estimator).__name__
    if estimator.has_bags:
        return _tune_bags(estimator, X, weight, search, contaminated)
    if estimator.kernel != "rbf":
        raise ValueError(
            f"tune chooses the width of the Gaussian kernel, but {name} has "
            f"kernel={estimator.kernel!r}; pass kernel='rbf'."
        )
    counted = np.ones(X.shape[0], dtype=bool) if weight is None else weight > 0
    rows = X[counted]
    trim = _TRIM if contaminated else 0.0
    target = _TARGET_FPR if estimator.target_fpr is None else estimator.target_fpr
    beyond = _SHARE_BEYOND_REACH * target
    far = mark_farthest(neighbor_distances(rows), trim)
    narrow = neighbor_gamma(rows[~far], _FACTOR)
    gamma = min(narrow, gamma_for_reach(rows, far, beyond))
    price = estimator.cost_name
    value = _COSTS[price]
    table = _compare_settings(
        estimator, rows, trim, _FACTOR * gamma / narrow, {price: value}, search
    )

    n, n_core = len(far), int(np.sum(~far))
    left_out = "all rows are used for training (contaminated=False);"
    if far.any():
        left_out = (
            f"the {far.sum()} of {n} rows farthest from their {neighbor_rank(n)}th neighbour "
            "are dropped from training, because they may be anomalies;"
        )
    width = (
        f"gamma is {_FACTOR:g} divided by the squared median distance of the {n_core} training "
        f"rows to their {neighbor_rank(n_core)}th neighbour"
    )
    if gamma < narrow:
        width = (
            f"gamma is the largest value with at most {100 * beyond:.2g} % of all rows beyond "
            "the kernel's reach, where scores underflow"
        )
    reason = (
        f"A rule for rows without labels, not a search: {left_out} {width}, and {price} is "
        f"{value:g}. The threshold is calibrated on all rows for a false-alarm rate of "
        f"{target:g}. The table compares other settings on held-out rows for information only: "
        "no criterion without anomalies chose better than the rule."
    )
    settings = {"gamma": gamma, price: value}
    if estimator.target_fpr is None:
        settings["target_fpr"] = target
    kept = None
    if far.any() or weight is not None:
        kept = np.zeros(X.shape[0])
        kept[counted] = ~far
        kept *= 1.0 if weight is None else weight
    curve = SearchCurve(
        "gamma", "auc_shuffled", ["trim"], "Held-out rows against shuffled columns"
    )
    return Plan(settings, reason + search.early_end_note, table, curve, kept)


def _tune_bags(
    estimator: OneClassEstimator,
    X: RowMatrix,
    weight: FloatArray | None,
    search: Search,
    contaminated: bool,
) -> Plan:
    """Return how the rule trims bags, and a table of other settings on held-out rows."""
    trim: str | float = "auto" if contaminated else 0.0
    parts = _split_rows(X if weight is None else X[weight > 0], search)
    candidates: list[tuple[str | float, int]] = [(trim, estimator.bag_size)]
    others = product(_BAG_TRIMS, _BAG_SIZES)
    candidates += [setting for setting in others if setting != candidates[0]]
    table = []
    with search.running(type(estimator).__name__, len(candidates)):
        calls = []
        if parts is not None:
            calls = [
                partial(
                    _evaluate_candidate,
                    estimator,
                    parts.train,
                    parts,
                    trim=trim_of_bag,
                    bag_size=size,
                )
                for trim_of_bag, size in candidates
            ]
        for k, measures in enumerate(search.run_calls(calls)):
            search.advance()
            if measures is not None:
                shown = dict(zip(("trim", "bag_size"), candidates[k], strict=True))
                table.append(shown | measures)
    rule_alone = [dict(zip(("trim", "bag_size"), candidates[0], strict=True))]
    columns = ["trim", "bag_size", "support_share", *_MEASURES]
    table = _make_table(table or rule_alone, columns)
    table["chosen"] = table.index == 0
    left_out = (
        "bags drop the rows farthest from their neighbours if the data suggest it, because they "
        "may be anomalies"
    )
    if not trim:
        left_out = "bags use all their rows (contaminated=False)"
    reason = (
        f"A rule for rows without labels, not a search: {left_out}. The threshold is calibrated "
        f"for a false alarm rate of {estimator.target_fpr:g} with out-of-bag scores. The table "
        "compares other settings on held-out rows for information only."
    )
    curve = SearchCurve(
        "bag_size", "auc_shuffled", ["trim"], "Held-out rows against shuffled columns"
    )
    return Plan({"trim": trim}, reason + search.early_end_note, table, curve)


def _compare_settings(
    estimator: OneClassEstimator,
    rows: RowMatrix,
    trim: float,
    factor: float,
    price: dict[str, float],
    search: Search,
) -> pd.DataFrame:
    """Compare candidates around the rule, trained on some of the rows, scored on others."""
    parts = _split_rows(rows, search)
    candidates = [(trim, factor)]
    candidates += [setting for setting in product(_TRIMS, _FACTORS) if setting != (trim, factor)]
    table = []
    if parts is not None:
        distances = neighbor_distances(parts.train)
        calls = [
            partial(_evaluate_around_rule, estimator, parts, distances, *candidate, price)
            for candidate in candidates
        ]
        with search.running(type(estimator).__name__, len(candidates)):
            for row in search.run_calls(calls):
                search.advance()
                if row is not None:
                    table.append(row)
    rule_alone = [dict(zip(("trim", "factor"), candidates[0], strict=True))]
    table = _make_table(table or rule_alone, _COLUMNS)
    table["chosen"] = table.index == 0
    return table


def _evaluate_around_rule(
    estimator: OneClassEstimator,
    rows: HeldOutRows,
    distances: FloatArray,
    trim: float,
    factor: float,
    price: dict[str, float],
    search: Search,
) -> dict[str, Any] | None:
    """Return a candidate's row of the table; None if the time is over."""
    far = mark_farthest(distances, trim)
    core = rows.train[~far]
    gamma = neighbor_gamma(core, factor)
    settings = {"gamma": gamma, **price, "target_fpr": None}
    measures = _evaluate_candidate(estimator, core, rows, search, **settings)
    if measures is None:
        return None
    return {
        "trim": trim,
        "factor": factor,
        "gamma": gamma,
        "dropped": int(far.sum()),
        "beyond_reach": share_out_of_reach(rows.held, core, gamma),
        **measures,
    }


def _evaluate_candidate(
    estimator: OneClassEstimator,
    train: RowMatrix,
    rows: HeldOutRows,
    search: Search,
    **settings: Any,
) -> dict[str, Any] | None:
    """Return a candidate's measures on held-out rows, and its scores; None if time is over."""
    model = search.fit_clone(estimator, train, **settings)
    if model is None:
        return None
    scores = model.score_samples(rows.held)
    return {
        "support_share": len(model.support_) / train.shape[0],
        "auc_shuffled": _shuffled_auc(scores, model.score_samples(rows.shuffled)),
        "converged": model.fit_status_ == 0,
        "scores": scores,
    }


def _make_table(rows: list[dict[str, Any]], columns: list[str]) -> pd.DataFrame:
    """Return a table of candidates, whose scores are compared with the scores of the first."""
    for row in rows:
        if "scores" in row:
            row["rank_correlation"] = spearmanr(rows[0]["scores"], row["scores"])[0]
    return pd.DataFrame(rows, columns=columns)


def _split_rows(rows: RowMatrix, search: Search) -> HeldOutRows | None:
    """Return training rows, held-out rows, and these with shuffled columns; None for few rows."""
    if rows.shape[0] < _MIN_ROWS:
        return None
    order = check_random_state(search.seed).permutation(rows.shape[0])[:_MAX_TABLE_ROWS]
    n_held = int(_HELD_OUT_SHARE * len(order))
    held, train = rows[np.sort(order[:n_held])], rows[np.sort(order[n_held:])]
    return HeldOutRows(train, held, shuffled_columns(held, search.seed))


def shuffled_columns_score(estimator: BaseEstimator, X: MatrixLike, y: object = None) -> float:
    """Return how well a fitted model separates rows from rows with shuffled columns: a scorer.

    Shuffling keeps the columns' values and breaks what connects them. For ``GridSearchCV`` and
    its like, where anomalies are not at hand. On real sets it did not choose widths reliably.

    Parameters
    ----------
    estimator : fitted outlier detector
        With ``score_samples``.
    X : {array-like, sparse} of shape (n_samples, n_features)
        Rows, best held out.
    y : ignored
        For compatibility.

    Returns
    -------
    float
        ROC AUC of the rows against the shuffled ones.

    Examples
    --------
    >>> import numpy as np
    >>> from fewlabels import SVDD
    >>> from fewlabels.model_selection import shuffled_columns_score
    >>> x = np.random.default_rng(0).normal(size=(200, 1))
    >>> X = np.hstack([x, x])
    >>> shuffled_columns_score(SVDD(gamma=4.0).fit(X[:100]), X[100:]) > 0.9
    True
    """
    if hasattr(X, "to_numpy"):
        X = X.to_numpy()
    X = canonical(X) if sp.issparse(X) else np.asarray(X)
    shuffled = shuffled_columns(X, 0)
    return _shuffled_auc(estimator.score_samples(X), estimator.score_samples(shuffled))


def shuffled_columns(X: RowMatrix, seed: int) -> RowMatrix:
    """Return X with every column in a random order of its own."""
    rng = check_random_state(seed)
    if not sp.issparse(X):
        return np.column_stack([rng.permutation(column) for column in X.T])
    columns = sp.csc_array(X)
    rows = [rng.choice(X.shape[0], count, replace=False) for count in np.diff(columns.indptr)]
    indices = np.concatenate(rows) if rows else columns.indices
    return sp.csr_array(sp.csc_array((columns.data, indices, columns.indptr), shape=X.shape))


def _shuffled_auc(scores: FloatArray, shuffled: FloatArray) -> float:
    return float(
        roc_auc_score(np.repeat([1, 0], [len(scores), len(shuffled)]), np.r_[scores, shuffled])
    )
