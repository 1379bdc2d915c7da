"""Settings of models of one class by a rule, and what other settings would give."""

from collections.abc import Callable
from functools import partial
from itertools import product
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import pandas as pd
import scipy.sparse as sp
from scipy.stats import spearmanr
from sklearn.base import BaseEstimator
from sklearn.metrics import roc_auc_score
from sklearn.utils import check_random_state

from ..._typing import FloatArray, MatrixLike, RowMatrix
from ..._util.messages import ordinal
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
from ..tuning.result import Decision, SearchCurve
from ..tuning.search import Search

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
_COLUMNS_OF_BAGS = ["trim", "bag_size", "support_share", *_MEASURES]


# Settings, the first two columns of a row of the table; and the other columns.
Candidate: TypeAlias = tuple[Any, Any]
Measures: TypeAlias = dict[str, Any]


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
) -> Decision:
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
    held_out = _split_rows(rows, search)
    distances = np.empty(0) if held_out is None else neighbor_distances(held_out.train)
    table = _compare_with_rule(
        search,
        estimator,
        [(trim, _FACTOR * gamma / narrow), *product(_TRIMS, _FACTORS)],
        held_out,
        partial(_evaluate_width, estimator, {price: value}, distances),
        _COLUMNS,
    )

    n, n_core = len(far), int(np.sum(~far))
    left_out = "all rows are used for training (contaminated=False);"
    if far.any():
        left_out = (
            f"the {far.sum()} of {n} rows farthest from their {ordinal(neighbor_rank(n))} "
            "neighbour are dropped from training, because they may be anomalies;"
        )
    width = (
        f"gamma is {_FACTOR:g} divided by the squared median distance of the {n_core} training "
        f"rows to their {ordinal(neighbor_rank(n_core))} neighbour"
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
    return Decision(settings, reason, table, curve, kept)


def _tune_bags(
    estimator: OneClassEstimator,
    X: RowMatrix,
    weight: FloatArray | None,
    search: Search,
    contaminated: bool,
) -> Decision:
    """Return how the rule trims bags, and a table of other settings on held-out rows."""
    trim: str | float = "auto" if contaminated else 0.0
    table = _compare_with_rule(
        search,
        estimator,
        [(trim, estimator.bag_size), *product(_BAG_TRIMS, _BAG_SIZES)],
        _split_rows(X if weight is None else X[weight > 0], search),
        partial(_evaluate_bags, estimator),
        _COLUMNS_OF_BAGS,
    )
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
    return Decision({"trim": trim}, reason, table, curve)


def _compare_with_rule(
    search: Search,
    estimator: OneClassEstimator,
    candidates: list[Candidate],
    rows: HeldOutRows | None,
    evaluate: Callable[[HeldOutRows, Candidate, Search], Measures | None],
    columns: list[str],
) -> pd.DataFrame:
    """Return the table of the rule, which comes first, and of others, on held-out rows."""
    rule = candidates[0]
    scored: list[tuple[Candidate, Measures]] = []
    if rows is not None:
        distinct = [rule, *(candidate for candidate in candidates if candidate != rule)]
        scored = search.run(type(estimator).__name__, distinct, partial(evaluate, rows))
    lines = [
        dict(zip(columns, candidate, strict=False)) | measures
        for candidate, measures in scored or [(rule, {})]
    ]
    for line in lines:
        if "scores" in line:
            line["rank_correlation"] = spearmanr(lines[0]["scores"], line["scores"])[0]
    table = pd.DataFrame(lines, columns=columns)
    table["chosen"] = table.index == 0
    return table


def _evaluate_width(
    estimator: OneClassEstimator,
    price: dict[str, float],
    distances: FloatArray,
    rows: HeldOutRows,
    candidate: Candidate,
    search: Search,
) -> Measures | None:
    """Return a candidate's measures; None if the time is over."""
    trim, factor = candidate
    far = mark_farthest(distances, trim)
    core = rows.train[~far]
    gamma = neighbor_gamma(core, factor)
    settings = {"gamma": gamma, **price, "target_fpr": None}
    measures = _evaluate_settings(estimator, core, rows, search, **settings)
    if measures is None:
        return None
    return {
        "gamma": gamma,
        "dropped": int(far.sum()),
        "beyond_reach": share_out_of_reach(rows.held, core, gamma),
        **measures,
    }


def _evaluate_bags(
    estimator: OneClassEstimator, rows: HeldOutRows, candidate: Candidate, search: Search
) -> Measures | None:
    """Return a candidate's measures; None if the time is over."""
    trim, size = candidate
    return _evaluate_settings(estimator, rows.train, rows, search, trim=trim, bag_size=size)


def _evaluate_settings(
    estimator: OneClassEstimator,
    train: RowMatrix,
    rows: HeldOutRows,
    search: Search,
    **settings: Any,
) -> Measures | None:
    """Return measures on held-out rows, and the scores of these; None if the time is over."""
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
