"""Rows of one class, and labels that look wrong."""

import pickle
from collections.abc import Iterator

import numpy as np
from sklearn.base import clone

from .._typing import AnyArray, BoolArray, FloatArray, RandomStateLike
from .base import Question, Strategy, check_whole_number, class_probabilities, decisions_of


class Positives(Strategy):
    """The rows that look most like a class: for finding all of it.

    Parameters
    ----------
    positive : label, default=None
        The class; by default the second one (of a model of one class: that).
    missing_label, random_state
        As of all strategies.
    """

    needs = "decisions"
    why = "it looks most like the class that you look for"
    why_without_model = "there is no model yet, so any row will do"

    def __init__(
        self,
        positive: object = None,
        missing_label: object = np.nan,
        random_state: RandomStateLike = None,
    ) -> None:
        super().__init__(missing_label, random_state)
        self.positive = positive

    def utilities(self, question: Question) -> FloatArray:
        f = question.decisions
        if f is None:
            return self._rng.random_sample(len(question.y))
        classes = question.classes
        if self.positive is None or classes is None:
            return f if f.ndim == 1 else f[:, -1]
        place = np.flatnonzero(np.asarray(classes) == self.positive)
        if not len(place):
            raise ValueError(
                f"positive={self.positive!r} is not one of the model's classes, {list(classes)}."
            )
        if f.ndim == 1:
            return f if place[0] else -f
        return f[:, place[0]]


class LikelyWrong(Strategy):
    """Labels that models without them contradict most: rows to look at again.

    Candidates are labelled rows. ``clf`` is a model fitted to X and y, with missing labels there
    as it takes them.

    Parameters
    ----------
    n_folds : int or None, default=None
        None: a copy of the model forgets each candidate exactly, is queried, and gets it back, by
        ``forget`` and ``partial_fit``. It ranks as well as new fits do, but it contradicts
        fewer wrong labels: a semi-supervised model stays near the minimum that the label led
        to. A number: that many fits from scratch, each without its share of the labels, which
        contradict more of them (utility > 0).
    missing_label, random_state
        As of all strategies.
    """

    needs = "doubts"
    why = "its label contradicts all the others"

    def __init__(
        self,
        n_folds: int | None = None,
        missing_label: object = np.nan,
        random_state: RandomStateLike = None,
    ) -> None:
        super().__init__(missing_label, random_state)
        self.n_folds = n_folds
        if n_folds is not None and check_whole_number("n_folds", n_folds) < 2:
            raise ValueError(f"n_folds={n_folds} must be 2 or more, or None.")

    def utilities(self, question: Question) -> FloatArray:
        y, clf = question.y, question.clf
        needed = "forget" if self.n_folds is None else "fit"
        if not (hasattr(clf, needed) and hasattr(clf, "classes_")):
            raise ValueError(
                f"LikelyWrong needs a model fitted to X and y, such as S3VM, with {needed}; got "
                f"{clf!r}."
            )
        labelled = [
            row for row in question.candidates if np.sum(y[question.labeled] == y[row]) > 1
        ]
        values = np.full(len(y), -np.inf)
        decisions = (
            self._decide_by_forgetting if self.n_folds is None else self._decide_by_refitting
        )
        for row, classes, f in decisions(question, labelled):
            f = np.array([-f, f]) if np.ndim(f) == 0 else f
            own = int(np.flatnonzero(classes == y[row])[0])
            values[row] = np.delete(f, own).max() - f[own]
        return values

    def _decide_by_forgetting(
        self, question: Question, rows: list[int]
    ) -> Iterator[tuple[int, AnyArray, FloatArray]]:
        """Yield row, classes and decisions without its label, by exact updates of a copy."""
        X, y = question.X, question.y
        model, order = pickle.loads(pickle.dumps(question.clf)), np.arange(len(y))
        for row in rows:
            place = np.flatnonzero(order == row)
            model.forget(place)
            f = model.decision_function(X[[row]])[0]
            model.partial_fit(X[[row]], [y[row]])
            order = np.append(np.delete(order, place), row)
            yield row, model.classes_, f

    def _decide_by_refitting(
        self, question: Question, rows: list[int]
    ) -> Iterator[tuple[int, AnyArray, FloatArray]]:
        """Yield the same from fits without a share of the labels; every class keeps one."""
        X, y = question.X, question.y
        assert self.n_folds is not None
        rows = self._rng.permutation(rows)
        for k in range(self.n_folds):
            labels, fold = y.copy(), []
            for row in rows[k :: self.n_folds]:
                if np.sum(labels == y[row]) > 1:
                    labels[row] = self.missing_label
                    fold.append(row)
            if fold:
                model = clone(question.clf).fit(X, labels)
                for row, f in zip(fold, decisions_of(model, X[fold]), strict=True):
                    yield row, model.classes_, f

    def _candidate_mask(self, labeled: BoolArray) -> BoolArray:
        return labeled


class ExpectedError(Strategy):
    """The row after whose label the model is expected to err least, by trying every label.

    Of the candidates that the model is least sure of, ``n_candidates``, each gets each class in
    turn, on a copy of the model, by an exact update that is then taken back; what is expected is
    ``sum(1 - max(p))`` over the rows without a label, with p logistic in the decisions.

    Parameters
    ----------
    n_candidates : int, default=16
        How many rows are tried, >= 1.
    missing_label, random_state
        As of all strategies.
    """

    needs = "doubts"
    why = "its label is expected to reduce the error most"

    def __init__(
        self,
        n_candidates: int = 16,
        missing_label: object = np.nan,
        random_state: RandomStateLike = None,
    ) -> None:
        super().__init__(missing_label, random_state)
        self.n_candidates = n_candidates

    def utilities(self, question: Question) -> FloatArray:
        clf = question.clf
        if not (hasattr(clf, "relabel") and hasattr(clf, "training_decisions_")):
            raise ValueError(
                f"ExpectedError needs a model with exact updates, such as S3VM; got {clf!r}."
            )
        first = question.candidates[np.argsort(question.margins[question.candidates])]
        free = ~question.labeled
        values = np.full(len(question.y), -np.inf)
        kept = pickle.dumps(clf)
        assert question.decisions is not None
        shares = class_probabilities(question.decisions)
        for row in first[: self.n_candidates]:
            model, expected = pickle.loads(kept), 0.0
            for place, label in enumerate(clf.classes_):
                model.relabel([row], [label])
                left = 1.0 - class_probabilities(model.training_decisions_)[free].max(axis=1)
                expected += shares[row, place] * (left.sum())
            values[row] = -expected
        return values
