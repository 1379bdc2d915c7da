"""The base class of models of positive and unlabelled rows, and fits along settings."""

from dataclasses import dataclass
from typing import TypeVar, cast

import numpy as np
from sklearn.utils._param_validation import StrOptions
from sklearn.utils.validation import check_consistent_length

from .._typing import AnyArray, BoolArray, FloatArray, MatrixLike, VectorLike
from .._util.deadline import Deadline
from .._util.threads import resolve_n_jobs
from .._util.warn import warn
from ..base.solution import ROUNDING, Function, describe_run, make_function, typical_terms
from ..base.two_classes import TwoClassEstimator
from ..class_prior.prior import Prior, check_prior, count_prior, find_prior
from ..data.labels.marks import read_propensity
from ..data.labels.positive_unlabelled import are_ambiguous, read_labels
from ..kernels import MIXTURE, SharedLeaves, centered, kind_of, learns_labels
from ..kernels.rows import find_shift, row_products
from ..rows.device import backend_of
from ..rows.memory import MemorySource
from ..rows.row_order import value_order
from ..rows.source import ShardedSource
from ..rows.validation import fit_rows
from .data import HeldOutScores, PUData, PUFit, PUSolution, PUSVMFit
from .leave_one_out import score_unlabeled_left_out, shift_of_positives_left_out
from .propensity_weights import PropensityWeights, propensity_weights
from .rows import PURows, PURowsBase, ShardedPURows, SupportRows

M = TypeVar("M", bound="PUEstimator")

# Rounding errors of kernel values are independent; a sum of them rarely is larger by this.
_NOISE_FACTOR = 8.0
# Where unlabelled rows may come from.
SAMPLING = [StrOptions({"two-sample", "one-sample"})]
# Share of max_time that estimating the prior may take.
_TIME_SHARE_OF_PRIOR = 0.4
# Attributes that reading rows sets.
_ATTRIBUTES_OF_ROWS = (
    "classes_ shape_fit_ gamma_ n_features_in_ feature_names_in_ _deformed propensity_weights_"
).split()


class PUEstimator(TwoClassEstimator):
    """The base class of ``PUSVM`` and ``PUEnsemble``: it reads rows, finds the prior, scores."""

    _solution_now: PUFit

    def score(
        self, X: MatrixLike, y: VectorLike, sample_weight: VectorLike | None = None
    ) -> float:
        """ROC AUC of positive rows against all other rows.

        Searches such as ``GridSearchCV(PUSVM(), ...)`` maximise it. It ranks decision functions as
        the area against true negatives does, see :func:`fewlabels.metrics.pu_auc`. (Accuracy would
        take unlabelled rows for negatives.) It doesn't depend on the threshold or on the prior: to
        choose these, pass ``scoring=make_pu_scorer(...)``. Where ``y`` holds true classes, it is
        the ordinary area.

        Parameters
        ----------
        X : {array-like, sparse} of shape (n_samples, n_features)
            Rows that were not trained on.
        y : array-like of shape (n_samples,)
            Labels; rows of ``classes_[1]`` are positive.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights.

        Returns
        -------
        float
            NaN, with a warning, without rows of both kinds.
        """
        from ..metrics.default_scores import positives_auc  # slow, and predictions don't need it

        decision = self._decision_in_memory(X)
        return positives_auc(y, decision, self.classes_[1], sample_weight)

    @property
    def transduction_(self) -> AnyArray:
        """Labels of the training rows: the positives' own, predictions for the others."""
        is_positive = self._solution_now.is_positive
        if is_positive is None:
            raise AttributeError(
                "transduction_ needs rows in memory; predict(X) gives the labels of rows in a "
                "file."
            )
        return self.classes_[is_positive.astype(np.intp)]

    def _read(
        self,
        X: MatrixLike,
        y: VectorLike | None,
        sample_weight: VectorLike | None = None,
        propensity: VectorLike | None = None,
        *,
        gathered: bool = False,
    ) -> PURows:
        """``PURows``; sets the attributes that follow from rows alone."""
        self._refuse_no_labels(y)
        assert y is not None
        rows = fit_rows(self, X, sample_weight)
        return self._read_labelled(rows, y, propensity, gathered=gathered)

    def _refuse_no_labels(self, y: VectorLike | None) -> None:
        if y is None:
            raise ValueError(
                f"{type(self).__name__} requires y to be passed, but the target y is None: pass "
                "one label per row, for positive and unlabelled rows."
            )

    def _read_labelled(
        self,
        rows: MemorySource,
        y: VectorLike,
        propensity: VectorLike | None,
        *,
        gathered: bool = False,
    ) -> PURows:
        """``PURows`` of a ``MemorySource``."""
        self._set_kernel(rows)
        check_consistent_length(np.empty(self.shape_fit_[0]), y)
        positive, self.classes_ = read_labels(y, self.pos_label)
        if self.pos_label is None and are_ambiguous(self.classes_):
            mark, label = self.classes_.tolist()
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
        kind = kind_of(self._effective_kernel)
        if learns_labels(kind):
            # In an order of their own and as often as they weigh: weights act as repetitions.
            order = value_order(rows.X, counted, rows.weights)
            self._deformed = kind.with_rows(
                rows.X[order], counted[order], gamma=self.gamma_, random_state=self._seed()
            )
        kernel = self._make_kernel()
        if isinstance(self._effective_kernel, str) and self._effective_kernel == MIXTURE:
            assert isinstance(kernel, SharedLeaves)
            kernel = kernel.base  # the prior is checked by similarities that labels didn't shape
        shift = find_shift(kernel, rows.X)
        centred = centered(rows.X, shift)
        is_other = np.ones(len(positive), dtype=bool)
        is_other[rows.indices] = False
        others = np.flatnonzero(is_other)
        n_jobs = resolve_n_jobs(self.n_jobs)
        data = PUData(centred, counted, rows.weight, kernel, n_jobs, gathered=gathered)
        held = {"X": rows.everything, "weight": rows.scatter(rows.weights), "positive": positive}
        self.propensity_weights_, given = None, None
        if propensity is not None:
            given = read_propensity(propensity, positive)[positive & ~is_other]
            self.propensity_weights_ = propensity_weights(
                given, data.weight_positive, data.gram_positive, self.sampling == "one-sample"
            )
            factor = self.propensity_weights_(given)
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

    def _read_sharded(
        self, source: ShardedSource, y: VectorLike, propensity: VectorLike | None
    ) -> ShardedPURows:
        """``ShardedPURows`` of a source."""
        given = ["propensity"] * (propensity is not None) + ["bias"] * (self.bias > 1.0)
        if given:
            raise ValueError(
                f"{' and '.join(given)} needs rows in memory as a NumPy array, a sparse matrix or "
                "a data frame; pass a sample of the rows in one of these forms, or leave it out."
            )
        kernel = self._set_kernel(source)
        assert kernel is not None
        self.classes_, self.propensity_weights_ = self._mark_positive(source, y), None
        jobs = resolve_n_jobs(self.n_jobs)
        return ShardedPURows.from_source(source, kernel, self.lam, jobs)

    def _mark_positive(self, source: ShardedSource, y: VectorLike) -> AnyArray:
        """Mark the positive rows of a source, and return the classes."""
        backend = backend_of(y)
        positive, classes = read_labels(y if backend is None else backend.numpy(y), self.pos_label)
        if len(positive) != source.n:
            raise ValueError(
                "Found input variables with inconsistent numbers of samples: "
                f"[{source.n}, {len(positive)}]"
            )
        source.add_marks(positive=positive)
        return classes

    def _found_prior(self, rows: PURows | ShardedPURows) -> Prior:
        """Return the prior that a fit to ``rows`` takes: given and checked, or estimated."""
        seed, weights = self._seed(), self.propensity_weights_
        deadline, data = self._deadline.part(_TIME_SHARE_OF_PRIOR), rows.for_prior(seed)
        if self.prior == "estimate" and weights is not None and weights.one_sample:
            mass = float(data.weight_unlabeled.sum())
            propensity = cast(PURows, rows).propensity
            assert propensity is not None  # the weights are made of it
            return count_prior(propensity, data.given_weight_positive, mass)
        return find_prior(data, self.prior, seed, self.n_jobs, deadline)


