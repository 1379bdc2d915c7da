"""Semi-supervised support vector machine."""

from __future__ import annotations

from contextlib import suppress
from numbers import Integral, Real
from typing import Self

import numpy as np
from sklearn.base import ClassifierMixin, _fit_context, clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_consistent_length, check_is_fitted

from .._threads import resolve_n_jobs
from .._warn import warn
from ..fitted import Late, Solution
from ..fitted.solution import ROUNDING, Certificate
from ..gram import PrecomputedGram, make_gram
from ..labels.semi_supervised import read_classes, read_known_labels, read_semi_labels
from ..problem.semi_supervised import SemiSupervised
from ..streams.rows import read_indices
from ..streams.semi_supervised import S3VMStream
from ..training.cross_fitting import Sample, left_out_scores
from ..training.curves import curve_of_labels
from ..training.grams import shift_of
from ..training.row_order import row_keys
from ..training.semi_supervised.beginning import by_C_star, row_by_row
from ..training.semi_supervised.branching import (
    PROVEN,
    search_near_last,
    stopped_early,
    train,
    unproven,
)
from ..training.semi_supervised.data import S3VMData, S3VMSettings
from . import two_classes
from .constraints import COMMON
from .kernel_machine import function_of, largest_value
from .rows import check_weight
from .updatable import UpdatableMachine

# What rounding may do to a path.
_BREAKDOWNS = (ArithmeticError, np.linalg.LinAlgError)
# Multiply-adds per kernel value from which training holds all values, if there is room.
_WORTH_HOLDING = 48
# Ways to a minimum from scratch. Which of them consolidate takes depends on the solver; row by
# row costs too much with more rows than this.
_FEW_ROWS = 2000
STRATEGIES = ("batch", "C_star", "row-by-row")
_OF_SOLVER = {"auto": STRATEGIES, "path": STRATEGIES[1:]}
_BUILDS = {"C_star": by_C_star, "row-by-row": row_by_row}
# Relative: a lower objective.
_LOWER = 1e-9
# Machines of a cross-fit.
_FOLDS = 5

_NO_CLASSES = (
    "A stream can begin before both classes have a label: pass classes=[...] to the first "
    "partial_fit."
)


