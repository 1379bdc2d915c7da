"""The base class of estimators with a kernel: they read rows, run the engine and score."""

from collections.abc import Callable, Mapping
from functools import cache, partial
from numbers import Integral, Real
from typing import Any, NamedTuple, cast

import numpy as np
import scipy.sparse as sp
from sklearn.utils import Tags
from sklearn.utils._param_validation import Interval, StrOptions

from .._typing import FloatArray, MatrixLike, RowMatrix, VectorLike
from .._util.threads import resolve_n_jobs
from ..kernels import (
    KERNEL_TYPES,
    KERNELS,
    MAPPED_OUT_OF_CORE,
    Kernel,
    KernelChoice,
    Polynomial,
    kind_of,
    list_kinds,
    make_kernel,
)
from ..kernels.base import distinct_kernels
from ..kernels.width import choose_gamma_rule
from ..rows.device import backend_of
from ..rows.device.backend import plain_rows
from ..rows.device.source import ArraySource
from ..rows.device.values import values_at
from ..rows.files import FileSource, RowFile, find_row_file
from ..rows.mapped import MappedFiles
from ..rows.memory import MemorySource
from ..rows.source import RowSource, ShardedSource
from ..rows.validation import check_rows, check_values, fit_rows, read_weights, to_python_number
from ..solvers import Result, Settings
from ..solvers.run import Callback
from .class_functions import ClassFunctions
from .fitted_estimator import FittedEstimator
from .function import Function
from .locking import lock_of
from .status import report_status, reporter

# Rows of a piece that is scored at a time.
_ROWS_PER_PIECE = 250_000

