"""Risks, areas and rates from positive and unlabelled rows."""

import numpy as np
from scipy.special import expit
from sklearn.utils import check_consistent_length

from .._typing import BoolArray, FloatArray, VectorLike
from ..problem.losses import double_hinge, ramp
from ._sample import (
    is_label,
    make_sample,
    recall_and_predicted_share,
    validate_decision,
    validate_prior,
    validate_weight,
)


def roc_area(scores: FloatArray, positive: BoolArray, weight: FloatArray) -> float:
    """Return the share of weighted pairs whose positive row scores higher; ties count half.

    It is scikit-learn's ``roc_auc_score`` without its checks, which take most of the time of a few
    hundred rows.

    Parameters
    ----------
    scores : ndarray of shape (n_rows,)
        Finite scores.
    positive : ndarray of bool of shape (n_rows,)
        Rows of the one kind; there are rows of the other.
    weight : ndarray of shape (n_rows,)
        Weights, >= 0.

    Returns
    -------
    float
    """
    order = np.argsort(scores)
    ascending = scores[order]
    ours = np.where(positive, weight, 0.0)[order]
    others = weight[order] - ours
    first = np.flatnonzero(np.diff(ascending, prepend=np.nan) != 0.0)  # of each distinct score
    ours, others = np.add.reduceat(ours, first), np.add.reduceat(others, first)
    return float(ours @ (np.cumsum(others) - 0.5 * others) / (ours.sum() * others.sum()))


# Losses of z = label * decision.
_MARGIN_LOSSES = {
    "double-hinge": double_hinge,
    "ramp": ramp,
    "logistic": lambda z: np.logaddexp(0.0, -z),
    "squared": lambda z: 0.25 * (z - 1.0) ** 2,
    "sigmoid": lambda z: expit(-z),
}
LOSSES = ("zero-one", *_MARGIN_LOSSES)


def pu_risk(
    y_true: VectorLike,
    decision: VectorLike,
    prior: float,
    *,
    loss: str = "zero-one",
    non_negative: bool = False,
    convention: str = "unlabeled",
    pos_label: object = None,
    sample_weight: VectorLike | None = None,
) -> float:
    r"""Return the risk of a decision function: unbiased, or non-negative.

    .. math:: R = \pi\, \mathrm{E}_P[\ell(f)] + \mathrm{E}_X[\ell(-f)]
                  - \pi\, \mathrm{E}_P[\ell(-f)]

    The last two terms together are the negatives' share of the risk; the non-negative risk
    replaces their sum by 0 where it falls below.

    Parameters
    ----------
    y_true : array-like of shape (n,)
        Labels of positive and unlabelled rows, see ``split_labels``; both kinds are needed.
    decision : array-like of shape (n,)
        Decisions f, positive for the positive class.
    prior : float
        Share of positives in the population, in (0, 1).
    loss : {"zero-one", "double-hinge", "ramp", "logistic", "squared", "sigmoid"}
        The first is the default. With z = f for positives and z = -f for negatives: share of
        wrong answers (f > 0 is positive), ``max(-z, max(0, 1/2 - z/2))``,
        ``max(0, min(2, 1 - z)) / 2``, ``log(1 + exp(-z))``, ``(z - 1)^2 / 4``,
        ``1 / (1 + exp(z))``.
    non_negative : bool, default=False
        Whether the negatives' share is kept from falling below 0. Not unbiased any more.
    convention : {"unlabeled", "pooled"}, default="unlabeled"
        Which rows are the population: the unlabelled ones, or all.
    pos_label : value of ``y_true`` or None, default=None
        The positive class, where it is not the greater value.
    sample_weight : array-like of shape (n,), default=None
        Weights, >= 0; weight 2 is the row given twice.

    Returns
    -------
    float
        Estimate of the risk on the population; smaller is better.

    References
    ----------
    du Plessis, M. C., Niu, G., Sugiyama, M. (2014). Analysis of learning from positive and
    unlabeled data. NIPS (ramp loss); (2015). Convex formulation for learning from positive and
    unlabeled data. ICML (double hinge).

    Kiryo, R., Niu, G., du Plessis, M. C., Sugiyama, M. (2017). Positive-unlabeled learning with
    non-negative risk estimator. NIPS, eqs. (2) and (6).

    Examples
    --------
    >>> from fewlabels.metrics import pu_risk
    >>> pu_risk([1, 1, 0, 0, 0, 0], [2.0, -1.0, 1.0, -2.0, -1.0, -3.0], prior=0.4)
    0.25
    """
    sample = make_sample(y_true, convention, pos_label, sample_weight)
    prior = validate_prior(prior)
    if loss not in LOSSES:
        raise ValueError(f"loss={loss!r} is not valid; pass one of {', '.join(LOSSES)}.")
    f = validate_decision(decision, sample)
    if loss == "zero-one":
        if_positive, if_negative = (f <= 0).astype(float), (f > 0).astype(float)
    else:
        if_positive, if_negative = _MARGIN_LOSSES[loss](f), _MARGIN_LOSSES[loss](-f)
    negatives = sample.population(if_negative) - prior * sample.positives(if_negative)
    if non_negative:
        negatives = max(0.0, negatives)
    return float(prior * sample.positives(if_positive) + negatives)


