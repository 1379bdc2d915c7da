"""What a fit has left: values, each of one moment, and how they are kept and saved."""

from contextlib import contextmanager
from copy import deepcopy
from dataclasses import replace
from typing import Any, Self

from sklearn.base import BaseEstimator
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from ..._deadline import ENDLESS, Deadline
from ..._warn import warn
from ...fitted import Late
from ...kernels import kind_of
from .. import earlier
from ..locking import lock_of


def shown(name):
    """An attribute that shows one of the values in the model's ``Solution``."""
    return property(lambda model: getattr(model._found, name))


def shown_there(name):
    """The same of an array, which is one of the library that the rows of the fit were of."""
    return property(lambda model: model._there(getattr(model._found, name)))


class FittedValues(BaseEstimator):
    """An estimator whose fit leaves a ``Solution``, which its attributes show.

    Whatever else follows from a fit is kept in ``_late``, by name, and computed when asked for.
    Threads may use one model together: what that takes is in ``locking.py``.
    """

    kernel: Any
    max_time: Any
    # Of the call that is on its way.
    _deadline = ENDLESS
    # What a fit has left, and what has been computed from it; None before the first.
    _late: Late | None = None
    # Parameters that must be as at the fit for an operation, and what they were.
    _FIXED: tuple[str, ...] = ("kernel", "gamma", "degree", "coef0")
    _fixed: dict = {}  # noqa: RUF012
    # The rows and their path; None when they are not held.
    _stream: Any = None
    # The ``ArrayBackend`` of the rows of the fit, if they computed where they are.
    _backend: Any = None
    # The ``Solution`` where the stream stands.
    _describe: Any = None

    def __sklearn_is_fitted__(self):
        return self._late is not None

    def _check_is_fitted(self):
        """Refuse a model that isn't fitted: scikit-learn's check, which is slow where one is."""
        if self._late is None:
            check_is_fitted(self)

    def _keep(self, solution, **values):
        """Make a ``Solution`` what the model shows, and other values known from the start."""
        values = {"solution": solution, **values}
        self._late = Late({name: (self._version, value) for name, value in values.items()})

    def _hold(self, stream):
        """Hold a stream from now on, or none (None)."""
        self._stream = stream
        if self._backend is not None:
            self._backend = None
        self._fixed = {name: getattr(self, name) for name in self._FIXED}
        if not isinstance(self.kernel, str) and kind_of(self.kernel).learns:
            self._fixed["kernel"] = replace(self.kernel)  # it can change

    @property
    def _version(self):
        """Of what values are computed from: another number when rows have changed."""
        return 0 if self._stream is None else self._stream.version

    def _computed(self, name, make):
        """A value as of now; one thread computes it, if need be."""
        with lock_of(self):
            self._check_is_fitted()
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

    # -- calls that change the model ------------------------------------------------------------

    def _within_time(self, method, *args, **kwargs):
        """Call a function that has until ``max_time`` is over, and say what that cut short."""
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
    def _fitted_or_not(self, *, interrupted=False):
        """What is refused within leaves no model; nor does Ctrl-C, if so ``interrupted``."""
        try:
            yield
        except BaseException as error:
            if interrupted or isinstance(error, Exception):
                self._hold(None)
                self._late = None
            raise

    # -- what others get ------------------------------------------------------------------------

    def _there(self, values):
        """An attribute as users see it: an array of the same library as the training rows."""
        return values if self._backend is None else self._backend.array(values)

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
        """The fitted model as it is now, without training rows; later updates don't change it.

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
        late = Late({name: (0, value) for name, value in values.items()})
        BaseEstimator.__setstate__(other, {**state, "_stream": None, "_late": late})
        return other

    def _remembered(self):
        """Names of values in ``_late``, besides the solution, that have to stay when rows go."""
        return []

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
        state = {name: v for name, v in state.items() if name not in ("_backend", "_deadline")}
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
        super().__setstate__(earlier.upgraded(type(self), state))
        if self._stream is None or self._late is None:
            return
        solution = self._late.known("solution", self._version)
        with_vectors = solution.with_vectors(self._stream.training_rows().X)
        self._late.put("solution", self._version, with_vectors)
