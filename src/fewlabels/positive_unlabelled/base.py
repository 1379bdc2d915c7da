"""Shared by estimators of positive and unlabelled rows: they read rows and find the prior."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias, TypeVar, cast

import numpy as np
from sklearn.utils._param_validation import StrOptions
from sklearn.utils.validation import check_consistent_length

from .._typing import AnyArray, BoolArray, FloatArray, MatrixLike, VectorLike
from .._util.threads import resolve_n_jobs
from .._util.warn import warn
from ..class_prior.prior import Prior, check_prior, count_prior, find_prior
from ..data.labels.marks import read_propensity
from ..data.labels.positive_unlabelled import are_ambiguous, read_labels
from ..kernels import MIXTURE, SharedLeaves, centered, kind_of, learns_labels
from ..kernels.rows import find_shift
from ..rows.memory import MemorySource
from ..rows.row_order import value_order
from ..rows.validation import fit_rows
from .data import PUData, PUFit
from .propensity_weights import PropensityWeights, propensity_weights
from .rows import PURows, ShardedPURows

if TYPE_CHECKING:
    from .pu_ensemble import PUEnsemble
    from .pusvm import PUSVM

#: An estimator of positive and unlabelled rows.
PUEstimator: TypeAlias = "PUSVM | PUEnsemble"
M = TypeVar("M", "PUSVM", "PUEnsemble")

# Where unlabelled rows may come from.
SAMPLING = [StrOptions({"two-sample", "one-sample"})]
# Share of max_time that estimating the prior may take.
_TIME_SHARE_OF_PRIOR = 0.4
# Attributes that reading rows sets.
_ATTRIBUTES_OF_ROWS = (
    "classes_ shape_fit_ gamma_ n_features_in_ feature_names_in_ _deformed propensity_weights_"
).split()


def score_ranking(
    model: PUEstimator, X: MatrixLike, y: VectorLike, sample_weight: VectorLike | None
) -> float:
    """Return the ROC AUC of positive rows against all other rows."""
    from ..metrics.default_scores import positives_auc  # slow, and predictions don't need it

    decision = model._decision_in_memory(X)
    return positives_auc(y, decision, model.classes_[1], sample_weight)


def label_training_rows(model: PUEstimator) -> AnyArray:
    """Return labels of the training rows: the positives' own, predictions for the others."""
    is_positive = cast(PUFit, model._solution_now).is_positive
    if is_positive is None:
        raise AttributeError(
            "transduction_ needs rows in memory; predict(X) gives the labels of rows in a file."
        )
    return model.classes_[is_positive.astype(np.intp)]


def read_rows(
    model: PUEstimator,
    X: MatrixLike,
    y: VectorLike | None,
    sample_weight: VectorLike | None = None,
    propensity: VectorLike | None = None,
    *,
    gathered: bool = False,
) -> PURows:
    """Return the ``PURows`` of a fit, and set the attributes that follow from rows alone."""
    refuse_no_labels(model, y)
    assert y is not None
    rows = fit_rows(model, X, sample_weight)
    return read_labelled_rows(model, rows, y, propensity, gathered=gathered)


def refuse_no_labels(model: PUEstimator, y: VectorLike | None) -> None:
    """Refuse to fit without labels."""
    if y is None:
        raise ValueError(
            f"{type(model).__name__} requires y to be passed, but the target y is None: pass "
            "one label per row, for positive and unlabelled rows."
        )


def read_labelled_rows(
    model: PUEstimator,
    rows: MemorySource,
    y: VectorLike,
    propensity: VectorLike | None,
    *,
    gathered: bool = False,
) -> PURows:
    """Return the ``PURows`` of checked rows, and set the attributes that follow from them."""
    model._set_kernel(rows)
    check_consistent_length(np.empty(model.shape_fit_[0]), y)
    positive, model.classes_ = read_labels(y, model.pos_label)
    if model.pos_label is None and are_ambiguous(model.classes_):
        mark, label = model.classes_.tolist()
        warn(
            f"y has two texts, {mark!r} and {label!r}; the positive class is assumed to be "
            f"{label!r}, the later one in the alphabet. Pass pos_label={label!r} to "
            f"confirm, or pos_label={mark!r}.",
            UserWarning,
        )
    counted = positive[rows.indices]
    if rows.kept is not None and (counted.all() or not counted.any()):
        raise ValueError(
            "sample_weight leaves one class only; give some positive rows and some "
            "unlabelled rows a weight > 0."
        )
    kind = kind_of(model._effective_kernel)
    if learns_labels(kind):
        # In an order of their own and as often as they weigh: weights act as repetitions.
        order = value_order(rows.X, counted, rows.weights)
        model._deformed = kind.with_rows(
            rows.X[order], counted[order], gamma=model.gamma_, random_state=model._seed()
        )
    kernel = model._make_kernel()
    if isinstance(model._effective_kernel, str) and model._effective_kernel == MIXTURE:
        assert isinstance(kernel, SharedLeaves)
        kernel = kernel.base  # the prior is checked by similarities that labels didn't shape
    shift = find_shift(kernel, rows.X)
    centred = centered(rows.X, shift)
    is_other = np.ones(len(positive), dtype=bool)
    is_other[rows.indices] = False
    others = np.flatnonzero(is_other)
    n_jobs = resolve_n_jobs(model.n_jobs)
    data = PUData(centred, counted, rows.weight, kernel, n_jobs, gathered=gathered)
    held = {"X": rows.everything, "weight": rows.scatter(rows.weights), "positive": positive}
    model.propensity_weights_, given = None, None
    if propensity is not None:
        given = read_propensity(propensity, positive)[positive & ~is_other]
        model.propensity_weights_ = propensity_weights(
            given, data.weight_positive, data.gram_positive, model.sampling == "one-sample"
        )
        factor = model.propensity_weights_(given)
        data = PUData(
            centred, counted, rows.weight, kernel, n_jobs, factor=factor, gathered=gathered
        )
        held["factor"] = np.ones(len(positive))
        held["factor"][rows.indices[data.positive]] = factor
    return PURows(
        data=data,
        X=rows.X,
        numbers=rows.indices,
        n=len(positive),
        shift=shift,
        others=others,
        X_others=rows.everything[others],
        others_positive=positive[others],
        held=held,
        propensity=given,
    )


