"""The base class of estimators with a kernel: they read rows, run the engine, score and update."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from copy import deepcopy
from dataclasses import replace
from functools import cache, partial
from numbers import Integral, Real
from operator import attrgetter
from typing import Any, ClassVar, NamedTuple, ParamSpec, Self, TypeVar, cast

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from sklearn.base import BaseEstimator
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import Tags
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted

from .._typing import FloatArray, IntArray, MatrixLike, RowMatrix, VectorLike
from .._util.available import available_if
from .._util.deadline import ENDLESS, Deadline
from .._util.threads import resolve_n_jobs
from .._util.warn import warn
from ..kernels import (
    KERNEL_TYPES,
    KERNELS,
    MAPPED_OUT_OF_CORE,
    Kernel,
    KernelLike,
    Polynomial,
    kind_of,
    make_kernel,
)
from ..kernels.base import check_powers
from ..kernels.parameters import KernelChoice, choose_gamma_rule, list_kinds
from ..rows.device import backend_of
from ..rows.device.backend import ArrayBackend, plain_rows
from ..rows.device.source import ArraySource
from ..rows.device.values import values_at
from ..rows.files import FileSource, MappedFiles, RowFile, find_row_file
from ..rows.memory import MemorySource
from ..rows.row_store import read_indices
from ..rows.source import RowSource, ShardedSource
from ..rows.validation import check_rows, check_values, fit_rows, read_weights, to_python_number
from ..solvers import Result, Settings
from ..solvers.run import Callback
from .locking import consistent, exclusive, lock_of
from .solution import ClassFunctions, Function, RowStream, RunnableStream, Solution, TrainingRows
from .status import report_status, reporter, warn_of_rounding

T = TypeVar("T")
P = ParamSpec("P")


def solution_attr(name: str) -> property:
    """Return an attribute that has one of the values in the model's ``Solution``."""
    return property(lambda model: getattr(model._solution_now, name))


def native_attr(name: str) -> property:
    """Return such an attribute for an array, as one of the library that the rows came from."""
    return property(lambda model: model._to_native(getattr(model._solution_now, name)))


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


class VersionedCache:
    """Values by name, each computed at most once for every version of what it follows from.

    The owner holds its own lock while a value is computed. Reading one that is known needs no
    lock.
    """

    def __init__(self, values: Mapping[str, tuple[int, Any]] | None = None) -> None:
        self._found = dict(values or {})  # (version, value) by name

    def get(self, name: str, version: int, make: Callable[[], T]) -> T:
        """Return the value of that name at a version; ``make()`` computes it if need be."""
        found = self._found.get(name)
        if found is None or found[0] != version:
            found = self._found[name] = (version, make())
        return found[1]

    def store(self, name: str, version: int, value: object) -> None:
        """Store a value that is known already."""
        self._found[name] = (version, value)

    def peek(self, name: str, version: int) -> Any:
        """Return the value of that name if it is known for that version, else None."""
        found = self._found.get(name)
        return None if found is None or found[0] != version else found[1]

    def latest(self, name: str) -> Any:
        """Return the newest value of that name, of whatever version; None without any."""
        found = self._found.get(name)
        return None if found is None else found[1]

    def copy(self) -> VersionedCache:
        """Return a copy, to which other values may be added."""
        return VersionedCache(self._found)

    def with_value(self, name: str, value: object) -> VersionedCache:
        """Return a copy with another value of that name, at the version that it has."""
        found = dict(self._found)
        return VersionedCache({**found, name: (found[name][0], value)})

    def __getstate__(self) -> dict[str, dict[str, tuple[int, Any]]]:
        return {"found": dict(self._found)}

    def __setstate__(self, state: dict[str, dict[str, tuple[int, Any]]]) -> None:
        self._found = dict(state["found"])


