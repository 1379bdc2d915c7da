"""Operations of the convex machines: rows come and go, and the exact solution follows."""

from __future__ import annotations

import json
import warnings
from typing import Self

import numpy as np
from sklearn.base import _fit_context
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from ._convex_leave_out import decisions_without
from ._convex_path import ConvexPath
from ._held_rows import HeldRows, read_indices
from ._validation import check_rows, check_weight


class ConvexStreaming:
    """What a machine with one solution does besides ``fit``.

    ``_stream`` is None, a dict of plain values (see ``_hold``) until the first operation, or a
    ConvexPath from then on.
    """

    # Attributes that an operation changes: made anew when asked for.
    _SHOWN = frozenset(
        "support_ support_vectors_ dual_coef_ intercept_ n_support_ n_iter_ history_ fit_status_ "
        "objective_ duality_gap_ _center _float64 _decision_size".split()
    )
    # Parameters that an operation needs to be those of the fit.
    _FIXED: tuple[str, ...] = ("kernel", "gamma", "degree", "coef0")

    # -- public --------------------------------------------------------------------------------

    @_fit_context(prefer_skip_nested_validation=True)
    def partial_fit(self, X, y=None, sample_weight=None) -> Self:
        """Add rows and follow the solution: what ``fit`` on all rows would give.

        The first call on a new machine is ``fit``. ``gamma_`` stays what it is.

        Parameters
        ----------
        X : {array-like, sparse} of shape (n_samples, n_features)
            New rows. They become the last training rows.
        y : ignored
            For compatibility.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights; rows of weight <= 0 are left out.

        Returns
        -------
        self : estimator
        """
        if not self._is_begun():
            return self.fit(X, y, sample_weight)
        stream = self._ready_stream()
        rows, weight = self._read_new(X, sample_weight)
        stream.add(rows, weight, **self._values_of_new(stream, weight))
        return self._follow("partial_fit", stream, self.max_steps, stacklevel=4)

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
        stream.remove(stream.rows.places[read_indices(indices, len(stream))])
        return self._follow("forget", stream, self.max_steps)

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

    def leave_one_out_decisions(self, indices=None):
        """``decision_function`` of training rows by the machines trained without them, exactly.

        Every value belongs to the machine of all rows but one. Nothing is trained: a support
        vector is forgotten and put back, and any other row is as it is.

        Parameters
        ----------
        indices : array-like of int, mask of shape (n_samples,) or None, default=None
            Training rows; None for all.

        Returns
        -------
        ndarray of shape (n_indices,)
        """
        stream = self._ready_stream()
        n = len(stream)
        indices = np.arange(n) if indices is None else read_indices(indices, n)
        places = stream.rows.places[indices]
        stream.check_one_left_out(places)
        self._follow("resume", stream, None)
        return self._left_out(stream, places)

    def release_rows(self):
        """Let go of the training rows: no more updates, and pickles without them.

        A fitted machine holds its rows, by reference, and so does its pickle, as an update needs
        them. Without them a pickle is about as large as the support vectors.

        Returns
        -------
        self : estimator
        """
        check_is_fitted(self)
        if self.fit_status_ and isinstance(self._stream, ConvexPath):
            raise ValueError("an operation is on its way; call resume() before release_rows().")
        self._stream = None
        self.__dict__.pop("_then", None)
        self.__dict__.pop("_before", None)
        return self

    # -- rows that are held ----------------------------------------------------------------------

    def _hold(self, X, weight, multiplier, **values):
        """Keep what an update needs of a fit: rows by reference, weights, the multiplier.

        ``X`` and ``values`` of all rows, ``weight`` of those that count.
        """
        self._stream = None
        if self.kernel == "precomputed":
            return
        if self._kept is not None:
            weight = _spread(1.0 if weight is None else weight, self._kept, X.shape[0])
        self._stream = {
            "parameters": {name: getattr(self, name) for name in self._FIXED},
            "X": X,
            "weight": weight,
            "multiplier": float(multiplier),
            **values,
        }

    def _all_rows(self, X, given):
        """All rows of a fit; X are those that count."""
        return X if self._kept is None else check_rows(self, given, reset=False)

    def _is_begun(self):
        return self.__dict__.get("_stream") is not None or "dual_coef_" in self.__dict__

    def _read_new(self, X, sample_weight):
        """Validated new rows and their weights, 0 for those that are left out."""
        rows = self._rows_to_score(X)
        weight, kept = check_weight(sample_weight, rows)
        kept = slice(None) if kept is None else kept
        return rows, _spread(1.0 if weight is None else weight, kept, rows.shape[0])

    def _values_of_new(self, stream, weight):
        """Numbers of new rows, by name, that the machine holds beside their weights."""
        return {}

    def _ready_stream(self):
        """The rows and their path."""
        check_is_fitted(self)
        if self.kernel == "precomputed":
            raise ValueError(
                "kernel='precomputed' cannot follow rows that come and go, for want of their "
                "kernel values; pass rows and a kernel or a callable."
            )
        stream = self.__dict__.get("_stream")
        if stream is None:
            raise ValueError(
                f"this {type(self).__name__} does not hold its training rows, as one that was "
                "saved without them; fit it again."
            )
        then = self._then if isinstance(stream, ConvexPath) else stream["parameters"]
        for name in self._FIXED:
            value = getattr(self, name)
            if value != then[name]:
                raise ValueError(
                    f"{name} was {then[name]!r} when the rows were fitted and is {value!r} now; "
                    "set it back, or fit again."
                )
        if isinstance(stream, ConvexPath):
            return stream
        n = stream["X"].shape[0]
        values = {k: v for k, v in stream.items() if k not in ("parameters", "multiplier")}
        weight = values.pop("weight")
        values["weight"] = np.ones(n) if weight is None else weight
        a = np.zeros(n)
        there = self.support_ >= 0
        a[self.support_[there]] = self._variables()[there]
        return self._make_path(HeldRows(**values), (a, stream["multiplier"]))

    def _variables(self):
        """The variables of the dual at the support vectors."""
        return self.dual_coef_[0]

    def _left_out(self, stream, places):
        """Decisions by machines without the rows; those of weight 0 have no part in any."""
        out = ~stream.takes()[places]
        values = np.empty(len(places))
        values[~out] = decisions_without(stream, places[~out])
        if out.any():
            values[out] = self._decided(stream.rows.rows(places[out]))
        return values

    def _decided(self, X):
        """Decisions about rows that are held."""
        return self.decision_function(X)

    # -- following -----------------------------------------------------------------------------

    def _follow(self, name, stream, max_steps, stacklevel=3):
        """Let the path catch up, within the budget."""
        if self.__dict__.get("_stream") is not stream:
            self._then = self._stream["parameters"]
            self._before = self.n_iter_, self.history_
            self._stream = stream
        try:
            done = stream.run(max_steps)
        finally:
            self.shape_fit_ = (len(stream), self.n_features_in_)
            for shown in self._SHOWN:
                self.__dict__.pop(shown, None)
        if not done:
            warnings.warn(
                f"{name} stopped after max_steps={max_steps} steps of the path; predictions are "
                "those of the way so far. Call resume() to go on, or raise max_steps.",
                ConvergenceWarning,
                stacklevel=stacklevel,
            )
        return self

    def __getattr__(self, name):
        if name in self._SHOWN and isinstance(self.__dict__.get("_stream"), ConvexPath):
            self._store_stream(self._stream)
            n_iter, history = self._before
            self.n_iter_ = n_iter + self._stream.n_steps
            self.history_ = history + self.history_
            if name in self.__dict__:
                return self.__dict__[name]
        return super().__getattribute__(name)

    def _number(self, numbers):
        """Let ``support_`` count rows as users do."""
        n = self.shape_fit_[0]
        self._kept = None if np.array_equal(numbers, np.arange(n)) else numbers

    # -- saving ----------------------------------------------------------------------------------

    def __getstate__(self):
        """Plain values: the rows, and what the machine shows. A path begins anew from these."""
        stream = self.__dict__.get("_stream")
        if not isinstance(stream, ConvexPath):
            return super().__getstate__()
        self.support_  # noqa: B018
        state = super().__getstate__().copy()
        state["_stream"] = stream.state(self._then)
        del state["_then"], state["_before"]
        return state

    def _stream_state(self):
        """The rows as plain values; see ``_stream_state.py``."""
        stream = self._stream
        state = stream.state(self._then) if isinstance(stream, ConvexPath) else stream
        return {**state, "history": json.dumps(self.history_, default=float)}

    def _restore_stream(self, state):
        self._stream = {name: value for name, value in state.items() if name != "history"}


def _spread(weight, kept, n):
    """Weights of all rows, 0 for those that are left out."""
    everywhere = np.zeros(n)
    everywhere[kept] = weight
    return everywhere