def find_prior_of(model: PUEstimator, rows: PURows | ShardedPURows) -> Prior:
    """Return the prior that a fit to ``rows`` takes: given and checked, or estimated."""
    seed, weights = model._seed(), model.propensity_weights_
    deadline, data = model._deadline.part(_TIME_SHARE_OF_PRIOR), rows.for_prior(seed)
    if model.prior == "estimate" and weights is not None and weights.one_sample:
        mass = float(data.weight_unlabeled.sum())
        propensity = cast(PURows, rows).propensity
        assert propensity is not None  # the weights are made of it
        return count_prior(propensity, data.given_weight_positive, mass)
    return find_prior(data, model.prior, seed, model.n_jobs, deadline)


# -- for searches --------------------------------------------------------------------------------


def find_prior_for_fit(
    estimator: PUEstimator,
    X: MatrixLike,
    y: VectorLike,
    sample_weight: VectorLike | None = None,
    propensity: VectorLike | None = None,
) -> tuple[Prior, AnyArray]:
    """Return the Prior that ``fit`` of a new model would take, and the classes."""
    estimator._validate_params()
    check_prior(estimator.prior)
    rows = read_rows(estimator, X, y, sample_weight, propensity)
    return find_prior_of(estimator, rows), estimator.classes_


def new_row_factors(
    weights: PropensityWeights | None, propensity: VectorLike | None, positive: BoolArray
) -> dict[str, FloatArray]:
    """The argument "factor" of new rows for the stream of a model with propensity weights."""
    if weights is None:
        if propensity is not None:
            raise ValueError(
                "this model was fitted without propensities, and new rows must not have any; "
                "leave propensity out, or fit again with one per row."
            )
        return {}
    factor = np.ones(len(positive))
    if positive.any():
        if propensity is None:
            raise ValueError(
                "this model was fitted with propensities; pass propensity for new labelled rows."
            )
        factor[positive] = weights(read_propensity(propensity, positive)[positive])
    return {"factor": factor}


def fit_each_setting(
    models: list[M],
    X: MatrixLike,
    y: VectorLike,
    sample_weight: VectorLike | None = None,
    *,
    propensity: VectorLike | None = None,
    prior: Prior | None = None,
    gathered: bool = False,
) -> list[M]:
    """Fit models that differ in lambda, prior, loss or solver to rows that are read once.

    Each starts from the one before. With ``prior`` that one holds for all models, unchecked,
    in place of what each was given or of one estimate. ``gathered`` as in PUData.
    """
    for model in models:
        model._validate_params()
        model._check_settings()
    first, before, estimate = models[0], None, prior
    rows = read_rows(first, X, y, sample_weight, propensity, gathered=gathered)
    for model in models:
        for name in _ATTRIBUTES_OF_ROWS:
            if hasattr(first, name):
                setattr(model, name, getattr(first, name))
        known = prior if model.prior != "estimate" else estimate
        known = find_prior_of(model, rows) if known is None else known
        if model.prior == "estimate":
            estimate = known
        found = model._within_time(model._fit_rows, rows, known, before)
        before = None if model.bias > 1.0 else (model.lam_, found)
    return models


def zip_settings(lam: VectorLike | None, prior: VectorLike | None) -> list[dict[str, float]]:
    """Return the settings of a path, one dict each."""
    settings = {"lam": lam, "prior": prior}
    given = {k: np.asarray(v, dtype=float) for k, v in settings.items() if v is not None}
    shapes = {v.shape for v in given.values()}
    if len(shapes) != 1 or len(next(iter(shapes))) != 1 or shapes == {(0,)}:
        shown = ", ".join(f"{name} of shape {v.shape}" for name, v in given.items()) or "neither"
        raise ValueError(
            f"a path needs lam, prior or both as non-empty sequences of equal length; got {shown}."
        )
    columns = [v.tolist() for v in given.values()]
    return [dict(zip(given, values, strict=True)) for values in zip(*columns, strict=True)]
