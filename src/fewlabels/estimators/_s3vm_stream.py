"""Operations of a semi-supervised SVM whose rows and labels keep coming."""

from __future__ import annotations

import warnings
from contextlib import suppress
from numbers import Integral, Real
from types import SimpleNamespace
from typing import Any, Self

import numpy as np
from sklearn.base import _fit_context
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_consistent_length, check_is_fitted

from ..gram import PrecomputedGram, make_gram
from . import _s3vm_begin
from ._held_rows import read_indices
from ._s3vm_branch import add_by_branching, train, warn_of_training
from ._s3vm_data import read_semi_labels
from ._s3vm_path import S3VMStream
from ._s3vm_reading import read_classes, read_known_labels, stream_parameters
from ._validation import check_weight

# What rounding may do to a path.
_BREAKDOWNS = (ArithmeticError, np.linalg.LinAlgError)

# What follows from the state of a path, made anew when asked for after an operation: the
# function, and what is said about it.
_FUNCTION = frozenset(
    "support_ support_vectors_ dual_coef_ intercept_ n_support_ n_iter_ history_ fit_status_ "
    "_bias _weights _center _float64 _decision_size shape_fit_".split()
)
_CERTIFICATE = frozenset(("objective_", "kkt_violation_", "transduction_"))

# Multiply-adds per kernel value from which training holds all values, if there is room.
_WORTH_HOLDING = 48
# Ways to a minimum from scratch. Which of them consolidate takes depends on the solver; row by
# row costs too much with more rows than this.
_FEW_ROWS = 2000
_STRATEGIES = ("batch", "C_star", "row-by-row")
_OF_SOLVER = {"auto": _STRATEGIES, "path": _STRATEGIES[1:]}
# Relative: a lower objective.
_LOWER = 1e-9

_NO_CLASSES = (
    "A stream can begin before both classes have a label: pass classes=[...] to the first "
    "partial_fit."
)


