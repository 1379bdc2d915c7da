"""How far probabilities are from frequencies."""

from numbers import Integral

import numpy as np
from sklearn.utils import check_consistent_length

from .._typing import BoolArray, VectorLike
from ..calibration.fit_curves import equal_bins
from ..data.checks import check_numbers
from ..data.labels.arrays import split_missing
from ._sample import validate_weight


def calibration_error(
    y_true: VectorLike,
    p: VectorLike,
    n_bins: int = 15,
    *,
    pos_label: object = None,
    norm: str = "l1",
    sample_weight: VectorLike | None = None,
) -> float:
    """Return the expected calibration error, with bins of equal mass.

    Rows are put in the order of their probability and cut into ``n_bins`` groups of (as nearly
    as ties allow) equal weight. With c_k the mean probability of a group, o_k its share of
    positive rows and w_k its share of the weight: ``sum_k w_k |c_k - o_k|`` (Naeini et al. 2015,
    eq. (3)), or ``sqrt(sum_k w_k (c_k - o_k)**2)`` (Kumar et al. 2019). Rows of equal probability
    are never distinguished. With few rows chance alone makes it positive: about
    ``0.8 sqrt(n_bins p (1 - p) / n)``.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,)
        True labels, two values at most; for positive-unlabelled data the labels of rows where both
        classes are known.
    p : array-like of shape (n_samples,)
        Probabilities of the positive class, in [0, 1].
    n_bins : int, default=15
        Groups, >= 1.
    pos_label : label or None, default=None
        The positive class; None for the greater value of ``y_true``, or True or 1.
    norm : {"l1", "l2"}, default="l1"
        Mean absolute or root mean squared difference.
    sample_weight : array-like of shape (n_samples,), default=None
        Weights, >= 0.

    Returns
    -------
    float
        In [0, 1].

    References
    ----------
    Naeini, M. P., Cooper, G. F., Hauskrecht, M. (2015). Obtaining well calibrated probabilities
    using Bayesian binning. AAAI. (There with bins of equal width.)

    Kumar, A., Liang, P., Ma, T. (2019). Verified uncertainty calibration. NeurIPS. (Equal mass.)

    Examples
    --------
    >>> from fewlabels.metrics import calibration_error
    >>> calibration_error([0, 0, 0, 1], [0.25, 0.25, 0.25, 0.25])
    0.0
    >>> round(calibration_error([0, 0, 1, 1], [0.2, 0.2, 0.6, 0.6], n_bins=2), 3)
    0.3
    """
    probability = check_numbers(p, ensure_2d=False, dtype=np.float64, input_name="p")
    if probability.ndim != 1 or probability.min() < 0.0 or probability.max() > 1.0:
        raise ValueError(
            "p must be one-dimensional, with probabilities of the positive class from 0 to 1; "
            "pass one column of predict_proba."
        )
    if isinstance(n_bins, bool) or not isinstance(n_bins, int | Integral) or n_bins < 1:
        raise ValueError(f"n_bins={n_bins!r} is not valid; pass a whole number >= 1.")
    if norm not in ("l1", "l2"):
        raise ValueError(f"norm={norm!r} is not valid; pass 'l1' or 'l2'.")
    positive = _read_positive(y_true, pos_label)
    check_consistent_length(positive, probability)
    weight = validate_weight(sample_weight, len(probability), slice(None))
    _, group, _, bins = equal_bins(probability, weight, n_bins)
    bins = bins[group]
    bin_weight = np.bincount(bins, weights=weight, minlength=n_bins)
    bin_error = np.bincount(bins, weights=weight * (probability - positive), minlength=n_bins)
    if norm == "l1":
        return float(np.abs(bin_error).sum() / bin_weight.sum())
    is_used = bin_weight > 0
    return float(np.sqrt(np.sum(bin_error[is_used] ** 2 / bin_weight[is_used]) / bin_weight.sum()))


def _read_positive(y_true: VectorLike, pos_label: object) -> BoolArray:
    y = np.asarray(y_true)
    if y.ndim != 1 or len(y) == 0:
        raise ValueError("y_true must be one-dimensional and hold at least one label.")
    y, missing = split_missing(y_true)
    if missing.any():
        raise ValueError("y_true has missing labels; drop the rows of unknown class.")
    values = np.unique(y)
    if len(values) > 2:
        raise ValueError(f"y_true has {len(values)} different labels, but it must have two.")
    if pos_label is None:
        if len(values) == 1 and values[0] not in (0, 1, -1):
            raise ValueError(
                f"y_true holds {values[0]!r} only; pass pos_label to say which class is positive."
            )
        pos_label = values[-1] if len(values) == 2 else 1
    if len(values) == 2 and not np.any(values == pos_label):
        raise ValueError(
            f"pos_label={pos_label!r} is not one of the labels {values[0]!r} and {values[1]!r}."
        )
    return y == pos_label
