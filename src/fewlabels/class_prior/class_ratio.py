"""The class ratio of unlabelled rows, if the labels' own ratio isn't representative."""

from collections.abc import Callable, Mapping
from numbers import Integral
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from scipy.special import softmax
from sklearn.utils.validation import check_consistent_length

from .._typing import AnyArray, FloatArray, IntArray, MatrixLike, RowMatrix, VectorLike
from .._util.display import short_repr
from .._util.messages import Message, ref
from ..calibration.fit_curves import softmax_slopes
from ..data.checks import check_numbers
from ..data.labels.semi_supervised import class_indices, read_ratio, read_semi_labels
from ..kernels.growing import VotingForest
from ..kernels.rows import checked_rows
from ..rows.row_order import label_folds, value_order
from .estimate import make_interval
from .frequent_class import estimate_from_frequent_class

# Folds of the labels.
_FOLDS = 5
# Trees of each forest.
_TREES = 100
# More labelled rows of a class than these are sampled.
_MAX_ROWS_PER_CLASS = 1000
# More unlabelled rows than these are sampled.
_MAX_UNLABELLED_ROWS = 2000
# A bootstrap sample has so many labels of a class fewer than there are, and two at least: scores
# and calibration come from the same few labels. Chosen by coverage on five data sets.
_BOOTSTRAP_LABELS_LESS = 3
# EM ends when no share changes by more, or after so many rounds.
_EM_TOLERANCE = 1e-9
_MAX_EM_ROUNDS = 2000


class ClassRatio(NamedTuple):
    """Shares of the classes among unlabelled rows, with intervals.

    Attributes
    ----------
    classes : ndarray of shape (n_classes,)
        The classes, sorted.
    shares : ndarray of shape (n_classes,)
        Their shares, > 0, which sum to 1.
    intervals : ndarray of shape (n_classes, 2) or None
        Ends of the interval of each share; None where the shares were given.
    confidence : float
        Nominal coverage of each interval.
    replicates : ndarray of shape (n_bootstrap, n_classes) or None
        Estimates from bootstrap samples.
    """

    classes: AnyArray
    shares: FloatArray
    intervals: FloatArray | None
    confidence: float
    replicates: FloatArray | None

    def __repr__(self) -> str:
        return short_repr(self)


