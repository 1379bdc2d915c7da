"""Probabilities of an S3VM: curves fitted to decisions of models that did not see the labels."""

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from sklearn.base import BaseEstimator, clone

from .._typing import AnyArray, FloatArray, IntArray, RowMatrix
from .._util.deadline import Deadline
from ..base.solution import ClassFunctions, Function
from ..calibration.cross_fitting import Sample, left_out_scores
from ..calibration.curve import ClassCurves, Curve
from ..calibration.fit_curves import curve_of_labels, curves_of_classes
from ..data.labels.semi_supervised import class_indices, shares_by_code
from ..kernels.base import Kernel
from ..rows.grouped_folds import take_groups
from ..rows.row_order import label_folds
from .arguments import settings_for_part
from .problem import SemiSupervised

# Models of a cross-fit. With a deadline and many rows, one of at least so many rows, or of this
# multiple of the labelled rows, finds out how many there is time for.
_FOLDS = 5
_PILOT_ROWS, _PILOT_LABELS = 2000, 2


@dataclass(frozen=True)
class Calibrator:
    """Fits curves for an S3VM, to decisions by models that were trained without the rows.

    These models have the parameters of the ``estimator``, and its ``graph``, a kernel or None.
    ``class_objectives`` are what its functions minimise, and ``columns`` the columns of a kernel
    matrix that count, with the number of all; None for all.
    """

    estimator: BaseEstimator
    class_objectives: Sequence[SemiSupervised]
    graph: Kernel | None
    columns: tuple[IntArray, int] | None
    deadline: Deadline

    @property
    def moves_intercept(self) -> bool:
        """bool: Whether the class ratio moves the intercept, instead of the mean of f."""
        return self.estimator.class_ratio_ is not None and self.estimator.balance is False

    def decisions(self, sample: Sample) -> FloatArray:
        """Return decisions about the labelled rows of a ``Sample``, a column for every function.

        Five models, each trained on all unlabelled rows and four fifths of the labelled rows of
        every class. Folds depend on the values of rows alone, and equal rows are in one. NaN for
        unlabelled rows, for one that is, with its copies, the only one of its class, and for those
        that the deadline left no time for. If a model of all rows would take longer than that,
        models train on fewer unlabelled rows.
        """
        if any(one.uses_unlabelled for one in self.class_objectives):
            return self._left_out_decisions(sample)
        assert sample.weight is not None
        known = np.flatnonzero(sample.y)
        scores = np.full((len(sample.y), len(self.class_objectives)), np.nan)
        some = sample._replace(
            X=sample.rows(known, known),
            y=sample.y[known],
            weight=sample.weight[known],
            groups=take_groups(sample.groups, known),
        )
        scores[known] = self._left_out_decisions(some)
        return scores

    def curve(
        self, scores: FloatArray, sample: Sample, kind: str, function: Function | ClassFunctions
    ) -> Curve | ClassCurves:
        """Return the curve from these decisions to probabilities, of a ``kind``.

        ``function`` is the model's.
        """
        balances = [one.balance for one in self.class_objectives]
        shares = self._shares()
        if shares is None and not isinstance(balances[0], bool) and -1.0 < balances[0] < 1.0:
            # The shares of classes that these means stand for.
            shares = 0.5 * (1.0 + np.array(balances))
        return replace(
            self._curve_with_shares(scores, sample, kind, function, shares), agrees=True
        )

    def offset(self, function: Function | ClassFunctions, sample: Sample) -> float | FloatArray:
        """Return what the class ratio adds to f to make the classes equally probable at 0.

        Without a constraint f follows the labels' class ratio, and probabilities the ratio of
        the unlabelled rows, their mean. With this intercept, both agree on the classes. 0 where
        nothing moves it.
        """
        if not self.moves_intercept or not np.any(sample.y == 0):
            return 0.0
        decisions = self.decisions(sample)
        curve = self._curve_with_shares(decisions, sample, "sigmoid", function, self._shares())
        return curve.intercept / curve.slope

    def _shares(self) -> FloatArray | None:
        """Return the class ratio, a share for each of the functions; None without."""
        ratio = self.estimator.class_ratio_
        return None if ratio is None else ratio[-len(self.class_objectives) :]

    def _curve_with_shares(
        self,
        scores: FloatArray,
        sample: Sample,
        kind: str,
        function: Function | ClassFunctions,
        shares: FloatArray | None,
    ) -> Curve | ClassCurves:
        """Return the curve where classes have ``shares`` among the unlabelled rows.

        None stands for the labels' shares.
        """
        assert sample.weight is not None
        known, free = np.isfinite(scores[:, 0]), np.flatnonzero(sample.y == 0)
        label, weight = sample.y[known], sample.weight[known]
        if sample.groups is not None:  # which count once
            _, group, size = np.unique(
                sample.groups[known], return_inverse=True, return_counts=True
            )
            weight = weight / size[group]
        unlabeled, shares = None, shares if len(free) else None
        if shares is not None:
            values = function(self._rows(sample, free), n_jobs=self.estimator.n_jobs)
            unlabeled = values, sample.weight[free]
        if self._n_classes == 2:
            share = None if shares is None else shares[0]
            return curve_of_labels(scores[known, 0], label > 0, weight, kind, unlabeled, share)
        place = class_indices(label, self._n_classes)
        return curves_of_classes(scores[known], place, weight, kind, unlabeled, shares)

    def _rows(self, sample: Sample, which: IntArray) -> RowMatrix:
        if not sample.pairwise or self.columns is None:
            return sample.X[which]
        counted, n = self.columns
        X = np.zeros((len(which), n))
        X[:, counted] = sample.X[which]
        return X

    @property
    def _n_classes(self) -> int:
        return len(self.estimator.classes_)

    def _left_out_decisions(self, sample: Sample) -> FloatArray:
        labels, deadline = sample.y, self.deadline
        seconds: list[float] = []
        classes, place = np.unique(labels[labels != 0]), class_indices(labels, self._n_classes)
        fold = label_folds(sample.X, place, _FOLDS, sample.groups)
        sample = sample._replace(y=np.where(labels == 0, np.nan, labels))
        tested = [np.flatnonzero(fold == k) for k in np.unique(fold[fold >= 0])]
        splits: list[tuple[IntArray, IntArray]] = [
            (np.setdiff1d(np.arange(len(fold)), test), test) for test in tested
        ]

        def score(train: IntArray, test: IntArray) -> FloatArray:
            since = time.perf_counter()
            model = sample.fit(self._make_estimator(classes), train)
            found = model.decision_function(sample.rows(test, train))
            seconds.append(time.perf_counter() - since)
            return found

        shape = len(fold), len(self.class_objectives)
        scores, size, pilot = np.full(shape, np.nan), len(fold), _pilot_rows(labels)
        tried = deadline.has_end and 2 * pilot < size
        if tried:
            train, test = splits[0]
            scores[test] = score(_limit_rows(labels, train, pilot), test).reshape(len(test), -1)
            # Training takes about the square of the number of rows.
            size = int(pilot * (deadline.left() / seconds.pop()) ** 0.5)
            splits = [(_limit_rows(labels, train, size), test) for train, test in splits]
        if size > pilot or not tried:
            found = left_out_scores(
                len(fold),
                splits,
                score,
                n_scores=shape[1],
                is_over=lambda: bool(seconds) and deadline.left() < max(seconds),
            )
            scores = np.where(np.isfinite(found), found, scores)
        if len(seconds) < len(tested):
            deadline.cut.append(
                f"probabilities are based on {max(1, len(seconds))} of {len(tested)} models "
                "trained without part of the labels"
            )
        if size < len(fold):
            deadline.cut.append(
                f"these models were trained on {max(size, pilot):,} of {len(fold):,} rows"
            )
        return scores

    def _make_estimator(self, numbers: AnyArray) -> BaseEstimator:
        """Return an S3VM to fit to some rows, whose classes are ``numbers``."""
        model = self.estimator
        settings: dict[str, object] = {"solver": "auto", "unlabeled": None, "verbose": False}
        if model.gamma_:
            settings["gamma"] = model.gamma_
        if isinstance(model.balance, Mapping):
            settings["balance"] = shares_by_code(model.balance, model.classes_, numbers)
        settings |= settings_for_part(model)
        if self.graph is not None:
            settings["kernel"] = self.graph
        return clone(model).set_params(**settings)


def _pilot_rows(labels: AnyArray) -> int:
    return max(_PILOT_ROWS, _PILOT_LABELS * int(np.count_nonzero(labels)))


def _limit_rows(labels: AnyArray, train: IntArray, size: int) -> IntArray:
    """At most ``size`` of the rows ``train``, labelled ones first."""
    if len(train) <= size:
        return train
    known, free = train[labels[train] != 0], train[labels[train] == 0]
    drawn = np.random.default_rng(0).permutation(len(free))[: max(0, size - len(known))]
    return np.sort(np.concatenate([known, free[drawn]]))
