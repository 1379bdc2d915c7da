"""What a fit has left, how it changes and is saved: values of one moment, and perhaps the rows."""

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from copy import deepcopy
from dataclasses import replace
from functools import partial
from operator import attrgetter
from typing import Any, ParamSpec, Self, TypeVar, cast

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from .._typing import IntArray, MatrixLike, RowMatrix, VectorLike
from .._util.available import available_if
from .._util.deadline import ENDLESS, Deadline
from .._util.threads import resolve_n_jobs
from .._util.warn import warn
from ..kernels import KernelLike, kind_of
from ..rows.device.backend import ArrayBackend
from ..rows.row_store import read_indices
from .locking import consistent, exclusive, lock_of
from .solution import RowStream, RunnableStream, Solution, TrainingRows
from .status import warn_of_rounding
from .versioned_cache import VersionedCache

T = TypeVar("T")
P = ParamSpec("P")


def solution_attr(name: str) -> property:
    """Return an attribute that has one of the values in the model's ``Solution``."""
    return property(lambda model: getattr(model._solution_now, name))


def native_attr(name: str) -> property:
    """Return such an attribute for an array, as one of the library that the rows came from."""
    return property(lambda model: model._to_native(getattr(model._solution_now, name)))


class FittedEstimator(BaseEstimator):
    """An estimator whose fit leaves a ``Solution``, which its attributes show.

    Whatever else follows from a fit is kept in ``_cache``, by name, and computed when asked for.
    Threads may use one model together: what that takes is in ``locking.py``.

    One that can be updated also hands a stream of its rows (``base/stream.py``) to
    ``_attach_stream``. The stream does nothing until the first operation. ``_read_new_rows``
    returns the arguments of ``stream.add`` for rows that users pass, and
    ``_describe_solution`` the ``Solution`` for the stream's present state.
    """

    # What estimators declare, and a fit sets.
    kernel: KernelLike
    max_time: float | None
    n_jobs: int | None
    tol: float
    n_features_in_: int
    # Of the call that is on its way.
    _deadline = ENDLESS
    # What a fit has left, and what has been computed from it; None before the first.
    _cache: VersionedCache | None = None
    # Parameters that must be as at the fit for an operation, and what they were.
    _FIXED: tuple[str, ...] = ("kernel", "gamma", "degree", "coef0")
    _fixed: dict[str, Any] = {}  # noqa: RUF012
    # The rows and their path; None when they are not held.
    _stream: RowStream | None = None
    # The ``ArrayBackend`` of the rows of the fit, if they computed where they are.
    _backend: ArrayBackend | None = None
    # The ``Solution`` where the stream stands, and arguments to add rows to it; None for models
    # that can't be updated.
    _describe_solution: Callable[[], Solution] | None = None
    _read_new_rows: Callable[..., dict[str, Any]] | None = None

    # -- updates ---------------------------------------------------------------------------------

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

    # -- copies ----------------------------------------------------------------------------------

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

    # -- what a fit has found --------------------------------------------------------------------

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

    # -- its values ------------------------------------------------------------------------------

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
        return self._get_value("solution", self._solution_of_stream) if found is None else found

    def _solution_of_stream(self) -> Solution:
        assert self._describe_solution is not None
        return self._describe_solution()

    # -- calls that change the model -------------------------------------------------------------

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

    # -- rows that come and go -------------------------------------------------------------------

    _is_updatable = property(lambda self: self._read_new_rows is not None)

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
        assert self._read_new_rows is not None
        new = self._read_new_rows(X, y, sample_weight, *more)
        return self._run_update("partial_fit", stream, self.max_steps, lambda: stream.add(**new))

    def _removal_options(self, indices: IntArray) -> dict[str, IntArray]:
        """Return further arguments of ``stream.remove``."""
        return {}

    # -- what others get -------------------------------------------------------------------------

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

    # -- saving ----------------------------------------------------------------------------------

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
