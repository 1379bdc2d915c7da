"""The metrics as scorers for scikit-learn's searches."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import BaseEstimator

from .._typing import FloatArray, MatrixLike, VectorLike
from ._sample import check_convention, make_sample, validate_prior
from .scores import (
    LOSSES,
    lee_liu_score,
    pu_accuracy,
    pu_auc,
    pu_f1,
    pu_precision,
    pu_recall,
    pu_risk,
)


class _Metric(NamedTuple):
    function: Callable[..., float]
    sign: int
    input_kind: str
    prior: str
    fixed: dict[str, Any]


def _auc_less_risk(
    y_true: VectorLike, decision: VectorLike, prior: float, **options: Any
) -> float:
    """Return ROC AUC less risk: the ranking, and where it is cut."""
    risk = pu_risk(y_true, decision, prior, non_negative=True, **options)
    options.pop("convention")
    return pu_auc(y_true, decision, **options) - risk


def _proxy_accuracy(
    y_true: VectorLike, prediction: VectorLike, prior: float, **options: Any
) -> float:
    """Return twice the prior times recall, plus the share of the population called negative."""
    return pu_accuracy(y_true, prediction, prior, **options) + prior


def _proxy_auc(y_true: VectorLike, decision: VectorLike, **options: Any) -> float:
    """Return the ROC AUC of positive against unlabelled rows, in either setting."""
    options.pop("convention")
    return pu_auc(y_true, decision, **options)


# What a scorer needs: decisions or predicted classes; and whether a prior.
_METRICS = {
    "pu-risk": _Metric(pu_risk, -1, "decision", "needed", {"non_negative": False}),
    "nn-pu-risk": _Metric(pu_risk, -1, "decision", "needed", {"non_negative": True}),
    "pu-auc": _Metric(pu_auc, 1, "decision", "optional", {}),
    "auc-risk": _Metric(_auc_less_risk, 1, "decision", "needed", {}),
    "lee-liu": _Metric(lee_liu_score, 1, "prediction", "none", {}),
    "pu-recall": _Metric(pu_recall, 1, "prediction", "none", {}),
    "pu-precision": _Metric(pu_precision, 1, "prediction", "needed", {}),
    "pu-f1": _Metric(pu_f1, 1, "prediction", "needed", {}),
    "pu-accuracy": _Metric(pu_accuracy, 1, "prediction", "needed", {}),
    "proxy-accuracy": _Metric(_proxy_accuracy, 1, "prediction", "needed", {}),
    "proxy-auc": _Metric(_proxy_auc, 1, "decision", "none", {}),
}


def make_pu_scorer(
    metric: str,
    *,
    prior: float | None = None,
    convention: str = "unlabeled",
    pos_label: object = None,
    loss: str | None = None,
) -> _PUScorer:
    """Make a scorer for ``GridSearchCV`` and its like; greater is better.

    Score with held-out rows of both kinds (``fewlabels.model_selection.PUKFold``): a fold
    without positives or without unlabelled rows is refused.

    Parameters
    ----------
    metric : {"pu-risk", "nn-pu-risk", "pu-auc", "auc-risk", "lee-liu", "pu-recall", \
            "pu-precision", "pu-f1", "pu-accuracy", "proxy-accuracy", "proxy-auc"}
        Which of this module's metrics; risks are negated, "nn-pu-risk" is the non-negative
        one. "proxy-accuracy" and "proxy-auc" are PA and PAUC of Wang et al. (2025): accuracy
        plus the prior, and the area of positive against unlabelled rows. "auc-risk" is that
        area less the non-negative zero-one risk.
    prior : float or None, default=None
        Share of positives in the population, in (0, 1). None takes the fitted estimator's
        ``prior_``, a share of the unlabelled rows, converted where ``convention`` asks for
        it; give a number where candidates differ in their prior, or their scores cannot be
        compared. "pu-auc" does without where there is none.
    convention : {"unlabeled", "pooled"}, default="unlabeled"
        Which rows are the population, and what a given ``prior`` is the share of: the
        unlabelled rows, or all.
    pos_label : label or None, default=None
        The positive class; None takes the estimator's, which is the last of its
        ``classes_``.
    loss : str or None, default=None
        Loss of the risks, see ``pu_risk``; None is "zero-one".

    Returns
    -------
    scorer : callable
        ``scorer(estimator, X, y, sample_weight=None)`` gives a float. It can be pickled.
        Estimators without ``decision_function`` are judged by ``2 p - 1`` of their
        ``predict_proba``, by the log-odds for ``loss="logistic"``.

    References
    ----------
    Wang, W., et al. (2025). Accessible, realistic, and fair evaluation of positive-unlabeled
    learning algorithms. arXiv 2509.24228.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.linear_model import LogisticRegression
    >>> from sklearn.model_selection import cross_val_score
    >>> from fewlabels.metrics import make_pu_scorer
    >>> from fewlabels.model_selection import PUKFold
    >>> X = np.tile([[1.0], [1.0], [-1.0]], (20, 1))
    >>> y = np.tile([1, 0, 0], 20)
    >>> scorer = make_pu_scorer("pu-auc", prior=0.5)
    >>> cross_val_score(LogisticRegression(), X, y, cv=PUKFold(2), scoring=scorer)
    array([1., 1.])
    """
    if metric not in _METRICS:
        raise ValueError(f"metric={metric!r} is not valid; pass one of {', '.join(_METRICS)}.")
    check_convention(convention)
    options = dict(_METRICS[metric].fixed)
    if loss is not None:
        if not metric.endswith("pu-risk") or loss not in LOSSES:
            raise ValueError(
                f"loss={loss!r} is not allowed with metric={metric!r}; only the risks take a "
                f"loss, one of {', '.join(LOSSES)}."
            )
        options["loss"] = loss
    if prior is not None:
        validate_prior(prior)
    return _PUScorer(metric, prior, convention, pos_label, options)


class _PUScorer:
    def __init__(
        self,
        metric: str,
        prior: float | None,
        convention: str,
        pos_label: object,
        options: dict[str, Any],
    ) -> None:
        self.metric = metric
        self.prior = prior
        self.convention = convention
        self.pos_label = pos_label
        self.options = options

    def __repr__(self) -> str:
        loss = f", loss={self.options['loss']!r}" if "loss" in self.options else ""
        return (
            f"make_pu_scorer({self.metric!r}, prior={self.prior!r}, "
            f"convention={self.convention!r}, pos_label={self.pos_label!r}{loss})"
        )

    def __call__(
        self,
        estimator: BaseEstimator,
        X: MatrixLike,
        y: VectorLike,
        sample_weight: VectorLike | None = None,
    ) -> float:
        metric = _METRICS[self.metric]
        classes = list(estimator.classes_)
        pos_label = classes[-1] if self.pos_label is None else self.pos_label
        options = {**self.options, "pos_label": pos_label, "sample_weight": sample_weight}
        if metric.function is not pu_recall:
            options["convention"] = self.convention
        if metric.prior != "none":
            prior = self._prior(estimator, y, pos_label, sample_weight)
            if prior is None and metric.prior == "needed":
                raise ValueError(
                    f"{self.metric!r} needs the class prior, and {type(estimator).__name__} has "
                    "no prior_; pass prior=... to make_pu_scorer."
                )
            options["prior"] = prior
        if metric.input_kind == "prediction":
            given = estimator.predict(X)
        else:
            given = _decisions_for(estimator, X, classes, pos_label, self.options.get("loss"))
        return metric.sign * metric.function(y, given, **options)

    def _prior(
        self,
        estimator: BaseEstimator,
        y: VectorLike,
        pos_label: object,
        sample_weight: VectorLike | None,
    ) -> float | None:
        if self.prior is not None:
            return self.prior
        while not hasattr(estimator, "prior_"):
            inner = getattr(estimator, "best_estimator_", None)
            if inner is None and hasattr(estimator, "steps"):
                inner = estimator[-1]
            if inner is None:
                return None
            estimator = inner
        share = make_sample(y, self.convention, pos_label, sample_weight).labelled_share
        return share + (1.0 - share) * float(estimator.prior_)


def _decisions_for(
    estimator: BaseEstimator,
    X: MatrixLike,
    classes: list[object],
    pos_label: object,
    loss: str | None,
) -> FloatArray:
    """Return decisions that are positive for ``pos_label``."""
    if pos_label not in classes:
        raise ValueError(
            f"pos_label={pos_label!r} is not one of the estimator's classes_ ({classes}); pass "
            "the label that the estimator was fitted with."
        )
    column = classes.index(pos_label)
    if hasattr(estimator, "decision_function"):
        decision = np.asarray(estimator.decision_function(X))
        return decision if column == len(classes) - 1 else -decision
    if not hasattr(estimator, "predict_proba"):
        raise ValueError(
            f"{type(estimator).__name__} has neither decision_function nor predict_proba; use a "
            "metric of predictions, such as 'lee-liu' or 'pu-f1'."
        )
    p = np.asarray(estimator.predict_proba(X))[:, column]
    if loss == "logistic":
        p = np.clip(p, np.finfo(float).eps, 1.0 - np.finfo(float).eps)
        return np.log(p) - np.log1p(-p)
    return 2.0 * p - 1.0
