"""What every kernel model is: parameters and rows in, the engine run, values out, updates."""

from copy import deepcopy
from dataclasses import replace
from functools import cache, partial
from numbers import Integral, Real
from typing import Any, Self

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted

from .._available import available_if
from .._deadline import ENDLESS
from .._threads import resolve_n_jobs
from .._warn import warn
from ..arrays import home_of
from ..fitted import Late
from ..kernels import (
    KERNEL_TYPES,
    KERNELS,
    kind_of,
    make_kernel,
)
from ..kernels.width import resolve_gamma, rule_for
from ..solvers import Settings, solve_decomposition
from ..streams.rows import read_indices
from ..training.grams import gram_over
from . import earlier
from .calls import consistent, lock_of, one_at_a_time
from .elsewhere.places import in_pieces, is_in_pieces
from .machine.status import report_status, reporter
from .rows import check_powers, check_rows, check_values, check_width, fit_rows

# What parameters that machines have in common may be.
COMMON: dict = {
    "kernel": [StrOptions(set(KERNELS)), *KERNEL_TYPES, callable],
    "gamma": [StrOptions({"scale", "auto"}), Interval(Real, 0.0, None, closed="left")],
    "degree": [Interval(Integral, 0, None, closed="left")],
    "coef0": [Interval(Real, None, None, closed="neither")],
    "tol": [Interval(Real, 0.0, None, closed="neither")],
    "max_iter": [Interval(Integral, -1, None, closed="left")],
    "max_time": [Interval(Real, 0, None, closed="neither"), None],
    "cache_size": [Interval(Real, 0, None, closed="neither")],
    "max_steps": [Interval(Integral, 1, None, closed="left"), None],
    "n_jobs": [Integral, None],
    "random_state": ["random_state"],
    "verbose": ["verbose"],
}


def shown(name):
    """An attribute that shows one of the values in the model's ``Solution``."""
    return property(lambda machine: getattr(machine._found, name))


def shown_there(name):
    """The same of an array, which is one of the library that the rows of the fit were of."""
    return property(lambda machine: machine._there(getattr(machine._found, name)))


def _is_updatable(machine):
    return machine._read_new is not None