def label_shift(
    X: MatrixLike,
    y: VectorLike,
    class_ratio: str | float | Mapping[Any, float] | VectorLike = "estimate",
    *,
    confidence: float = 0.9,
    n_bootstrap: int = 200,
    unlabeled: object = -1,
    sample_weight: VectorLike | None = None,
    random_state: int = 0,
) -> ClassRatio:
    """Estimate the shares of the classes among the unlabelled rows.

    People often label as many rows of a rare class as of a frequent one. The class ratio of such
    labels isn't the population's. Under label shift (within each class, labelled and unlabelled
    rows have the same distribution) the unlabelled rows reveal their own ratio.

    Parameters
    ----------
    X : {array-like, sparse} of shape (n_samples, n_features)
        Rows.
    y : array-like of shape (n_samples,)
        Two classes or more; unlabelled rows are missing (NaN, None, "") or ``unlabeled``.
    class_ratio : "estimate", float, dict or array-like of shape (n_classes,), default="estimate"
        A known ratio is checked and passed through: the share of the second of two classes, a dict
        ``{class: share}``, or the shares in the order of the sorted classes.
    confidence : float, default=0.9
        Nominal coverage of each interval, in (0, 1).
    n_bootstrap : int, default=200
        Bootstrap samples, >= 2.
    unlabeled : value of y or None, default=-1
        The mark of unlabelled rows. Missing labels always are unlabelled.
    sample_weight : array-like of shape (n_samples,), default=None
        Weights, which act as repetitions. Rows of weight <= 0 are left out.
    random_state : int, default=0
        Seed.

    Returns
    -------
    ClassRatio
        Classes, shares, intervals and replicates.

    Raises
    ------
    ValueError
        Where no row is unlabelled, or a class has fewer than two distinct labelled rows.

    Notes
    -----
    Forests of 100 extremely randomized trees, each grown without a fifth of the labels, score the
    labels left out and all unlabelled rows. The scores of the labels calibrate probabilities
    (Platt 1999, here a softmax with one slope and a constant per class, both with a prior). These
    go into :func:`label_shift_em`.

    For the intervals, scores of labelled and of unlabelled rows are drawn with replacement, then
    calibrated and corrected again. With few labels such intervals are too narrow, so each sample
    has three labels of a class fewer than there are. ``docs/learn/class-prior.md`` has the
    coverage that was measured. An interval is never narrower than one for a share that was counted
    on the unlabelled rows. No interval allows for labels that are easier or harder than other
    rows of their class.

    Where nearly all labels are of one of two classes, and a forest separates labelled rows from
    the others, the share of that class is the class prior that :func:`estimate_prior` finds,
    with its number of replicates.

    References
    ----------
    Saerens, M., Latinne, P., Decaestecker, C. (2002). Adjusting the outputs of a classifier to new
    a priori probabilities: a simple procedure. Neural Computation 14, section 2.2.

    Platt, J. (1999). Probabilistic outputs for support vector machines and comparisons to
    regularized likelihood methods. Advances in Large Margin Classifiers.

    Examples
    --------
    >>> import numpy as np
    >>> from fewlabels.class_prior import label_shift
    >>> rng = np.random.default_rng(0)
    >>> truth = np.repeat([0, 1, 0, 1], [20, 20, 400, 100])
    >>> X = rng.normal(size=(540, 2)) + 2.0 * truth[:, None]
    >>> y = np.where(np.arange(540) < 40, truth, -1)  # 20 labels of each class
    >>> found = label_shift(X, y)
    >>> bool(found.intervals[1, 0] < 0.2 < found.intervals[1, 1])
    True
    """
    _check_options(confidence, n_bootstrap)
    X = checked_rows(X, accept_sparse="csr", dtype=[np.float64, np.float32])
    X = sp.csr_array(X) if sp.issparse(X) else X
    check_consistent_length(X, y, sample_weight)
    label, classes, _ = read_semi_labels(y, unlabeled)
    if not isinstance(class_ratio, str):
        return ClassRatio(classes, read_ratio(class_ratio, classes), None, confidence, None)
    if class_ratio != "estimate":
        raise ValueError(
            Message(
                f"{ref('class_ratio', some=repr(class_ratio))} is not valid; pass 'estimate' or "
                "shares."
            )
        )
    weight = np.ones(len(label))
    if sample_weight is not None:
        weight = check_numbers(
            sample_weight, ensure_2d=False, dtype=np.float64, input_name="sample_weight"
        )
    kept = np.flatnonzero(weight > 0)
    place = class_indices(label[kept], len(classes))
    found = estimate_shares(
        X[kept], place, weight[kept], classes, confidence, n_bootstrap, random_state
    )
    shares, intervals, replicates = found
    return ClassRatio(classes, shares, intervals, confidence, replicates)