class KernelEstimator(BaseEstimator):
    """An estimator with a kernel: it reads rows, has its problem solved, and shows the solution.

    ``fit`` of an estimator gets the ``RowSource`` (``_source``), states its problem over it and
    has it solved. It hands a ``Solution``, or its own kind of it, to ``_store_solution``, and
    attributes show that. A fit sets ``gamma_``, and ``_deformed`` to a kernel that is made of its
    rows or labels. Whatever else follows from a fit is kept in ``_cache``, by name, and computed
    when it is first needed. Threads may use one model together: what that takes is in
    ``locking.py``.

    One that can be updated also hands a stream of its rows (``base/stream.py``) to
    ``_attach_stream``, and overrides ``_describe_solution`` and ``_read_new_rows``. The stream
    does nothing until the first operation.
    """

    # What estimators declare, and a fit sets.
    kernel: KernelLike
    gamma: str | float
    degree: int
    coef0: float
    max_time: float | None
    n_jobs: int | None
    tol: float
    n_features_in_: int
    # Whether fitted models can be updated.
    _is_updatable: ClassVar[bool] = True
    _out_of_core = OutOfCoreSupport()
    # Parameters that must be as at the fit for an operation, and what they were.
    _FIXED: tuple[str, ...] = ("kernel", "gamma", "degree", "coef0")
    _fixed: dict[str, Any] = {}  # noqa: RUF012
    # Of the call that is on its way.
    _deadline = ENDLESS
    # The kernel, where it is made of the rows of the fit.
    _deformed: Kernel | None = None
    # What a fit has left, and what has been computed from it; None before the first.
    _cache: VersionedCache | None = None
    # The rows and their path; None when they are not held.
    _stream: RowStream | None = None
    # The ``ArrayBackend`` of the rows of the fit, if they computed where they are.
    _backend: ArrayBackend | None = None

    # -- updates ----------------------------------------------------------------------------------

    @available_if(attrgetter("_is_updatable"))
    @exclusive
    def forget(self, indices: npt.ArrayLike) -> Self:
        """Remove training rows, as if they had never been there.

        Parameters
        ----------
        indices : array-like of int, or mask of shape (n_samples,)
            Training rows. The others keep their order and are numbered again.
        """
        stream = self._ready_stream()
        chosen = read_indices(indices, len(stream))
        options = self._removal_options(chosen)
        change = partial(stream.remove, chosen, **options)
        return self._run_update("forget", stream, self.max_steps, change)

    @available_if(attrgetter("_is_updatable"))
    @exclusive
    def resume(self, max_steps: int | None = None) -> Self:
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
        return self._run_update("resume", stream, max_steps)

    @available_if(attrgetter("_is_updatable"))
    @exclusive
    def release_rows(self) -> Self:
        """Drop the training rows: pickles become smaller, and updates impossible.

        A fitted model holds a copy of its rows, and so does its pickle, as an update needs
        them. Without them a pickle is about as large as the support vectors.
        """
        self._check_is_fitted()
        if self._stream is not None and not self._stream.done:
            raise ValueError("an update is unfinished; call resume() before release_rows().")
        values = self._values_to_keep()
        self._stream = None
        self._store_solution(**values)
        return self

    # -- copies -----------------------------------------------------------------------------------

    def to_local(self) -> Self:
        """Copy of the model in NumPy, as if fitted in memory, to save and export.

        Returns
        -------
        estimator
            Of the same class. One that was fitted to arrays of torch or CuPy has attributes of
            NumPy then, and can be used where these are not installed.
        """
        return deepcopy(self)

    def snapshot(self) -> Self:
        """Return the fitted model as it is now, without training rows.

        Later updates don't change it.

        Returns
        -------
        estimator
            Of the same class. It shares its values with this model.
        """
        with lock_of(self):
            self._check_is_fitted()
            values = self._values_to_keep()
            state = {name: v for name, v in super().__getstate__().items() if name != "_deadline"}
        other = type(self).__new__(type(self))
        late = VersionedCache({name: (0, value) for name, value in values.items()})
        BaseEstimator.__setstate__(other, {**state, "_stream": None, "_cache": late})
        return other

    # -- what a fit has found ---------------------------------------------------------------------

    function_ = solution_attr("function")
    support_ = native_attr("support")
    n_support_ = native_attr("n_support")
    n_iter_ = solution_attr("n_iter")
    history_ = solution_attr("history")
    objective_ = solution_attr("objective")
    duality_gap_ = solution_attr("duality_gap")

    fit_status_ = property(lambda self: 0 if self._solution_now.converged else 1)
    support_vectors_ = property(
        lambda self: self._to_native(self._solution_now.function.support_vectors)
    )
    dual_coef_ = property(lambda self: self._to_native(self._solution_now.function.dual_coef))

    @property
    def holds_rows_(self) -> bool:
        self._check_is_fitted()
        return self._stream is not None

    @property
    @consistent
    def training_rows_(self) -> TrainingRows | None:
        self._check_is_fitted()
        return None if self._stream is None else self._stream.training_rows()

    @property
    @consistent
    def is_caught_up_(self) -> bool:
        """bool: Whether all updates are complete, none of them cut short by a limit."""
        self._check_is_fitted()
        return self._stream is None or self._stream.done

    # -- parameters -------------------------------------------------------------------------------

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

    # -- the kernel -------------------------------------------------------------------------------

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

    # -- fitting ----------------------------------------------------------------------------------

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
        """Return what solvers call after every round, None for nothing."""
        if callback is None and not self.verbose:
            return None
        return reporter(type(self).__name__, callback, self.verbose)

    def _report_status(self, result: Result, tol: float, gap: float) -> None:
        """Say why training stopped; warn if that was early, or ``gap`` is NaN; pass Ctrl-C on."""
        self.stop_reason_ = result.status.name.lower()
        report_status(type(self).__name__, result, tol, gap, self._deadline)

    # -- calls that change the model --------------------------------------------------------------

    def _within_time(self, method: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Call a method within ``max_time``, and warn about what that cut short."""
        if self._deadline is not ENDLESS:  # part of a longer call
            return method(*args, **kwargs)
        self._deadline = Deadline(self.max_time)
        try:
            result = method(*args, **kwargs)
            cut = self._deadline.cut
        finally:
            del self._deadline
        if cut:
            warn(
                f"{type(self).__name__} stopped after max_time: {'; '.join(cut)}.",
                ConvergenceWarning,
            )
        return result

    @contextmanager
    def _discard_on_error(self, *, interrupted: bool = False) -> Iterator[None]:
        """Leave no model where the body raises; after Ctrl-C only if so ``interrupted``."""
        try:
            yield
        except BaseException as error:
            if interrupted or isinstance(error, Exception):
                self._attach_stream(None)
                self._cache = None
            raise

    # -- what a model that can be updated says ----------------------------------------------------

    def _describe_solution(self) -> Solution:
        """Return the ``Solution`` where the stream stands."""
        raise AssertionError(f"{type(self).__name__} has no stream.")

    def _read_new_rows(
        self,
        X: MatrixLike,
        y: VectorLike | None,
        sample_weight: VectorLike | None,
        *more: Any,
    ) -> dict[str, Any]:
        """Return the arguments of ``stream.add`` for rows that users pass."""
        raise AssertionError(f"{type(self).__name__} has no stream.")

    # -- values of a fit --------------------------------------------------------------------------

    def __sklearn_is_fitted__(self) -> bool:
        return self._cache is not None

    def _check_is_fitted(self) -> None:
        """Refuse a model that isn't fitted: scikit-learn's check, which is slow where one is."""
        if self._cache is None:
            check_is_fitted(self)

    @property
    def _fitted_values(self) -> VersionedCache:
        """The values that a fit has left."""
        assert self._cache is not None
        return self._cache

    def _store_solution(self, solution: Solution, **values: object) -> None:
        """Store a ``Solution``, which attributes then show, and other values known so far."""
        values = {"solution": solution, **values}
        self._cache = VersionedCache(
            {name: (self._version, value) for name, value in values.items()}
        )

    def _attach_stream(self, stream: RowStream | None) -> None:
        """Store the stream of the training rows, or none (None)."""
        self._stream = stream
        if self._backend is not None:
            self._backend = None
        self._fixed = {name: getattr(self, name) for name in self._FIXED}
        if not isinstance(self.kernel, str) and kind_of(self.kernel).learns:
            settings: Any = self.kernel  # a dataclass, which can change
            self._fixed["kernel"] = replace(settings)

    @property
    def _version(self) -> int:
        """Number of the present rows: another one when rows have changed."""
        return 0 if self._stream is None else self._stream.version

    def _get_value(self, name: str, make: Callable[[], T]) -> T:
        """Return a value for the present rows; one thread computes it, if need be."""
        with lock_of(self):
            self._check_is_fitted()
            return self._fitted_values.get(name, self._version, make)

    @property
    def _solution_now(self) -> Solution:
        """The model's ``Solution``, as of now."""
        late = self._cache
        found = None if late is None else late.peek("solution", self._version)
        return self._get_value("solution", self._describe_solution) if found is None else found

    # -- rows that come and go --------------------------------------------------------------------

    def _run_stream(self, stream: RowStream, name: str, max_steps: int | None) -> bool:
        """Let the stream follow its rows, and return whether it has."""
        runnable = cast(RunnableStream, stream)  # models with another stream override this
        done = runnable.run(max_steps)
        rough = runnable.rounding_violation()
        if rough:
            warn_of_rounding(name, rough)
        return done

    def _ready_stream(self) -> RowStream:
        """Return the stream for an operation, or refuse the operation."""
        self._check_is_fitted()
        if self.kernel == "precomputed":
            raise ValueError(
                "kernel='precomputed' can't be updated, because the kernel values of new rows "
                "are missing; pass rows and a kernel or a callable."
            )
        if self._stream is None:
            raise ValueError(
                f"this {type(self).__name__} doesn't store its training rows (it was fitted to "
                "rows outside memory, or saved or released without them); fit it again."
            )
        for name, then in self._fixed.items():
            value = getattr(self, name)
            if value is not then and not np.array_equal(value, then):  # shares may be an array
                raise ValueError(
                    f"{name} was {then!r} when the rows were fitted and is {value!r} now; set it "
                    "back, or fit again."
                )
        self._stream.cache_size = self._cache_bytes
        self._stream.n_jobs = resolve_n_jobs(self.n_jobs)
        self._stream.deadline = self._deadline
        self._stream.tol = self.tol
        return self._stream

    def _run_update(
        self,
        name: str,
        stream: RowStream,
        max_steps: int | None = None,
        change: Callable[[], object] | None = None,
    ) -> Self:
        """Let rows change, and the stream catch up within the budget."""
        try:
            if change is not None:
                change()
            done = self._run_stream(stream, name, max_steps)
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

    def _prepare_left_out(self, indices: npt.ArrayLike | None) -> tuple[Any, IntArray]:
        """Return the stream at its end, and the places of training rows to leave out."""
        stream: Any = self._ready_stream()
        n = len(stream)
        chosen = np.arange(n) if indices is None else read_indices(indices, n)
        stream.check_removable(stream.rows.places[chosen])
        self._run_update("resume", stream)
        return stream, stream.rows.places[chosen]

    def _add(
        self,
        X: MatrixLike,
        y: VectorLike | None,
        sample_weight: VectorLike | None,
        *more: VectorLike | None,
    ) -> Self:
        """Add rows to a fitted model, for ``partial_fit``."""
        stream = self._ready_stream()
        new = self._read_new_rows(X, y, sample_weight, *more)
        return self._run_update("partial_fit", stream, self.max_steps, lambda: stream.add(**new))

    def _removal_options(self, indices: IntArray) -> dict[str, IntArray]:
        """Return further arguments of ``stream.remove``."""
        return {}

    # -- evaluating -------------------------------------------------------------------------------

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
        check_powers(function, X)
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

    # -- what others get --------------------------------------------------------------------------

    def _to_native(self, values: RowMatrix) -> Any:
        """Return an attribute as users see it.

        Arrays are of the same library as the training rows.
        """
        return values if self._backend is None else self._backend.array(values)

    def _cached_names_to_keep(self) -> Iterable[str]:
        """Names of values in ``_cache``, besides the solution, that have to stay when rows go."""
        return []

    def _values_to_keep(self) -> dict[str, Any]:
        """Return values by name that cannot be computed without the stream as it is now."""
        known = {
            name: self._fitted_values.peek(name, self._version)
            for name in self._cached_names_to_keep()
        }
        known = {name: value for name, value in known.items() if value is not None}
        return {**known, "solution": self._solution_now}

    # -- saving -----------------------------------------------------------------------------------

    def __getstate__(self) -> dict[str, Any]:
        """Return values and rows of one moment, which later changes of the model don't reach."""
        with lock_of(self):
            return self._state()

    def _state(self) -> dict[str, Any]:
        state = super().__getstate__()
        state = {name: v for name, v in state.items() if name not in ("_backend", "_deadline")}
        if self._cache is not None:
            state["_cache"] = self._cache_to_save()
        if self._stream is not None:
            state["_stream"] = self._stream.snapshot()
        return state

    def _cache_to_save(self) -> VersionedCache:
        """Without support vectors among the training rows: no row is held twice."""
        if self._stream is None:
            return self._fitted_values.copy()
        solution = self._values_to_keep()["solution"]
        return self._fitted_values.with_value("solution", solution.without_vectors())

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        if self._stream is None or self._cache is None:
            return
        solution = self._cache.peek("solution", self._version)
        with_vectors = solution.with_vectors(self._stream.training_rows().X)
        self._cache.store("solution", self._version, with_vectors)
