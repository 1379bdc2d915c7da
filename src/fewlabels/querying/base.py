"""What all strategies share: which rows may be asked, what a model says, and the call."""

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, TypeAlias

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator
from sklearn.utils import check_random_state

from .._typing import (
    AnyArray,
    BoolArray,
    FloatArray,
    IntArray,
    MatrixLike,
    RandomStateLike,
    RowMatrix,
    VectorLike,
)
from .._util.messages import plural
from ..data.labels.arrays import split_missing
from ..kernels.rows import canonical

# A row, the utilities of all rows when it was chosen, and the reason.
Choice: TypeAlias = tuple[int, FloatArray, str]


@dataclass(frozen=True, eq=False)
class Question:
    """Rows, their labels, what a fitted ``clf`` says of them, and the candidates (positions).

    ``decisions`` has shape (n,), positive for the second class, or (n, n_classes); None before
    there is a model. ``classes`` names its columns.
    """

    X: RowMatrix
    y: AnyArray
    labeled: BoolArray
    clf: BaseEstimator
    candidates: IntArray
    decisions: FloatArray | None
    classes: AnyArray | None

    @property
    def margins(self) -> FloatArray:
        """Certainty of the model: |f|, or by how much the best class is ahead; 0 without any."""
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

    def __init__(
        self, missing_label: object = np.nan, random_state: RandomStateLike = None
    ) -> None:
        self.missing_label = missing_label
        self.random_state = random_state
        self._rng = check_random_state(random_state)

    def query(
        self,
        X: MatrixLike,
        y: VectorLike,
        clf: BaseEstimator | None = None,
        candidates: VectorLike | None = None,
        batch_size: int = 1,
        return_utilities: bool = False,
        *,
        decisions: npt.ArrayLike | None = None,
        return_reasons: bool = False,
    ) -> Any:
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
        batch_size = min(check_whole_number("batch_size", batch_size), len(question.candidates))
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
        found: list[object] = [indices]
        found += [utilities] if return_utilities else []
        found += [reasons] if return_reasons else []
        return found[0] if len(found) == 1 else tuple(found)

    @abstractmethod
    def utilities(self, question: Question) -> FloatArray:
        """Return the utility of every row; only candidates' utilities count."""

    def choose(self, question: Question, batch_size: int) -> Iterator[Choice]:
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

    def reason(self, question: Question) -> str:
        """Why a row is queried, in half a sentence."""
        if question.decisions is None and self.why_without_model:
            return self.why_without_model
        return self.why

    def _question(
        self,
        X: MatrixLike,
        y: VectorLike,
        clf: BaseEstimator | None,
        candidates: VectorLike | None,
        decisions: npt.ArrayLike | None,
    ) -> Question:
        rows, (values, missing) = canonical(X), split_missing(y, self.missing_label)
        n = rows.shape[0] if hasattr(rows, "shape") else len(rows)
        if len(values) != n:
            raise ValueError(
                f"y has {len(values)} values and X {plural(n, 'row')}; give one per row."
            )
        labeled = ~missing
        labeled[labeled] = values[labeled] != self.missing_label
        if candidates is None:
            candidates = np.flatnonzero(self._candidate_mask(labeled))
        candidates = np.asarray(candidates)
        if candidates.ndim != 1 or not np.issubdtype(candidates.dtype, np.integer):
            raise ValueError("candidates must be positions of rows of X, whole numbers.")
        if len(candidates) and not 0 <= candidates.min() <= candidates.max() < n:
            raise ValueError(f"candidates must be from 0 to {n - 1}, the rows of X.")
        if not len(candidates):
            raise ValueError("no candidate is left; pass other candidates.")
        if decisions is None and clf is not None:
            decisions = decisions_of(clf, rows)
        decisions = None if decisions is None else np.asarray(decisions)
        classes = getattr(clf, "classes_", None)
        return Question(rows, values, labeled, clf, np.unique(candidates), decisions, classes)

    def _candidate_mask(self, labeled: BoolArray) -> BoolArray:
        return ~labeled


def decisions_of(clf: BaseEstimator, X: MatrixLike) -> FloatArray:
    """Return the decisions of a fitted model about rows."""
    if hasattr(clf, "decision_function"):
        return np.asarray(clf.decision_function(X))
    if not hasattr(clf, "predict_proba"):
        raise ValueError(
            f"{type(clf).__name__} has neither decision_function nor predict_proba; pass another "
            "model, or decisions=."
        )
    shares = np.asarray(clf.predict_proba(X))
    return shares[:, 1] - shares[:, 0] if shares.shape[1] == 2 else shares


def class_probabilities(f: FloatArray) -> FloatArray:
    """Probabilities of the classes, logistic in decisions of shape (n,) or (n, n_classes)."""
    f = np.stack([-f, f], axis=1) if f.ndim == 1 else f
    e = np.exp(f - f.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)


def check_whole_number(name: str, value: object) -> int:
    """Return a parameter that is a whole number >= 1."""
    if isinstance(value, bool) or not isinstance(value, int | np.integer):
        raise ValueError(f"{name}={value!r} is not a whole number.")
    if value < 1:
        raise ValueError(f"{name}={value} must be 1 or more.")
    return int(value)
