"""What all strategies share: which rows may be asked, what a model says, and the call."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np
from sklearn.utils import check_random_state

from ..data.labels.arrays import with_missing
from ..kernels.sparse import canonical


@dataclass(frozen=True, eq=False)
class Question:
    """Rows, their labels, what a fitted ``clf`` says of them, and the candidates (positions).

    ``decisions`` has shape (n,), positive for the second class, or (n, n_classes); None before
    there is a model. ``classes`` names its columns.
    """

    X: Any
    y: np.ndarray
    labeled: np.ndarray
    clf: Any
    candidates: np.ndarray
    decisions: np.ndarray | None
    classes: np.ndarray | None

    @property
    def margins(self):
        """How sure the model is: |f|, or by how much the best class is ahead; 0 without any."""
        f = self.decisions
        if f is None:
            return np.zeros(len(self.y))
        if f.ndim == 1:
            return np.abs(f)
        best = np.partition(f, -2, axis=1)
        return best[:, -1] - best[:, -2]


class Strategy(ABC):
    """Base class of strategies: which rows to label next.

    Parameters
    ----------
    missing_label : scalar, default=nan
        Value of y that marks rows without a label, besides missing ones.
    random_state : int, RandomState or None, default=None
        Seed of random choices.
    """

    why = ""
    #: The reason while there is no model, if it differs.
    why_without_model = ""
    #: What it needs from a model, which decides when ``fewlabels label`` queries it.
    #: "nothing": rows and labels are enough, so it is always queried. "doubts": margins between
    #: classes. "decisions": how much rows look like one class. As long as the model can't
    #: provide that, the page looks for classes without labels instead.
    needs: ClassVar[Literal["nothing", "doubts", "decisions"]] = "nothing"

    def __init__(self, missing_label=np.nan, random_state=None):
        self.missing_label = missing_label
        self.random_state = random_state
        self._rng = check_random_state(random_state)

    def query(
        self,
        X,
        y,
        clf=None,
        candidates=None,
        batch_size=1,
        return_utilities=False,
        *,
        decisions=None,
        return_reasons=False,
    ):
        """Choose rows.

        Parameters
        ----------
        X : {array-like, sparse} of shape (n_samples, n_features)
            All rows.
        y : array-like of shape (n_samples,)
            Labels, missing or ``missing_label`` where there is none.
        clf : estimator, default=None
            A model fitted to X and y, with ``decision_function`` or ``predict_proba``.
        candidates : array-like of int, default=None
            Rows that may be chosen; by default those without a label.
        batch_size : int, default=1
            How many.
        return_utilities : bool, default=False
            Whether to return the utilities, too.
        decisions : array-like of shape (n_samples,) or (n_samples, n_classes), default=None
            What ``clf`` says of X, if that is known.
        return_reasons : bool, default=False
            Whether to return why each row is queried, in half a sentence.

        Returns
        -------
        indices : ndarray of shape (batch_size,)
            Rows, the best first; fewer where there are fewer candidates.
        utilities : ndarray of shape (batch_size, n_samples)
            The utility of every candidate when each row was chosen, NaN of others. If requested.
        reasons : list of str
            If requested.
        """
        question = self._question(X, y, clf, candidates, decisions)
        batch_size = min(whole_number("batch_size", batch_size), len(question.candidates))
        utilities = np.full((batch_size if return_utilities else 0, len(question.y)), np.nan)
        indices = np.empty(batch_size, dtype=np.intp)
        reasons = []
        for k, (row, values, why) in zip(
            range(batch_size), self.choose(question, batch_size), strict=False
        ):
            if return_utilities:
                left = np.setdiff1d(question.candidates, indices[:k])
                utilities[k, left] = values[left]
            indices[k] = row
            reasons.append(why)
        found = [indices]
        found += [utilities] if return_utilities else []
        found += [reasons] if return_reasons else []
        return found[0] if len(found) == 1 else tuple(found)

    def _question(self, X, y, clf, candidates, decisions):
        X, (y, missing) = canonical(X), with_missing(y, self.missing_label)
        n = X.shape[0] if hasattr(X, "shape") else len(X)
        if len(y) != n:
            raise ValueError(f"y has {len(y)} values and X {n} rows; give one per row.")
        labeled = ~missing
        labeled[labeled] = y[labeled] != self.missing_label
        if candidates is None:
            candidates = np.flatnonzero(self._may_ask(labeled))
        candidates = np.asarray(candidates)
        if candidates.ndim != 1 or not np.issubdtype(candidates.dtype, np.integer):
            raise ValueError("candidates must be positions of rows of X, whole numbers.")
        if len(candidates) and not 0 <= candidates.min() <= candidates.max() < n:
            raise ValueError(f"candidates must be from 0 to {n - 1}, the rows of X.")
        if not len(candidates):
            raise ValueError("no candidate is left; pass other candidates.")
        if decisions is None and clf is not None:
            decisions = decisions_of(clf, X)
        decisions = None if decisions is None else np.asarray(decisions)
        classes = getattr(clf, "classes_", None)
        return Question(X, y, labeled, clf, np.unique(candidates), decisions, classes)

    def _may_ask(self, labeled):
        return ~labeled

    def reason(self, question):
        """Why a row is queried, in half a sentence."""
        if question.decisions is None and self.why_without_model:
            return self.why_without_model
        return self.why

    def choose(self, question, batch_size):
        """Yield (row, utilities of all rows, reason), the best row first.

        Chance decides between equal ones: a table may be sorted by what is queried.
        """
        values, candidates = self.utilities(question), question.candidates
        order = values[candidates]
        if len(order) > batch_size:  # the others need not be put into order
            least = np.partition(order, -batch_size)[-batch_size]
            candidates, order = candidates[order >= least], order[order >= least]
        chance = self._rng.random_sample(len(candidates))
        for place in np.lexsort((chance, -order))[:batch_size]:
            yield int(candidates[place]), values, self.reason(question)

    @abstractmethod
    def utilities(self, question) -> np.ndarray:
        """The utility of every row; only candidates' utilities count."""


def decisions_of(clf, X):
    """What a fitted model says of rows, as decisions."""
    if hasattr(clf, "decision_function"):
        return np.asarray(clf.decision_function(X))
    if not hasattr(clf, "predict_proba"):
        raise ValueError(
            f"{type(clf).__name__} has neither decision_function nor predict_proba; pass another "
            "model, or decisions=."
        )
    shares = np.asarray(clf.predict_proba(X))
    return shares[:, 1] - shares[:, 0] if shares.shape[1] == 2 else shares


def shares_of(f):
    """Probabilities of the classes, logistic in decisions of shape (n,) or (n, n_classes)."""
    f = np.stack([-f, f], axis=1) if f.ndim == 1 else f
    e = np.exp(f - f.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)


def whole_number(name, value):
    """A parameter that is a whole number >= 1."""
    if isinstance(value, bool) or not isinstance(value, int | np.integer):
        raise ValueError(f"{name}={value!r} is not a whole number.")
    if value < 1:
        raise ValueError(f"{name}={value} must be 1 or more.")
    return int(value)