def label_shift_em(
    probabilities: MatrixLike,
    source_shares: VectorLike,
    *,
    sample_weight: VectorLike | None = None,
) -> FloatArray:
    """Estimate the shares of classes among rows, from probabilities under other shares.

    The shares of greatest likelihood, by expectation-maximization (Saerens et al. 2002,
    section 2.2).

    Parameters
    ----------
    probabilities : array-like of shape (n_samples, n_classes)
        Probabilities of the classes by a calibrated classifier.
    source_shares : array-like of shape (n_classes,)
        Shares of the classes for which it is calibrated, such as its training rows' shares, > 0.
    sample_weight : array-like of shape (n_samples,), default=None
        Weights of the rows, >= 0.

    Returns
    -------
    ndarray of shape (n_classes,)
        Shares, which sum to 1.

    Raises
    ------
    ValueError
        If probabilities or shares are negative, or their shapes don't match.

    Examples
    --------
    >>> from fewlabels.class_prior import label_shift_em
    >>> label_shift_em([[0.9, 0.1], [0.9, 0.1], [0.1, 0.9]], [0.5, 0.5]).round(3)
    array([0.708, 0.292])
    """
    p = check_numbers(probabilities, dtype=np.float64, input_name="probabilities")
    source = np.asarray(source_shares, dtype=np.float64)
    if source.shape != (p.shape[1],) or not np.all(source > 0.0) or np.any(p < 0.0):
        raise ValueError(
            "label_shift_em needs probabilities >= 0 of shape (n_samples, n_classes) and "
            "source_shares > 0 of shape (n_classes,)."
        )
    weight = np.ones(len(p)) if sample_weight is None else np.asarray(sample_weight, dtype=float)
    if weight.shape != (len(p),) or np.any(weight < 0.0) or not weight.sum() > 0.0:
        raise ValueError("sample_weight needs one number >= 0 per row, and some above 0.")
    return _shares_by_em(p / source, weight / weight.sum(), source / source.sum())


def _shares_by_em(ratio: FloatArray, mass: FloatArray, shares: FloatArray) -> FloatArray:
    """Run EM from some shares; ``ratio`` are class densities up to a factor for each row.

    Two steps tell how they shrink, and a third goes where that leads (Varadhan and Roland 2008),
    unless a share would end.
    """

    def step(shares: FloatArray) -> FloatArray:
        joint = ratio * shares
        total = joint.sum(axis=1, keepdims=True)
        return mass @ (joint / np.maximum(total, np.finfo(float).tiny))

    for _ in range(_MAX_EM_ROUNDS):
        first = step(shares)
        second = step(first)
        change, bend = first - shares, second - 2.0 * first + shares
        if np.abs(second - first).max() <= _EM_TOLERANCE:
            return second / second.sum()
        far = float(
            np.sqrt(float(change @ change) / max(float(bend @ bend), float(np.finfo(float).tiny)))
        )
        leap = shares + 2.0 * far * change + far**2 * bend
        shares = step(leap) if far > 1.0 and leap.min() > 0.0 else second
    return shares / shares.sum()


def _check_options(confidence: float, n_bootstrap: int) -> None:
    if not 0.0 < confidence < 1.0:
        raise ValueError(f"confidence={confidence!r} is not a share; pass a number in (0, 1).")
    if not (isinstance(n_bootstrap, int | Integral) and n_bootstrap >= 2):
        raise ValueError(f"n_bootstrap={n_bootstrap!r} is too few; pass an integer >= 2.")


