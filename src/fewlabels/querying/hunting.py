"""Rows of one class, and labels that look wrong."""

import pickle

import numpy as np

from .base import Strategy, shares_of


class Positives(Strategy):
    """The rows that look most like a class: for finding all of it.

    Parameters
    ----------
    positive : label, default=None
        The class; by default the second one (of a machine of one class: that).
    missing_label, random_state
        As of all strategies.
    """

    why = "it looks most like the class you hunt for"

    def __init__(self, positive=None, missing_label=np.nan, random_state=None):
        super().__init__(missing_label, random_state)
        self.positive = positive

    def utilities(self, question):
        f = question.decisions
        if f is None:
            return self._rng.random_sample(len(question.y))
        classes = question.classes
        if self.positive is None or classes is None:
            return f if f.ndim == 1 else f[:, -1]
        place = np.flatnonzero(np.asarray(classes) == self.positive)
        if not len(place):
            raise ValueError(
                f"positive={self.positive!r} is none of the machine's classes, {list(classes)}."
            )
        if f.ndim == 1:
            return f if place[0] else -f
        return f[:, place[0]]


class LikelyWrong(Strategy):
    """Labels that the machine of all other rows contradicts most: rows to look at again.

    Candidates are labelled rows. Each is forgotten by a copy of the machine, looked at, and put
    back, exactly; ``clf`` is a machine fitted to X and y with ``forget`` and ``partial_fit``.

    Parameters as :class:`Strategy`.
    """

    why = "its label contradicts all the others"

    def _may_ask(self, labeled):
        return labeled

    def utilities(self, question):
        X, y, clf = question.X, question.y, question.clf
        if not hasattr(clf, "forget"):
            raise ValueError(
                f"LikelyWrong needs a machine that forgets rows, such as S3VM; got {clf!r}."
            )
        machine, order = pickle.loads(pickle.dumps(clf)), np.arange(len(y))
        values, classes = np.full(len(y), -np.inf), np.asarray(clf.classes_)
        for row in question.candidates:
            if np.sum(y[question.labeled] == y[row]) < 2:
                continue  # the only label of its class
            place = np.flatnonzero(order == row)
            machine.forget(place)
            f = machine.decision_function(X[[row]])[0]
            machine.partial_fit(X[[row]], [y[row]])
            order = np.append(np.delete(order, place), row)
            own = int(np.flatnonzero(classes == y[row])[0])
            f = np.array([-f, f]) if f.ndim == 0 else f
            values[row] = np.delete(f, own).max() - f[own]
        return values


class ExpectedError(Strategy):
    """The row after whose label the machine is expected to err least, by trying every label.

    Of the candidates that the machine is least sure of, ``n_candidates``, each gets each class in
    turn, on a copy of the machine, by an exact update that is then taken back; what is expected is
    ``sum(1 - max(p))`` over the rows without a label, with p logistic in the decisions.

    Parameters
    ----------
    n_candidates : int, default=16
        How many rows are tried, >= 1.
    missing_label, random_state
        As of all strategies.
    """

    why = "its label is expected to settle most other rows"

    def __init__(self, n_candidates=16, missing_label=np.nan, random_state=None):
        super().__init__(missing_label, random_state)
        self.n_candidates = n_candidates

    def utilities(self, question):
        clf = question.clf
        if not (hasattr(clf, "relabel") and hasattr(clf, "training_decisions_")):
            raise ValueError(
                f"ExpectedError needs a machine that is told labels exactly, such as S3VM; got "
                f"{clf!r}."
            )
        first = question.candidates[np.argsort(question.margins[question.candidates])]
        free = ~question.labeled
        values = np.full(len(question.y), -np.inf)
        kept = pickle.dumps(clf)
        shares = shares_of(question.decisions)
        for row in first[: self.n_candidates]:
            machine, expected = pickle.loads(kept), 0.0
            for place, label in enumerate(clf.classes_):
                machine.relabel([row], [label])
                left = 1.0 - shares_of(machine.training_decisions_)[free].max(axis=1)
                expected += shares[row, place] * (left.sum())
            values[row] = -expected
        return values