class S3VM(ClassifierMixin, UpdatableMachine):
    r"""Semi-supervised support vector machine: a few labels, many unlabelled rows.

    Finds f(x) = <w, phi(x)> + b at a local minimum of (Gu et al. 2018, eq. (1))

    .. math:: \tfrac12 \|w\|^2 + C \sum_{i \in L} \max(0, 1 - y_i f(x_i))
              + C^* \sum_{i \in U} \max(0, 1 - |f(x_i)|),

    so that the boundary keeps away from labelled and unlabelled rows alike, with the mean
    of f over the unlabelled rows held at that of the labels (Yu et al. 2019, eq. (2)).

    Rows and labels may keep coming: ``partial_fit``, ``forget`` and ``relabel`` follow the
    minimum exactly, in milliseconds, and so does ``reprice`` when prices move.
    ``consolidate`` looks for a better minimum.

    Parameters
    ----------
    C : float, default=10.0
        Price of labelled rows inside the margin, > 0.
    C_star : float, default=5.0
        Price of unlabelled rows inside the margin, > 0.
    balance : bool or float, default=True
        Mean of f over the unlabelled rows: True for the mean of the labels (+1, -1), a
        number, or False for no constraint. Without one, few labels often end with all
        rows on one side.
    annealing : bool, default=True
        Let C* grow to its value in ten steps, each started from the one before, the balance
        in units of the 0.9 quantile of \|f\| of unlabelled rows until the last. The problem
        has many local minima; this is what finds good ones. False is the papers' procedure,
        from the SVM of the labelled rows at full C*.
    kernel : {"rbf", "poly", "sigmoid", "linear", "precomputed"} or callable, default="rbf"
        Kernel. A callable gets two arrays of rows and returns the matrix of values.
    gamma : {"distance", "scale", "auto"} or float, default="distance"
        Coefficient of "rbf", "poly" and "sigmoid", >= 0. "distance" is, for "rbf",
        ``min(1.4, 100 / d_eff) / D`` with D the mean squared distance between rows and
        ``d_eff = 2 D**2 / var(squared distance)`` (of 500 rows), at most ``2 n_features``, their
        number of dimensions in effect: nearly linear in thousands of dimensions. For the
        others it is "scale", ``1 / (n_features * X.var())``. "auto" is ``1 / n_features``. A
        stream keeps the value of its first rows.
    degree : int, default=3
        Degree of "poly", >= 0.
    coef0 : float, default=1.0
        Independent term of "poly" and "sigmoid".
    solver : {"auto", "cccp", "path", "branch-and-bound"}, default="auto"
        "cccp" (which "auto" takes) is the concave-convex procedure on the merged problem,
        its convex steps solved exactly without any n x n matrix. "path" adds the labelled
        rows, then the others one by one, those first that the machine is most sure of
        (Gu et al. 2018); it takes no ``callback``, ``max_iter`` or ``max_time``.
        "branch-and-bound" searches for the global minimum (Chapelle et al. 2007), from the
        solution of "cccp", and says how far it may be: proven for some 20 unlabelled rows, or
        more in clusters. ``partial_fit`` then is NN-BB (Emara et al. 2007): after the path of
        a new row, it searches the signs of the row's ``n_neighbors``. ``forget``, ``relabel``
        and ``reprice`` follow the path alone.
    balance_update : {"keep", "paper"}, default="keep"
        Whether the virtual row of the balancing constraint stays in the problem while rows
        change, or is taken out and put back as in Algorithms 1 to 3 of Yu et al. (2019),
        which takes several times the steps.
    max_steps : int or None, default=None
        Limit on the steps of one ``partial_fit``, ``forget`` or ``relabel``, >= 1; see
        ``resume``.
    n_neighbors : int, default=10
        Unlabelled rows around a new one whose signs are searched by ``partial_fit`` with
        ``solver="branch-and-bound"``, >= 1.
    max_nodes : int or "auto", default="auto"
        Limit on the convex problems of a search, >= 1. "auto" is ``2e6 / n_samples``, at most
        50 000: about ten seconds.
    tol : float, default=1e-3
        Bound on the violation of the optimality conditions, in units of f, > 0.
    max_iter : int, default=-1
        Limit on pair steps of a convex step; -1 for none.
    unlabeled : value of y or None, default=-1
        The mark of unlabelled rows. Missing labels (NaN, None) always are unlabelled;
        None for no other mark.
    max_time : float or None, default=None
        Limit on the seconds of a fit, and of the search around a new row.
    cache_size : float, default=200
        Memory for kernel columns and working sets, in MB, > 0.
    n_jobs : int or None, default=None
        Threads; None uses every core.
    random_state : int, RandomState or None, default=None
        Seed of the sample that a large fit starts from. None means 0.
    verbose : bool, default=False
        Print a line per round.
    probability : {"sigmoid", "isotonic"} or None, default=None
        Whether there is ``predict_proba``, and its curve from decisions to probabilities, fitted
        to labelled rows that five machines were not trained on: trained when ``predict_proba`` is
        called first after rows or labels have changed. "isotonic" is the mean of the isotonic
        regression and the sigmoid.

    Attributes
    ----------
    classes_ : ndarray of shape (2,)
        The classes; f is positive for the second.
    transduction_ : ndarray of shape (n_samples,)
        Labels of the training rows: their own, predictions for unlabelled ones.
    support_ : ndarray of shape (n_SV,)
        Indices of the support vectors in the training rows. A balancing constraint that
        is active makes all unlabelled rows support vectors.
    support_vectors_ : ndarray or CSR of shape (n_SV, n_features)
        Support vectors; empty for a precomputed kernel.
    dual_coef_ : ndarray of shape (1, n_SV)
        Coefficients: ``decision_function(x) = dual_coef_ @ K(support_vectors_, x) +
        intercept_``.
    coef_ : ndarray of shape (1, n_features)
        Weights, for the linear kernel only.
    intercept_ : ndarray of shape (1,)
        Bias.
    objective_ : float
        Value of (1).
    objectives_ : list of float
        Value of (1) after each convex step at the final C* of the last batch training; it
        never increases.
    kkt_violation_ : float
        Largest violation of the optimality conditions of (1), in units of f.
    optimality_gap_ : float
        ``solver="branch-and-bound"``, after ``fit`` or ``consolidate`` and until rows or labels
        change: how far ``objective_`` may be above the global minimum. 0 when that is
        proven, to a relative accuracy of 1e-9.
    n_nodes_ : int
        Convex problems that branch and bound has solved, in ``fit`` and since.
    consolidation_due_ : bool
        Whether half as many rows were added, forgotten or relabelled as there were
        training rows at the last batch training or ``consolidate``.
    n_steps_, n_flips_ : int
        Steps of the path so far; unlabelled rows that changed sides on it.
    n_iter_ : int
        Pair steps of the batch training, and steps of the path since.
    history_ : list of dict
        One entry per round, over all convex steps; then one per operation of the path, the
        newest 1000.
    fit_status_ : int
        0 when the tolerance was reached (branch and bound: the global minimum is proven), 1
        otherwise (a warning was given).
    gamma_ : float
        The coefficient that ``gamma`` stood for; 0 for kernels without one.
    n_support_, shape_fit_, n_features_in_, feature_names_in_
        As in scikit-learn.

    Notes
    -----
    Which local minimum: the one that the concave-convex procedure reaches from the signs
    that the SVM of the labelled rows gives (with the balancing constraint), C* doubling
    from ``C_star / 512``. At it no unlabelled row would be cheaper on the other side of
    the boundary for a small change of f, and f is optimal for the signs found. A stream
    follows this minimum; rows that arrive get the sign of f.

    References
    ----------
    Gu, B., Yuan, X.-T., Chen, S., Huang, H. (2018). New incremental learning algorithm for
    semi-supervised support vector machine. KDD.

    Yu, X. et al. (2019). Tackle balancing constraint for incremental semi-supervised support
    vector learning. KDD.

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
    >>> S3VM().fit(X, y).predict([[1.0, 1.0], [-1.0, -1.0]])
    array([1, 0])
    """

    _parameter_constraints: dict = {  # noqa: RUF012
        **COMMON,
        "C": [Interval(Real, 0.0, None, closed="neither")],
        "C_star": [Interval(Real, 0.0, None, closed="neither")],
        "balance": ["boolean", Interval(Real, None, None, closed="neither")],
        "annealing": ["boolean"],
        "gamma": [
            StrOptions({"distance", "scale", "auto"}),
            Interval(Real, 0.0, None, closed="left"),
        ],
        "solver": [StrOptions({"auto", "cccp", "path", "branch-and-bound"})],
        "balance_update": [StrOptions({"keep", "paper"})],
        "n_neighbors": [Interval(Integral, 1, None, closed="left")],
        "max_nodes": [Interval(Integral, 1, None, closed="left"), StrOptions({"auto"})],
        "unlabeled": "no_validation",
        "probability": two_classes.PROBABILITY,
    }

    def __init__(
        self,
        C=10.0,
        C_star=5.0,
        balance=True,
        annealing=True,
        kernel="rbf",
        gamma="distance",
        degree=3,
        coef0=1.0,
        solver="auto",
        balance_update="keep",
        max_steps=None,
        n_neighbors=10,
        max_nodes="auto",
        tol=1e-3,
        max_iter=-1,
        unlabeled=-1,
        max_time=None,
        cache_size=200,
        n_jobs=None,
        random_state=None,
        verbose=False,
        probability=None,
    ):
        self.C = C
        self.C_star = C_star
        self.balance = balance
        self.annealing = annealing
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.solver = solver
        self.balance_update = balance_update
        self.max_steps = max_steps
        self.n_neighbors = n_neighbors
        self.max_nodes = max_nodes
        self.tol = tol
        self.max_iter = max_iter
        self.unlabeled = unlabeled
        self.max_time = max_time
        self.cache_size = cache_size
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose
        self.probability = probability

    # Lower bound of a search over all signs, while rows and labels are those of the search.
    _lower_bound: float | None = None
    # Where there is no stream: what a curve is fitted to, and which rows these are.
    _sample: Sample | None = None
    _kept: np.ndarray | None = None
    _FIXED = ("C", "C_star", "balance", "balance_update", "kernel", "degree", "coef0")

    coef_ = two_classes.coef_
    intercept_ = two_classes.intercept_
    decision_function = two_classes.decision_function
    predict = two_classes.predict
    curve_ = two_classes.curve_
    has_curve_ = two_classes.has_curve_
    predict_proba = two_classes.predict_proba
    predict_log_proba = two_classes.predict_log_proba

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        return tags

    # -- fitting -------------------------------------------------------------------------------

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y, sample_weight=None, callback=None) -> Self:
        """Fit the machine.

        Parameters
        ----------
        X : {array-like, sparse} of shape (n_samples, n_features)
            Rows; for ``kernel="precomputed"`` the kernel matrix.
        y : array-like of shape (n_samples,)
            Two classes; unlabelled rows are missing (NaN, None) or ``unlabeled``. Where y
            holds ``unlabeled`` and one other value only, both are taken for classes, with
            a warning.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights; rows of weight <= 0 are left out.
        callback : callable, default=None
            Called with the newest entry of ``history_`` after every round; returning
            True stops the fit.

        Returns
        -------
        self : S3VM
        """
        if y is None:
            raise ValueError(
                f"{type(self).__name__} requires y to be passed, but the target y is None: pass "
                "the classes of the labelled rows, missing for the others."
            )
        rows = self._read_rows(X, sample_weight)
        check_consistent_length(rows.everything, y)
        given, classes, doubtful = read_semi_labels(y, self.unlabeled)
        if doubtful:
            _warn_doubtful(classes)
        label = given[rows.indices]
        if not (np.any(label > 0) and np.any(label < 0)):
            raise ValueError(
                "sample_weight leaves labels of one class only; give some labelled rows of "
                "each class a weight > 0."
            )
        self.classes_ = classes
        shift, stream = shift_of(self._make_kernel(), rows.X), None
        if self.solver == "path" or (rows.kept is None and self.kernel != "precomputed"):
            self._refuse_what_has_no_path(rows.kept is not None)
            stream = self._make_stream(rows, label, shift)
        if self.solver == "path":
            return self._open("fit", stream)
        weight = np.ones(len(label)) if rows.weight is None else rows.weight
        gram = self._held_gram(rows.X if shift is None else rows.X - shift)
        data = S3VMData.over(gram, self._problem(), label, weight)
        found = train(data, self._training(callback))
        if stream is not None:
            stream.start_from(found)
        self._hold(stream)
        sample = Sample(rows.X, label, weight, self.kernel == "precomputed")
        self._sample, self._kept = sample if stream is None else None, rows.kept
        self.objectives_ = found.objectives
        self._keep_bound(found)
        solution = self._solution(
            data.gram, rows.X, data.coefficients(found.result.a), rows.indices, label,
            bias=-float(found.result.multiplier), shift=shift, n_iter=found.result.n_iter,
            history=found.result.history, converged=found.result.converged,
        )  # fmt: skip
        certificate = self._certificate_of(found, solution.function, rows, given)
        self._keep(solution, certificate=certificate)
        self._report(found)
        return self

    def _problem(self):
        return SemiSupervised(float(self.C), float(self.C_star), self.balance)

    def _training(self, callback):
        """How batch training is done."""
        return S3VMSettings(
            engine=self._settings(self.tol, 0.0, callback),
            annealing=self.annealing,
            branching=self.solver == "branch-and-bound",
            max_nodes=self.max_nodes,
            callback=callback,
        )

    def _held_gram(self, X):
        """K over rows, all at once where that is cheaper: training solves many problems."""
        gram = self._gram(X)
        if gram.value_cost < _WORTH_HOLDING or 8 * gram.n**2 > 1e6 * self.cache_size:
            return gram
        held = PrecomputedGram(gram.block(np.arange(gram.n)), gram.n_jobs)
        held.n_values = gram.n_values
        return held

    def _keep_bound(self, found):
        """What a batch training says of the global minimum."""
        self._lower_bound = found.lower_bound
        if found.lower_bound is not None:
            self.n_nodes_ = found.n_nodes

    def _report(self, found):
        """Warn when the tolerance was not reached, or the global minimum is not proven."""
        message = unproven(found)
        if message is None:
            self._report_status(found.result, self.tol)
        else:
            warn(message, ConvergenceWarning)

    def _solution(self, gram, X, coef, numbers, label, **options):
        """The ``Solution`` with these coefficients of rows."""
        about = {name: options.pop(name) for name in ("n_iter", "history", "converged")}
        rounding = ROUNDING * (float(np.abs(coef).sum()) * largest_value(gram))
        function, places, support = function_of(
            self._make_kernel(), gram, X, coef, numbers, rounding=rounding, **options
        )
        label = label[places]
        return Solution(
            function=function,
            support=support,
            n_support=np.array([np.sum(label < 0), np.sum(label > 0)], dtype=np.int32),
            n_iter=max(1, int(about["n_iter"])),
            history=about["history"],
            converged=bool(about["converged"]),
        )

    def _certificate_of(self, found, function, rows, label):
        """``Certificate`` of a fit; ``label`` are those of all rows."""
        decision = np.empty(len(label))
        decision[rows.indices] = found.f
        if rows.kept is not None:
            out = np.setdiff1d(np.arange(len(label)), rows.kept)
            decision[out] = function(rows.everything[out], n_jobs=self.n_jobs)
        positive = np.where(label, label > 0, decision > function.rounding)
        return Certificate(found.objective, found.violation, positive)

    # -- what a fit has found ------------------------------------------------------------------

    @property
    def _certified(self):
        check_is_fitted(self)
        return self._late.get("certificate", self._version, self._certify)

    @property
    def objective_(self):
        return self._certified.objective

    @property
    def duality_gap_(self):
        raise AttributeError(f"{type(self).__name__} has no duality gap: (1) is not convex.")

    @property
    def kkt_violation_(self):
        return self._certified.violation

    @property
    def transduction_(self):
        return self.classes_[self._certified.positive.astype(np.intp)]

    @property
    def optimality_gap_(self):
        if self._lower_bound is None:
            raise AttributeError(
                "optimality_gap_ is known after fit or consolidate with "
                "solver='branch-and-bound', until rows or labels change."
            )
        gap = self.objective_ - self._lower_bound
        return gap if gap > PROVEN * abs(self.objective_) else 0.0

    @property
    def consolidation_due_(self):
        return self._existing_stream().due

    @property
    def n_steps_(self):
        return self._existing_stream().n_steps

    @property
    def n_flips_(self):
        return self._existing_stream().n_flips

    @property
    def shape_fit_(self):
        return self._shape if self._stream is None else (len(self._stream), self.n_features_in_)

    @shape_fit_.setter
    def shape_fit_(self, shape):
        self._shape = shape

    def _existing_stream(self):
        if self._stream is None:
            raise AttributeError(
                f"this {type(self).__name__} has no stream: fit it on rows of weight > 0, with a "
                "kernel that is not precomputed, or call partial_fit."
            )
        return self._stream

    def _describe(self):
        stream = self._stream
        known = np.concatenate([stream.places, stream.leaving])
        at = stream.standing().at(known)
        support = np.flatnonzero(at.coef)
        numbers = np.where(np.arange(len(known)) < len(stream), np.arange(len(known)), -1)
        of_gram = support if len(support) else np.arange(len(known))
        gram = make_gram(stream.kernel, stream.kernel_rows(known[of_gram]), dtype=np.float64)
        return self._solution(
            gram, stream.rows(known[support]), at.coef[support], numbers[support],
            stream.label(known[support]), bias=-float(at.multiplier), shift=stream.shift,
            n_iter=stream.n_iter, history=stream.history,
            converged=stream.done and not stream.lost_to_rounding(self.tol),
        )  # fmt: skip

    def _certify(self):
        """The ``Certificate`` where the stream stands."""
        stream, at, function = self._stream, self._stream.standing(), self.function_
        places = stream.places
        waiting = places[np.isnan(at.f[places])]
        if len(waiting):
            at.f[waiting] = function(stream.rows(waiting), n_jobs=self.n_jobs)
        label = stream.label(places)
        positive = np.where(label, label > 0, at.f[places] > function.rounding)
        return Certificate(*stream.certificate(at), positive)

    # -- probabilities -------------------------------------------------------------------------

    def _fit_curve(self):
        sample = self._sample if self._stream is None else self._sample_of_stream()
        if sample is None:
            raise ValueError(
                f"this {type(self).__name__} holds neither its training rows nor a curve from "
                "decisions to probabilities; call predict_proba once before the machine is "
                "saved, or fit again."
            )
        label, weight = sample.y, sample.weight
        free, scores = np.flatnonzero(label == 0), self._left_out_decisions(sample)
        known = np.isfinite(scores)
        balance, share, unlabeled = self._problem().balance, None, None
        if not isinstance(balance, bool) and len(free) and -1.0 < balance < 1.0:
            # The share of positives that this mean stands for.
            share = 0.5 * (1.0 + float(balance))
            unlabeled = self._decisions_of(sample, free), weight[free]
        return curve_of_labels(
            scores[known], label[known] > 0, weight[known], self.probability, unlabeled, share
        )

    def _decisions_of(self, sample, rows):
        """f at some rows of a sample of the training rows."""
        X = sample.X[rows]
        if sample.pairwise and self._kept is not None:
            X = np.zeros((len(rows), self.shape_fit_[0]))
            X[:, self._kept] = sample.X[rows]
        return self.function_(X, n_jobs=self.n_jobs)

    def _sample_of_stream(self):
        stream = self._stream
        if not stream.ready:
            raise ValueError(
                "predict_proba needs labels of both classes, and so far there are not; pass "
                "labels to partial_fit or relabel."
            )
        if stream.has_path and not stream.done:
            raise ValueError("an operation is on its way; call resume() before predict_proba.")
        places = stream.places
        return Sample(stream.rows(places), stream.label(places), stream.weight(places))

    def _left_out_decisions(self, sample):
        """Decisions about labelled rows by machines that were trained without them.

        Five machines, each trained on all unlabelled rows and four fifths of the labelled rows
        of either class, as ``solver="auto"`` trains. Folds depend on the values of rows alone,
        and equal rows are in one. NaN for unlabelled rows, and for one that is, with its copies,
        the only one of its class.
        """
        settings = {"solver": "auto", "unlabeled": None, "verbose": False}
        if self.gamma_:
            settings["gamma"] = self.gamma_
        labels, fold = sample.y, _folds(sample)
        sample = sample._replace(y=np.where(labels == 0, np.nan, labels))
        tested = [np.flatnonzero(fold == k) for k in np.unique(fold[fold >= 0])]
        splits = [(np.setdiff1d(np.arange(len(fold)), test), test) for test in tested]

        def score(train, test):
            machine = sample.fit(clone(self).set_params(**settings), train)
            return machine.decision_function(sample.rows(test, train))

        return left_out_scores(len(fold), splits, score)

    def _remembered(self):
        _ = self._certified
        return ["certificate", two_classes.curve_name(self)]

    def __getstate__(self):
        """Without rows that only the curve is for."""
        return {**super().__getstate__(), "_sample": None}

    # -- operations ----------------------------------------------------------------------------

    @_fit_context(prefer_skip_nested_validation=True)
    def partial_fit(self, X, y=None, classes=None, sample_weight=None) -> Self:
        """Add rows, labelled or not, and follow the minimum to where it moves.

        The first call on a new machine starts a stream: it fixes ``gamma_`` and, under the
        linear kernel, the centre. Until both classes have a label, rows are kept and f is
        constant: the sign of the only class labelled, 0 without labels. Once they have,
        the rows so far are trained on as by ``fit``.

        Parameters
        ----------
        X : {array-like, sparse} of shape (n_samples, n_features)
            New rows. They become the last training rows.
        y : array-like of shape (n_samples,), default=None
            As in ``fit``; None when all rows are unlabelled.
        classes : array-like of shape (2,), default=None
            Both classes; needed by the first call on a new machine when y does not have both.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights, > 0; under the balancing constraint equal over all unlabelled rows.

        Returns
        -------
        self : S3VM
        """
        if self._late is None:
            return self._begin(X, y, classes, sample_weight)
        stream = self._ready_stream()
        if classes is not None and not np.array_equal(
            read_classes(classes, self.unlabeled), self.classes_
        ):
            raise ValueError(
                f"classes={list(classes)} are not those of the first rows, "
                f"{self.classes_.tolist()}; leave classes away, or fit again."
            )
        new = self._read_new(X, y, sample_weight)
        if self.solver == "branch-and-bound":
            return self._add_by_branching(stream, **new)
        return self._follow("partial_fit", stream, self.max_steps, lambda: stream.add(**new))

    def relabel(self, indices, y) -> Self:
        """Give training rows a label, change it, or take it back.

        Parameters
        ----------
        indices : array-like of int, or mask of shape (n_samples,)
            Training rows.
        y : array-like of shape (n_indices,), a label, or None
            Labels as in ``fit``; missing or ``unlabeled`` takes a label back, None all.

        Returns
        -------
        self : S3VM
        """
        stream = self._ready_stream()
        indices = read_indices(indices, len(stream))
        label = read_known_labels(y, len(indices), self.classes_, self.unlabeled)
        return self._follow(
            "relabel", stream, self.max_steps, lambda: stream.relabel(indices, label)
        )

    def reprice(self, C=None, C_star=None) -> Self:
        """Move prices steadily to other values, and follow the minimum: a regularisation path.

        Parameters
        ----------
        C : float or None, default=None
            New price of labelled rows, > 0; None leaves it.
        C_star : float or None, default=None
            New price of unlabelled rows, > 0; None leaves it.

        Returns
        -------
        self : S3VM
        """
        stream = self._ready_stream()
        C = self.C if C is None else C
        C_star = self.C_star if C_star is None else C_star
        for name, value in (("C", C), ("C_star", C_star)):
            if isinstance(value, bool) or not isinstance(value, Real) or not 0 < value < np.inf:
                raise ValueError(f"{name}={value!r} is no price; pass a number > 0.")

        def change():
            stream.reprice(C, C_star)
            self.C, self.C_star = C, C_star
            self._fixed = {**self._fixed, "C": C, "C_star": C_star}

        return self._follow("reprice", stream, self.max_steps, change)

    def resume(self, max_steps=None) -> Self:
        """Go on with operations that ``max_steps`` cut short.

        Parameters
        ----------
        max_steps : int or None, default=None
            Limit on the steps of this call; None for none.

        Returns
        -------
        self : S3VM
        """
        stream = self._ready_stream()
        if max_steps is not None and not (isinstance(max_steps, Integral) and max_steps >= 1):
            raise ValueError(f"max_steps={max_steps!r}: pass a whole number >= 1, or None.")
        return self._follow("resume", stream, max_steps)

    def widen(self, n_features) -> Self:
        """Give the rows more features, which are 0 for all rows so far.

        f stays the same, for kernels of inner products and of distances alike. The path is
        begun again, which takes a product with the kernel columns of the support vectors.

        Parameters
        ----------
        n_features : int
            Number of features from now on, at least that of the rows so far.

        Returns
        -------
        self : S3VM
        """
        stream = self._ready_stream()
        if not isinstance(n_features, Integral):
            raise ValueError(f"n_features={n_features!r} is no number of features; pass an int.")
        if n_features < self.n_features_in_ or hasattr(self, "feature_names_in_"):
            raise ValueError(
                f"widen({n_features}) is not possible for rows of {self.n_features_in_} features"
                f"{' with names' if hasattr(self, 'feature_names_in_') else ''}; it adds features "
                "without names."
            )
        self._follow("resume", stream)
        try:
            stream.widen(int(n_features))
        finally:
            self.n_features_in_ = stream.n_columns
        return self._follow("widen", stream, self.max_steps)

    def consolidate(self, strategies=None) -> bool:
        """Train on all rows from scratch, in several ways, and keep the best minimum of (1).

        Parameters
        ----------
        strategies : sequence of str or None, default=None
            "batch" trains as ``fit`` does. "C_star" lets C* grow from ``C_star / 512`` to its
            value along the exact path: some steps per row. "row-by-row" is the procedure of
            ``solver="path"``: an operation per row, and thus the slowest with many rows.
            None for all of them (``solver="auto"``; the last up to 2000 rows), the last two
            ("path") or the first.

        Returns
        -------
        bool
            Whether a better minimum than the present one was found, and has replaced it.
        """
        stream = self._ready_stream()
        if strategies is None:
            strategies = _OF_SOLVER.get(self.solver, STRATEGIES[:1])
            if self.solver == "auto" and len(stream) > _FEW_ROWS:
                strategies = strategies[:-1]
        elif isinstance(strategies, str) or not set(strategies) <= set(STRATEGIES):
            raise ValueError(
                f"strategies={strategies!r} are not known; pass some of {list(STRATEGIES)}."
            )
        self._follow("resume", stream)
        if not stream.ready:
            return False
        best, lowest = None, self.objective_ - _LOWER * abs(self.objective_)
        for name in strategies:
            fresh = stream.fresh()
            try:
                objectives = self._train(fresh, name)
            except _BREAKDOWNS:
                continue
            value = fresh.certificate(fresh.standing())[0]
            if value < lowest:
                best, lowest = (fresh, objectives), value
        if best is None:
            stream.mark_rebuilt()
            return False
        stream.take_over(best[0])
        self.objectives_ = best[1]
        return True

    def _train(self, fresh, strategy):
        """Begin a stream without a path; the objectives of its batch training."""
        if strategy == "batch":
            objectives = self._train_batch(fresh)
            fresh.begin()
            return objectives
        self._lower_bound = None
        fresh.begin(_BUILDS[strategy])
        return []

    # -- how rows and path keep together -------------------------------------------------------

    def _make_stream(self, rows, label, shift):
        return S3VMStream(
            self._make_kernel(), self._problem(), self.balance_update, rows.X, label, rows.weight,
            shift, self.cache_size * 1e6, resolve_n_jobs(self.n_jobs),
        )  # fmt: skip

    def _open(self, name, stream):
        """Hold the rows of a machine that has no solution yet, and follow them."""
        self._hold(stream)
        self._late, self._sample, self._kept = Late(), None, None
        self._lower_bound, self.objectives_ = None, []
        return self._follow(name, stream, None if name == "fit" else self.max_steps)

    def _begin(self, X, y, classes, sample_weight):
        """The first rows of a stream."""
        self._refuse_what_has_no_path(False)
        label = None
        if classes is not None:
            classes = read_classes(classes, self.unlabeled)
        elif y is None:
            raise ValueError(_NO_CLASSES)
        else:
            try:
                label, classes, doubtful = read_semi_labels(y, self.unlabeled)
            except ValueError as error:
                raise ValueError(f"{error} {_NO_CLASSES}") from None
            if doubtful:
                _warn_doubtful(classes)
        rows = self._read_rows(X, sample_weight)
        self._refuse_what_has_no_path(rows.kept is not None)
        if label is None:
            label = read_known_labels(y, rows.X.shape[0], classes, self.unlabeled)
        check_consistent_length(rows.X, label)
        stream = self._make_stream(rows, label, shift_of(self._make_kernel(), rows.X))
        stream.check()
        self.classes_ = classes
        return self._open("partial_fit", stream)

    def _read_new(self, X, y, sample_weight):
        rows = self._rows_to_score(X)
        weight, left_out = check_weight(sample_weight, rows)
        label = read_known_labels(y, rows.shape[0], self.classes_, self.unlabeled)
        self._refuse_what_has_no_path(left_out is not None)
        return {"X": rows, "label": label, "weight": weight}

    def _refuse_what_has_no_path(self, some_left_out):
        if self.kernel == "precomputed":
            raise ValueError(
                "kernel='precomputed' cannot follow rows that come and go, for want of their "
                "kernel values; pass rows and a kernel or a callable, or use solver='cccp'."
            )
        if some_left_out:
            raise ValueError(
                "sample_weight leaves out rows of weight <= 0, which a path cannot hold; "
                "leave these rows out of X."
            )

    def _ready_stream(self):
        """The stream, its path begun if that is possible."""
        check_is_fitted(self)
        self._refuse_what_has_no_path(self._kept is not None)
        stream = super()._ready_stream()
        if stream.has_start:
            with suppress(*_BREAKDOWNS):  # the operation will try again
                stream.begin()
        return stream

    def _follow(self, name, stream, max_steps=None, change=None):
        if change is None:
            return super()._follow(name, stream, max_steps)

        def changed():
            change()
            self._lower_bound = None

        return super()._follow(name, stream, max_steps, changed)

    def _catch_up(self, stream, name, max_steps):
        try:
            begun = stream.has_path or stream.has_start
            if not begun and self.solver != "path" and stream.ready:
                self.objectives_ = self._train_batch(stream)
                stream.mark_rebuilt()
            done = stream.run(max_steps)
        except _BREAKDOWNS as error:
            self._train_again(stream, name, error)
            done = True
        rough = stream.lost_to_rounding(self.tol) if done else 0.0
        if rough:
            warn(
                f"{name} ended at a KKT violation of {rough:.3g}: kernel values are so large that "
                "rounding hides the minimum. Scale the columns, and look for odd values.",
                ConvergenceWarning,
            )
        return done

    def _train_batch(self, stream, signs_before=None):
        """Let the path of a stream start from batch training; gives its objectives."""
        found = train(stream.training_data(self._held_gram), self._training(None), signs_before)
        self._keep_bound(found)
        stream.start_from(found, done=bool(found.result.converged))
        self._report(found)
        return found.objectives

    def _train_again(self, stream, name, error):
        """After a breakdown: a minimum from the last signs, or else from scratch.

        Should no path begin there either, the batch solution stands until the next operation.
        """
        warn(
            f"the path broke down during {name} ({error}); trained again from its last state, by "
            f"batch training. Scaling the columns may prevent this.",
            ConvergenceWarning,
        )
        signs = stream.last_signs()
        for sign in [None] if signs is None else [signs, None]:
            self.objectives_ = self._train_batch(stream, sign)
            with suppress(*_BREAKDOWNS):
                stream.begin()
                break

    def _add_by_branching(self, stream, X, label, weight):
        """Add rows one by one; after each, search the signs around it."""
        if self.max_steps is not None:
            raise ValueError(
                f"max_steps={self.max_steps} cuts the path short, and branch and bound begins at "
                "its end; set max_steps=None."
            )
        stream.check_new(label, weight)
        self._follow("resume", stream)
        searches = []
        for i in range(len(label)):
            one, was_ready = slice(i, i + 1), stream.ready
            new = X[one], label[one], None if weight is None else weight[one]
            self._follow("partial_fit", stream, None, lambda new=new: stream.add(*new))
            if was_ready and stream.has_path:
                searches.append(self._search_near_newest(stream))
        message = stopped_early(searches, len(label))
        if message is not None:
            warn(message, ConvergenceWarning)
        return self

    def _search_near_newest(self, stream):
        """Search the signs around the newest row, and go on from what is better."""
        places = stream.places
        gram = make_gram(
            stream.kernel, stream.kernel_rows(places), dtype=np.float64, n_jobs=stream.n_jobs
        )
        search = search_near_last(
            gram, stream.machine, stream.label(places), stream.weight(places),
            stream.standing().at(places), self.n_neighbors, self._training(None),
        )  # fmt: skip
        self.n_nodes_ = getattr(self, "n_nodes_", 0) + search.n_nodes
        if search.solution is not None:
            stream.restart_at(search.solution)
        return search


def _warn_doubtful(classes):
    warn(
        f"y has two values only, {classes[0]} and {classes[1]}: both are taken for classes "
        "and no row for unlabelled. Pass unlabeled=None to say so, or NaN for unlabelled "
        "rows.",
        UserWarning,
    )


def _folds(sample):
    """Fold of each row, -1 for those that are never left out."""
    keys, fold, before = row_keys(sample.X), np.full(len(sample.y), -1), 0
    for side in (-1.0, 1.0):
        rows = np.flatnonzero(sample.y == side)
        distinct, group = np.unique(keys[rows], return_inverse=True)
        if len(distinct) > 1:
            fold[rows] = (before + group) % _FOLDS
            before += len(distinct)
    return fold
