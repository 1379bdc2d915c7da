"""Settings of SVDD and OneClassSVM by a rule, and what other settings would give."""

from __future__ import annotations

import numpy as np
import pandas as pd
import scipy.sparse as sp
from scipy.stats import spearmanr
from sklearn.metrics import roc_auc_score
from sklearn.utils import check_random_state

from ...estimators import SVDD
from .neighbors import (
    farthest,
    gamma_of_reach,
    lost_share,
    neighbor_distances,
    neighbor_gamma,
    rank_of_neighbor,
)
from .result import Curve
from .search import Plan, ended_early, quietly_settings

# The rule.
_TRIM, _FACTOR = 0.4, 4.0
_C, _NU = 0.1, 0.1
_TARGET_FPR = 0.05
# Rows beyond the kernel's reach, as a share of the target.
_BEYOND = 0.5
# What is shown beside it.
_TRIMS = (0.0, 0.3, 0.4)
_FACTORS = (2.0, 4.0, 8.0)
# Rows that the table is made with, and the part of them held out.
_SHOWN_ROWS, _HELD_OUT = 2000, 0.2
# Fewer rows tell nothing about held-out rows.
_FEWEST = 20


def shuffled_columns_score(estimator, X, y=None):
    """How well a fitted machine tells rows from rows with shuffled columns: a scorer.

    Shuffling every column by itself keeps the columns' values and breaks what connects them.
    For ``GridSearchCV`` and its like, where anomalies are not at hand. On real sets it did not
    choose widths reliably; columns that are independent give it nothing to see.

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
        Area under the ROC curve of the rows against the shuffled ones.

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
    X = X if sp.issparse(X) else np.asarray(X)
    return _auc(estimator, X, shuffled_columns(X, 0))


def shuffled_columns(X, seed):
    """X with every column in a random order of its own."""
    rng = check_random_state(seed)
    if not sp.issparse(X):
        return np.column_stack([rng.permutation(column) for column in X.T])
    columns = sp.csc_array(X)
    rows = [rng.choice(X.shape[0], count, replace=False) for count in np.diff(columns.indptr)]
    indices = np.concatenate(rows) if rows else columns.indices
    return sp.csr_array(sp.csc_array((columns.data, indices, columns.indptr), shape=X.shape))


def tune_one_class(estimator, X, y, weight, search, contaminated):
    """The rule's settings, and a table of others on held-out rows."""
    name = type(estimator).__name__
    if estimator.kernel != "rbf":
        raise ValueError(
            f"tune chooses the width of the Gaussian kernel, and {name} has "
            f"kernel={estimator.kernel!r}; pass kernel='rbf'."
        )
    counted = np.ones(X.shape[0], dtype=bool) if weight is None else weight > 0
    rows = X[counted]
    trim = _TRIM if contaminated else 0.0
    target = _target(estimator)
    far = farthest(neighbor_distances(rows), trim)
    core = rows[~far]
    narrow = neighbor_gamma(core, _FACTOR)
    gamma = min(narrow, gamma_of_reach(rows, far, _BEYOND * target))
    settings = {"gamma": gamma, **_price(estimator)}
    kept = np.zeros(X.shape[0])
    kept[np.flatnonzero(counted)[~far]] = 1.0
    if weight is not None:
        kept *= weight
    table = _table(estimator, rows, trim, _FACTOR * gamma / narrow, search)
    reason = " ".join(
        [
            "A rule for rows without labels, not a search:",
            _in_words(far, gamma < narrow, _BEYOND * target, estimator),
            _calibration(estimator, settings),
            "The table shows what other settings do on held-out rows; it did not decide: no "
            "criterion without anomalies was found to choose better than the rule.",
        ]
    )
    curve = Curve("gamma", "auc_shuffled", ["trim"], "Held-out rows against shuffled columns")
    all_alike = not far.any() and weight is None
    return Plan(settings, reason + ended_early(search), table, curve, None if all_alike else kept)