def pu_auc(
    y_true: VectorLike,
    decision: VectorLike,
    prior: float | None = None,
    *,
    convention: str = "unlabeled",
    pos_label: object = None,
    sample_weight: VectorLike | None = None,
) -> float:
    r"""Return the ROC AUC of positive against unlabelled rows, or against negatives.

    A share :math:`\pi` of the rows that positives are compared with are positives themselves,
    against which they win half the time:

    .. math:: \mathrm{AUC}_{PX} = \pi / 2 + (1 - \pi)\, \mathrm{AUC}

    Parameters
    ----------
    y_true, decision
        As in :func:`pu_risk`.
    prior : float or None, default=None
        Share of positives in the population, in (0, 1). None gives the area of positive
        against unlabelled rows, which ranks decision functions alike.
    convention, pos_label, sample_weight
        As in :func:`pu_risk`.

    Returns
    -------
    float
        With a prior the area of positive against negative rows that it implies; above 1 when
        the decisions separate better than the prior allows.

    References
    ----------
    Sakai, T., Niu, G., Sugiyama, M. (2018). Semi-supervised AUC optimization based on
    positive-unlabeled learning. Machine Learning 107.

    Menon, A., van Rooyen, B., Ong, C. S., Williamson, B. (2015). Learning from corrupted binary
    labels via class-probability estimation. ICML.

    Examples
    --------
    >>> from fewlabels.metrics import pu_auc
    >>> pu_auc([1, 1, 0, 0], [3.0, 1.0, 2.0, 0.0])
    0.75
    >>> pu_auc([1, 1, 0, 0], [3.0, 1.0, 2.0, 0.0], prior=0.5)
    1.0
    """
    sample = make_sample(y_true, convention, pos_label, sample_weight)
    f = validate_decision(decision, sample)
    against_unlabeled = roc_area(f, sample.positive, sample.weight)
    if prior is None:
        return against_unlabeled
    prior = validate_prior(prior)
    # Labelled positives in the population are compared with themselves: one half.
    own = sample.labelled_share
    against_population = own / 2 + (1.0 - own) * against_unlabeled
    return (against_population - prior / 2) / (1.0 - prior)


def lee_liu_score(
    y_true: VectorLike,
    prediction: VectorLike,
    *,
    convention: str = "unlabeled",
    pos_label: object = None,
    sample_weight: VectorLike | None = None,
) -> float:
    """Return recall squared over the share predicted positive, like F1 without a prior.

    Equals precision times recall over the prior (Lee & Liu, ICML 2003), so it is high only when
    both are. Values reach from 0 to 1 over the prior and are comparable on the same data only. 0
    when nothing is predicted positive.

    Parameters
    ----------
    y_true : array-like of shape (n,)
        Labels of positive and unlabelled rows, see ``split_labels``.
    prediction : array-like of shape (n,)
        Predicted classes, in the coding of ``y_true``; what is not the positive label
        counts as negative.
    convention, pos_label, sample_weight
        As in :func:`pu_risk`.

    Returns
    -------
    float
        The score; greater is better.

    Examples
    --------
    >>> from fewlabels.metrics import lee_liu_score
    >>> lee_liu_score([1, 1, 0, 0, 0, 0], [1, 0, 1, 0, 0, 0])
    1.0
    """
    recall, predicted = recall_and_predicted_share(
        y_true, prediction, convention, pos_label, sample_weight
    )
    return recall**2 / predicted if predicted > 0 else 0.0