@dataclass(frozen=True)
class PUDescriber:
    """Describes what the training of a ``PUSVM`` came to, as values.

    ``threshold`` and ``probability`` are its parameters, ``prior`` is the one it took.
    """

    threshold: str
    probability: str | None
    prior: float
    deadline: Deadline
    n_jobs: int | None = None

    def solution(
        self, rows: PURows | SupportRows, found: PUSolution, lam: float, is_held: bool
    ) -> PUSVMFit:
        """Return the function, cut where ``threshold`` says, and what follows from it."""
        data, gram, left_out = rows.data, found.gram, None
        has_curve = self.probability is not None
        if self.threshold == "leave-one-out" or (has_curve and not is_held):
            left_out = score_unlabeled_left_out(found, data, self.deadline)
        used = np.flatnonzero(found.coef)
        terms = typical_terms(data.diagonal(used), found.coef[used])
        rounding = ROUNDING * float(terms.sum())
        bias = float(found.bias)
        if self.threshold != "risk":
            noise = _NOISE_FACTOR * min(1.0, gram.value_error) * float(np.linalg.norm(terms))
            f = found.f if self.threshold == "prior" else left_out
            assert f is not None
            bias = -rows.find_cut(f, self.prior, max(rounding, noise))
        function, places, support = make_function(
            data.kernel,
            gram,
            rows.X,
            found.coef,
            rows.numbers,
            bias=float(bias),
            shift=rows.shift,
            rounding=rounding,
        )
        held_out = None
        if has_curve and left_out is not None:
            held_out = self.scores_left_out(rows, found, function, left_out)
        moved = 0.0 if rows.shift is None else float(function.weights @ rows.shift)
        counts, run = rows.count_support(places), found.result
        return PUSVMFit(
            function=function,
            **describe_run(support, counts, run.n_iter, run.history, run.converged),
            objective=found.objective,
            duality_gap=found.gap,
            is_positive=rows.predict_rows(function, found.f + bias),
            lam=lam,
            risk_intercept=float(found.bias) - moved,
            objectives=found.objectives,
            held_out=held_out,
        )

    def scores_left_out(
        self, rows: PURowsBase, found: PUSolution, function: Function, left_out: FloatArray
    ) -> HeldOutScores:
        """Return the scores to fit the curve to; unlabelled rows have theirs already."""
        data = rows.data
        if data.kernel.is_matrix:
            decision = row_products(data.X[data.positive], found.coef) + function.bias
        else:
            decision = function(rows.X[data.positive], n_jobs=self.n_jobs)
        decision = decision + shift_of_positives_left_out(found, data)
        unlabeled = left_out + function.bias
        return (decision, data.weight_positive), (unlabeled, data.weight_unlabeled)


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
    rows = estimator._read(X, y, sample_weight, propensity)
    return estimator._found_prior(rows), estimator.classes_


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
    rows = first._read(X, y, sample_weight, propensity, gathered=gathered)
    for model in models:
        for name in _ATTRIBUTES_OF_ROWS:
            if hasattr(first, name):
                setattr(model, name, getattr(first, name))
        known = prior if model.prior != "estimate" else estimate
        known = model._found_prior(rows) if known is None else known
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