# The allowed values of parameters that estimators have in common.
COMMON: dict[str, Any] = {
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


class OutOfCoreSupport(NamedTuple):
    """The parameters that an estimator supports where its rows are not in memory."""

    parameters: Mapping[str, tuple[object, ...]] = {}
    only_with: Mapping[str, str] = {}
    kernels: tuple[KernelChoice, ...] = MAPPED_OUT_OF_CORE
    arrays: bool = True  # whether arrays of other libraries are taken


class KernelEstimator(FittedEstimator):
    """An estimator with a kernel: it takes rows from a source and has its problem solved.

    ``fit`` of an estimator gets the ``RowSource`` (``_source``), states its problem over it and
    has it solved. It hands a ``Solution``, or its own kind of it, to ``_store_solution``. One that
    can be updated also hands a stream to ``_attach_stream``. A fit sets ``gamma_``, and
    ``_deformed`` to a kernel that is made of its rows or labels.
    """

    _out_of_core = OutOfCoreSupport()
    # What estimators declare.
    gamma: str | float
    degree: int
    coef0: float
    # The kernel, where it is made of the rows of the fit.
    _deformed: Kernel | None = None

    # Every fit asks for names and checks values, each of which takes a tenth of a small one.

    @classmethod
    @cache
    def _get_param_names(cls) -> list[str]:
        return super()._get_param_names()

    def _validate_params(self) -> None:
        check_values(type(self), self._parameter_constraints, self.get_params(deep=False))

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = self.kernel == "precomputed"
        tags.input_tags.sparse = self.kernel != "precomputed"
        return tags

    # -- the kernel ------------------------------------------------------------------------------

    def _set_kernel(self, rows: RowSource) -> Kernel | None:
        """Set gamma and the kernel from the rows of a fit, a ``RowSource``; the kernel.

        None where it is grown when labels have been read.
        """
        self.shape_fit_ = rows.shape
        self.gamma_ = 0.0
        kind = kind_of(self._effective_kernel)
        if "gamma" in kind.takes:
            self.gamma_ = rows.gamma(choose_gamma_rule(kind, self.gamma))
        if kind.learns == "labels":
            return None
        self._deformed = None
        if kind.learns:  # it needs its rows in memory
            in_memory = cast(MemorySource, rows)
            self._deformed = self._kernel_over(in_memory.X, in_memory.weight)
        kernel = self._make_kernel()
        rows.check(kernel.plain, width=not isinstance(self.gamma, str))
        return kernel

    _effective_kernel = property(lambda self: self.kernel)  # what ``kernel`` stands for
    _learns_kernel = property(lambda self: kind_of(self._effective_kernel).learns == "rows")

    def _make_kernel(self) -> Kernel:
        if self._deformed is not None:
            return self._deformed
        return make_kernel(self._effective_kernel, self.gamma_, self.degree, self.coef0)

    def _kernel_over(self, X: RowMatrix, weight: FloatArray | None = None) -> Kernel:
        """Return the kernel that is made of these rows."""
        numbers, seed = (self.gamma_, self.degree, self.coef0), self._seed()
        return make_kernel(self._effective_kernel, *numbers, X, weight, seed)

    def _seed(self) -> int:
        state = getattr(self, "random_state", None)
        if isinstance(state, np.random.RandomState):
            return int(state.randint(2**31 - 1))
        return 0 if state is None else int(state)

    # -- fitting -------------------------------------------------------------------------------

    def _reason_for_memory(self, source: ShardedSource | type[ShardedSource]) -> str | None:
        """Return why the model needs its rows in memory, in one sentence; None if it doesn't."""
        description = source.description
        alternative = source.alternative
        kind = kind_of(self.kernel)
        if not isinstance(self.kernel, str) or kind not in MAPPED_OUT_OF_CORE:
            return f"{description} take {list_kinds(MAPPED_OUT_OF_CORE)}"
        if kind not in self._out_of_core.kernels:
            allowed_kinds = list_kinds(self._out_of_core.kernels)
            return f"{type(self).__name__} with {description} takes {allowed_kinds}"
        if kind is Polynomial and self.coef0 < 0.0:
            return f"{description} take kernel='poly' with coef0 >= 0 only"
        for name, allowed in self._out_of_core.parameters.items():
            value, other = getattr(self, name), self._out_of_core.only_with.get(name)
            counts = other is None or getattr(self, other) is not None
            if counts and isinstance(value, str) and value not in allowed:
                return f"{name}={value!r} needs {alternative}; {name}={allowed[0]!r} does not"
        return None

    def _source(
        self,
        X: MatrixLike | ShardedSource,
        sample_weight: VectorLike | None = None,
        *,
        y: VectorLike | None = None,
        anomalies: VectorLike | None = None,
    ) -> RowSource:
        """Return the ``RowSource`` of the rows of a fit.

        Mapped rows of more than ``cache_size`` stay in their file, and arrays of a device on
        it. All others are in memory, as are rows of a file for which a model
        has to hold them, or that don't follow each other there. A source is taken as it is.
        """
        if isinstance(X, ShardedSource):
            if sample_weight is not None:
                raise ValueError("X is a source of rows, so sample_weight belongs to its shards.")
            source: ShardedSource | None = X
        else:
            source = self._out_of_core_source(X, sample_weight)
        if source is None:
            return fit_rows(self, X, sample_weight, anomalies)
        self._check_source(source, anomalies)
        self.n_features_in_ = source.shape[1]
        return source

    def _out_of_core_source(
        self, X: MatrixLike, sample_weight: VectorLike | None
    ) -> ShardedSource | None:
        """Return the ``ShardedSource`` of rows that stay where they are; None for all others."""
        backend = backend_of(X)
        if backend is not None:
            if not self._out_of_core.arrays:
                raise ValueError(f"{type(self).__name__} takes NumPy rows, not rows of {backend}.")
            if hasattr(self, "feature_names_in_"):
                del self.feature_names_in_
            rows, weight = plain_rows(backend, X), read_weights(sample_weight, X)
            return ArraySource(backend, rows, weight, resolve_n_jobs(self.n_jobs))
        file = find_row_file(X)
        if file is None or self._fits_in_cache(file) or self._reason_for_memory(ShardedSource):
            return None
        weight, jobs = read_weights(sample_weight, X), resolve_n_jobs(self.n_jobs)
        return FileSource(file, weight, n_jobs=jobs, cache_size=self._cache_bytes)

    def _fits_in_cache(self, file: RowFile) -> bool:
        """Return whether rows of a file fit ``cache_size``."""
        return file.n_bytes <= self._cache_bytes

    def _check_source(self, source: ShardedSource, anomalies: VectorLike | None = None) -> None:
        """Refuse a source that lacks what the model needs, or ``anomalies``."""
        if anomalies is not None:
            raise ValueError(
                f"{source.description} don't take confirmed anomalies (anomalies=...); pass "
                f"{source.alternative}, or fit without anomalies."
            )
        missing = self._reason_for_memory(source)
        if missing is not None:
            raise ValueError(f"{missing}: change that, or pass {source.alternative}.")

    def _settings(self, tol: float, rtol: float, callback: Callback | None) -> Settings:
        """Return the settings of the engine."""
        return Settings(
            tol=tol,
            rtol=rtol,
            max_iter=self.max_iter,
            max_time=self._deadline.left(),
            cache_size=self._cache_bytes,
            callback=self._reporter(callback),
            random_state=self._seed(),
        )

    # An int may be too large for a float.
    _cache_bytes = property(lambda self: 1e6 * min(to_python_number(self.cache_size), 1e300))

    def _reporter(self, callback: Callback | None) -> Callback | None:
        return reporter(type(self).__name__, callback, self.verbose)

    def _report_status(self, result: Result, tol: float, gap: float) -> None:
        """Warn when the tolerance was not reached, or ``gap`` is NaN; pass Ctrl-C on."""
        report_status(type(self).__name__, result, tol, gap, self._deadline)

    # -- evaluating -----------------------------------------------------------------------------

    def _rows_to_score(self, X: MatrixLike) -> RowMatrix:
        """Return checked rows, as the function takes them."""
        self._check_is_fitted()
        # The last function says the kind of rows, however old: an update need not know more.
        function = (self._fitted_values.latest("solution") or self._solution_now).function
        X = check_rows(self, X, reset=False)
        if function.kernels[0].is_matrix and X.shape[1] != self.shape_fit_[0]:
            raise ValueError(
                f"kernel='precomputed' needs kernel values against the {self.shape_fit_[0]} "
                f"training rows; the matrix given has {X.shape[1]} columns."
            )
        is_sparse = sp.issparse(function.vectors)
        if sp.issparse(X) and not is_sparse:
            raise ValueError(
                f"cannot use sparse input in {type(self).__name__!r} trained on dense data; pass "
                "dense rows, such as X.toarray()."
            )
        for kernel in distinct_kernels(function):
            kernel.check_powers(X)
        return sp.csr_array(X) if is_sparse else X

    def _source_to_score(self, X: MatrixLike | ShardedSource) -> ShardedSource | None:
        """Return the ``ShardedSource`` of rows that are scored in pieces; None for all others.

        Those are rows of a file that is mapped and larger than ``cache_size``.
        """
        if isinstance(X, ShardedSource):
            return X
        file = find_row_file(X)
        if file is None or self._fits_in_cache(file):
            return None
        return FileSource(file, n_shards=max(1, -(-file.shape[0] // _ROWS_PER_PIECE)))

    def _evaluation(self, X: MatrixLike, **options: object) -> Callable[[], Any]:
        """Return a call that evaluates the present function at rows, where their arrays are."""
        backend = backend_of(X)
        with lock_of(self):
            function = self._solution_now.function
            name = type(self).__name__
            width = self.n_features_in_
            source = self._source_to_score(X) if backend is None else None
            if backend is None and source is None:
                files = MappedFiles(X)
                with files.checked():
                    rows = self._rows_to_score(X)
                call = partial(self._evaluate, function, rows, options)
                return files.checked()(call) if files else call
        if backend is not None:
            return partial(values_at, backend, name, function, X, width)
        assert source is not None
        return partial(
            source.values, lambda X: self._evaluate(function, self._rows_to_score(X), options)
        )

    def _evaluate(
        self, function: Function | ClassFunctions, X: RowMatrix, options: dict[str, Any]
    ) -> FloatArray:
        with np.errstate(over="ignore", invalid="ignore"):  # far rows are evaluated again
            return function(X, n_jobs=self.n_jobs, **options)

    def _weights(self) -> Any:
        """Weights of the linear kernel, shape (1, n_features), or (n_classes, n_features)."""
        self._check_is_fitted()
        weights = self.function_.weights
        if weights is None or not self.function_.kernels[0].is_linear:
            raise AttributeError("coef_ is only available when using a linear kernel")
        return self._to_native(np.atleast_2d(weights))