class StreamingMachine:
    """What an S3VM does besides ``fit``: add, forget and relabel rows, and start afresh."""

    _stream: Any

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
        if not self._is_begun():
            return self._begin_stream(X, y, classes, sample_weight)
        stream = self._ready_stream()
        if classes is not None and not np.array_equal(
            read_classes(classes, self.unlabeled), self.classes_
        ):
            raise ValueError(
                f"classes={list(classes)} are not those of the first rows, "
                f"{self.classes_.tolist()}; leave classes away, or fit again."
            )
        rows = self._rows_to_score(X)
        weight, left_out = check_weight(sample_weight, rows)
        label = read_known_labels(y, rows.shape[0], self.classes_, self.unlabeled)
        self._refuse_left_out(left_out)
        if self.solver == "branch-and-bound":
            return add_by_branching(self, rows, label, weight)
        return self._follow("partial_fit", lambda: stream.add(rows, label, weight))

    def forget(self, indices) -> Self:
        """Remove training rows, as if they had never been there.

        Parameters
        ----------
        indices : array-like of int, or mask of shape (n_samples,)
            Training rows. The others keep their order and are numbered anew.

        Returns
        -------
        self : S3VM
        """
        stream = self._ready_stream()
        indices = read_indices(indices, len(stream))
        return self._follow("forget", lambda: stream.remove(indices))

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
        return self._follow("relabel", lambda: stream.relabel(indices, label))

    def reprice(self, C=None, C_star=None):
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

        def register():
            stream.reprice(C, C_star)
            self.C, self.C_star = C, C_star

        return self._follow("reprice", register)

    def resume(self, max_steps=None):
        """Go on with operations that ``max_steps`` cut short.

        Parameters
        ----------
        max_steps : int or None, default=None
            Limit on the steps of this call; None for none.

        Returns
        -------
        self : S3VM
        """
        self._ready_stream()
        if max_steps is not None and not (isinstance(max_steps, Integral) and max_steps >= 1):
            raise ValueError(f"max_steps={max_steps!r}: pass a whole number >= 1, or None.")
        return self._follow("resume", None, max_steps)

    def widen(self, n_features):
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
        self._follow("resume", None, None)
        self._forget_attributes()
        try:
            stream.widen(int(n_features))
        finally:
            self.n_features_in_, self._shift = stream.n_columns, stream.shift
        return self._follow("widen", None)

    def _held_gram(self, X):
        """K over rows, all at once where that is cheaper: training solves many problems."""
        gram = self._gram(X)
        if gram.value_cost < _WORTH_HOLDING or 8 * gram.n**2 > 1e6 * self.cache_size:
            return gram
        held = PrecomputedGram(gram.block(np.arange(gram.n)), gram.n_jobs)
        held.n_values = gram.n_values
        return held

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
            strategies = _OF_SOLVER.get(self.solver, _STRATEGIES[:1])
            if self.solver == "auto" and len(stream) > _FEW_ROWS:
                strategies = strategies[:-1]
        elif isinstance(strategies, str) or not set(strategies) <= set(_STRATEGIES):
            raise ValueError(
                f"strategies={strategies!r} are not known; pass some of {list(_STRATEGIES)}."
            )
        self._follow("resume", None, None)
        if not stream.ready:
            return False
        best, lowest = None, self.objective_ - _LOWER * abs(self.objective_)
        for name in strategies:
            fresh = stream.fresh(self)
            try:
                objectives = self._train(fresh, name)
            except _BREAKDOWNS:
                continue
            value = fresh.certificate(fresh.now())[0]
            if value < lowest:
                best, lowest = (fresh, objectives), value
        if best is None:
            stream.mark_rebuilt()
            return False
        self._forget_attributes()
        self._stream, self.objectives_ = best
        return True

    def _train(self, fresh, strategy):
        """Begin a stream without a path; the objectives of its batch training."""
        if strategy == "batch":
            found = self._train_batch(fresh)
            fresh.begin()
            return found.objectives
        by_C_star = strategy == "C_star"
        fresh.begin(_s3vm_begin.by_C_star if by_C_star else _s3vm_begin.row_by_row)
        return []

    def _train_batch(self, stream, signs_before=None):
        """Let the path of a stream start from batch training."""
        data = stream.data(stream.kernel_rows(stream.places), self._held_gram)
        found = train(self, data, None, signs_before)
        stream.start_from(found)
        stream.iterations_before += found.result.n_iter
        stream.history_before = stream.history_before + found.result.history
        warn_of_training(self, found, stacklevel=5)
        return found

    @property
    def consolidation_due_(self):
        return self._existing_stream().due

    @property
    def _given_labels(self):
        """+1 or -1 for training rows with a label, 0 for the others."""
        stream = self._existing_stream()
        return stream.label[stream.places].astype(np.int8)

    @property
    def n_steps_(self):
        return self._existing_stream().n_steps

    @property
    def n_flips_(self):
        return self._existing_stream().n_flips

    def __getattr__(self, name):
        if self.__dict__.get("_stream") is not None:
            if name in _FUNCTION:
                self._store_path_function()
            elif name in _CERTIFICATE:
                self._store_path_certificate()
            if name in self.__dict__:
                return self.__dict__[name]
        return super().__getattribute__(name)

    # -- the stream ----------------------------------------------------------------------------

    def _is_begun(self):
        return self.__dict__.get("_stream") is not None or "dual_coef_" in self.__dict__

    def _begin_stream(self, X, y, classes, sample_weight):
        self._refuse_precomputed()
        if classes is None:
            if y is None:
                raise ValueError(_NO_CLASSES)
            try:
                label, classes, doubtful = read_semi_labels(y, self.unlabeled)
            except ValueError as error:
                raise ValueError(f"{error} {_NO_CLASSES}") from None
            if doubtful:
                self._warn_doubtful(classes)
        else:
            classes, label = read_classes(classes, self.unlabeled), None
        rows, weight = self._prepare(X, sample_weight)
        self._refuse_left_out(self._kept)
        if label is None:
            label = read_known_labels(y, rows.shape[0], classes, self.unlabeled)
        check_consistent_length(rows, label)
        self._centred(rows)
        stream = S3VMStream(self, rows, label, weight)
        stream.check()
        self.classes_, self._stream, self.objectives_ = classes, stream, []
        return self._follow("partial_fit", None)

    def _existing_stream(self):
        stream = self.__dict__.get("_stream")
        if stream is None:
            raise AttributeError(
                f"this {type(self).__name__} has no stream: fit it on rows of weight > 0, with a "
                "kernel that is not precomputed, or call partial_fit."
            )
        return stream

    def _ready_stream(self):
        """The stream, its path begun if that is possible."""
        check_is_fitted(self)
        self._refuse_precomputed()
        self._refuse_left_out(self.__dict__.get("_kept"))
        stream = self.__dict__.get("_stream")
        if stream is None:
            raise ValueError(
                f"this {type(self).__name__} does not hold its training rows, as one that was "
                "saved without them; fit it again."
            )
        for name, value in stream_parameters(self).items():
            then = stream.machine_parameters[name]
            if value != then:
                raise ValueError(
                    f"{name} was {then!r} when the rows were fitted and is {value!r} now; set it "
                    "back, or fit again."
                )
        if stream.start is not None:
            with suppress(*_BREAKDOWNS):  # the operation will try again
                stream.begin()
                self._forget_attributes()
        return stream

    @staticmethod
    def _warn_doubtful(classes):
        warnings.warn(
            f"y has two values only, {classes[0]} and {classes[1]}: both are taken for classes "
            "and no row for unlabelled. Pass unlabeled=None to say so, or NaN for unlabelled "
            "rows.",
            UserWarning,
            stacklevel=5,
        )

    def _refuse_precomputed(self):
        if self.kernel == "precomputed":
            raise ValueError(
                "kernel='precomputed' cannot follow rows that come and go, for want of their "
                "kernel values; pass rows and a kernel or a callable, or use solver='cccp'."
            )

    def _refuse_left_out(self, kept):
        if kept is not None:
            raise ValueError(
                "sample_weight leaves out rows of weight <= 0, which a path cannot hold; "
                "leave these rows out of X."
            )

    def _follow(self, name, register, *budget):
        """Register what changes, and let the path catch up within the budget.

        Attributes are dropped first, so that they are those of the stream wherever it is
        interrupted.
        """
        stream = self._stream
        max_steps = budget[0] if budget else self.max_steps
        self._forget_attributes()
        if register is not None:
            register()
            self._lower_bound = None
        try:
            if stream.path is None and stream.start is None and stream.ready:
                if self.solver != "path":
                    self.objectives_ = self._train_batch(stream).objectives
                    stream.mark_rebuilt()
            done = stream.run(max_steps)
        except _BREAKDOWNS as error:
            done = self._train_again(name, error)
        if not done:
            warnings.warn(
                f"{name} stopped after max_steps={max_steps} steps of the path; predictions are "
                "those of the way so far. Call resume() to go on, or raise max_steps.",
                ConvergenceWarning,
                stacklevel=4 if name == "partial_fit" else 3,
            )
        elif rough := self._stream.lost_to_rounding(self.tol):
            warnings.warn(
                f"{name} ended at a KKT violation of {rough:.3g}: kernel values are so large that "
                "rounding hides the minimum. Scale the columns, and look for odd values.",
                ConvergenceWarning,
                stacklevel=4 if name == "partial_fit" else 3,
            )
        return self

    def _train_again(self, name, error):
        """After a breakdown: a minimum from the last signs, or else from scratch.

        Should no path begin there either, the batch solution stands until the next operation.
        """
        stream = self._stream
        warnings.warn(
            f"the path broke down during {name} ({error}); trained again from its last state, by "
            f"batch training. Scaling the columns may prevent this.",
            ConvergenceWarning,
            stacklevel=5 if name == "partial_fit" else 4,
        )
        signs = [None]
        if stream.start is not None:
            last = np.zeros(stream.held.n_places)
            last[: len(stream.start["sign"])] = stream.start["sign"]
            signs = [last[stream.places], None]
        for sign in signs:
            found = self._train_batch(stream, sign)
            self.objectives_, stream.done = found.objectives, found.result.converged
            with suppress(*_BREAKDOWNS):
                stream.begin()
                break
        return True

    def _forget_attributes(self):
        for name in _FUNCTION | _CERTIFICATE:
            self.__dict__.pop(name, None)

    def _store_path_function(self):
        stream = self._stream
        now, n = stream.now(), len(stream)
        self.shape_fit_ = (n, self.n_features_in_)
        known = np.concatenate([stream.places, stream.leaving])
        coef = now.coef[known]
        support = np.flatnonzero(coef)
        sample = known[support] if len(support) else known
        gram = make_gram(self._kernel, stream.kernel_rows(sample), dtype=np.float64)
        result = SimpleNamespace(
            history=stream.history,
            n_iter=stream.iterations_before + stream.n_steps,
            converged=stream.done and not stream.lost_to_rounding(self.tol),
        )
        self._store_function(stream.rows(known), coef, result, gram)
        self._store_bias(-now.multiplier)
        self.support_[self.support_ >= n] = -1  # on their way out
        label = stream.label[known][support]
        self.n_support_ = np.array([np.sum(label < 0), np.sum(label > 0)], dtype=np.int32)

    def _store_path_certificate(self):
        stream = self._stream
        now, places = stream.now(), stream.places
        waiting = places[np.isnan(now.f[places])]
        if len(waiting):
            now.f[waiting] = self._decision(stream.rows(waiting))
        self.objective_, self.kkt_violation_ = stream.certificate(now)
        given = stream.label[places]
        is_positive = np.where(given, given, self._snapped(now.f[places])) > 0
        self.transduction_ = self.classes_[is_positive.astype(np.intp)]
