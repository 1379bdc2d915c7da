"""Whether confirmed anomalies help a model of normal rows, as held-out rows say."""

import time
import warnings
from typing import Any, NamedTuple, TypeAlias, TypeVar

import numpy as np
import scipy.sparse as sp
from scipy.stats import norm, rankdata, t
from sklearn.base import BaseEstimator, clone

from ..._typing import BoolArray, FloatArray, IntArray, RowMatrix
from ...baselines.methods import one_class_methods
from ...kernels.growing import VotingForest
from ...kernels.parameters import resolve_gamma
from ...one_class.base import OneClassEstimator
from ...one_class.svdd import SVDD
from ...rows.grouped_folds import count_once, group_rows
from ...rows.neighbors import far_from_neighbors
from ..tuning.result import left_out_share

# Fewer anomalies can't show whether they help.
MIN_ANOMALIES = 10
# Rows of either kind that take part at most.
_MAX_ROWS_PER_KIND = 2000
_FOLDS = 5
# Confidence of the interval of the gain.
_CONFIDENCE = 0.95
_TREES = 100
# Widths that are tried, as multiples of gamma="scale": anomalies change nothing under narrow ones.
_WIDTHS = (1.0, 4.0)
_COPIED_PARAMETERS = ("target_fpr", "calibration", "random_state", "n_jobs", "tol", "max_time")


Detector = TypeVar("Detector", bound=BaseEstimator)
# For each anomaly, and for each normal row, the share of rows of the other kind on its right side.
Placements: TypeAlias = tuple[FloatArray, FloatArray]


class AnomalyTrial(NamedTuple):
    """Comparison, on held-out rows, of a model with and without confirmed anomalies.

    ``estimator`` isn't fitted; None where nothing was tried. ``without`` and ``auc`` are areas
    under the ROC curve of the model that leaves the anomalies out, and of this one. The gain has
    the interval from ``low`` to ``high``. ``why_not``: what speaks against it besides.
    ``of_classifier`` is the area of a random forest trained on the labels alone.
    """

    estimator: OneClassEstimator | None = None
    without: float = np.nan
    auc: float = np.nan
    low: float = np.nan
    high: float = np.nan
    why_not: str = ""
    of_classifier: float = np.nan

    @property
    def gain(self) -> float:
        """Difference of the two areas."""
        return self.auc - self.without

    @property
    def is_used(self) -> bool:
        """Return whether the model that learns from them is better beyond chance."""
        return self.estimator is not None and self.low > 0.0 and not self.why_not


def try_anomalies(
    estimator: OneClassEstimator,
    X: RowMatrix,
    anomalies: RowMatrix,
    *,
    fixed: bool,
    seconds: float,
    seed: int = 0,
) -> AnomalyTrial:
    """Compare a model that leaves anomalies out with models that learn from them.

    Both kinds of rows are split in five parts, and each part is scored by models of the others.
    The interval is DeLong's for paired areas, with Bonferroni's correction for the candidates.
    A candidate must also be no worse than the baselines of one class, which leave anomalies out.

    Parameters
    ----------
    estimator : one-class estimator
        The fitted model of normal rows.
    X : {ndarray, CSR array} of shape (n_rows, n_features)
        Normal rows.
    anomalies : {ndarray, CSR array} of shape (n_anomalies, n_features)
        Confirmed anomalies; 10 at least, or nothing is tried.
    fixed : bool
        Whether model and kernel width stay as they are. Otherwise an SVDD of two other widths is
        tried as well.
    seconds : float
        For all of it, > 0. If that isn't enough for every part, nothing is tried.
    seed : int, default=0
        For the parts.

    Returns
    -------
    AnomalyTrial
    """
    candidates, rivals = _candidates(estimator, X, fixed), []
    if anomalies.shape[0] < MIN_ANOMALIES:
        return AnomalyTrial(why_not=f"{MIN_ANOMALIES} are needed to test whether they help")
    if X.shape[0] < 2 * _FOLDS:
        return AnomalyTrial(why_not="there are too few normal rows to hold any out")
    if not fixed:
        rivals = [(method.name, method.estimator) for method in one_class_methods(seed)]
    rng = np.random.default_rng(seed)
    started = time.perf_counter()
    trim = left_out_share(estimator)
    normal, anomalous = (
        rng.permutation(_choose_distinct(rows))[:_MAX_ROWS_PER_KIND] for rows in (X, anomalies)
    )
    placements = []
    for fold in range(_FOLDS):
        out = [np.arange(len(rows)) % _FOLDS == fold for rows in (normal, anomalous)]
        train, held = X[normal[~out[0]]], X[normal[out[0]]]
        known, new = anomalies[anomalous[~out[1]]], anomalies[anomalous[out[1]]]
        weight = {}
        if trim:
            weight["sample_weight"] = (~far_from_neighbors(train, trim)).astype(float)
        models = [_fit_quietly(_clone_for_scores(estimator), train, **weight)]
        models += [
            fit_with_anomalies(_clone_for_scores(candidate), train, known)
            for candidate in candidates
        ]
        models += [_fit_quietly(clone(rival), train) for _, rival in rivals]
        found = [(model.score_samples(held), model.score_samples(new)) for model in models]
        found.append(_score_by_forest(train, known, (held, new), seed))
        placements.append([_compute_placements(*scores) for scores in found])
        if (time.perf_counter() - started) / (fold + 1) * _FOLDS > seconds:
            return AnomalyTrial(why_not="the time budget is too short to test whether they help")
    return _choose_best(candidates, [name for name, _ in rivals], placements)


