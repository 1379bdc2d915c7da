"""Operations of a semi-supervised SVM whose rows and labels keep coming."""

from __future__ import annotations

import warnings
from types import SimpleNamespace

import numpy as np
from sklearn.base import _fit_context
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_consistent_length, check_is_fitted

from ..gram import make_gram
from ._s3vm_batch import solve_batch
from ._s3vm_data import S3VMData, read_semi_labels
from ._s3vm_path import (
    S3VMStream,
    read_classes,
    read_indices,
    read_known_labels,
    stream_parameters,
)
from ._validation import check_weight

# What follows from the state of a path, made anew when asked for after an operation: the
# function, and what is said about it.
_FUNCTION = frozenset(
    "support_ support_vectors_ dual_coef_ intercept_ n_support_ n_iter_ history_ fit_status_ "
    "_bias _weights _center _float64 _decision_size".split()
)
_CERTIFICATE = frozenset(("objective_", "kkt_violation_", "transduction_"))

_NO_CLASSES = (
    "A stream can begin before both classes have a label: pass classes=[...] to the first "
    "partial_fit."
)


class StreamingMachine:
    """What an S3VM does besides ``fit``: add, forget and relabel rows, and start afresh."""

    @_fit_context(prefer_skip_nested_validation=True)
    def partial_fit(self, X, y=None, classes=None, sample_weight=None):
        """Add rows, labelled or not, and follow the minimum to where it moves.

        The first call on a new machine starts a stream: it fixes ``gamma_`` and, under the
        linear kernel, the centre. Until both classes have a label, rows are kept and f is
        constant: the sign of the only class labelled, 0 without labels.

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
        stream.add(rows, label, weight)
        return self._follow("partial_fit")

    def forget(self, indices):
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
        stream.remove(read_indices(indices, len(stream)))
        return self._follow("forget")

    def relabel(self, indices, y):
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
        stream.relabel(indices, label)
        return self._follow("relabel")

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
        return self._follow("resume", max_steps)

    def consolidate(self):
        """Train on all rows from scratch, and keep the better of both minima of (1).

        Training is by ``solver``; what it finds is made exact on the path.

        Returns
        -------
        bool
            Whether the new minimum is better and has replaced the old one.
        """
        stream = self._ready_stream()
        self._follow("resume", None)
        if not stream.ready:
            return False
        fresh, places = stream.fresh(self), stream.places
        if self.solver != "path":
            data = S3VMData(
                stream.kernel_rows(places), stream.label[places], stream.weight[places],
                self._gram, self.balance,
            )  # fmt: skip
            found = solve_batch(self, data, None)
            self._report_status(found.result, self.tol, stacklevel=3)
            fresh.start_from(found)
            fresh.iterations_before += found.result.n_iter
        fresh.begin()
        stream.mark_rebuilt()
        if fresh.certificate(fresh.now())[0] >= self.objective_:
            return False
        self._stream = fresh
        self.objectives_ = [] if self.solver == "path" else found.objectives
        self._forget_attributes()
        return True

    @property
    def consolidation_due_(self):
        return self._existing_stream().due

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
        return self._follow("partial_fit")

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

    def _follow(self, name, *budget):
        """Let the path catch up, within the budget."""
        stream = self._stream
        max_steps = budget[0] if budget else self.max_steps
        try:
            done = stream.run(max_steps)
        finally:
            self.shape_fit_ = (len(stream), self.n_features_in_)
            self._forget_attributes()
        if not done:
            warnings.warn(
                f"{name} stopped after max_steps={max_steps} steps of the path; predictions are "
                "those of the way so far. Call resume() to go on, or raise max_steps.",
                ConvergenceWarning,
                stacklevel=4 if name == "partial_fit" else 3,
            )
        return self

    def _forget_attributes(self):
        for name in _FUNCTION | _CERTIFICATE:
            self.__dict__.pop(name, None)

    def _store_path_function(self):
        stream = self._stream
        now, n = stream.now(), len(stream)
        known = np.concatenate([stream.places, stream.leaving])
        coef = now.coef[known]
        support = np.flatnonzero(coef)
        sample = known[support] if len(support) else known
        gram = make_gram(self._kernel, stream.kernel_rows(sample), dtype=np.float64)
        result = SimpleNamespace(
            history=stream.history,
            n_iter=stream.iterations_before + stream.n_steps,
            converged=stream.done,
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
