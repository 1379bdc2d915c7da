"""Rows, labels and costs of an S3VM that change, and the attributes that follow from them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from numbers import Integral
from typing import Any, NoReturn, Self

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_consistent_length

from .._typing import (
    AnyArray,
    ClassesLike,
    FloatArray,
    IntArray,
    MatrixLike,
    RowMatrix,
    VectorLike,
)
from .._util.threads import resolve_n_jobs
from .._util.warn import warn
from ..base.kernel_estimator import VersionedCache
from ..base.locking import consistent, exclusive, fitting
from ..base.solution import Certificate, RowStream, Solution
from ..base.two_classes import TwoClassEstimator
from ..calibration.cross_fitting import Sample
from ..data.labels.arrays import check_classes
from ..data.labels.semi_supervised import read_classes, read_known_labels, read_semi_labels
from ..kernels.rows import find_shift
from ..rows.memory import MemorySource
from ..rows.row_store import read_indices
from ..rows.validation import check_weight, fit_rows
from . import arguments
from .branching import PROVEN, describe_early_stops
from .class_path import PathOptions
from .consolidation import Consolidation, cheap_strategies, read_strategies
from .problem import SemiSupervised
from .stream import S3VMStream
from .updater import TrainingRecord, Updater

_NO_CLASSES = (
    "To start before every class has a label, pass classes=[...] to the first partial_fit."
)


def _stream_attribute(name: str) -> property:
    """Return an attribute that only a model with a stream has."""

    @consistent
    def value(model: UpdatableS3VM) -> object:
        if model._stream is None:
            raise AttributeError(
                f"this {type(model).__name__} can't be updated; fit it on rows with weights > "
                "0 and a kernel that isn't precomputed, or call partial_fit."
            )
        return getattr(model._stream, name)

    return property(value)


class UpdatableS3VM(TwoClassEstimator):
    """The part of ``S3VM`` besides ``fit``: it checks arguments and delegates to objects.

    A stream (``S3VMStream``) holds rows and paths, an ``Updater`` lets these follow and trains,
    a ``Consolidation`` looks for better minima, and a ``Certifier`` describes where all stands.
    """

    # What S3VM declares, and a fit sets.
    C: float
    C_star: float
    path_order: str
    n_features_in_: int
    classes_: AnyArray
    class_ratio_: FloatArray | None
    class_ratio_interval_: FloatArray | None
    _means: list[float] | None
    _stream: S3VMStream | None
    # Objectives and bounds of batch trainings.
    _record = TrainingRecord(())
    # What the class ratio has added to f, if anything.
    _offset: float | FloatArray | None = None
    # Where there is no stream: what a curve is fitted to, and which rows these are.
    _sample: Sample | None = None
    _kept: IntArray | None = None

    # -- updates ---------------------------------------------------------------------------------

    @fitting
    def partial_fit(
        self,
        X: MatrixLike,
        y: VectorLike | None = None,
        classes: ClassesLike | None = None,
        sample_weight: VectorLike | None = None,
    ) -> Self:
        """Add rows, labelled or not, and follow the minimum to where it moves.

        The first call on a new model starts a stream: it fixes ``gamma_`` and, under the
        linear kernel, the centre. Until both classes have a label, rows are kept and f is
        constant: the sign of the only class labelled, 0 without labels. Once they have,
        the rows so far are trained on as by ``fit``. Of several classes, each so begins with its
        first label.

        Parameters
        ----------
        X : {array-like, sparse} of shape (n_samples, n_features)
            New rows. They become the last training rows.
        y : array-like of shape (n_samples,), default=None
            As in ``fit``; None when all rows are unlabelled.
        classes : array-like of shape (n_classes,), default=None
            All classes; needed by the first call on a new model when y does not have them. Later
            calls may add classes: their models begin on all rows, once they have a label.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights, > 0; under the balancing constraint equal over all unlabelled rows.
        """
        if self._cache is None:
            return self._begin(X, y, classes, sample_weight)
        stream = self._ready_stream()
        named = self.classes_ if classes is None else read_classes(classes, self.unlabeled)
        if set(self.classes_.tolist()) <= set(named.tolist()):
            new = self._read_new_rows(X, y, sample_weight, named)
            if len(named) > len(self.classes_):
                stream.check_new(new["label"], new["weight"])
                stream = self._with_classes(stream, named)
        else:
            check_classes(named, self.classes_)
        if self.solver == "branch-and-bound":
            return self._add_by_branching(stream, **new)
        return self._run_update("partial_fit", stream, self.max_steps, lambda: stream.add(**new))

    @exclusive
    def relabel(
        self, indices: VectorLike, y: VectorLike | None, classes: ClassesLike | None = None
    ) -> Self:
        """Give training rows a label, change it, or take it back.

        Parameters
        ----------
        indices : array-like of int, or mask of shape (n_samples,)
            Training rows.
        y : array-like of shape (n_indices,), a label, or None
            Labels as in ``fit``; missing or ``unlabeled`` takes a label back, None all.
        classes : array-like of shape (n_classes,), default=None
            All classes, where some of them are new.
        """
        stream = self._ready_stream()
        indices = read_indices(indices, len(stream))
        named = self.classes_ if classes is None else read_classes(classes, self.unlabeled)
        if not set(self.classes_.tolist()) <= set(named.tolist()):
            check_classes(named, self.classes_)
        label = read_known_labels(y, len(indices), named, self.unlabeled)
        if len(named) > len(self.classes_):
            stream = self._with_classes(stream, named)

        def change() -> None:
            stream.relabel(indices, label)

        return self._run_update("relabel", stream, self.max_steps, change)

    @exclusive
    def reprice(self, C: float | None = None, C_star: float | None = None) -> Self:
        """Move costs steadily to other values, and follow the minimum: a regularisation path.

        Parameters
        ----------
        C : float or None, default=None
            New cost of labelled rows, > 0; None leaves it.
        C_star : float or None, default=None
            New cost of unlabelled rows, >= 0; None leaves it.
        """
        stream = self._ready_stream()
        C = self.C if C is None else C
        C_star = self.C_star if C_star is None else C_star
        arguments.read_costs(C, C_star)

        def change() -> None:
            stream.reprice(C, arguments.cost_of_unlabelled(C_star, len(self.classes_)))
            self.C, self.C_star = C, C_star
            self._fixed = {**self._fixed, "C": C, "C_star": C_star}

        return self._run_update("reprice", stream, self.max_steps, change)

    @exclusive
    def widen(self, n_features: int) -> Self:
        """Give the rows more features, which are 0 for all rows so far.

        f stays the same, for kernels of inner products and of distances alike. The path is
        begun again, which takes a product with the kernel columns of the support vectors.

        Parameters
        ----------
        n_features : int
            Number of features from now on, at least as many as before.
        """
        stream = self._ready_stream()
        if not isinstance(n_features, Integral):
            raise ValueError(
                f"n_features={n_features!r} is not a number of features; pass an int."
            )
        if n_features < self.n_features_in_ or hasattr(self, "feature_names_in_"):
            raise ValueError(
                f"widen({n_features}) is not possible for rows of {self.n_features_in_} features"
                f"{' with names' if hasattr(self, 'feature_names_in_') else ''}; it adds features "
                "without names."
            )
        self._run_update("resume", stream)
        try:
            stream.widen(int(n_features))
        finally:
            self.n_features_in_ = stream.rows(stream.places[:0]).shape[1]
        return self._run_update("widen", stream, self.max_steps)

    @exclusive
    def consolidate(self, strategies: Sequence[str] | None = None) -> bool:
        """Look for a better minimum of (1) in several ways, and keep the best.

        Where the kernel has a graph ("manifold") and rows have come or gone since it was formed,
        the graph is rebuilt from the current rows, and the model is trained on all of
        them under that kernel first; ``gamma_`` stays. Values of (1) under two kernels are not
        compared.

        Parameters
        ----------
        strategies : sequence of str or None, default=None
            "anneal" lets C* go down to an eighth of its value and back, along the exact path from
            the current state: what costs least. The others train on all rows from scratch:
            "batch" as ``fit`` does. "one-sided" begins where all unlabelled rows are on the side
            of the more frequent label, at full C*. "C_star" lets C* grow from ``C_star / 512`` to
            its value along the exact path: some steps per row. "row-by-row" is the procedure of
            ``solver="path"``: an operation per row, and thus the slowest with many rows.
            None for all of them (``solver="auto"``; the last up to 2000 rows), all but "batch"
            ("path") or "batch".

        Returns
        -------
        bool
            Whether a better minimum than the present one was found, and has replaced it, or the
            graph was formed again.
        """
        stream = self._ready_stream()
        strategies = read_strategies(strategies, self.solver, len(stream))
        self._run_update("resume", stream)
        if not stream.ready:
            return False
        renewed = self._learns_kernel and self._renew_graph(stream)
        values = np.atleast_1d(self.objective_).tolist()
        with self._updating(stream) as updater:
            return Consolidation(updater).improve(values, strategies) or renewed

    # -- what a fit has found --------------------------------------------------------------------

    objective_ = property(lambda self: self._certified.objective)

    @property
    def duality_gap_(self) -> NoReturn:
        raise AttributeError(
            f"{type(self).__name__} has no duality gap, because the problem is not convex."
        )

    kkt_violation_ = property(lambda self: self._certified.violation)

    @property
    @consistent
    def transduction_(self) -> AnyArray:
        return self.classes_[self._certified.positive.astype(np.intp)]

    @property
    @consistent
    def training_decisions_(self) -> FloatArray:
        self._check_is_fitted()
        if self._stream is None:
            raise AttributeError(
                "training_decisions_ needs the training rows, which were released."
            )
        f = self._certifier().decisions_at(self._stream)
        ahead = np.isnan(f).reshape(len(f), -1).any(axis=1)  # the path has yet to reach them
        if ahead.any():
            rows = self.training_rows_
            assert rows is not None
            f[ahead] = self.decision_function(rows.X[ahead])
        return f

    consolidation_due_ = _stream_attribute("due")
    n_steps_ = _stream_attribute("n_steps")
    n_flips_ = _stream_attribute("n_flips")

    @property
    def objectives_(self) -> list[float] | list[list[float]]:
        objectives = self._record.objectives
        if not objectives:
            raise AttributeError(f"this {type(self).__name__} is not fitted; call fit first.")
        return objectives[0] if len(objectives) == 1 else list(objectives)

    @property
    def n_nodes_(self) -> int:
        if self._record.n_nodes is None:
            raise AttributeError("n_nodes_ is known after solver='branch-and-bound'.")
        return self._record.n_nodes

    @property
    @consistent
    def optimality_gap_(self) -> float | FloatArray:
        bound = self._record.bound
        if bound is None or np.isnan(bound).any():
            raise AttributeError(
                "optimality_gap_ is available after fit or consolidate with "
                "solver='branch-and-bound', until rows or labels change."
            )
        gap = self.objective_ - bound
        return gap * (gap > PROVEN * abs(self.objective_))

    @property
    def shape_fit_(self) -> tuple[int, int]:
        return self._shape if self._stream is None else (len(self._stream), self.n_features_in_)

    @shape_fit_.setter
    def shape_fit_(self, shape: tuple[int, int]) -> None:
        self._shape = shape

    # -- how it is done --------------------------------------------------------------------------

    def _describe_solution(self) -> Solution:
        return self._certifier().current_solution(self._held_stream)

    def _read_new_rows(
        self,
        X: MatrixLike,
        y: VectorLike | None,
        sample_weight: VectorLike | None,
        classes: AnyArray,
    ) -> dict[str, Any]:
        rows = self._rows_to_score(X)
        weight, kept = check_weight(sample_weight, rows)
        label = read_known_labels(y, rows.shape[0], classes, self.unlabeled)
        arguments.refuse_left_out(kept)
        return {"X": rows, "label": label, "weight": weight}

    def _run_stream(self, stream: RowStream, name: str, max_steps: int | None) -> bool:
        with self._updating(self._held_stream) as updater:
            return updater.catch_up(name, max_steps)

    def _ready_stream(self) -> S3VMStream:
        """Return the stream, its paths begun if that is possible."""
        self._check_is_fitted()
        arguments.refuse_left_out(self._kept)
        super()._ready_stream()
        stream = self._held_stream
        stream.options.path_order = self.path_order
        stream.begin_paths()
        return stream

    def _run_update(
        self,
        name: str,
        stream: RowStream,
        max_steps: int | None = None,
        change: Callable[[], object] | None = None,
    ) -> Self:
        if change is None:
            return super()._run_update(name, stream, max_steps)

        def changed() -> None:
            change()
            self._record = self._record.without_bound()

        super()._run_update(name, stream, max_steps, changed)
        held = self._held_stream
        if self.auto_consolidate and held.done and held.ready and held.due_by_itself:
            self.consolidate(cheap_strategies(self.solver))
        return self

    @property
    def _certified(self) -> Certificate:
        return self._get_value(
            "certificate",
            lambda: self._certifier().certificate_at(self._held_stream, self.function_),
        )

    def _cached_names_to_keep(self) -> list[str]:
        _ = self._certified
        return ["certificate", self._curve_name]

    def _state(self) -> dict[str, Any]:
        """Without rows that only the curve is for."""
        return {**super()._state(), "_sample": None}

    def _renew_graph(self, stream: S3VMStream) -> bool:
        """Train under the kernel with the graph of the present rows; return whether it changed."""
        kernel = self._kernel_over(stream.rows(stream.places))
        with self._updating(stream) as updater:
            strategy = "row-by-row" if self.solver == "path" else "batch"
            renewed = Consolidation(updater).renew(kernel, strategy)
        if renewed:
            self._deformed = kernel
        return renewed

    @contextmanager
    def _updating(self, stream: S3VMStream) -> Iterator[Updater]:
        """Yield an ``Updater`` of the stream; what it has trained is recorded."""
        updater = Updater(
            type(self).__name__,
            stream,
            self._trainer,
            self._record,
            self.tol,
            self._deadline,
            begins_by_training=self.solver != "path",
        )
        try:
            yield updater
        finally:
            self._record = updater.record

    @property
    def _held_stream(self) -> S3VMStream:
        """The stream of a model that has one."""
        stream = self._stream
        assert stream is not None
        return stream

    def _begin(
        self,
        X: MatrixLike,
        y: VectorLike | None,
        classes: ClassesLike | None,
        sample_weight: VectorLike | None,
    ) -> Self:
        """Return the first rows of a stream."""
        arguments.refuse_matrix(self.kernel)
        label = None
        if classes is not None:
            named = read_classes(classes, self.unlabeled)
        elif y is None:
            raise ValueError(_NO_CLASSES)
        else:
            try:
                read_semi_labels(y, self.unlabeled)
            except ValueError as error:
                raise ValueError(f"{error} {_NO_CLASSES}") from None
            label, named = arguments.read_labels(y, self.unlabeled)
        rows = fit_rows(self, X, sample_weight)
        self._set_kernel(rows)
        arguments.refuse_left_out(rows.kept)
        if label is None:
            label = read_known_labels(y, rows.X.shape[0], named, self.unlabeled)
        check_consistent_length(rows.X, label)
        self.classes_ = named
        self._prepare(rows, label)
        shift = find_shift(self._make_kernel(), rows.X)
        stream = self._make_stream(self._problems(), rows, label, shift)
        stream.check()
        return self._open_stream("partial_fit", stream)

    def _make_stream(
        self,
        problems: list[SemiSupervised],
        rows: MemorySource,
        label: AnyArray,
        shift: FloatArray | None,
    ) -> S3VMStream:
        stream = S3VMStream(
            self._make_kernel(),
            problems,
            PathOptions(
                self.balance_update,
                self._cache_bytes / len(problems),
                resolve_n_jobs(self.n_jobs),
                self.path_order,
            ),
            rows.X,
            label,
            rows.weight,
            shift,
            names=self.classes_.tolist() if len(problems) > 1 else None,
        )
        stream.deadline = self._deadline
        return stream

    def _open_stream(self, name: str, stream: S3VMStream) -> Self:
        """Hold the rows of a model that has no solution yet, and follow them."""
        self._attach_stream(stream)
        self._cache, self._sample, self._kept = VersionedCache(), None, None
        self._offset = None
        self._record = TrainingRecord(tuple([] for _ in stream.paths))
        with self._discard_on_error():
            return self._run_update(name, stream, None if name == "fit" else self.max_steps)

    def _with_classes(self, stream: S3VMStream, named: AnyArray) -> S3VMStream:
        """Return the stream, of more classes than so far from now on."""
        arguments.check_new_classes(self.class_ratio, self.balance)
        self._run_update("resume", stream)
        # An estimate was without them.
        self.class_ratio_ = self.class_ratio_interval_ = self._means = None
        before = np.searchsorted(named, self.classes_)
        problem = self._problems(named)[0]
        self._stream = stream.with_classes(named.tolist(), before, problem)
        self._stream.begin_paths()
        self._stream.reprice(problem.C, problem.C_star)
        places = before[-len(self._record.objectives) :]
        self.classes_ = named
        self._record = self._record.with_functions(len(named), places)
        return self._stream

    def _add_by_branching(
        self, stream: S3VMStream, X: RowMatrix, label: FloatArray, weight: FloatArray | None
    ) -> Self:
        """Add rows one at a time; after each, search the signs around it."""
        if self.max_steps is not None:
            raise ValueError(
                f"branch and bound needs the complete path, but max_steps={self.max_steps} "
                "limits it; set max_steps=None."
            )
        stream.check_new(label, weight)
        self._run_update("resume", stream)
        searches = []
        for i in range(len(label)):
            one, were_ready = slice(i, i + 1), [path.ready for path in stream.paths]
            new = X[one], label[one], None if weight is None else weight[one]
            self._run_update("partial_fit", stream, None, partial(stream.add, *new))
            with self._updating(stream) as updater:
                searches += [
                    updater.search_near_newest(path, self.n_neighbors)
                    for path, was_ready in zip(stream.paths, were_ready, strict=True)
                    if was_ready and path.has_path
                ]
        message = describe_early_stops(searches, len(label))
        if message is not None:
            warn(message, ConvergenceWarning)
        return self