def estimate_shares(
    X: RowMatrix,
    place: IntArray,
    weight: FloatArray,
    classes: AnyArray,
    confidence: float = 0.9,
    n_bootstrap: int = 200,
    seed: int = 0,
    is_enough: Callable[[FloatArray], bool] | None = None,
) -> tuple[FloatArray, FloatArray | None, FloatArray | None]:
    """Return shares, intervals and replicates, from the place of each row's class (-1: none).

    Rows are put into an order that depends on their values alone, and a row of weight k is
    repeated k times. Without intervals and replicates (None) where ``is_enough(shares)``.
    """
    if not np.any(place < 0):
        raise ValueError(
            Message(
                f"{ref('class_ratio', 'estimate')} needs unlabelled rows, and every row has a "
                "label; omit class_ratio."
            )
        )
    rng = np.random.default_rng(seed)
    rows = _choose_sample(value_order(X, place, weight), place, rng)
    X, place = X[rows], place[rows]
    if len(classes) == 2:
        found = estimate_from_frequent_class(X, place, seed, confidence=confidence)
        if found is not None:
            return found
    fold = label_folds(X, place, _FOLDS)
    for number, name in enumerate(classes):
        if not np.any(fold[place == number] >= 0):
            raise ValueError(
                Message(
                    f"{ref('class_ratio', 'estimate')} needs two different labelled rows of each "
                    f"class, and {name} has fewer; label more rows, or pass the shares."
                )
            )
    known, own, free = _score_by_forests(X, place, fold, rng)
    n_classes, n_free = len(classes), free.shape[1]
    counts = np.bincount(own, minlength=n_classes)
    even = np.full(n_classes, 1.0 / n_classes)
    least = 0.5 / n_free

    def estimate_from_scores(
        slope: float, intercept: FloatArray, scores: FloatArray
    ) -> FloatArray:
        """Return the shares; classes weigh the same in calibration, as if of equal size."""
        ratio = n_classes * softmax(slope * scores + intercept, axis=1)
        shares = _shares_by_em(ratio, np.full(len(ratio), 1.0 / len(ratio)), even)
        shares = np.maximum(shares, least)
        return shares / shares.sum()

    per_row = (len(own) / (n_classes * counts))[own]
    slopes, intercepts = softmax_slopes(known, own, per_row[None], usual=0.0)
    shares = estimate_from_scores(slopes[0], intercepts[0], free.reshape(-1, n_classes))
    if is_enough is not None and is_enough(shares):
        return shares, None, None
    times, places = np.zeros((n_bootstrap, len(own))), []
    for k in range(n_bootstrap):
        for number, count in enumerate(counts):
            drawn = max(min(2, count), count - _BOOTSTRAP_LABELS_LESS)
            some = rng.choice(np.flatnonzero(own == number), drawn)
            times[k] += np.bincount(some, minlength=len(own)) * (count / drawn)
        # Of each row the scores of one of the forests.
        places.append((rng.integers(0, len(free), n_free), rng.integers(0, n_free, n_free)))
    fitted = zip(*softmax_slopes(known, own, per_row * times, usual=0.0), places, strict=True)
    replicates = np.array(
        [estimate_from_scores(slope, ends, free[which]) for slope, ends, which in fitted]
    )
    pairs = zip(shares, replicates.T, strict=True)
    intervals = np.array(
        [
            make_interval(share, share_replicates, confidence, n_free)
            for share, share_replicates in pairs
        ]
    )
    return shares, intervals, replicates


def _choose_sample(rows: IntArray, place: IntArray, rng: np.random.Generator) -> IntArray:
    """Return the rows, or a random sample of each kind that has many, in their order."""
    kept = []
    for number in np.unique(place[rows]):
        some = rows[place[rows] == number]
        most = _MAX_UNLABELLED_ROWS if number < 0 else _MAX_ROWS_PER_CLASS
        if len(some) > most:
            some = some[np.sort(rng.choice(len(some), most, replace=False))]
        kept.append(some)
    return np.concatenate(kept)


def _score_by_forests(
    X: RowMatrix, place: IntArray, fold: IntArray, rng: np.random.Generator
) -> tuple[FloatArray, IntArray, FloatArray]:
    """Return log vote shares by forests that were trained without a row's label.

    First for labelled rows, then their classes, then for unlabelled rows by each forest, in
    shape (n_forests, n_unlabelled, n_classes). Each forest has scored labels and unlabelled rows
    alike, so within a class the scores of both have the same distribution.
    """
    n_classes = int(place.max()) + 1
    folds = np.unique(fold[fold >= 0])
    tested, free = np.flatnonzero(fold >= 0), np.flatnonzero(place < 0)
    known, of_free = np.empty((len(place), n_classes)), []
    for number in folds:
        train = np.flatnonzero((place >= 0) & (fold != number))
        seed = int(rng.integers(2**31 - 1))
        forest = VotingForest(X[train], place[train], _TREES, seed=seed)
        test = np.flatnonzero(fold == number)
        votes = _TREES * forest.predict_shares(X[np.concatenate([test, free])])
        scores = np.log((votes + 0.5) / (_TREES + 0.5 * n_classes))
        known[test] = scores[: len(test)]
        of_free.append(scores[len(test) :])
    return known[tested], place[tested], np.stack(of_free)
