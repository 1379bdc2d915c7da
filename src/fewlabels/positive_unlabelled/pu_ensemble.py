"""Composite classifier for positive and unlabelled rows: bags, then soft labels."""

from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any, ClassVar, NoReturn, Self, TypeAlias, cast

import numpy as np
import scipy.sparse as sp
from sklearn.utils._param_validation import Interval, StrOptions

from .._typing import AnyArray, FloatArray, MatrixLike, RowMatrix, SeedLike, VectorLike
from .._util.threads import one_blas_thread, resolve_n_jobs
from ..base.kernel_estimator import COMMON, solution_attr
from ..base.locking import fitting
from ..base.solution import ROUNDING, describe_run, estimate_rounding, make_function
from ..base.two_classes import TwoClassEstimator
from ..class_prior.prior import check_prior
from ..data.units import common_unit
from ..kernels import (
    MIXTURE,
    RBF,
    Cells,
    Deformed,
    Isolation,
    Kernel,
    KernelLike,
    Manifold,
    MappedKernel,
    SharedLeaves,
    Trees,
    centered,
    kind_of,
    make_kernel,
)
from ..kernels.operators import GramOperator
from ..kernels.parameters import resolve_gamma
from ..kernels.rows import find_shift
from ..problem.dual import find_missing_curvature
from ..rows.memory import MemorySource
from ..rows.source import RowSource
from ..solvers import Settings
from ..solvers.run import HistoryEntry
from . import base
from .bags import DistinctPURows
from .data import PUEnsembleFit
from .ensemble import (
    EnsembleSettings,
    EnsembleSolution,
    ensemble_grams,
    fit_two_sided_curve,
    solve_ensemble,
)
from .rows import PURows
from .scores import quantile_cut
from .task import POSITIVE_UNLABELLED

# All kernels, what rows are taken around, and the operators of each family of kernels.
KernelFamilies: TypeAlias = tuple[tuple[Kernel, ...], FloatArray | None, list[list[GramOperator]]]

# The grid: gamma times these, each twice the one before.
_GAMMA_FACTORS = np.array([0.125, 0.25, 0.5, 1.0, 2.0])

_COMMON_PARAMETERS = (
    "gamma degree coef0 tol max_time cache_size n_jobs random_state verbose".split()
)


# Fewer rows give trees too little to split.
_MIN_ROWS_FOR_TREES = 300


def choose_kernels(X: RowMatrix) -> list[str]:
    """Kernels that suit rows, the one that ``kernel="auto"`` means first."""
    if sp.issparse(X) or X.shape[0] < _MIN_ROWS_FOR_TREES or _is_beyond_float32(X):
        return ["rbf"]
    if common_unit(X) is not None:
        return ["rbf", MIXTURE, Trees.name]
    return [MIXTURE, Trees.name, "rbf"]


def _is_beyond_float32(X: AnyArray) -> bool:
    """Return whether rows are beyond single precision, in which trees compare them."""
    return np.abs(X).max() >= np.finfo(np.float32).max