class KernelMachine(BaseEstimator):
    """A model whose fit leaves a ``Solution``, which its attributes show.

    ``fit`` of a model reads rows (``_read_rows``), states its problem over ``_gram``, has it
    solved (``_solve``), and hands a ``Solution``, or a model's own kind of it, to ``_keep``.
    Whatever else follows from a fit is kept in ``_late``, by name, and computed when requested.
    Threads may use one model together: what that takes is in ``calls.py``.

    A model that can be updated also hands a stream of its rows (see ``fewlabels.streams``) to
    ``_hold``, which does nothing until the first operation. It has a ``_read_new``, the arguments
    of ``stream.add`` for rows that users pass, and a ``_describe``, its ``Solution`` where the
    stream stands.
    """

    # Of the call that is on its way.
    _deadline = ENDLESS
    # What a fit has left, and what has been computed from it; None before the first.
    _late: Late | None = None
    # The rows and their path; None when they are not held.
    _stream: Any = None
    # The kernel, where it is made of the rows of the fit.
    _deformed: Any = None
    # The ``Home`` of the rows of the fit, if they computed where they are.
    _home: Any = None
    # Parameters that an operation needs to be those of the fit, and what they were.
    _FIXED: tuple[str, ...] = ("kernel", "gamma", "degree", "coef0")
    _fixed: dict = {}  # noqa: RUF012
    _describe: Any = None
    _read_new: Any = None

    # Every fit asks for names and checks values, each of which takes a tenth of a small one.

    @classmethod
    @cache
    def _get_param_names(cls):
        return super()._get_param_names()

    def _validate_params(self):
        check_values(type(self), self._parameter_constraints, self.get_params(deep=False))

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = self.kernel == "precomputed"
        tags.input_tags.sparse = self.kernel != "precomputed"
        return tags

    def __sklearn_is_fitted__(self):
        return self._late is not None

    # -- fitting -------------------------------------------------------------------------------

    def _read_rows(self, X, sample_weight):
        """``FitRows`` and gamma."""
        rows = fit_rows(self, X, sample_weight)
        self._set_gamma(rows)
        return rows

    def _set_gamma(self, rows):
        self.shape_fit_ = rows.everything.shape
        self.gamma_ = 0.0
        kind = kind_of(self._kernel_used)
        if "gamma" in kind.takes:
            self.gamma_ = resolve_gamma(rule_for(kind, self.gamma), *rows.normal())
        if kind.learns == "labels":
            return  # it is grown when labels have been read
        kernel = self._set_kernel(rows.X, rows.weight)
        kernel = kernel.plain
        check_powers(kernel, rows.X)
        if kernel.is_mapped and kernel.of_distance and not isinstance(self.gamma, str):
            check_width(kernel, rows.X)

    def _set_kernel(self, X, weight=None):
        """The kernel; one that is made of the rows of the fit is made of these."""
        self._deformed = self._kernel_over(X, weight) if self._learns_kernel else None
        return self._make_kernel()

    _kernel_used = property(lambda self: self.kernel)  # what ``kernel`` stands for
    _learns_kernel = property(lambda self: kind_of(self._kernel_used).learns == "rows")

    def _make_kernel(self):
        if self._deformed is not None:
            return self._deformed
        return make_kernel(self._kernel_used, self.gamma_, self.degree, self.coef0)

    def _kernel_over(self, X, weight=None):
        """The kernel that is made of these rows."""
        numbers, seed = (self.gamma_, self.degree, self.coef0), self._seed()
        return make_kernel(self._kernel_used, *numbers, X, weight, seed)

    def _gram(self, X, fewest=1.0):
        return gram_over(self._make_kernel(), X, resolve_n_jobs(self.n_jobs), fewest=fewest)

    def _settings(self, tol, rtol, callback):
        """How the engine works for this estimator."""
        return Settings(
            tol=tol,
            rtol=rtol,
            max_iter=self.max_iter,
            max_time=self._deadline.left(),
            cache_size=self.cache_size * 1e6,
            callback=self._reporter(callback),
            random_state=self._seed(),
        )

    def _solve(self, problem, tol, rtol, callback, start=None):
        return solve_decomposition(problem, start, self._settings(tol, rtol, callback))

    def _seed(self):
        state = getattr(self, "random_state", None)
        if isinstance(state, np.random.RandomState):
            return int(state.randint(2**31 - 1))
        return 0 if state is None else int(state)

    def _reporter(self, callback):
        return reporter(type(self).__name__, callback, self.verbose)

    def _keep(self, solution, **values):
        """Make a ``Solution`` what the model shows, and other values known from the start."""
        values = {"solution": solution, **values}
        self._late = Late({name: (self._version, value) for name, value in values.items()})

    def _report_status(self, result, tol, gap):
        """Warn when the tolerance was not reached, or ``gap`` is NaN; pass Ctrl-C on."""
        report_status(type(self).__name__, result, tol, gap, self._deadline)

    # -- what a fit has found -------------------------------------------------------------------

    @property
    def _version(self):
        """Of what values are computed from: another number when rows have changed."""
        return 0 if self._stream is None else self._stream.version

    def _computed(self, name, make):
        """A value as of now; one thread computes it, if need be."""
        with lock_of(self):
            if self._late is None:
                check_is_fitted(self)
            return self._late.get(name, self._version, make)

    @property
    def _found(self):
        """The model's ``Solution``, as of now."""
        late = self._late
        found = None if late is None else late.known("solution", self._version)
        return self._computed("solution", self._describe) if found is None else found

    function_ = shown("function")
    support_ = shown_there("support")
    n_support_ = shown_there("n_support")
    n_iter_ = shown("n_iter")
    history_ = shown("history")
    objective_ = shown("objective")
    duality_gap_ = shown("duality_gap")

    fit_status_ = property(lambda self: 0 if self._found.converged else 1)
    support_vectors_ = property(lambda self: self._there(self._found.function.support_vectors))
    dual_coef_ = property(lambda self: self._there(self._found.function.dual_coef))

    def _there(self, values):
        """An attribute as users see it: an array like those of the rows of the fit."""
        return values if self._home is None else self._home.array(values)

    def to_local(self) -> Self:
        """The model in NumPy, as of rows in memory: a copy to keep, save and export.

        Returns
        -------
        estimator
            Of the same class. One that was fitted to arrays of torch or CuPy has attributes of
            NumPy then, and can be used where these are not installed.
        """
        return deepcopy(self)

    def snapshot(self) -> Self:
        """The fitted model as it is now, without training rows; later updates don't change it.

        Returns
        -------
        estimator
            Of the same class. It shares its values with this model.
        """
        with lock_of(self):
            check_is_fitted(self)
            values = self._values_to_keep()
            state = {name: v for name, v in super().__getstate__().items() if name != "_deadline"}
        other = type(self).__new__(type(self))
        late = Late({name: (0, value) for name, value in values.items()})
        BaseEstimator.__setstate__(other, {**state, "_stream": None, "_late": late})
        return other

    # -- evaluating -----------------------------------------------------------------------------

    def _rows_to_score(self, X):
        """Rows such as the function takes."""
        check_is_fitted(self)
        # The kind of rows is that of the last function, however old: an update need not know more.
        function = (self._late.last("solution") or self._found).function
        X = check_rows(self, X, reset=False)
        if function.kernels[0].is_matrix and X.shape[1] != self.shape_fit_[0]:
            raise ValueError(
                f"kernel='precomputed' needs kernel values against the {self.shape_fit_[0]} "
                f"training rows; the matrix given has {X.shape[1]} columns."
            )
        is_sparse = sp.issparse(function.vectors)
        if sp.issparse(X) and not is_sparse:
            raise ValueError(
                f"cannot use sparse input in {type(self).__name__!r} trained on dense data"
            )
        kernel = function.kernels[0]
        check_powers(kernel.plain, X)
        return sp.csr_array(X) if is_sparse else X

    def _evaluation(self, X, **options):
        """A call that gives values of the present function at rows, where their arrays compute."""
        home = home_of(X)
        with lock_of(self):
            function, name, width = self._found.function, type(self).__name__, self.n_features_in_
            if home is None and not is_in_pieces(self, X):
                return partial(self._evaluate, function, self._rows_to_score(X), options)
        if home is not None:
            from ..arrays.function import values_at

            return partial(values_at, home, name, function, X, width)
        return partial(
            in_pieces, X, lambda X: self._evaluate(function, self._rows_to_score(X), options)
        )

    def _evaluate(self, function, X, options):
        with np.errstate(over="ignore", invalid="ignore"):  # far rows are evaluated again
            return function(X, n_jobs=self.n_jobs, **options)

    def _weights(self):
        """Weights of the linear kernel, shape (1, n_features), or (n_classes, n_features)."""
        check_is_fitted(self)
        weights = self.function_.weights
        if weights is None or not self.function_.kernels[0].is_linear:
            raise AttributeError("coef_ is only available when using a linear kernel")
        return self._there(np.atleast_2d(weights))

    # -- rows that come and go -------------------------------------------------------------------

    def _hold(self, stream):
        """Hold a stream from now on, or none (None)."""
        self._stream = stream
        if self._home is not None:
            self._home = None
        self._fixed = {name: getattr(self, name) for name in self._FIXED}
        if (
            not isinstance(self.kernel, str) and kind_of(self.kernel).learns
        ):  # mutable: keep a copy
            self._fixed["kernel"] = replace(self.kernel)

    def _catch_up(self, stream, name, max_steps):
        """Let the stream follow its rows; whether it is at its end."""
        return stream.run(max_steps)

    def _remembered(self):
        """Names of values in ``_late``, besides the solution, that have to stay when rows go."""
        return []

    @property
    def holds_rows_(self):
        check_is_fitted(self)
        return self._stream is not None

    @property
    @consistent
    def training_rows_(self):
        check_is_fitted(self)
        return None if self._stream is None else self._stream.training_rows()

    @property
    @consistent
    def is_caught_up_(self):
        """Whether no operation that a limit cut short is still on its way."""
        check_is_fitted(self)
        return self._stream is None or self._stream.done

    def _ready_stream(self):
        """The stream, for an operation that is possible."""
        check_is_fitted(self)
        if self.kernel == "precomputed":
            raise ValueError(
                "kernel='precomputed' can't be updated, because the kernel values of new rows "
                "are missing; pass rows and a kernel or a callable."
            )
        if self._stream is None:
            raise ValueError(
                f"this {type(self).__name__} doesn't store its training rows (it was saved or "
                "released without them); fit it again."
            )
        for name, then in self._fixed.items():
            value = getattr(self, name)
            if value is not then and not np.array_equal(value, then):  # shares may be an array
                raise ValueError(
                    f"{name} was {then!r} when the rows were fitted and is {value!r} now; set it "
                    "back, or fit again."
                )
        self._stream.cache_size = self.cache_size * 1e6
        self._stream.n_jobs = resolve_n_jobs(self.n_jobs)
        self._stream.deadline = self._deadline
        return self._stream

    def _follow(self, name, stream, max_steps=None, change=None):
        """Let rows change, and the stream catch up within the budget."""
        try:
            if change is not None:
                change()
            done = self._catch_up(stream, name, max_steps)
        finally:
            self.shape_fit_ = (len(stream), self.n_features_in_)
        if not done:
            over = self._deadline.is_over()
            limit = f"max_time={self.max_time:g} s" if over else f"max_steps={max_steps} steps"
            warn(
                f"{name} stopped after {limit}; predictions use the intermediate solution. Call "
                f"resume() to continue, or raise {limit.split('=')[0]}.",
                ConvergenceWarning,
            )
        return self

    def _leaving_out(self, indices):
        """The stream at its end, and the places of training rows that can be left out."""
        stream = self._ready_stream()
        n = len(stream)
        indices = np.arange(n) if indices is None else read_indices(indices, n)
        stream.check_one_left_out(stream.rows.places[indices])
        self._follow("resume", stream)
        return stream, stream.rows.places[indices]

    def _add(self, X, y, sample_weight, *more):
        """What ``partial_fit`` does on a model that has been fitted."""
        stream = self._ready_stream()
        new = self._read_new(X, y, sample_weight, *more)
        return self._follow("partial_fit", stream, self.max_steps, lambda: stream.add(**new))

    @available_if(_is_updatable)
    @one_at_a_time
    def forget(self, indices) -> Self:
        """Remove training rows, as if they had never been there.

        Parameters
        ----------
        indices : array-like of int, or mask of shape (n_samples,)
            Training rows. The others keep their order and are numbered again.
        """
        stream = self._ready_stream()
        indices = read_indices(indices, len(stream))
        options = self._read_gone(indices)
        change = partial(stream.remove, indices, **options)
        return self._follow("forget", stream, self.max_steps, change)

    def _read_gone(self, indices):
        """Further arguments of ``stream.remove``."""
        return {}

    @available_if(_is_updatable)
    @one_at_a_time
    def resume(self, max_steps=None) -> Self:
        """Continue with operations that ``max_steps`` or ``max_time`` cut short.

        Parameters
        ----------
        max_steps : int or None, default=None
            Limit on the steps of this call; None for none.
        """
        stream = self._ready_stream()
        if max_steps is not None and not (
            isinstance(max_steps, int | np.integer) and max_steps >= 1
        ):
            raise ValueError(f"max_steps={max_steps!r}: pass a whole number >= 1, or None.")
        return self._follow("resume", stream, max_steps)

    @available_if(_is_updatable)
    @one_at_a_time
    def release_rows(self) -> Self:
        """Let go of the training rows: no more updates, and pickles without them.

        A fitted model holds a copy of its rows, and so does its pickle, as an update needs
        them. Without them a pickle is about as large as the support vectors.
        """
        check_is_fitted(self)
        if self._stream is not None and not self._stream.done:
            raise ValueError("an update is unfinished; call resume() before release_rows().")
        values = self._values_to_keep()
        self._stream = None
        self._keep(**values)
        return self

    def _values_to_keep(self):
        """Values by name that cannot be computed without the stream as it is now."""
        known = {name: self._late.known(name, self._version) for name in self._remembered()}
        known = {name: value for name, value in known.items() if value is not None}
        return {**known, "solution": self._found}

    # -- saving ----------------------------------------------------------------------------------

    def __getstate__(self):
        """Values and rows of one moment, which later changes of the model don't reach."""
        with lock_of(self):
            return self._state()

    def _state(self):
        state = super().__getstate__()
        state = {name: v for name, v in state.items() if name not in ("_home", "_deadline")}
        if self._late is not None:
            state["_late"] = self._late_to_save()
        if self._stream is not None:
            state["_stream"] = self._stream.snapshot()
        return state

    def _late_to_save(self):
        """Without support vectors among the training rows: no row is held twice."""
        if self._stream is None:
            return self._late.copy()
        solution = self._values_to_keep()["solution"]
        return self._late.with_value("solution", solution.without_vectors())

    def __setstate__(self, state):
        super().__setstate__(earlier.upgraded(self, state))
        if self._stream is None or self._late is None:
            return
        solution = self._late.known("solution", self._version)
        with_vectors = solution.with_vectors(self._stream.training_rows().X)
        self._late.put("solution", self._version, with_vectors)
