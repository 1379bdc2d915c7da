"""A PUSVM that chooses lambda and gamma by cross-validation."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from scipy.stats import rankdata
from sklearn.base import BaseEstimator, ClassifierMixin, _fit_context, clone
from sklearn.model_selection import check_cv
from sklearn.utils import Tags
from sklearn.utils._param_validation import (
    HasMethods,
    Interval,
    StrOptions,
    validate_parameter_constraints,
)
from sklearn.utils.validation import check_is_fitted

from ..._typing import AnyArray, BoolArray, FloatArray, IntArray, MatrixLike, RowMatrix, VectorLike
from ..._util.threads import resolve_n_jobs
from ...calibration.cross_fitting import Sample
from ...calibration.curve import class_of
from ...class_prior.prior import Prior
from ...data.labels.positive_unlabelled import split_labels
from ...kernels import KernelLike, kind_of, make_kernel
from ...kernels.operators import make_gram
from ...kernels.parameters import resolve_gamma
from ...metrics import make_pu_scorer
from ...positive_unlabelled.base import find_prior_for_fit, fit_each_setting
from ...positive_unlabelled.pusvm import CONSTRAINTS, PUSVM
from ...rows.grouped_folds import group_rows, splits_counted_once, take_groups
from ...rows.validation import check_rows, check_weight
from ..splitters import PUKFold
from ..tuning.search import kernel_values

_SCORINGS = {
    "auc-risk",
    "nn-pu-risk",
    "pu-risk",
    "pu-auc",
    "lee-liu",
    "pu-f1",
    "pu-accuracy",
}
# Lambda times the number of positive rows.
COSTS = (10.0, 3.0, 1.0, 0.3, 0.1, 0.03, 0.01)
_AROUND_SCALE = (0.25, 1.0, 4.0)
# The matrix, and twice the part of it that a fold trains on.
_BYTES_PER_KERNEL_VALUE = 24
# Multiply-adds per kernel value from which reading them all is faster than evaluating those
# that are needed in every fit again.
_MIN_COST_TO_MATERIALISE = 160
# Parameters that go to the machines as they are.
SHARED = (
    "loss",
    "threshold",
    "kernel",
    "degree",
    "coef0",
    "solver",
    "tol",
    "max_iter",
    "pos_label",
    "max_time",
    "cache_size",
    "n_jobs",
    "random_state",
    "verbose",
)


@dataclass(eq=False, repr=False)
class PUSVMCV(ClassifierMixin, BaseEstimator):
    """PUSVM with lambda and gamma chosen by cross-validation, without negatives.

    Use it to search a grid of your own. :func:`fewlabels.tune` chooses a grid for you, within a
    time budget.

    Every fold holds out positive and unlabelled rows, and candidates are compared by a
    score of such rows. All lambdas of a fold are fitted in one go, each started from the one
    before. Where kernel values are expensive (many columns, a kernel of your own) and the matrix
    fits into ``cache_size``, they are evaluated once per gamma.

    Parameters
    ----------
    lams : sequence of float or None, default=None
        Candidates for lambda, > 0. None takes 10, 3, 1, 0.3, 0.1, 0.03 and 0.01, divided
        by the number (sum of weights) of positive rows.
    gammas : sequence of {"scale", "auto"} or float, or None, default=None
        Candidates for the coefficient of "rbf", "poly" and "sigmoid", >= 0; not used
        by other kernels. "scale" and "auto" as in ``PUSVM``, from all rows. None takes
        1/4, 1 and 4 times "scale".
    cv : int, splitter or iterable, default=5
        Number of folds of a shuffled ``PUKFold``, or how to split. Every test fold
        needs positive and unlabelled rows. With a number, copies are held out together and count
        once, if rows repeat more often than chance allows.
    scoring : {"auc-risk", "nn-pu-risk", "pu-risk", "pu-auc", "lee-liu", "pu-f1", \
            "pu-accuracy"} or callable, default="auc-risk"
        What decides: a metric of ``make_pu_scorer`` with this estimator's prior, or a
        scorer of your own, called as ``scoring(model, X, y)``; greater is better.
    prior : "estimate" or float, default="estimate"
        Share of positives among the *unlabelled* rows, in (0, 1). It is estimated once,
        from all rows, and is the same for all candidates.
    loss, threshold, kernel, degree, coef0, solver, tol, max_iter, pos_label
        As in :class:`fewlabels.PUSVM`. Warm starts are for the double hinge and "decomposition".
    max_time, cache_size, n_jobs, random_state, verbose
        As in :class:`fewlabels.PUSVM`, for every fit, and the seed of the folds.

    Attributes
    ----------
    best_estimator_ : PUSVM
        The model with the best setting, fitted to all rows.
    lam_, gamma_ : float
        Its setting; ``gamma_`` is 0 for kernels without one.
    best_score_, best_index_ : float, int
        Mean score of the best setting over the folds, and its place in ``cv_results_``.
    cv_results_ : dict of ndarray
        ``param_gamma``, ``param_lam``, ``split0_test_score`` and so on,
        ``mean_test_score``, ``std_test_score``, ``rank_test_score``; one entry per
        candidate, to be read by ``pandas.DataFrame``.
    kernel_values_ : int
        Kernel values that the folds' fits evaluated; the final fit is not counted.
    n_splits_, n_iter_ : int
        Number of folds, and iterations of the final fit.
    prior_, prior_interval_, prior_quantiles_, classes_
        As in :class:`fewlabels.PUSVM`.
    n_features_in_, feature_names_in_
        As in scikit-learn.

    Notes
    -----
    Of equal scores the first candidate wins, with lambdas from large to small.
    ``sample_weight`` weighs rows in training and in scoring (by a callable all alike).

    References
    ----------
    Sansone, E., De Natale, F. G. B., Zhou, Z.-H. (2019). Efficient training for positive
    unlabeled learning. IEEE TPAMI 41.

    Examples
    --------
    >>> import numpy as np
    >>> from fewlabels.model_selection import PUSVMCV
    >>> rng = np.random.default_rng(0)
    >>> X = np.concatenate([rng.normal(2, 1, (80, 2)), rng.normal(-2, 1, (120, 2))])
    >>> y = np.r_[np.ones(40), np.zeros(160)]  # 40 of the 80 positives are labelled
    >>> model = PUSVMCV(lams=[1e-1, 1e-3], gammas=[0.1], prior=0.25).fit(X, y)
    >>> model.predict([[2.0, 2.0], [-2.0, -2.0]])
    array([1., 0.])
    >>> model.lam_ in (1e-1, 1e-3)
    True
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "lams": ["array-like", None],
        "gammas": ["array-like", None],
        "cv": [Interval(Integral, 2, None, closed="left"), HasMethods(["split"]), "array-like"],
        "scoring": [StrOptions(_SCORINGS), callable],
        "prior": [StrOptions({"estimate"}), Real],
        **{name: CONSTRAINTS[name] for name in SHARED},
    }

    lams: Sequence[float] | None = None
    gammas: Sequence[str | float] | None = None
    cv: Any = 5
    scoring: str | Callable[..., float] = "auc-risk"
    prior: str | float = "estimate"
    loss: str = "double-hinge"
    threshold: str = "leave-one-out"
    kernel: str | Callable[..., Any] = "rbf"
    degree: int = 3
    coef0: float = 1.0
    solver: str = "auto"
    tol: float = 1e-3
    max_iter: int = -1
    pos_label: Any = None
    max_time: float | None = None
    cache_size: float = 200
    n_jobs: int | None = None
    random_state: Any = None
    verbose: bool = False

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = self.kernel == "precomputed"
        tags.input_tags.sparse = self.kernel != "precomputed"
        tags.classifier_tags.multi_class = False
        return tags

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: MatrixLike, y: VectorLike, sample_weight: VectorLike | None = None) -> Self:
        """Search, then fit the best setting to all rows.

        Parameters
        ----------
        X : {array-like, sparse} of shape (n_samples, n_features)
            Rows; for ``kernel="precomputed"`` the kernel matrix.
        y : array-like of shape (n_samples,)
            Two values, or one and missing ones (NaN, None, ""). The greater value (or
            ``pos_label``) marks positive rows, the other one unlabelled rows.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights; rows of weight <= 0 are left out.

        Returns
        -------
        self : PUSVMCV
        """
        rows = check_rows(self, X, reset=True)
        weight, kept = check_weight(sample_weight, rows)
        if kept is not None:
            weight = np.bincount(kept, weight, rows.shape[0]).astype(float)
        kept = np.arange(rows.shape[0]) if kept is None else kept
        prior, self.classes_ = find_prior_for_fit(
            self._make_model(prior=self.prior), X, y, sample_weight
        )
        self.prior_, self.prior_interval_, self.prior_quantiles_ = prior

        positive, _ = split_labels(y, self.pos_label)
        labels = self.classes_[positive.astype(np.intp)]
        self._search(rows, labels, weight, kept, self._lam_values(positive, weight))
        best = self._make_model(prior=self.prior, lam=self.lam_)
        if has_gamma(self.kernel):
            best.set_params(gamma=self.gamma_)
        fit_each_setting([best], X, y, sample_weight, prior=prior)
        self.best_estimator_ = best
        self.n_iter_ = best.n_iter_
        return self

    def _make_model(self, **settings: Any) -> PUSVM:
        return PUSVM(**{name: getattr(self, name) for name in SHARED}, **settings)

    def _lam_values(self, positive: BoolArray, weight: FloatArray | None) -> FloatArray:
        """Return lambdas from large to small."""
        if self.lams is None:
            size = positive.sum() if weight is None else weight[positive].sum()
            return np.array(COSTS) / size
        lams = np.asarray(self.lams, dtype=float)
        if lams.ndim != 1 or len(lams) == 0 or not np.all(lams > 0):
            raise ValueError(f"lams={self.lams!r} is not allowed; pass one or more numbers > 0.")
        return np.sort(lams)[::-1]

    def _search(
        self,
        X: RowMatrix,
        y: AnyArray,
        weight: FloatArray | None,
        kept: IntArray,
        lams: FloatArray,
    ) -> None:
        """Score all candidates, and choose the best of them."""
        seed = 0 if self.random_state is None else self.random_state
        if isinstance(seed, np.random.RandomState):
            seed = seed.randint(2**31 - 1)
        gammas = self._gamma_values(X, weight)
        if isinstance(self.cv, int | Integral):
            folds = PUKFold(
                int(self.cv), shuffle=True, random_state=seed, pos_label=self.pos_label
            )
            groups = (
                None
                if self.kernel == "precomputed"
                else group_rows(X, (y == self.classes_[1]) - 1)
            )
            groups = take_groups(groups, kept)
            splits = splits_counted_once(folds.split(kept, y[kept], groups), y[kept], groups)
            splits = [(kept[train], kept[test]) for train, test in splits]
        else:
            splits = list(check_cv(self.cv).split(X, y))
        self.n_splits_ = len(splits)
        self.kernel_values_ = 0
        sample = Sample(X, y, weight, self.kernel == "precomputed")
        by_gamma = []
        for gamma in gammas:
            model = self._make_model(prior=self.prior_)
            model.set_params(random_state=seed, gamma=gamma)
            scorer = LambdaScorer(model, sample, lams, self.scoring)
            of_folds = [scorer.score_fold(*split) for split in splits]
            by_gamma.append(np.transpose([of_lams for of_lams, _ in of_folds]))
            self.kernel_values_ += sum(n_values for _, n_values in of_folds)
        scores = np.concatenate(by_gamma)
        mean = scores.mean(axis=1)
        self.cv_results_ = {
            "param_lam": np.tile(lams, len(gammas)),
            "param_gamma": np.repeat(np.asarray(gammas, dtype=float), len(lams)),
            **{f"split{i}_test_score": column for i, column in enumerate(scores.T)},
            "mean_test_score": mean,
            "std_test_score": scores.std(axis=1),
            "rank_test_score": rankdata(-mean, method="min").astype(np.int32),
        }
        self.best_index_ = int(np.argmax(mean))
        self.best_score_ = float(mean[self.best_index_])
        self.lam_ = float(self.cv_results_["param_lam"][self.best_index_])
        self.gamma_ = float(self.cv_results_["param_gamma"][self.best_index_])

    def _gamma_values(self, X: RowMatrix, weight: FloatArray | None) -> list[float]:
        if not has_gamma(self.kernel):
            return [0.0]
        if self.gammas is None:
            return [factor * resolve_gamma("scale", X, weight) for factor in _AROUND_SCALE]
        if len(self.gammas) == 0:
            raise ValueError("gammas is empty; pass at least one candidate, such as 'scale'.")
        for gamma in self.gammas:
            validate_parameter_constraints(CONSTRAINTS, {"gamma": gamma}, caller_name="PUSVM")
        return [resolve_gamma(gamma, X, weight) for gamma in self.gammas]

    # -- evaluating ----------------------------------------------------------------

    def decision_function(self, X: MatrixLike) -> FloatArray:
        """Return f(x) of the best model, shape (n_samples,); positive for the positive class."""
        check_is_fitted(self)
        check_rows(self, X, reset=False)  # complains in this class's name
        return self.best_estimator_.decision_function(X)

    def predict(self, X: MatrixLike) -> AnyArray:
        """Return the class of each row by the best model.

        Parameters
        ----------
        X : {array-like, sparse} of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        decision = self.decision_function(X)
        return self.classes_[class_of(decision)]


class LambdaScorer:
    """Scores on folds of all lambdas of a PUSVM, from large to small in one go.

    The model has a number for prior and gamma. All kernel values are held if the memory allows and
    they are expensive.
    """

    def __init__(
        self,
        model: PUSVM,
        sample: Sample,
        lams: FloatArray,
        scoring: str | Callable[..., float],
    ) -> None:
        self.model, self.sample, self.lams, self.scoring = model, sample, lams, scoring
        self._prepared: tuple[PUSVM, Sample] | None = None

    def __reduce__(self) -> tuple[type[LambdaScorer], tuple[Any, ...]]:
        # A worker evaluates its kernel values again.
        return LambdaScorer, (self.model, self.sample, self.lams, self.scoring)

    def _prepare(self) -> tuple[PUSVM, Sample, int]:
        """Return the model and its rows, or their kernel values, and how many these are."""
        model, (X, y, weight) = self.model, self.sample[:3]
        is_large = _BYTES_PER_KERNEL_VALUE * X.shape[0] ** 2 > 1e6 * model.cache_size
        if model.kernel == "precomputed" or is_large:
            return model, self.sample, 0
        # Kernels without a width leave the parameter as it is, and don't read it.
        gamma = 1.0 if isinstance(model.gamma, str) else model.gamma
        kernel = make_kernel(model.kernel, gamma, model.degree, model.coef0, X)
        gram = make_gram(kernel, X, dtype=np.float64, n_jobs=resolve_n_jobs(model.n_jobs))
        if gram.value_cost < _MIN_COST_TO_MATERIALISE:
            return model, self.sample, 0
        sample = Sample(gram.block(np.arange(gram.n)), y, weight, pairwise=True)
        return clone(model).set_params(kernel="precomputed"), sample, gram.n_values

    def score_fold(self, train: IntArray, test: IntArray) -> tuple[list[float], int]:
        """Return scores of one fold, one per lambda, and how many kernel values they took."""
        n_values = 0
        if self._prepared is None:
            model, sample, n_values = self._prepare()
            self._prepared = model, sample
        model, sample = self._prepared
        weight = None if sample.weight is None else sample.weight[train]
        models = fit_each_setting(
            [clone(model).set_params(lam=float(lam)) for lam in self.lams],
            sample.rows(train, train),
            sample.y[train],
            weight,
            prior=Prior(float(model.prior)),
            gathered=True,
        )
        n_values += sum(kernel_values(m) for m in models)
        held_out, y = sample.rows(test, train), sample.y[test]
        if callable(self.scoring):
            return [float(self.scoring(m, held_out, y)) for m in models], n_values
        score = make_pu_scorer(self.scoring, prior=float(model.prior))
        weight = None if sample.weight is None else sample.weight[test]
        return [score(m, held_out, y, sample_weight=weight) for m in models], n_values


def has_gamma(kernel: KernelLike) -> bool:
    """Return whether a kernel has a coefficient to choose."""
    return "gamma" in kind_of(kernel).takes