def pu_recall(
    y_true: VectorLike,
    prediction: VectorLike,
    *,
    pos_label: object = None,
    sample_weight: VectorLike | None = None,
) -> float:
    """Return the share of positives that are predicted positive.

    Parameters
    ----------
    y_true, prediction, pos_label, sample_weight
        As in :func:`lee_liu_score`. With ``pos_label`` there may be no unlabelled rows.

    Returns
    -------
    float
        Recall, in [0, 1]; greater is better. A classifier that calls everything positive
        has recall 1: do not choose by recall alone.

    Examples
    --------
    >>> from fewlabels.metrics import pu_recall
    >>> pu_recall([1, 1, 0, 0, 0], [1, 0, 1, 0, 0])
    0.5
    """
    if pos_label is not None:
        check_consistent_length(y_true, prediction)
        positive = is_label(y_true, pos_label)
        if not positive.any():
            raise ValueError(f"y has no positive row: pos_label={pos_label!r} does not occur.")
        weight = validate_weight(sample_weight, len(positive), positive)
        answer = is_label(prediction, pos_label)
        return float(np.average(answer[positive], weights=weight[positive]))
    return recall_and_predicted_share(y_true, prediction, "unlabeled", None, sample_weight)[0]


def pu_precision(
    y_true: VectorLike,
    prediction: VectorLike,
    prior: float,
    *,
    convention: str = "unlabeled",
    pos_label: object = None,
    sample_weight: VectorLike | None = None,
) -> float:
    """Return the share of positives among rows predicted positive: prior * recall / predicted.

    Parameters
    ----------
    y_true, prediction, prior, convention, pos_label, sample_weight
        As in :func:`lee_liu_score` and :func:`pu_risk`.

    Returns
    -------
    float
        Precision; above 1 when prior and predictions contradict each other, 0 when nothing
        is predicted positive.

    References
    ----------
    Bekker, J., Davis, J. (2020). Learning from positive and unlabeled data: a survey.
    Machine Learning 109. (Also of ``pu_f1``.)

    Examples
    --------
    >>> from fewlabels.metrics import pu_precision
    >>> pu_precision([1, 1, 0, 0, 0, 0], [1, 1, 1, 1, 0, 0], prior=0.4)
    0.8
    """
    prior = validate_prior(prior)
    recall, predicted = recall_and_predicted_share(
        y_true, prediction, convention, pos_label, sample_weight
    )
    return prior * recall / predicted if predicted > 0 else 0.0


def pu_f1(
    y_true: VectorLike,
    prediction: VectorLike,
    prior: float,
    *,
    convention: str = "unlabeled",
    pos_label: object = None,
    sample_weight: VectorLike | None = None,
) -> float:
    """Return the harmonic mean of precision and recall, ``2 prior recall / (prior + predicted)``.

    Parameters
    ----------
    y_true, prediction, prior, convention, pos_label, sample_weight
        As in :func:`lee_liu_score` and :func:`pu_risk`.

    Returns
    -------
    float
        F1; greater is better.

    Examples
    --------
    >>> from fewlabels.metrics import pu_f1
    >>> pu_f1([1, 1, 0, 0, 0, 0], [1, 1, 1, 1, 0, 0], prior=0.5)
    1.0
    """
    prior = validate_prior(prior)
    recall, predicted = recall_and_predicted_share(
        y_true, prediction, convention, pos_label, sample_weight
    )
    return 2.0 * prior * recall / (prior + predicted)


def pu_accuracy(
    y_true: VectorLike,
    prediction: VectorLike,
    prior: float,
    *,
    convention: str = "unlabeled",
    pos_label: object = None,
    sample_weight: VectorLike | None = None,
) -> float:
    """Return the accuracy: one minus the unbiased zero-one risk.

    Parameters
    ----------
    y_true, prediction, prior, convention, pos_label, sample_weight
        As in :func:`lee_liu_score` and :func:`pu_risk`.

    Returns
    -------
    float
        Accuracy; greater is better.

    Examples
    --------
    >>> from fewlabels.metrics import pu_accuracy
    >>> pu_accuracy([1, 1, 0, 0, 0, 0], [1, 1, 1, 1, 0, 0], prior=0.5)
    1.0
    """
    prior = validate_prior(prior)
    recall, predicted = recall_and_predicted_share(
        y_true, prediction, convention, pos_label, sample_weight
    )
    return 1.0 - prior - predicted + 2.0 * prior * recall
