"""Bags of small balls around rows of one class."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from numbers import Integral, Real
from typing import Any, ClassVar, NoReturn, Self, cast

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils._param_validation import Interval, StrOptions

from .._typing import FloatArray, MatrixLike, RowMatrix, SeedLike, VectorLike
from .._util.deadline import ENDLESS, Deadline
from .._util.messages import ref
from .._util.threads import one_blas_thread, resolve_n_jobs
from .._util.warn import warn
from ..base.kernel_estimator import COMMON, KernelEstimator, VersionedCache
from ..base.locking import fitting
from ..base.solution import describe_run
from ..kernels import Isolation, Kernel, KernelLike, make_kernel
from ..rows.memory import MemorySource
from ..rows.row_store import RowStore
from ..rows.source import RowSource
from ..rows.validation import fit_rows
from ..solvers import Status
from ..solvers.run import Callback
from .bags import BagSettings, BagStream, fit_bags, resolve_trim
from .base import OneClassEstimator, ScoredRows
from .fitted_bags import Bag, BagsSolution

# The isolation kernel in the score.
_ISOLATION = Isolation(n_points=16)
_COMMON_PARAMETERS = "degree coef0 tol max_time n_jobs random_state verbose".split()


@dataclass(eq=False, repr=False)
class SVDDEnsemble(OneClassEstimator):
    """Ensemble of small balls around one class that may contain anomalies.

    Use it if you want to know which new rows don't belong and can't promise that all training
    rows are normal. There is nothing to choose except the false alarm rate, ``target_fpr``. If
    all rows are known to be normal, a tuned :class:`SVDD` is slightly better.

    Each bag is a random sample of at most half of the rows, to which an :class:`SVDD` with
    squared slack is fitted. A row's score is the log of its sum of kernel values, standardised
    and averaged over the bags.

    Every second bag drops its most distant 20 % of rows, which may be anomalies. If trimmed and
    untrimmed bags mostly agree on the most anomalous tenth of the training rows, a row's score
    is the smaller of the untrimmed bags' mean and half the trimmed bags' mean. If they disagree,
    untrimmed bags have learned anomalies and aren't used. Finally, the score is compared with
    half the score of the isolation kernel, which finds anomalies that form a dense group, and
    the smaller one counts.

    Parameters
    ----------
    target_fpr : float, default=0.05
        Share of new normal rows that may be rejected, in (0, 1). Training rows, each scored by
        the bags that don't contain it, set the threshold.
    n_bags : int, default=25
        Number of bags, > 0.
    bag_size : int, default=512
        Rows per bag, from 1 to 4096, and at most half of all rows. Small bags find anomalies
        that lie close together.
    trim : "auto" or float, default="auto"
        Share of each bag's rows to drop, in [0, 1). "auto" trims every second bag by 0.2 and
        decides from the data, as above. With fewer than 16 bags it is 0.2. Pass 0 if all rows
        are known to be normal.
    isolation : "auto", bool or Isolation, default="auto"
        Whether the score includes the isolation kernel. "auto" means yes, except with
        ``kernel="precomputed"``. An :class:`fewlabels.kernels.Isolation` sets the numbers of
        centres (16 unless given) and draws (200); its ``random_state`` isn't used.
    kernel : {"rbf", "poly", "sigmoid", "linear", "precomputed"} or callable, default="rbf"
        Kernel, as in :class:`SVDD`. With any but "rbf", a bag's score is minus the squared
        distance to the centre.
    gamma : {"neighbors", "scale", "auto"} or float, default="neighbors"
        Coefficient of "rbf", "poly" and "sigmoid", >= 0. "neighbors" is
        :func:`fewlabels.model_selection.neighbor_gamma` of the rows left in each bag. "scale"
        and "auto" are as in :class:`SVDD`, for all bags.
    C : float, default=0.1
        Cost of slack in a bag, > 0.
    degree, coef0
        As in :class:`SVDD`.
    n_jobs : int or None, default=None
        Threads; None uses every core.
    random_state : int, RandomState or None, default=None
        Seed of the bags. None means 0.
    max_time : float or None, default=None
        Seconds after which no further bag is started. At least one is fitted.
    tol : float, default=1e-3
        As in :class:`SVDD`, for every bag.
    verbose : bool, default=False
        Print a line per bag.

    Attributes
    ----------
    bags_ : tuple of Bag
        The bags: ``function``, ``rows`` (training rows in it), ``used`` (which of these are
        support vectors), ``middle`` and ``spread``.
    parts_ : tuple of Part
        The scores of which the smallest counts: ``bags`` (their numbers) or ``isolated``,
        ``middle`` and ``spread``. Empty if there is only the mean over all bags.
    offset_ : float
        ``decision_function = score_samples - offset_``; -inf if no row can be rejected.
    gamma_ : float
        Coefficient of the kernels, of "neighbors" the median over the bags.
    support_ : ndarray of shape (n_SV,)
        Training rows with a part in a ball; of equal rows the first.
    support_vectors_ : ndarray or CSR of shape (n_SV, n_features)
        These rows; empty for a precomputed kernel.
    calibration_scores_ : ndarray of shape (n_calibration,)
        Scores of training rows, each by the bags that don't contain it, in ascending order; for
        more than 5000 rows, a sample's values.
    n_iter_ : int
        Pair steps of all bags.
    history_ : list of dict
        One entry per bag.
    fit_status_ : int
        0 if all bags were fitted and reached the tolerance, otherwise 1 (with a warning).
    stop_reason_ : str
        As of :class:`SVDD`.
    n_support_, shape_fit_, n_features_in_, feature_names_in_
        As in scikit-learn.

    See Also
    --------
    SVDD : one ball around all rows, with a duality gap.

    Notes
    -----
    The rows of a bag depend only on their values and on ``random_state``. So the order of the
    rows doesn't matter, sample weights act as repetitions (common factors cancel, and weights
    that aren't multiples of a common number are rounded), and updates give the same model as
    ``fit`` on the current rows. Only bags that change are fitted again, when a score is needed.
    "scale" and "auto" keep their first value.

    A fit costs about ``n_bags * bag_size**2`` kernel values at any number of rows.

    ``kernel="precomputed"`` needs K(x, x) of new rows as ``diagonal``, unless the diagonal was
    constant.

    References
    ----------
    Tax, D. M. J., Duin, R. P. W. (2004). Support vector data description. Machine Learning 54.

    Ting, K. M., Zhu, Y., Zhou, Z.-H. (2018). Isolation kernel and its effect on SVM. KDD.

    Aggarwal, C. C., Sathe, S. (2015). Theoretical foundations and algorithms for outlier
    ensembles. ACM SIGKDD Explorations 17. (Why samples of the rows do better than all.)

    Kim, B., Xu, C., Barber, R. F. (2020). Predictive inference is free with the
    jackknife+-after-bootstrap. NeurIPS. (Thresholds by the bags that a row is not in.)

    Examples
    --------
    >>> import numpy as np
    >>> from fewlabels import SVDDEnsemble
    >>> rng = np.random.default_rng(0)
    >>> mixed = np.concatenate([rng.normal(size=(190, 2)), rng.normal(6.0, 0.5, size=(10, 2))])
    >>> model = SVDDEnsemble(target_fpr=0.05).fit(mixed)  # 5 % of these rows are anomalies
    >>> model.predict([[0.0, 0.0], [6.0, 6.0]])
    array([ 1, -1])
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **{name: COMMON[name] for name in _COMMON_PARAMETERS},
        "kernel": [StrOptions({"rbf", "poly", "sigmoid", "linear", "precomputed"}), callable],
        "n_bags": [Interval(Integral, 1, None, closed="left")],
        "bag_size": [Interval(Integral, 1, 4096, closed="both")],
        "trim": [StrOptions({"auto"}), Interval(Real, 0.0, 1.0, closed="left")],
        "isolation": [StrOptions({"auto"}), "boolean", Isolation],
        "C": [Interval(Real, 0.0, None, closed="neither")],
        "gamma": [
            StrOptions({"neighbors", "scale", "auto"}),
            Interval(Real, 0.0, None, closed="left"),
        ],
        "target_fpr": [Interval(Real, 0.0, 1.0, closed="neither")],
    }

    n_bags: int = 25
    bag_size: int = 512
    trim: str | float = "auto"
    C: float = 0.1
    kernel: KernelLike = "rbf"
    gamma: str | float = "neighbors"
    degree: int = 3
    coef0: float = 1.0
    target_fpr: float = 0.05
    tol: float = 1e-3
    max_time: float | None = None
    n_jobs: int | None = None
    random_state: SeedLike = None
    verbose: bool = False
    isolation: str | bool | Isolation = "auto"

    has_own_threshold = False
    takes_anomalies = False
    has_bags = True
    # Parameters of other models of one class.
    max_steps: ClassVar[None] = None
    cache_size: ClassVar[float] = 200.0
    _FIXED = (
        *("n_bags", "bag_size", "trim", "isolation", "C", "random_state"),
        *KernelEstimator._FIXED,
    )

    @fitting
    def fit(
        self,
        X: MatrixLike,
        y: object = None,
        sample_weight: VectorLike | None = None,
        callback: Callback | None = None,
        anomalies: VectorLike | None = None,
    ) -> Self:
        """Fit the bags.

        Parameters
        ----------
        X : {array-like, sparse} of shape (n_samples, n_features)
            Rows of the one class; for ``kernel="precomputed"`` the kernel matrix.
        y : ignored
            For compatibility.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights; rows of weight <= 0 are left out. They act as repetitions.
        callback : callable, default=None
            Called with the newest entry of ``history_`` after every bag; returning True
            stops the fit.
        anomalies : None
            Bags don't learn from confirmed anomalies; anything but None is refused.

        Returns
        -------
        self : estimator
        """
        _refuse_anomalies(anomalies)
        self._train(fit_rows(self, X, sample_weight), callback)
        self._calibrate_or_reset()
        return self

    # -- predictions -----------------------------------------------------------------------------

    @property
    def leave_one_out_decisions(self) -> NoReturn:
        """Not available: ``calibration_scores_`` has out-of-bag scores."""
        raise AttributeError(
            "SVDDEnsemble has no leave-one-out scores; calibration_scores_ has out-of-bag scores."
        )

    # -- what a fit has found --------------------------------------------------------------------

    def _refuse_attribute(self) -> NoReturn:
        raise AttributeError(
            "SVDDEnsemble solves one problem per bag, so it has no objective, gap, intercept or "
            "coefficients of its own; see bags_."
        )

    objective_ = duality_gap_ = intercept_ = dual_coef_ = property(_refuse_attribute)

    @property
    def support_vectors_(self) -> RowMatrix:
        bags = self.bags_
        if self.kernel == "precomputed":
            return np.empty((0, 0))
        rows = np.concatenate([bag.rows[bag.used] for bag in bags])
        first = np.unique(rows, return_index=True)[1]
        vectors = [bag.function.vectors for bag in bags]
        if sp.issparse(vectors[0]):
            return sp.csr_array(sp.vstack(vectors, format="csr"))[first]
        return np.concatenate(vectors)[first]

    bags_ = property(lambda self: self._solution_now.function.bags)
    parts_ = property(lambda self: self._solution_now.function.parts)
    offset_ = property(lambda self: self._threshold)

    # -- how it is done --------------------------------------------------------------------------

    def _describe_solution(self) -> BagsSolution:
        """Return the bags of the rows that are there; those that hold the same rows stay."""
        stream = self._stream
        assert stream is not None
        rows, last = stream.training_rows(), self._fitted_values.latest("solution")
        return self._fit_bags(rows.X, rows.weight, last.seed, known=last.function.bags)[0]

    def _read_new_rows(
        self,
        X: MatrixLike,
        y: object,
        sample_weight: VectorLike | None,
        anomalies: VectorLike | None = None,
    ) -> dict[str, Any]:
        _refuse_anomalies(anomalies)
        new = super()._read_new_rows(X, y, sample_weight)
        return {name: value for name, value in new.items() if name != "anomaly"}

    def _cache_to_save(self) -> VersionedCache:
        """Return all values: bags hold their rows themselves."""
        return self._fitted_values.copy()

    def __setstate__(self, state: dict[str, Any]) -> None:
        BaseEstimator.__setstate__(self, state)  # no vectors are missing: bags hold them

    def _train(self, rows: RowSource, callback: Callback | None) -> None:
        in_memory = cast(MemorySource, rows)
        X, weight = in_memory.everything, in_memory.scatter(in_memory.weights)
        by_neighbors = self.gamma == "neighbors"
        if by_neighbors:
            self.shape_fit_, self.gamma_ = X.shape, 0.0
        else:
            self._set_kernel(rows)
        found, status = self._fit_bags(X, weight, self._seed(), callback)
        if by_neighbors:
            widths = [bag.entry["gamma"] for bag in found.function.bags]
            self.gamma_ = float(np.median(widths))
        is_matrix = self.kernel == "precomputed"
        self._attach_stream(None if is_matrix else BagStream(RowStore(X, weight=weight)))
        self._store_solution(found)
        self._report_bags(found, status)

    def _scores_to_calibrate(self) -> ScoredRows:
        solution = cast(BagsSolution, self._solution_now)
        return solution.scores, None, solution.scored

    def _fit_bags(
        self,
        X: RowMatrix,
        weight: FloatArray,
        seed: int,
        callback: Callback | None = None,
        known: Sequence[Bag] = (),
    ) -> tuple[BagsSolution, Status]:
        """Return the ``BagsSolution`` of rows, without rows of weight 0, and why bags ended."""
        by_neighbors = self.gamma == "neighbors"
        settings = BagSettings(
            n_bags=self.n_bags,
            size=self.bag_size,
            C=float(self.C),
            trim=resolve_trim(self.trim, self.n_bags),
            isolation=self._isolation(),
            kernel=partial(_make_kernel_of_gamma, self.kernel, self.degree, self.coef0),
            gamma=None if by_neighbors else self.gamma_,
            tol=self.tol,
            seed=seed,
            n_jobs=resolve_n_jobs(self.n_jobs),
            deadline=Deadline(self.max_time) if self._deadline is ENDLESS else self._deadline,
            report=self._reporter(callback),
        )
        with one_blas_thread():
            found = fit_bags(X, weight, settings, known)
        bags = found.function.bags
        support = np.unique(np.concatenate([bag.rows[bag.used] for bag in bags]))
        entries = [bag.entry for bag in bags]
        all_converged = all(entry["converged"] for entry in entries)
        solution = BagsSolution(
            function=found.function,
            **describe_run(
                support.astype(np.int32),
                [len(support)],
                sum(entry["iterations"] for entry in entries),
                entries,
                found.status is Status.CONVERGED and all_converged,
            ),
            scores=found.scores,
            scored=found.scored,
            rate=float(self.target_fpr),
            seed=seed,
        )
        return solution, found.status

    def _isolation(self) -> Isolation | None:
        """Return the ``Isolation`` that the score includes, or None."""
        is_matrix = self.kernel == "precomputed"
        if isinstance(self.isolation, Isolation) or self.isolation is True:
            if is_matrix:
                raise ValueError(
                    "the isolation kernel needs rows, and kernel='precomputed' has none; pass "
                    "isolation='auto' or False."
                )
            return _ISOLATION if self.isolation is True else self.isolation
        return None if is_matrix or self.isolation != "auto" else _ISOLATION

    def _report_bags(self, found: BagsSolution, status: Status) -> None:
        """Warn of bags that are missing or did not reach the tolerance; pass Ctrl-C on."""
        n = len(found.function.bags)
        self.stop_reason_ = status.name.lower()
        if status is Status.INTERRUPTED:
            warn(
                f"fit was interrupted after {n} of {self.n_bags} bags; the estimator uses these.",
                ConvergenceWarning,
            )
            raise KeyboardInterrupt
        if status is not Status.CONVERGED:
            advice = "fit again without the callback that stopped it"
            if status is Status.MAX_TIME:
                advice = "raise max_time"
            warn(
                f"SVDDEnsemble stopped early ({status.value}) after {n} of {self.n_bags} bags; "
                f"{advice}, or pass {ref('n_bags', n)} if these are enough.",
                ConvergenceWarning,
            )
        short = sum(not entry["converged"] for entry in found.history)
        if short:
            warn(
                f"{short} of the {n} bags of SVDDEnsemble did not reach the tolerance; raise tol, "
                "or scale the columns.",
                ConvergenceWarning,
            )


def _make_kernel_of_gamma(name: KernelLike, degree: int, coef0: float, gamma: float) -> Kernel:
    return make_kernel(name, gamma, degree, coef0)


def _refuse_anomalies(anomalies: object) -> None:
    if anomalies is not None:
        raise ValueError(
            "SVDDEnsemble can't use confirmed anomalies (anomalies=...); drop these rows from X, "
            "or use SVDD or OneClassSVM."
        )
