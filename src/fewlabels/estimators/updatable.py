"""Machines whose training rows come and go: one front end over a stream of rows."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Self

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from .._threads import resolve_n_jobs
from .._warn import warn
from ..streams.rows import read_indices
from .kernel_machine import KernelMachine


class UpdatableMachine(KernelMachine):
    """A kernel machine that may hold a stream of its rows (see ``fewlabels.streams``).

    A stream is made by ``fit`` (``_hold``) and does nothing until the first operation. A machine
    says how new rows are read (``_read_new``) and what it is where its stream stands
    (``_describe``); it may add to ``_catch_up`` and to ``_remembered``.
    """

    # The rows and their path; None when they are not held.
    _stream: Any = None
    # Parameters that an operation needs to be those of the fit, and what they were.
    _FIXED: tuple[str, ...] = ("kernel", "gamma", "degree", "coef0")
    _fixed: dict = {}  # noqa: RUF012

    # -- what a machine fills in -----------------------------------------------------------------

    def _read_new(self, X, y, sample_weight) -> dict:
        """Arguments of ``stream.add`` for rows that users pass, checked."""
        raise NotImplementedError

    def _catch_up(self, stream, name, max_steps):
        """Let the stream follow its rows; whether it is at its end."""
        return stream.run(max_steps)

    def _remembered(self):
        """Names of values in ``_late``, besides the solution, that have to stay when rows go."""
        return []

    # -- rows that are held ----------------------------------------------------------------------

    def _hold(self, stream):
        """Hold a stream from now on, or none (None)."""
        self._stream = stream
        self._fixed = {name: getattr(self, name) for name in self._FIXED}

    @property
    def _version(self):
        return 0 if self._stream is None else self._stream.version

    @property
    def holds_rows_(self):
        check_is_fitted(self)
        return self._stream is not None

    @property
    def training_rows_(self):
        check_is_fitted(self)
        return None if self._stream is None else self._stream.training_rows()

    @property
    def is_caught_up_(self):
        """Whether no operation that ``max_steps`` cut short is still on its way."""
        check_is_fitted(self)
        return self._stream is None or self._stream.done

    def _ready_stream(self):
        """The stream, for an operation that is possible."""
        check_is_fitted(self)
        if self.kernel == "precomputed":
            raise ValueError(
                "kernel='precomputed' cannot follow rows that come and go, for want of their "
                "kernel values; pass rows and a kernel or a callable."
            )
        if self._stream is None:
            raise ValueError(
                f"this {type(self).__name__} does not hold its training rows, as one that was "
                "saved without them; fit it again."
            )
        for name, then in self._fixed.items():
            value = getattr(self, name)
            if value != then:
                raise ValueError(
                    f"{name} was {then!r} when the rows were fitted and is {value!r} now; set it "
                    "back, or fit again."
                )
        self._stream.cache_size = self.cache_size * 1e6
        self._stream.n_jobs = resolve_n_jobs(self.n_jobs)
        return self._stream

    def _follow(self, name, stream, max_steps=None, change=None):
        """Let rows change, and the stream catch up within the budget."""
        if change is not None:
            change()
        try:
            done = self._catch_up(stream, name, max_steps)
        finally:
            self.shape_fit_ = (len(stream), self.n_features_in_)
        if not done:
            warn(
                f"{name} stopped after max_steps={max_steps} steps of the path; predictions are "
                "those of the way so far. Call resume() to go on, or raise max_steps.",
                ConvergenceWarning,
            )
        return self

    # -- operations ------------------------------------------------------------------------------

    def _add(self, X, y, sample_weight):
        """What ``partial_fit`` does on a machine that has been fitted."""
        stream = self._ready_stream()
        new = self._read_new(X, y, sample_weight)
        return self._follow("partial_fit", stream, self.max_steps, lambda: stream.add(**new))

    def forget(self, indices) -> Self:
        """Remove training rows, as if they had never been there.

        Parameters
        ----------
        indices : array-like of int, or mask of shape (n_samples,)
            Training rows. The others keep their order and are numbered anew.

        Returns
        -------
        self : estimator
        """
        stream = self._ready_stream()
        indices = read_indices(indices, len(stream))
        return self._follow("forget", stream, self.max_steps, lambda: stream.remove(indices))

    def resume(self, max_steps=None) -> Self:
        """Go on with operations that ``max_steps`` cut short.

        Parameters
        ----------
        max_steps : int or None, default=None
            Limit on the steps of this call; None for none.

        Returns
        -------
        self : estimator
        """
        return self._follow("resume", self._ready_stream(), max_steps)

    def release_rows(self) -> Self:
        """Let go of the training rows: no more updates, and pickles without them.

        A fitted machine holds a copy of its rows, and so does its pickle, as an update needs
        them. Without them a pickle is about as large as the support vectors.

        Returns
        -------
        self : estimator
        """
        check_is_fitted(self)
        if self._stream is not None and not self._stream.done:
            raise ValueError("an operation is on its way; call resume() before release_rows().")
        values = self._values_to_keep()
        self._stream = None
        self._keep(**values)
        return self

    def _values_to_keep(self):
        """Values by name that cannot be computed without the stream as it is now."""
        names = self._remembered()
        solution = self._found
        known = {name: self._late.known(name, self._version) for name in names}
        known = {name: value for name, value in known.items() if value is not None}
        return {**known, "solution": solution}

    # -- saving ----------------------------------------------------------------------------------

    def __getstate__(self):
        """Values and plain rows. No row twice: support vectors among them are left out."""
        state = dict(super().__getstate__())
        if self._stream is not None and self._late is not None:
            self._values_to_keep()
            solution = self._found
            if np.all(solution.support >= 0):
                function = replace(solution.function, vectors=solution.function.vectors[:0])
                state["_late"] = self._late.with_value(
                    "solution", replace(solution, function=function)
                )
        return state

    def __setstate__(self, state):
        super().__setstate__(state)
        if self._stream is None or self._late is None:
            return
        solution = self._late.known("solution", self._version)
        function = solution.function
        if function.vectors.shape[0] < len(solution.support):
            vectors = self._stream.training_rows().X[solution.support]
            function = replace(function, vectors=vectors)
            self._late.put("solution", self._version, replace(solution, function=function))