def fit_with_anomalies(
    estimator: OneClassEstimator, X: RowMatrix, anomalies: RowMatrix
) -> OneClassEstimator:
    """Fit a model to normal rows ``X`` and confirmed anomalies, which come last."""
    rows, is_odd = _stack_rows(X, anomalies)
    return _fit_quietly(estimator, rows, anomalies=is_odd)


def _candidates(
    estimator: OneClassEstimator, X: RowMatrix, fixed: bool
) -> list[OneClassEstimator]:
    """Return unfitted models that may learn from the anomalies."""
    own = [clone(estimator)] if estimator.takes_anomalies else []
    if fixed:
        return own
    known, scale = estimator.get_params(), resolve_gamma("scale", X, None)
    kept = {name: known[name] for name in _COPIED_PARAMETERS if name in known}
    return own + [SVDD(gamma=float(width * scale), **kept) for width in _WIDTHS]


def _score_by_forest(
    X: RowMatrix, anomalies: RowMatrix, parts: tuple[RowMatrix, RowMatrix], seed: int
) -> tuple[FloatArray, FloatArray]:
    """Return how normal rows are for a random forest that is trained on the labels alone."""
    rows, is_odd = _stack_rows(X, anomalies)
    forest = VotingForest(
        rows, is_odd.astype(int), _TREES, splits="best", drawn=len(is_odd), seed=seed
    )
    normal, odd = parts
    return forest.predict_shares(normal)[:, 0], forest.predict_shares(odd)[:, 0]


def _stack_rows(X: RowMatrix, anomalies: RowMatrix) -> tuple[RowMatrix, BoolArray]:
    rows = sp.csr_array(sp.vstack([X, anomalies])) if sp.issparse(X) else np.r_[X, anomalies]
    return rows, np.arange(rows.shape[0]) >= X.shape[0]


def _clone_for_scores(estimator: OneClassEstimator) -> OneClassEstimator:
    """Return a copy for scores alone, which need no threshold."""
    none = {"target_fpr": None} if estimator.has_own_threshold else {}
    return clone(estimator).set_params(**none)


def _fit_quietly(estimator: Detector, X: RowMatrix, **options: Any) -> Detector:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the user's own fit has warned of what is to be said
        return estimator.fit(X, **options)


def _compute_placements(
    normal: FloatArray, anomalous: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Return each anomaly's share of normal rows above, and each normal row's of those below."""
    n, m = len(normal), len(anomalous)
    ranks = rankdata(np.append(anomalous, normal))
    below_odd = (ranks[:m] - rankdata(anomalous)) / n
    below_normal = (ranks[m:] - rankdata(normal)) / m
    return 1.0 - below_odd, below_normal


def _choose_distinct(rows: RowMatrix) -> IntArray:
    """Return the places of rows, one of each group of copies."""
    n = rows.shape[0]
    return count_once(np.arange(n), np.zeros(n), group_rows(rows))


def _choose_best(
    candidates: list[OneClassEstimator], rivals: list[str], placements: list[list[Placements]]
) -> AnomalyTrial:
    """Return the ``AnomalyTrial`` of the candidate with the highest area."""
    n = len(candidates)
    together = [
        [np.concatenate([fold[k][side] for fold in placements]) for side in (0, 1)]
        for k in range(1 + n + len(rivals) + 1)
    ]
    areas = [float(of_odd.mean()) for of_odd, _ in together]
    k = 1 + int(np.argmax(areas[1 : 1 + n]))
    parts = [together[k][side] - together[0][side] for side in (0, 1)]
    error = np.sqrt(sum(part.var(ddof=1) / len(part) for part in parts))
    tail, few = 1.0 - (1.0 - _CONFIDENCE) / (2 * n), min(map(len, parts))
    wide = float((t.ppf(tail, few - 1) if few > 1 else norm.ppf(tail)) * error)
    gain, why_not = areas[k] - areas[0], ""
    of_rivals = areas[1 + n : -1]
    if rivals and max(of_rivals) > areas[k]:
        name = rivals[int(np.argmax(of_rivals))]
        why_not = f"{name} without them separates held-out rows better"
    ends = gain - wide, gain + wide
    return AnomalyTrial(candidates[k - 1], areas[0], areas[k], *ends, why_not, areas[-1])