def _in_words(far, is_reach, beyond, estimator):
    """The rule as it was applied."""
    n, n_core = len(far), int(np.sum(~far))
    words = "no row is left out of training (contaminated=False);"
    if far.any():
        words = (
            f"the {far.sum()} of {n} rows farthest from their neighbour no. "
            f"{rank_of_neighbor(n)} are left out of training, since anomalies may be among them;"
        )
    ((price, value),) = _price(estimator).items()
    if is_reach:
        width = (
            f"gamma is the largest that leaves at most {100 * beyond:.2g} % of all rows beyond "
            "the kernel's reach, where scores are lost in rounding"
        )
    else:
        width = (
            f"gamma is {_FACTOR:g} over the squared median distance of the {n_core} rows used to "
            f"their neighbour no. {rank_of_neighbor(n_core)}"
        )
    return f"{words} {width}, and {price} is {value:g}."


def _target(estimator):
    target = estimator.target_fpr
    return _TARGET_FPR if target is None else target


def _price(estimator):
    is_squared = isinstance(estimator, SVDD) and estimator.slack == "squared"
    return {"C": _C} if is_squared else {"nu": _NU}


def _calibration(estimator, settings):
    """Set the target of the threshold where none is given; in words."""
    target = _target(estimator)
    if estimator.target_fpr is None:
        settings["target_fpr"] = target
    return f"The threshold is calibrated on all rows for a false-alarm rate of {target:g}."


def _table(estimator, rows, trim, factor, search):
    """Candidates around the rule, on a part of the rows, scored on others."""
    rng = check_random_state(search.seed)
    order = rng.permutation(rows.shape[0])[:_SHOWN_ROWS]
    n_held = int(_HELD_OUT * len(order))
    held, train = rows[np.sort(order[:n_held])], rows[np.sort(order[n_held:])]
    names = [(trim, factor)]
    names += [(t, c) for t in _TRIMS for c in _FACTORS if (t, c) != (trim, factor)]
    found = []
    if rows.shape[0] >= _FEWEST:
        broken = shuffled_columns(held, search.seed)
        distances = neighbor_distances(train)
        with search.running(type(estimator).__name__, len(names)):
            for t, c in names:
                if search.is_over():
                    break
                found.append(_described(estimator, train, held, broken, distances, t, c, search))
                search.advance()
    table = pd.DataFrame(
        [entry for entry, _ in found if entry] or [{"trim": trim, "factor": factor}],
        columns=[
            "trim", "factor", "gamma", "dropped", "support_share", "beyond_reach",
            "auc_shuffled", "rank_correlation", "converged",
        ],
    )  # fmt: skip
    scores = [scores for entry, scores in found if entry]
    if scores:
        table["rank_correlation"] = [spearmanr(scores[0], other)[0] for other in scores]
    table["chosen"] = table.index == 0
    return table


def _described(estimator, train, held, broken, distances, trim, factor, search):
    """One line of the table and the scores of held-out rows; (None, None) out of time."""
    far = farthest(distances, trim)
    core = train[~far]
    gamma = neighbor_gamma(core, factor)
    settings = {"gamma": gamma, **_price(estimator), **quietly_settings(estimator)}
    machine = search.fitted(estimator, core, **settings, target_fpr=None)
    if machine is None:
        return None, None
    entry = {
        "trim": trim,
        "factor": factor,
        "gamma": gamma,
        "dropped": int(far.sum()),
        "support_share": len(machine.support_) / core.shape[0],
        "beyond_reach": lost_share(held, core, gamma),
        "auc_shuffled": _auc(machine, held, broken),
        "converged": machine.fit_status_ == 0,
    }
    return entry, machine.score_samples(held)


def _auc(machine, rows, broken):
    scores = np.concatenate([machine.score_samples(rows), machine.score_samples(broken)])
    return float(roc_auc_score(np.repeat([1, 0], [rows.shape[0], broken.shape[0]]), scores))