@dataclass(eq=False, repr=False)
class PUEnsemble(TwoClassEstimator):
    """Ensemble for positive and unlabelled rows.

    Use it if some rows of one class are labelled and the other rows may belong to it too. It is
    usually more accurate than :class:`PUSVM`, at several times the cost. It can't be updated.

    It assumes that the labelled positives are a random sample of all positives, unless ``fit``
    gets their propensities.

    First stage: for a grid of kernel widths and costs, bags of support vector machines separate
    bootstrap samples of the positives from as many unlabelled rows. The mean over the bags is one
    member. Members are weighted by their held-out ROC AUC of positive against unlabelled rows,
    which needs no prior. A logistic curve, fitted with the prior, turns held-out scores into
    probabilities.

    Second stage: one model of all rows learns these probabilities with the members' mean kernel.
    The decision is the sum of both stages, standardised. The threshold flags the prior's share of
    the unlabelled rows, by scores that don't depend on the row itself.

    Parameters
    ----------
    prior : "estimate" or float, default="estimate"
        Share of positives among the *unlabelled* rows, in (0, 1). "estimate" uses
        :func:`fewlabels.class_prior.estimate_prior`. Pass it if you know it. Members and their
        weights don't depend on it.
    kernel : str, Manifold or Trees, default="auto"
        "auto" is "mixture" for tables of features: dense data of 300 rows or more whose columns
        don't share a unit. Other data, such as images, one-hot columns, texts and sparse data,
        get "rbf". ``kernel_`` reports the choice.

        "rbf" uses five widths, ``gamma`` times 1/8, 1/4, 1/2, 1 and 2, with costs 1 and 10.
        "trees" combines a Gaussian kernel with a forest that separates labelled from unlabelled
        rows (:class:`fewlabels.kernels.Trees`). "mixture" fits an ensemble with each of these two
        and averages their standardised decisions. The others use one kernel, as in
        :class:`SVDD`. One kernel comes with costs 0.1, 1 and 10, divided by the mean of K(x, x).
        With "linear", for text, the second stage alone decides.
    gamma : {"scale", "auto"} or float, default="scale"
        Coefficient of "poly", and the middle of the grid of "rbf", >= 0. "scale" is
        ``1 / (n_features * X.var())`` and "auto" is ``1 / n_features``.
    n_bags : int, default=30
        Number of bags, the same for all members, > 0. More bags reduce random variation.
    pos_label, cache_size, n_jobs, sampling
        As in :class:`PUSVM`.
    random_state : int, RandomState or None, default=None
        Seed of the bags, of the sample that a large fit starts from and of the prior's
        estimate. None means 0.
    max_time : float or None, default=None
        Limit on the seconds of a fit. The prior is then estimated from fewer rows, and only the
        bags trained by then are used, at least one. A warning says so.
    degree, coef0
        As in :class:`SVDD`.
    tol : float, default=1e-2
        Bound on the violation of the optimality conditions, in units of f, > 0.
    verbose : bool, default=False
        Print a line per round of the second stage.

    Attributes
    ----------
    prior_, prior_interval_, prior_quantiles_, classes_, support_vectors_, coef_, gamma_,
    n_support_, history_
        As of :class:`PUSVM`.
    propensity_weights_ : PropensityWeights or None
        As of :class:`PUSVM`. Bags draw labelled rows with these weights.
    kernel_ : str or kernel
        The kernel of the fit: ``kernel``, or what "auto" meant.
    gammas_ : ndarray of shape (n_kernels,)
        Coefficients of the kernels; 0 for kernels without one. With "mixture" the last one
        belongs to the kernel of trees.
    prices_ : ndarray of shape (n_costs,)
        Costs of a row inside the margin.
    auc_ : ndarray of shape (n_kernels, n_costs)
        Held-out ROC AUC of each member, positive against unlabelled rows. NaN where there is no
        such member: a "mixture" has other costs for each kind of kernel.
    weights_ : ndarray of shape (n_kernels, n_costs)
        Weights of the members, with sum 1; those below 0.001 are set to 0.
    transduction_ : ndarray of shape (n_samples,)
        Labels of the training rows: given for the positives, predicted by held-out scores for
        the others.
    support_ : ndarray of shape (n_SV,)
        Indices of the rows with a coefficient in the training rows; of equal rows the first.
    dual_coef_ : ndarray of shape (n_kernels, n_SV)
        Coefficients:
        ``decision_function(x) = sum_k dual_coef_[k] @ K_k(support_vectors_, x) + intercept_``
        with K_k the kernel of ``gammas_[k]``.
    n_iter_ : int
        Pair steps of all models.
    fit_status_ : int
        0 if all models reached the tolerance, otherwise 1 (with a warning).
    stop_reason_ : str
        As of :class:`SVDD`.
    shape_fit_, n_features_in_, feature_names_in_
        As in scikit-learn.

    See Also
    --------
    PUSVM : one convex problem with a duality gap; sparser, faster, can be updated.

    Notes
    -----
    Sample weights act as repetitions, and common factors of the weights of the positive or of
    the unlabelled rows cancel. Weights that aren't multiples of a common number are rounded when
    bags are drawn. Equal rows count as one row with the sum of their weights.

    Probabilities are a logistic curve of the decision, one half at the threshold. Their mean over
    rows like the unlabelled ones is near the prior, not equal to it.

    Nearly every row is a support vector, and "rbf" predicts with up to five kernels, "mixture"
    with six.

    References
    ----------
    Mordelet, F., Vert, J.-P. (2014). A bagging SVM to learn from positive and unlabeled
    examples. Pattern Recognition Letters 37. (The bags, with all positive rows in each.)

    du Plessis, M. C., Niu, G., Sugiyama, M. (2015). Convex formulation for learning from
    positive and unlabeled data. ICML. (The logistic risk of the map.)

    Examples
    --------
    >>> import numpy as np
    >>> from fewlabels import PUEnsemble
    >>> rng = np.random.default_rng(0)
    >>> X = np.concatenate([rng.normal(2, 1, (80, 2)), rng.normal(-2, 1, (120, 2))])
    >>> y = np.r_[np.ones(40), np.zeros(160)]  # 40 of the 80 positives are labelled
    >>> model = PUEnsemble(prior=0.25).fit(X, y)
    >>> model.predict([[2.0, 2.0], [-2.0, -2.0]])
    array([1., 0.])
    """

    task = POSITIVE_UNLABELLED
    _is_updatable = False
    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **{name: COMMON[name] for name in _COMMON_PARAMETERS},
        "prior": [StrOptions({"estimate"}), Real],
        "kernel": [
            StrOptions(
                {
                    "auto",
                    "linear",
                    "poly",
                    "rbf",
                    "precomputed",
                    "manifold",
                    "isolation",
                    "trees",
                    MIXTURE,
                }
            ),
            Manifold,
            Cells,
            Deformed,
            Isolation,
            MappedKernel,
            Trees,
            SharedLeaves,
        ],
        "n_bags": [Interval(Integral, 1, None, closed="left")],
        "sampling": base.SAMPLING,
        "pos_label": "no_validation",
    }

    prior: str | float = "estimate"
    kernel: KernelLike = "auto"
    gamma: str | float = "scale"
    n_bags: int = 30
    degree: int = 3
    coef0: float = 1.0
    tol: float = 1e-2
    pos_label: object = None
    cache_size: float = 200
    n_jobs: int | None = None
    random_state: SeedLike = None
    verbose: bool = False
    max_time: float | None = None
    sampling: str = "two-sample"

    @fitting
    def fit(
        self,
        X: MatrixLike,
        y: VectorLike,
        sample_weight: VectorLike | None = None,
        *,
        propensity: VectorLike | None = None,
    ) -> Self:
        """Fit both stages.

        Parameters
        ----------
        X : {array-like, sparse} of shape (n_samples, n_features)
            Rows; for ``kernel="precomputed"`` the kernel matrix.
        y : array-like of shape (n_samples,)
            Two values, or one and missing ones (NaN, None, ""). The greater value (or
            ``pos_label``) marks positive rows, the other one unlabelled rows.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights; rows of weight <= 0 are left out. They act as repetitions.
        propensity : float or array-like of shape (n_samples,), default=None
            As in :meth:`PUSVM.fit`.
        """
        check_prior(self.prior)
        rows = base.read_rows(self, X, y, sample_weight, propensity)
        self.prior_, self.prior_interval_, self.prior_quantiles_ = base.find_prior_of(self, rows)
        distinct = DistinctPURows(rows.data, rows.X)
        engine = Settings(
            tol=self.tol,
            cache_size=self._cache_bytes,
            callback=self._reporter(None),
            random_state=self._seed(),
        )
        with one_blas_thread():
            kernels, shift, families = self._grams(rows, distinct)
            is_linear = kernels[0].is_linear
            settings = EnsembleSettings(
                self.prior_, self.prior_quantiles_, self.n_bags, is_linear, engine
            )
            found = solve_ensemble(families, distinct, settings, self._deadline)
            run, gram = (found.n_iter, found.history, found.worst.converged), families[0][0]
            solution = self._solution(rows, distinct, found, run, kernels, shift, gram)
        self.prices_, self.auc_, self.weights_ = found.costs, found.auc, found.weights
        self._store_solution(solution)
        grams = [gram for family in families for gram in family]
        curvature = [find_missing_curvature(gram, np.ones(gram.n)) for gram in grams]
        self._report_status(found.worst, self.tol, np.max(curvature))
        return self

    # -- predictions -----------------------------------------------------------------------------

    def score(
        self, X: MatrixLike, y: VectorLike, sample_weight: VectorLike | None = None
    ) -> float:
        """ROC AUC of positive rows against all other rows, as :meth:`PUSVM.score`.

        Parameters
        ----------
        X, y, sample_weight
            As in :meth:`PUSVM.score`.

        Returns
        -------
        float
            NaN, with a warning, without rows of both kinds.
        """
        return base.score_ranking(self, X, y, sample_weight)

    # -- what a fit has found --------------------------------------------------------------------

    def _no_certificate(self) -> NoReturn:
        raise AttributeError(
            "PUEnsemble solves many problems, so it has no single objective or gap."
        )

    objective_ = duality_gap_ = property(_no_certificate)

    @property
    def transduction_(self) -> AnyArray:
        return base.label_training_rows(self)

    curve_ = solution_attr("curve")
    has_curve_ = True
    probability = "logistic"

    # -- how it is done --------------------------------------------------------------------------

    def _set_kernel(self, rows: RowSource) -> Kernel | None:
        X = cast(MemorySource, rows).X
        self.kernel_ = choose_kernels(X)[0] if self.kernel == "auto" else self.kernel
        return super()._set_kernel(rows)

    # Until a fit decides, what data without a decision get.
    _effective_kernel = property(
        lambda self: getattr(self, "kernel_", "rbf") if self.kernel == "auto" else self.kernel
    )

    def _grams(self, rows: PURows, distinct: DistinctPURows) -> KernelFamilies:
        """Kernels, what rows are taken around, and families of operators over distinct rows."""
        is_matrix = self.kernel == "precomputed"
        vectors = rows.X if is_matrix else rows.X[distinct.index]
        kind = kind_of(self._effective_kernel)
        if "gamma" in kind.takes:
            # Again, so that repetitions and weights give the same to the last bit.
            self.gamma_ = resolve_gamma(self.gamma, vectors, distinct.total_weight)
        is_mixture = isinstance(self._effective_kernel, str) and self._effective_kernel == MIXTURE
        several = kind.is_similarity and kind.learns is None
        self.gammas_ = self.gamma_ * _GAMMA_FACTORS if several else np.array([self.gamma_])
        if is_mixture:
            return self._mixed_grams(vectors)
        if several:
            kernels = tuple(make_kernel(self._effective_kernel, gamma) for gamma in self.gammas_)
        elif kind.learns == "labels":
            kernels = (self._make_kernel(),)  # grown when the labels were read
        else:
            self._deformed = self._kernel_over(vectors) if kind.learns else None
            kernels = (self._make_kernel(),)
        shift = find_shift(kernels[0], vectors)
        centred = centered(vectors, shift)
        grams = ensemble_grams(kernels, centred, resolve_n_jobs(self.n_jobs))
        return kernels, shift, [[grams[0].take(distinct.index)] if is_matrix else grams]

    def _mixed_grams(self, vectors: RowMatrix) -> KernelFamilies:
        """Return what ``_grams`` does, of Gaussian kernels and a kernel of trees."""
        gaussian = tuple(RBF(gamma) for gamma in self.gamma_ * _GAMMA_FACTORS)
        families = [gaussian, (self._make_kernel(),)]
        self.gammas_ = np.append(self.gamma_ * _GAMMA_FACTORS, self.gamma_)
        n_jobs = resolve_n_jobs(self.n_jobs)
        grams = [ensemble_grams(kernels, vectors, n_jobs) for kernels in families]
        return sum(families, ()), None, grams

    def _solution(
        self,
        rows: PURows,
        distinct: DistinctPURows,
        found: EnsembleSolution,
        run: tuple[int, list[HistoryEntry], bool],
        kernels: tuple[Kernel, ...],
        shift: FloatArray | None,
        gram: GramOperator,
    ) -> PUEnsembleFit:
        """Return the function, cut where the held-out scores say, and what follows from it."""
        coef = np.zeros((len(kernels), rows.X.shape[0]))
        coef[:, distinct.index] = found.function.coef
        unlabeled = distinct.label < 0
        weight = distinct.weight[unlabeled]
        scores = found.function.held_out[unlabeled]
        rounding = estimate_rounding(gram.diagonal(), np.abs(found.function.coef).sum(axis=0))
        least = max(rounding, ROUNDING * float(np.median(np.abs(scores))))
        cut = quantile_cut(scores, weight, self.prior_, least)
        function, places, support = make_function(
            kernels,
            gram,
            rows.X,
            coef,
            rows.numbers,
            bias=found.function.bias - cut,
            shift=shift,
            rounding=rounding,
        )
        is_certain = found.averaged is None
        posterior = found.posterior if found.averaged is None else found.averaged
        return PUEnsembleFit(
            function=function,
            **describe_run(support, rows.count_support(places), *run),
            is_positive=rows.predict_rows(function, found.function.held_out[distinct.place] - cut),
            curve=fit_two_sided_curve(scores, cut, posterior[unlabeled], weight, is_certain),
        )
