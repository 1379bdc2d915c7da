"""Semi-supervised support vector machine."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from numbers import Integral, Real
from typing import Any, ClassVar, NoReturn, Self, cast

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import Tags
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_consistent_length

from .._typing import (
    AnyArray,
    ClassesLike,
    FloatArray,
    IntArray,
    MatrixLike,
    RowMatrix,
    SeedLike,
    VectorLike,
)
from .._util.threads import resolve_n_jobs
from .._util.warn import warn
from ..base.kernel_estimator import COMMON, KernelEstimator, OutOfCoreSupport, VersionedCache
from ..base.locking import consistent, exclusive, fitting
from ..base.solution import Certificate, RowStream, Solution
from ..base.two_classes import PROBABILITY, TwoClassEstimator
from ..calibration.cross_fitting import Sample
from ..calibration.curve import ClassCurves, Curve
from ..data.labels.arrays import check_classes
from ..data.labels.semi_supervised import read_classes, read_known_labels
from ..kernels import KernelLike, Linear, SharedLeaves, Trees
from ..rows.memory import MemorySource
from ..rows.row_store import read_indices
from ..rows.source import RowSource
from ..rows.validation import check_weight, fit_rows
from ..solvers import Status
from ..solvers.run import Callback
from . import arguments
from .branching import PROVEN, describe_early_stops
from .calibrator import Calibrator
from .class_path import PathOptions
from .consolidation import cheap_strategies, improve_paths, read_strategies, renew_graph
from .data import S3VMProblem, S3VMSettings
from .description import add_offset
from .following import follow_rows, search_near_newest
from .problem import SemiSupervised
from .stream import S3VMStream
from .task import SEMI_SUPERVISED
from .trainer import S3VMTraining, Trainer, TrainingRecord

# The name of decisions by models trained without the rows among the late values.
_LEFT_OUT = "left-out decisions"
_OUTSIDE = {"solver": ("auto", "cccp"), "probability": (None,), "class_ratio": (None,)}
_NO_CLASSES = (
    "To start before every class has a label, pass classes=[...] to the first partial_fit."
)


def _stream_attribute(name: str) -> property:
    """Return an attribute that only a model with a stream has."""

    @consistent
    def value(model: Any) -> object:
        if model._stream is None:
            raise AttributeError(
                f"this {type(model).__name__} can't be updated; fit it on rows with weights > "
                "0 and a kernel that isn't precomputed, or call partial_fit."
            )
        return getattr(model._stream, name)

    return property(value)


@dataclass(eq=False, repr=False)
class S3VM(TwoClassEstimator):
    r"""Semi-supervised support vector machine: a few labels, many unlabelled rows.

    Use it if a few rows of two or more classes are labelled and most are not. It keeps its
    boundary out of dense regions, which helps if classes are clusters or manifolds: text, digits,
    spectra. If classes overlap smoothly, an SVM of the labels alone is as good.

    Rows and labels can be added, changed and removed: ``partial_fit``, ``relabel`` and ``forget``
    follow the solution exactly, in milliseconds.

    It finds f(x) = <w, phi(x)> + b at a local minimum of (Gu et al. 2018, eq. (1))

    .. math:: \tfrac12 \|w\|^2 + C \sum_{i \in L} \max(0, 1 - y_i f(x_i))
              + C^* \sum_{i \in U} \max(0, 1 - |f(x_i)|),

    with the mean of f over the unlabelled rows fixed (Yu et al. 2019, section 1). With more than
    two classes, each class has its own f against the rest, and the largest f decides.

    Parameters
    ----------
    kernel : str, Manifold, Trees or callable, default="rbf"
        As in :class:`SVDD`. "manifold" uses the neighbour graph of labelled and unlabelled
        rows. "trees", for mixed columns, is half Gaussian and half the share of 300 extremely
        randomized trees in which two rows reach the same leaf (settings:
        :class:`fewlabels.kernels.Trees`). The trees are grown on the labelled rows in ``fit``,
        and updates keep them.
    gamma : {"distance", "scale", "auto"} or float, default="distance"
        Coefficient of the kernels that have one, >= 0. "distance" is, for similarities as "rbf",
        ``min(1.4, 100 / d_eff) / D``, with D the mean squared distance between rows and
        ``d_eff = 2 D**2 / var(squared distance)`` their effective number of dimensions (from
        500 rows, at most ``2 n_features``). In thousands of dimensions this is nearly linear.
        For other kernels it is "scale", ``1 / (n_features * X.var())``. "auto" is
        ``1 / n_features``. Updates keep the first value.
    C : float, default=10.0
        Cost of labelled rows inside the margin, in (0, 1e300].
    C_star : float, default=5.0
        Cost of unlabelled rows inside the margin, in [0, 1e300]. With 0 the model learns from the
        labelled rows alone, except that ``balance`` may hold the mean of f over the unlabelled
        rows. With k > 2 classes each model uses 2 / k of it.
    class_ratio : "estimate", float, dict, array-like of shape (n_classes,) or None, default=None
        Class ratio of the unlabelled rows, if the labels' own ratio isn't representative: the
        share of the second of two classes, in (0, 1), a dict ``{class: share}``, or the shares
        in the order of ``classes_``. The mean probabilities of the unlabelled rows are then the
        shares. The constraint holds the mean of f at ``2 * share - 1``, of an estimate perhaps
        beyond it. With ``balance=False``, ``fit`` moves the intercept until classes are equally
        probable where decisions are 0 (of several: equal), by five fits as for ``probability``.
        "estimate" is :func:`fewlabels.class_prior.label_shift`. Updates keep ratio and intercept.
    probability : {"sigmoid", "isotonic"} or None, default=None
        Enables ``predict_proba`` and sets its curve. The curve is fitted to labelled rows
        scored by five models that weren't trained on them, when ``predict_proba`` is first
        called after a change. "isotonic" averages isotonic regression and the sigmoid. With
        more than two classes the sigmoid is a softmax.
    unlabeled : value of y or None, default=-1
        The value of y that marks unlabelled rows; None for no value. Missing ones (NaN, None,
        "") always do. -1 counts only if none is missing: both together are refused.
    balance : "auto", bool, float or dict, default="auto"
        Mean of f over the unlabelled rows: True for the mean of the labels (+1, -1), the papers'
        constraint; a number; or False for no constraint, which often puts all rows on one side. A
        dict ``{class: share}`` means ``2 * share - 1`` for each class. "auto" is True unless the
        rows contradict the labels' class ratio: then it is an estimate, as with
        ``class_ratio="estimate"``. A doubtful ratio is kept, with a warning. Rows outside memory
        and precomputed kernels aren't judged.
    auto_consolidate : bool, default=False
        Whether an update after which ``consolidation_due_`` is True searches for a better
        minimum, also the first one after which 5 % of the rows have changed since a fit. That
        update takes about twice as long as a fit, whatever ``max_steps``.
    degree, coef0
        As in :class:`SVDD`.
    max_time : float or None, default=None
        Limit on the seconds of a fit, an update or ``consolidate``. ``resume`` finishes an
        update.
    max_steps : int or None, default=None
        Limit on the steps of one ``partial_fit``, ``forget`` or ``relabel``, >= 1. ``resume``
        finishes it.
    cache_size, n_jobs, random_state, verbose
        As in :class:`SVDD`.
    tol : float, default=1e-3
        Bound on the violation of the optimality conditions, in units of f, > 0.
    max_iter : int, default=-1
        Limit on pair steps of a convex step; -1 for none.
    annealing : bool, default=True
        Whether C* grows to its value in ten steps, each starting from the one before. This
        finds better minima. False is the papers' procedure, which starts from the SVM of the
        labelled rows at full C*.
    solver : {"auto", "cccp", "path", "branch-and-bound"}, default="auto"
        "auto" is "cccp", the concave-convex procedure with exact convex steps. "path" adds the
        labelled rows, then the others one at a time, most confident first (Gu et al. 2018); it
        takes no ``callback`` or ``max_iter``. "branch-and-bound" searches for the global
        minimum (Chapelle et al. 2007), for small data: see docs/internals/solvers.md.
    balance_update : {"keep", "paper"}, default="keep"
        "keep", our own method, keeps the virtual row of the balancing constraint in the problem
        during updates. "paper" removes it before rows change and adds it again, as Algorithms 1
        to 3 of Yu et al. (2019) do, which is slower. The two can end in different local minima.
    path_order : {"block", "one-by-one"}, default="block"
        How the rows of an update change. "block": all at once, labelled new rows first, which is
        faster. "one-by-one": one after the other in the order given, as in Algorithm 1 of Gu et
        al. (2018). With ``balance_update="paper"`` the constraint then leaves before the first
        and returns after the last (Yu et al. 2019, section 3.2).
    n_neighbors : int, default=10
        With ``solver="branch-and-bound"``: unlabelled neighbours of a new row whose signs
        ``partial_fit`` searches, >= 1.
    max_nodes : int or "auto", default="auto"
        With ``solver="branch-and-bound"``: limit on the convex problems of a search, >= 1.
        "auto" is ``2e6 / n_samples``, at most 50 000: about ten seconds.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The classes, sorted. With two, f is positive for the second. With more there is one f
        per class, in this order.
    class_ratio_ : ndarray of shape (n_classes,) or None
        Shares of the classes among the unlabelled rows, given or estimated; None where the
        labels' own are used.
    class_ratio_interval_ : ndarray of shape (n_classes, 2) or None
        The 90 % interval of each share, if they were estimated.
    left_out_decisions_ : ndarray of shape (n_samples, 1) or (n_samples, n_classes), or None
        Decisions for labelled rows by models trained without them, NaN for other rows. None
        until ``predict_proba`` was called.
    transduction_ : ndarray of shape (n_samples,)
        Labels of the training rows: given, or predicted for unlabelled ones.
    training_decisions_ : ndarray of shape (n_samples,) or (n_samples, n_classes)
        ``decision_function`` of the training rows, without computing kernel values.
    support_, support_vectors_, gamma_
        As of :class:`SVDD`. A balancing constraint that is active makes all unlabelled rows
        support vectors.
    dual_coef_, coef_, intercept_
        As of :class:`PUSVM`; with more than two classes, one row or entry per class. A row that
        supports any class is a support vector.
    objective_ : float, or ndarray of shape (n_classes,)
        Value of (1).
    objectives_ : list of float, or a list of these
        Value of (1) after each convex step at the final C* of the last batch training; it never
        increases.
    kkt_violation_ : float, or ndarray of shape (n_classes,)
        Largest violation of the optimality conditions of (1), in units of f.
    optimality_gap_ : float, or ndarray of shape (n_classes,)
        ``solver="branch-and-bound"``, after ``fit`` or ``consolidate`` and until rows or labels
        change: upper bound on how far ``objective_`` is above the global minimum. 0 if proven,
        to a relative accuracy of 1e-9.
    n_nodes_ : int
        Convex problems that branch and bound has solved, in ``fit`` and since.
    consolidation_due_ : bool
        Whether a fit is likely to find a lower minimum: since the last batch training or
        ``consolidate``, half as many rows were added, forgotten or relabelled as there were
        training rows then; or a twentieth, and ``objective_`` has grown by 5 % relative to the
        cost of all rows.
    n_steps_, n_flips_ : int
        Steps of the path so far; unlabelled rows that changed sides on it. With more than two
        classes, the sum over the classes, as for ``n_iter_`` and ``n_nodes_``.
    n_iter_ : int
        Pair steps of the batch training, and steps of the path since.
    history_ : list of dict
        One entry per round, over all convex steps; then one per operation of the path, the
        newest 1000. With several classes, one class after another ("class": its position).
    fit_status_ : int
        0 if the tolerance was reached (branch and bound: the global minimum is proven),
        otherwise 1 (with a warning).
    stop_reason_ : str
        Why ``fit``, or the first ``partial_fit``, ended, as of :class:`SVDD`.
    n_support_, shape_fit_, n_features_in_, feature_names_in_
        As in scikit-learn.

    See Also
    --------
    fewlabels.tune : chooses ``kernel``, ``gamma`` and ``C_star``.
    fewlabels.model_selection.compare_with_baselines : checks whether unlabelled rows help.

    Notes
    -----
    The problem has many local minima. ``fit`` starts from the SVM of the labelled rows, with the
    balancing constraint, and doubles C* from ``C_star / 512``. Updates follow this minimum, and
    new rows get the sign of f. A fit may find a lower one: ``consolidation_due_`` says when this
    is likely, and ``consolidate`` searches for it.

    References
    ----------
    Gu, B., Yuan, X.-T., Chen, S., Huang, H. (2018). New incremental learning algorithm for
    semi-supervised support vector machine. KDD.

    Yu, S., Gu, B., Ning, K., Chen, H., Pei, J., Huang, H. (2019). Tackle balancing constraint for
    incremental semi-supervised support vector learning. KDD.

    Chapelle, O., Sindhwani, V., Keerthi, S. S. (2007). Branch and bound for semi-supervised
    support vector machines. Advances in Neural Information Processing Systems 19.

    Emara, W., Kantardzic, M., Karnstedt, M., Sattler, K.-U., Habich, D., Lehner, W. (2007). An
    approach for incremental semi-supervised SVM. ICDM Workshops.

    Collobert, R., Sinz, F., Weston, J., Bottou, L. (2006). Large scale transductive SVMs.
    Journal of Machine Learning Research 7.

    Examples
    --------
    >>> import numpy as np
    >>> from fewlabels import S3VM
    >>> rng = np.random.default_rng(0)
    >>> X = np.concatenate([rng.normal(1, 0.6, (100, 2)), rng.normal(-1, 0.6, (100, 2))])
    >>> y = np.full(200, -1)  # unlabelled
    >>> y[0], y[100] = 1, 0
    >>> model = S3VM().fit(X, y)
    >>> model.predict([[1.0, 1.0], [-1.0, -1.0]])
    array([1, 0])

    Add a row, label another one and remove two, without training again:

    >>> model.partial_fit([[0.9, 1.1]]).relabel([5], [1]).forget([7, 8]).predict([[1.0, 1.0]])
    array([1])
    """

    task = SEMI_SUPERVISED
    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **COMMON,
        "kernel": [*COMMON["kernel"], StrOptions({Trees.name}), Trees, SharedLeaves],
        # Sums of costs are numbers, too.
        "C": [Interval(Real, 0.0, 1e300, closed="right")],
        "C_star": [Interval(Real, 0.0, 1e300, closed="both")],
        "balance": [
            StrOptions({"auto"}),
            "boolean",
            Interval(Real, -1e300, 1e300, closed="both"),
            dict,
        ],
        "class_ratio": [
            StrOptions({"estimate"}),
            Interval(Real, 0.0, 1.0, closed="neither"),
            dict,
            "array-like",
            None,
        ],
        "annealing": ["boolean"],
        "gamma": [
            StrOptions({"distance", "scale", "auto"}),
            Interval(Real, 0.0, None, closed="left"),
        ],
        "solver": [StrOptions({"auto", "cccp", "path", "branch-and-bound"})],
        "balance_update": [StrOptions({"keep", "paper"})],
        "path_order": [StrOptions({"block", "one-by-one"})],
        "n_neighbors": [Interval(Integral, 1, None, closed="left")],
        "max_nodes": [Interval(Integral, 1, None, closed="left"), StrOptions({"auto"})],
        "unlabeled": "no_validation",
        "probability": PROBABILITY,
        "auto_consolidate": ["boolean"],
    }

    C: float = 10.0
    C_star: float = 5.0
    balance: arguments.Balance = "auto"
    annealing: bool = True
    kernel: KernelLike = "rbf"
    gamma: str | float = "distance"
    degree: int = 3
    coef0: float = 1.0
    solver: str = "auto"
    balance_update: str = "keep"
    max_steps: int | None = None
    n_neighbors: int = 10
    max_nodes: int | str = "auto"
    tol: float = 1e-3
    max_iter: int = -1
    unlabeled: object = -1
    max_time: float | None = None
    cache_size: float = 200
    n_jobs: int | None = None
    random_state: SeedLike = None
    verbose: bool = False
    probability: str | None = None
    auto_consolidate: bool = False
    class_ratio: arguments.ClassRatio = None
    path_order: str = "block"

    _FIXED = ("C", "C_star", "balance", "class_ratio", "balance_update", *KernelEstimator._FIXED)
    _out_of_core = OutOfCoreSupport(_OUTSIDE, kernels=(Linear,), arrays=False)
    # Set by fits, and without annotations, which would make them parameters.
    # Objectives and bounds of batch trainings.
    _record = TrainingRecord(())
    # What the class ratio has added to f.
    _offset = cast("float | FloatArray", 0.0)
    # Where there is no stream: what a curve is fitted to, and which rows these are.
    _sample = cast("Sample | None", None)
    _kept = cast("IntArray | None", None)

    @fitting
    def fit(
        self,
        X: MatrixLike,
        y: VectorLike,
        sample_weight: VectorLike | None = None,
        callback: Callback | None = None,
    ) -> Self:
        """Fit the model.

        Parameters
        ----------
        X : {array-like, sparse} of shape (n_samples, n_features)
            Rows; for ``kernel="precomputed"`` the kernel matrix.
        y : array-like of shape (n_samples,)
            Two classes or more; unlabelled rows are missing (NaN, None, "") or ``unlabeled``. If y
            holds ``unlabeled`` and one other value only, both are taken for classes, with
            a warning.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights; rows of weight <= 0 are left out.
        callback : callable, default=None
            Called with the newest entry of ``history_`` after every round; returning
            True stops the fit.
        """
        arguments.refuse_no_labels(type(self).__name__, y)
        with self._source(X, sample_weight, y=y) as rows:
            label, classes = self._read_labels(rows, y)
            self._set_kernel(rows)
            arguments.check_each_has_labels(label[rows.indices], classes)
            problem = self._state_problem(rows, label, classes)
            if self.solver == "path":
                return self._fit_by_path(self._make_stream(problem))
            trainer = self._trainer(rows)
            training = trainer.train(problem, callback)
            self._store_training(training)
            self.stop_reason_ = training.status.name.lower()
            trainer.report_status(training.solutions, training.gram)
        return self

    # -- updates ---------------------------------------------------------------------------------

    @fitting
    def partial_fit(
        self,
        X: MatrixLike,
        y: VectorLike | None = None,
        classes: ClassesLike | None = None,
        sample_weight: VectorLike | None = None,
    ) -> Self:
        """Add rows, labelled or not, and follow the minimum to where it moves.

        The first call on a new model starts a stream: it fixes ``gamma_`` and, under the
        linear kernel, the centre. Until both classes have a label, rows are kept and f is
        constant: the sign of the only class labelled, 0 without labels. Once they have,
        the rows so far are trained on as by ``fit``. Of several classes, each so begins with its
        first label.

        Parameters
        ----------
        X : {array-like, sparse} of shape (n_samples, n_features)
            New rows. They become the last training rows.
        y : array-like of shape (n_samples,), default=None
            As in ``fit``; None when all rows are unlabelled.
        classes : array-like of shape (n_classes,), default=None
            All classes; needed by the first call on a new model when y does not have them. Later
            calls may add classes: their models begin on all rows, once they have a label.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights, > 0; under the balancing constraint equal over all unlabelled rows.
        """
        if self._cache is None:
            return self._begin(X, y, classes, sample_weight)
        stream = self._ready_stream()
        all_classes = self._read_all_classes(classes)
        new = self._read_new_rows(X, y, sample_weight, all_classes)
        if len(all_classes) > len(self.classes_):
            stream.check_new(new["label"], new["weight"])
            stream = self._with_classes(stream, all_classes)
        if self.solver == "branch-and-bound":
            return self._add_by_branching(stream, **new)
        return self._run_update("partial_fit", stream, self.max_steps, partial(stream.add, **new))

    @exclusive
    def relabel(
        self, indices: VectorLike, y: VectorLike | None, classes: ClassesLike | None = None
    ) -> Self:
        """Give training rows a label, change it, or take it back.

        Parameters
        ----------
        indices : array-like of int, or mask of shape (n_samples,)
            Training rows.
        y : array-like of shape (n_indices,), a label, or None
            Labels as in ``fit``; missing or ``unlabeled`` takes a label back, None all.
        classes : array-like of shape (n_classes,), default=None
            All classes, where some of them are new.
        """
        stream = self._ready_stream()
        indices = read_indices(indices, len(stream))
        all_classes = self._read_all_classes(classes)
        label = read_known_labels(y, len(indices), all_classes, self.unlabeled)
        if len(all_classes) > len(self.classes_):
            stream = self._with_classes(stream, all_classes)
        change = partial(stream.relabel, indices, label)
        return self._run_update("relabel", stream, self.max_steps, change)

    @exclusive
    def reprice(self, C: float | None = None, C_star: float | None = None) -> Self:
        """Move costs steadily to other values, and follow the minimum: a regularisation path.

        Parameters
        ----------
        C : float or None, default=None
            New cost of labelled rows, > 0; None leaves it.
        C_star : float or None, default=None
            New cost of unlabelled rows, >= 0; None leaves it.
        """
        stream = self._ready_stream()
        C = self.C if C is None else C
        C_star = self.C_star if C_star is None else C_star
        arguments.read_costs(C, C_star)

        def change() -> None:
            stream.reprice(C, arguments.cost_of_unlabelled(C_star, len(self.classes_)))
            self.C, self.C_star = C, C_star
            self._fixed = {**self._fixed, "C": C, "C_star": C_star}

        return self._run_update("reprice", stream, self.max_steps, change)

    @exclusive
    def widen(self, n_features: int) -> Self:
        """Give the rows more features, which are 0 for all rows so far.

        f stays the same, for kernels of inner products and of distances alike. The path is
        begun again, which takes a product with the kernel columns of the support vectors.

        Parameters
        ----------
        n_features : int
            Number of features from now on, at least as many as before.
        """
        stream = self._ready_stream()
        if not isinstance(n_features, Integral):
            raise ValueError(
                f"n_features={n_features!r} is not a number of features; pass an int."
            )
        if n_features < self.n_features_in_ or hasattr(self, "feature_names_in_"):
            raise ValueError(
                f"widen({n_features}) is not possible for rows of {self.n_features_in_} features"
                f"{' with names' if hasattr(self, 'feature_names_in_') else ''}; it adds features "
                "without names."
            )
        self._run_update("resume", stream)
        try:
            stream.widen(int(n_features))
        finally:
            self.n_features_in_ = stream.rows(stream.places[:0]).shape[1]
        return self._run_update("widen", stream, self.max_steps)

    @exclusive
    def consolidate(self, strategies: Sequence[str] | None = None) -> bool:
        """Look for a better minimum of (1) in several ways, and keep the best.

        Where the kernel has a graph ("manifold") and rows have come or gone since it was formed,
        the graph is rebuilt from the current rows, and the model is trained on all of
        them under that kernel first; ``gamma_`` stays. Values of (1) under two kernels are not
        compared.

        Parameters
        ----------
        strategies : sequence of str or None, default=None
            "anneal" lets C* go down to an eighth of its value and back, along the exact path from
            the current state: what costs least. The others train on all rows from scratch:
            "batch" as ``fit`` does. "one-sided" begins where all unlabelled rows are on the side
            of the more frequent label, at full C*. "C_star" lets C* grow from ``C_star / 512`` to
            its value along the exact path: some steps per row. "row-by-row" is the procedure of
            ``solver="path"``: an operation per row, and thus the slowest with many rows.
            None for all of them (``solver="auto"``; the last up to 2000 rows), all but "batch"
            ("path") or "batch".

        Returns
        -------
        bool
            Whether a better minimum than the present one was found, and has replaced it, or the
            graph was formed again.
        """
        stream = self._ready_stream()
        strategies = read_strategies(strategies, self.solver, len(stream))
        self._run_update("resume", stream)
        if not stream.ready:
            return False
        renewed = self._learns_kernel and self._renew_graph(stream)
        values = np.atleast_1d(self.objective_).tolist()
        with self._recording() as trainer:
            return improve_paths(stream, trainer, values, strategies) or renewed

    # -- predictions -----------------------------------------------------------------------------

    def score(
        self, X: MatrixLike, y: VectorLike, sample_weight: VectorLike | None = None
    ) -> float:
        """Return the accuracy on the labelled rows; rows without a label don't count.

        Parameters
        ----------
        X : {array-like, sparse} of shape (n_samples, n_features)
            Rows that were not trained on.
        y : array-like of shape (n_samples,)
            Classes; unlabelled rows are missing (NaN, None, "") or ``unlabeled``.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights.

        Returns
        -------
        float
            NaN, with a warning, where no row has a label, as in a fold without any. Split with
            :class:`fewlabels.model_selection.LabeledKFold` to have labels in every fold.
        """
        from ..metrics.default_scores import labelled_accuracy  # slow, predictions don't need it

        return labelled_accuracy(y, self.predict(X), self.unlabeled, self.classes_, sample_weight)

    # -- what a fit has found --------------------------------------------------------------------

    objective_ = property(lambda self: self._certificate.objective)

    @property
    def duality_gap_(self) -> NoReturn:
        raise AttributeError(
            f"{type(self).__name__} has no duality gap, because the problem is not convex."
        )

    kkt_violation_ = property(lambda self: self._certificate.violation)

    @property
    @consistent
    def transduction_(self) -> AnyArray:
        return self.classes_[self._certificate.positive.astype(np.intp)]

    @property
    @consistent
    def training_decisions_(self) -> FloatArray:
        self._check_is_fitted()
        if self._stream is None:
            raise AttributeError(
                "training_decisions_ needs the training rows, which were released."
            )
        f = self._held_stream.decisions() + self._offset
        ahead = np.isnan(f).reshape(len(f), -1).any(axis=1)  # the path has yet to reach them
        if ahead.any():
            rows = self.training_rows_
            assert rows is not None
            f[ahead] = self.decision_function(rows.X[ahead])
        return f

    consolidation_due_ = _stream_attribute("due")
    n_steps_ = _stream_attribute("n_steps")
    n_flips_ = _stream_attribute("n_flips")

    @property
    def objectives_(self) -> list[float] | list[list[float]]:
        objectives = self._record.objectives
        if not objectives:
            raise AttributeError(f"this {type(self).__name__} is not fitted; call fit first.")
        return objectives[0] if len(objectives) == 1 else list(objectives)

    @property
    def n_nodes_(self) -> int:
        if self._record.n_nodes is None:
            raise AttributeError("n_nodes_ is known after solver='branch-and-bound'.")
        return self._record.n_nodes

    @property
    @consistent
    def optimality_gap_(self) -> float | FloatArray:
        bound = self._record.bound
        if bound is None or np.isnan(bound).any():
            raise AttributeError(
                "optimality_gap_ is available after fit or consolidate with "
                "solver='branch-and-bound', until rows or labels change."
            )
        gap = self.objective_ - bound
        return gap * (gap > PROVEN * abs(self.objective_))

    @property
    def shape_fit_(self) -> tuple[int, int]:
        return self._shape if self._stream is None else (len(self._stream), self.n_features_in_)

    @shape_fit_.setter
    def shape_fit_(self, shape: tuple[int, int]) -> None:
        self._shape = shape

    @property
    def left_out_decisions_(self) -> FloatArray | None:
        """Decisions that calibrated ``predict_proba``, (n_samples, n_functions), or None."""
        assert self._cache is not None
        return self._cache.peek(_LEFT_OUT, self._version)

    # -- fitting ---------------------------------------------------------------------------------

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = True
        return tags

    def _read_labels(self, rows: RowSource, y: VectorLike) -> tuple[FloatArray, AnyArray]:
        """Return labels of all rows of a ``RowSource``, by number, and the classes."""
        check_consistent_length(np.empty(rows.shape[0]), y)
        return arguments.read_labels(y, self.unlabeled)

    def _state_problem(self, rows: RowSource, label: FloatArray, classes: AnyArray) -> S3VMProblem:
        """Set what follows from rows and their labels, and return the problem."""
        self.classes_: AnyArray = classes
        counting = label[rows.indices]
        self.class_ratio_, self.class_ratio_interval_ = arguments.class_ratio_of(
            self.class_ratio, self.balance, rows, counting, classes, self._seed()
        )
        self._means: list[float] | None = None
        if self.class_ratio is None and self.class_ratio_ is not None:
            assert isinstance(rows, MemorySource)
            f, weight = arguments.fit_labels_alone(self, rows, counting)
            self._means = arguments.find_means(f, weight, self.class_ratio_)
        if arguments.has_trees(self.kernel):
            assert isinstance(rows, MemorySource)
            self._deformed = arguments.grow_trees(
                self.kernel, rows, counting, len(classes), self.gamma_, self._seed()
            )
        kernel = self._make_kernel()
        return S3VMProblem(
            self._class_objectives(classes), kernel, rows, label, rows.shift(kernel)
        )

    def _class_objectives(self, classes: AnyArray) -> list[SemiSupervised]:
        """Return what the function of two classes minimises, or each function of several."""
        return arguments.build_objectives(
            self.C, self.C_star, self.balance, self.class_ratio_, classes, self._means
        )

    def _trainer(self, rows: RowSource | None = None) -> Trainer:
        return Trainer(
            type(self).__name__,
            partial(self._settings, self.tol, 0.0),
            self.tol,
            self._deadline,
            self._record,
            1e6 * self.cache_size,
            resolve_n_jobs(self.n_jobs),
            S3VMSettings(
                annealing=self.annealing,
                branching=self.solver == "branch-and-bound",
                max_nodes=self.max_nodes,
            ),
            rows,
        )

    def _store_training(self, training: S3VMTraining) -> None:
        """Keep the outcome of batch training, and a stream that begins there."""
        problem, rows, stream, sample = training.problem, training.problem.rows, None, None
        if rows.kept is None and rows.is_updatable:
            stream = self._make_stream(problem)
            for path, found in zip(stream.paths, training.on_all_rows, strict=True):
                path.start_from(found)
        self._attach_stream(stream)
        if isinstance(rows, MemorySource):
            label = problem.label[rows.indices]
            sample = Sample(rows.X, label, rows.weights, rows.is_matrix)
        self._sample, self._kept = sample if stream is None else None, rows.kept
        self._record = TrainingRecord.from_solutions(training.on_all_rows)
        solution, self._offset = training.solution, 0.0
        calibrator = self._calibrator()
        if sample is not None and calibrator.moves_intercept:
            self._offset = calibrator.offset(solution.function, sample)
            solution = add_offset(solution, self._offset)
        certificate = training.certificate(solution.function, self._offset)
        self._store_solution(solution, certificate=certificate)

    def _fit_by_path(self, stream: S3VMStream) -> Self:
        """Build the path of every function over all rows."""
        self._open_stream("fit", stream)
        calibrator = self._calibrator()
        if calibrator.moves_intercept and stream.ready and stream.done:
            self._offset = calibrator.offset(self.function_, self._sample_of_stream())
            self._cache = VersionedCache()  # what is in it has another intercept
        return self

    # -- updating --------------------------------------------------------------------------------

    def _begin(
        self,
        X: MatrixLike,
        y: VectorLike | None,
        classes: ClassesLike | None,
        sample_weight: VectorLike | None,
    ) -> Self:
        """Hold the first rows of a stream, and follow them."""
        arguments.refuse_matrix(self.kernel)
        label = None
        if classes is not None:
            all_classes = read_classes(classes, self.unlabeled)
        elif y is None:
            raise ValueError(_NO_CLASSES)
        else:
            try:
                label, all_classes = arguments.read_labels(y, self.unlabeled)
            except ValueError as error:
                raise ValueError(f"{error} {_NO_CLASSES}") from None
        rows = fit_rows(self, X, sample_weight)
        self._set_kernel(rows)
        arguments.refuse_left_out(rows.kept)
        if label is None:
            label = read_known_labels(y, rows.X.shape[0], all_classes, self.unlabeled)
        check_consistent_length(rows.X, label)
        stream = self._make_stream(self._state_problem(rows, label, all_classes))
        stream.check()
        return self._open_stream("partial_fit", stream)

    def _make_stream(self, problem: S3VMProblem) -> S3VMStream:
        """Return a stream of the rows of a problem, whose paths have not begun."""
        rows, n_functions = problem.rows, len(problem.class_objectives)
        arguments.refuse_matrix(self.kernel)
        arguments.refuse_left_out(rows.kept)
        assert isinstance(rows, MemorySource)
        options = PathOptions(
            self.balance_update,
            self._cache_bytes / n_functions,
            resolve_n_jobs(self.n_jobs),
            self.path_order,
        )
        stream = S3VMStream(
            problem.kernel,
            problem.class_objectives,
            options,
            rows.X,
            problem.label,
            rows.weight,
            problem.shift,
            names=self.classes_.tolist() if n_functions > 1 else None,
        )
        stream.deadline = self._deadline
        return stream

    def _open_stream(self, name: str, stream: S3VMStream) -> Self:
        """Hold the rows of a model that has no solution yet, and follow them."""
        self._attach_stream(stream)
        self._cache, self._sample, self._kept = VersionedCache(), None, None
        self._offset = 0.0
        self._record = TrainingRecord(tuple([] for _ in stream.paths))
        with self._discard_on_error():
            self._run_update(name, stream, None if name == "fit" else self.max_steps)
        limit = Status.MAX_TIME if self._deadline.is_over() else Status.MAX_ITER
        self.stop_reason_ = (Status.CONVERGED if stream.done else limit).name.lower()
        return self

    def _read_all_classes(self, classes: ClassesLike | None) -> AnyArray:
        """Return the classes that users pass, which are the model's and perhaps new ones."""
        if classes is None:
            return self.classes_
        all_classes = read_classes(classes, self.unlabeled)
        if not set(self.classes_.tolist()) <= set(all_classes.tolist()):
            check_classes(all_classes, self.classes_)
        return all_classes

    def _with_classes(self, stream: S3VMStream, all_classes: AnyArray) -> S3VMStream:
        """Return the stream, of more classes than so far from now on."""
        arguments.check_new_classes(self.class_ratio, self.balance)
        self._run_update("resume", stream)
        # An estimate was without them.
        self.class_ratio_ = self.class_ratio_interval_ = self._means = None
        before = np.searchsorted(all_classes, self.classes_)
        problem = self._class_objectives(all_classes)[0]
        stream = self._stream = stream.with_classes(all_classes.tolist(), before, problem)
        stream.begin_paths()
        stream.reprice(problem.C, problem.C_star)
        places = before[-len(self._record.objectives) :]
        self.classes_ = all_classes
        self._record = self._record.with_functions(len(all_classes), places)
        return stream

    def _add_by_branching(
        self, stream: S3VMStream, X: RowMatrix, label: FloatArray, weight: FloatArray | None
    ) -> Self:
        """Add rows one at a time; after each, search the signs around it."""
        if self.max_steps is not None:
            raise ValueError(
                f"branch and bound needs the complete path, but max_steps={self.max_steps} "
                "limits it; set max_steps=None."
            )
        stream.check_new(label, weight)
        self._run_update("resume", stream)
        searches = []
        for i in range(len(label)):
            row, were_ready = slice(i, i + 1), [path.ready for path in stream.paths]
            new = X[row], label[row], None if weight is None else weight[row]
            self._run_update("partial_fit", stream, None, partial(stream.add, *new))
            with self._recording() as trainer:
                searches += [
                    search_near_newest(path, trainer, self.n_neighbors)
                    for path, was_ready in zip(stream.paths, were_ready, strict=True)
                    if was_ready and path.has_path
                ]
        message = describe_early_stops(searches, len(label))
        if message is not None:
            warn(message, ConvergenceWarning)
        return self

    def _renew_graph(self, stream: S3VMStream) -> bool:
        """Train under the kernel with the graph of the present rows; return whether it changed."""
        kernel = self._kernel_over(stream.rows(stream.places))
        strategy = "row-by-row" if self.solver == "path" else "batch"
        with self._recording() as trainer:
            renewed = renew_graph(stream, trainer, kernel, strategy)
        if renewed:
            self._deformed = kernel
        return renewed

    @contextmanager
    def _recording(self) -> Iterator[Trainer]:
        """Yield a ``Trainer``, and keep the record of what it trains."""
        trainer = self._trainer()
        try:
            yield trainer
        finally:
            self._record = trainer.record

    @property
    def _held_stream(self) -> S3VMStream:
        """The stream of a model that has one."""
        assert self._stream is not None
        return cast(S3VMStream, self._stream)

    # -- called by the base classes --------------------------------------------------------------

    def _describe_solution(self) -> Solution:
        return self._held_stream.describe(self._offset, self.tol)

    def _read_new_rows(
        self,
        X: MatrixLike,
        y: VectorLike | None,
        sample_weight: VectorLike | None,
        classes: AnyArray,
    ) -> dict[str, Any]:
        rows = self._rows_to_score(X)
        weight, kept = check_weight(sample_weight, rows)
        label = read_known_labels(y, rows.shape[0], classes, self.unlabeled)
        arguments.refuse_left_out(kept)
        return {"X": rows, "label": label, "weight": weight}

    def _run_stream(self, stream: RowStream, name: str, max_steps: int | None) -> bool:
        by_training = self.solver != "path"
        with self._recording() as trainer:
            return follow_rows(
                self._held_stream, trainer, name, max_steps, by_training=by_training
            )

    def _ready_stream(self) -> S3VMStream:
        """Return the stream, its paths begun if that is possible."""
        self._check_is_fitted()
        arguments.refuse_left_out(self._kept)
        super()._ready_stream()
        stream = self._held_stream
        stream.options.path_order = self.path_order
        stream.begin_paths()
        return stream

    def _run_update(
        self,
        name: str,
        stream: RowStream,
        max_steps: int | None = None,
        change: Callable[[], object] | None = None,
    ) -> Self:
        if change is None:
            return super()._run_update(name, stream, max_steps)

        def changed() -> None:
            change()
            self._record = self._record.without_bound()

        super()._run_update(name, stream, max_steps, changed)
        held = self._held_stream
        if self.auto_consolidate and held.done and held.ready and held.due_by_itself:
            self.consolidate(cheap_strategies(self.solver))
        return self

    def _cached_names_to_keep(self) -> list[str]:
        _ = self._certificate
        return ["certificate", self._curve_name]

    def _state(self) -> dict[str, Any]:
        """Without rows that only the curve is for."""
        return {**super()._state(), "_sample": None}

    @property
    def _certificate(self) -> Certificate:
        return self._get_value(
            "certificate", lambda: self._held_stream.certify(self.function_, self._offset)
        )

    # -- probabilities ---------------------------------------------------------------------------

    def _fit_curve(self) -> Curve | ClassCurves:
        sample = self._sample if self._stream is None else self._sample_of_stream()
        if sample is None:
            raise ValueError(
                f"this {type(self).__name__} has neither training rows nor calibrated "
                "probabilities; call predict_proba once before you save the model, or fit again."
            )
        sample, calibrator = sample._replace(groups=self._groups), self._calibrator()
        scores = calibrator.decisions(sample) + self._offset
        assert self._cache is not None and self.probability is not None
        self._cache.store(_LEFT_OUT, self._version, scores)
        return calibrator.curve(scores, sample, self.probability, self.function_)

    def _sample_of_stream(self) -> Sample:
        stream = self._held_stream
        if not stream.ready:
            raise ValueError(
                "predict_proba needs labels of every class, which are missing so far; pass "
                "labels to partial_fit or relabel."
            )
        if stream.has_path and not stream.done:
            raise ValueError("an update is unfinished; call resume() before predict_proba.")
        places = stream.places
        return Sample(stream.rows(places), stream.label(places), stream.store["weight"][places])

    def _calibrator(self) -> Calibrator:
        # Forests grow without the labels of a fold.
        graph = self._deformed if self._deformed is not None and self._deformed.has_graph else None
        columns = None if self._kept is None else (self._kept, self.shape_fit_[0])
        objectives = self._class_objectives(self.classes_)
        return Calibrator(self, objectives, graph, columns, self._deadline)
