"""Rows that come and go, and the path that follows them."""

from functools import partial
from operator import attrgetter
from typing import Any, Self

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from ..._available import available_if
from ..._threads import resolve_n_jobs
from ..._warn import warn
from ...streams.rows import read_indices
from ..locking import consistent, one_at_a_time
from .values import FittedValues


class Updates(FittedValues):
    """Updates of an estimator that hands a stream of its rows to ``_hold``.

    The stream (see ``fewlabels.streams``) does nothing until the first operation. A ``_read_new``
    gives the arguments of ``stream.add`` for rows that users pass, and ``_describe`` the
    ``Solution`` where the stream stands.
    """

    _read_new: Any = None
    # What estimators declare, and a fit sets.
    n_jobs: Any
    n_features_in_: int

    _is_updatable = property(lambda self: self._read_new is not None)

    def _catch_up(self, stream, name, max_steps):
        """Let the stream follow its rows; whether it is at its end."""
        return stream.run(max_steps)

    @property
    def holds_rows_(self):
        self._check_is_fitted()
        return self._stream is not None

    @property
    @consistent
    def training_rows_(self):
        self._check_is_fitted()
        return None if self._stream is None else self._stream.training_rows()

    @property
    @consistent
    def is_caught_up_(self):
        """Whether all updates are complete, none of them cut short by a limit."""
        self._check_is_fitted()
        return self._stream is None or self._stream.done

    def _ready_stream(self):
        """The stream, for an operation that is possible."""
        self._check_is_fitted()
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
        self._stream.cache_size = self._cache_bytes
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

    @available_if(attrgetter("_is_updatable"))
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

    @available_if(attrgetter("_is_updatable"))
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

    @available_if(attrgetter("_is_updatable"))
    @one_at_a_time
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
        self._keep(**values)
        return self
