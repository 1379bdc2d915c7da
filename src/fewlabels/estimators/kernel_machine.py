"""What every kernel machine is: parameters and rows in, the engine run, values out."""

from __future__ import annotations

from functools import cache

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from .._threads import resolve_n_jobs
from .._warn import warn
from ..fitted import Function, Late
from ..kernels import KERNELS, Precomputed, make_kernel
from ..kernels.width import resolve_gamma
from ..solvers import Settings, Status, solve_decomposition
from ..training.grams import gram_over
from . import earlier
from .rows import check_rows, fit_rows

_ADVICE = {
    Status.MAX_ITER: "raise max_iter, or tol if this accuracy is enough",
    Status.MAX_TIME: "raise max_time, or tol if this accuracy is enough",
    Status.STALLED: "raise tol, or scale the columns: rounding prevents further progress",
    Status.STOPPED: "fit again without the callback that stopped it",
}


def shown(name, doc=None):
    """An attribute that shows one of the values in the machine's ``Solution``."""

    def value(machine):
        return getattr(machine._found, name)

    return property(value, doc=doc)


class KernelMachine(BaseEstimator):
    """A machine whose fit leaves a ``Solution``, which its attributes show.

    ``fit`` of a machine reads rows (``_read_rows``), states its problem over ``_gram``, has it
    solved (``_solve``), and hands a ``Solution``, or a machine's own kind of it, to ``_keep``.
    Whatever else follows from a fit is kept in ``_late``, by name, and computed when asked for.
    """

    # What a fit has left, and what has been computed from it; None before the first.
    _late: Late | None = None

    @classmethod
    @cache
    def _get_param_names(cls):
        # Once for a class: every fit asks, and reading the signature takes a tenth of a small one.
        return super()._get_param_names()

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = self.kernel == "precomputed"
        tags.input_tags.sparse = self.kernel != "precomputed"
        return tags

    def __sklearn_is_fitted__(self):
        return self._late is not None

    def __setstate__(self, state):
        super().__setstate__(earlier.upgraded(self, state))

    # -- fitting -------------------------------------------------------------------------------

    def _read_rows(self, X, sample_weight):
        """``FitRows`` and gamma."""
        rows = fit_rows(self, X, sample_weight)
        self._set_gamma(rows)
        return rows

    def _set_gamma(self, rows):
        self.shape_fit_ = rows.everything.shape
        self.gamma_ = 0.0
        if not callable(self.kernel) and "gamma" in KERNELS[self.kernel].takes:
            by_norms = self.gamma == "distance" and not KERNELS[self.kernel].is_similarity
            gamma = "scale" if by_norms else self.gamma
            self.gamma_ = resolve_gamma(gamma, rows.X, rows.weight)

    def _make_kernel(self):
        return make_kernel(self.kernel, self.gamma_, self.degree, self.coef0)

    def _gram(self, X):
        return gram_over(self._make_kernel(), X, resolve_n_jobs(self.n_jobs))

    def _settings(self, tol, rtol, callback):
        """How the engine works for this estimator."""
        return Settings(
            tol=tol,
            rtol=rtol,
            max_iter=self.max_iter,
            max_time=np.inf if self.max_time is None else self.max_time,
            cache_size=self.cache_size * 1e6,
            callback=self._reporter(callback),
            random_state=self._seed(),
        )

    def _solve(self, problem, tol, rtol, callback, start=None):
        """Run the engine with this estimator's settings."""
        return solve_decomposition(problem, start, self._settings(tol, rtol, callback))

    def _seed(self):
        state = getattr(self, "random_state", None)
        if isinstance(state, np.random.RandomState):
            return int(state.randint(2**31 - 1))
        return 0 if state is None else int(state)

    def _reporter(self, callback):
        if not self.verbose:
            return callback

        def report(entry):
            values = (
                f", {entry['kernel_values']:.3g} kernel values" if "kernel_values" in entry else ""
            )
            print(
                f"[{type(self).__name__}] round {entry['round']}: violation "
                f"{entry['violation']:.3g}{values}, {entry['seconds']:.1f} s"
            )
            return callback is not None and callback(entry)

        return report

    def _keep(self, solution, **values):
        """Make a ``Solution`` what the machine shows, and other values known from the start."""
        values = {"solution": solution, **values}
        self._late = Late({name: (self._version, value) for name, value in values.items()})

    def _report_status(self, result, tol):
        """Warn when the tolerance was not reached; pass Ctrl-C on, fitted as far as it got."""
        if result.status is Status.INTERRUPTED:
            warn(
                f"fit was interrupted at a KKT violation of {result.violation:.3g} (tolerance "
                f"{tol:.3g}); the estimator holds the feasible solution reached so far.",
                ConvergenceWarning,
            )
            raise KeyboardInterrupt
        if not result.converged:
            warn(
                f"{type(self).__name__} stopped early ({result.status.value}) at a KKT violation "
                f"of {result.violation:.3g} after {result.n_iter} iterations; "
                f"{_ADVICE[result.status]}.",
                ConvergenceWarning,
            )

    # -- what a fit has found -------------------------------------------------------------------

    # Of what values are computed from: another number when rows have changed.
    _version = 0

    @property
    def _found(self):
        """The machine's ``Solution``, as of now."""
        if self._late is None:
            check_is_fitted(self)
        return self._late.get("solution", self._version, self._describe)

    def _describe(self):
        """The ``Solution`` at the present version, where it was not stored by a fit."""
        raise NotImplementedError

    function_ = shown("function")
    support_ = shown("support")
    n_support_ = shown("n_support")
    n_iter_ = shown("n_iter")
    history_ = shown("history")
    objective_ = shown("objective")
    duality_gap_ = shown("duality_gap")

    @property
    def fit_status_(self):
        return 0 if self._found.converged else 1

    @property
    def support_vectors_(self):
        return self._found.function.vectors

    @property
    def dual_coef_(self):
        return self._found.function.coef

    # -- evaluating -----------------------------------------------------------------------------

    def _rows_to_score(self, X):
        """Rows such as the function takes."""
        check_is_fitted(self)
        # The kind of rows is that of the last function, however old: an update need not know more.
        function = (self._late.last("solution") or self._found).function
        X = check_rows(self, X, reset=False)
        if isinstance(function.kernels[0], Precomputed) and X.shape[1] != self.shape_fit_[0]:
            raise ValueError(
                f"kernel='precomputed' needs kernel values against the {self.shape_fit_[0]} "
                f"training rows; the matrix given has {X.shape[1]} columns."
            )
        is_sparse = sp.issparse(function.vectors)
        if sp.issparse(X) and not is_sparse:
            raise ValueError(
                f"cannot use sparse input in {type(self).__name__!r} trained on dense data"
            )
        return sp.csr_array(X) if is_sparse else X

    def _value(self, X, **options):
        """The function at rows that users pass."""
        return self._found.function(self._rows_to_score(X), n_jobs=self.n_jobs, **options)


def largest_value(gram):
    """The largest K(x, x)."""
    return float(np.abs(gram.diagonal()).max(initial=0.0))


def function_of(kernel, gram, X, coef, numbers, **options):
    """The ``Function`` of the rows with a coefficient, which of the rows, and their numbers.

    ``kernel`` may be a tuple of kernels, with a row of ``coef`` each; ``gram`` prepared rows as
    predictions will; ``numbers`` are what users call the rows ``X``, which are as they were given.
    """
    kernels = kernel if isinstance(kernel, tuple) else (kernel,)
    coef = np.atleast_2d(coef)
    places = np.flatnonzero(coef.any(axis=0))
    support = numbers[places].astype(np.int32)
    is_matrix = isinstance(kernels[0], Precomputed)
    row_map = getattr(gram, "row_map", None)
    if row_map is not None:
        options |= {"center": row_map.center, "float64": row_map.dtype == np.float64}
    function = Function(
        kernels=kernels,
        vectors=np.empty((0, 0)) if is_matrix else X[places],
        coef=coef[:, places],
        columns=support if is_matrix else None,
        **options,
    )
    return function, places, support
