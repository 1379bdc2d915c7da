"""The model behind the page: it learns every answer, and hands heavier work to its caller."""

import contextlib
import pickle
import warnings
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple, Self, TypeAlias

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from .._typing import BoolArray, FloatArray, IntArray, ObjectArray, RowMatrix
from ..calibration.curve import class_of
from ..kernels.parameters import resolve_gamma
from ..one_class.svdd import SVDD
from ..positive_unlabelled.pusvm import PUSVM
from ..semi_supervised.s3vm import S3VM
from .models import (
    JOBS,
    ClassRatio,
    LeftOut,
    choose_kernel,
    decide_by_labels,
    is_label_only,
    make_classifier,
)

# Answers after which a fit from scratch is due: so many, and this share of the labels.
_MIN_ANSWERS = 8
_MIN_ANSWER_SHARE = 0.25
# The same for answers that the model predicted wrongly: it may be at a poor minimum, where
# updates keep it.
_MIN_SURPRISES = 2
_MIN_SURPRISE_SHARE = 0.1
# Labelled rows that are left out to estimate errors, and the folds in which they are.
_MAX_LEFT_OUT = 150
_FOLDS = 5
# Prior of a PUSVM with fewer known positives than it takes to estimate one.
_DEFAULT_PRIOR = 0.1
_MIN_POSITIVES = 10
# Confirmed anomalies from which classifiers find further ones better than a ball.
_MIN_ANOMALIES = 20
UNKNOWN = -1
# A kind of work, what was known when it began, and what it made.
WorkResult: TypeAlias = tuple[str, Any, Any]
Work: TypeAlias = Callable[[], WorkResult]
Model: TypeAlias = SVDD | PUSVM | S3VM
# Rows to learn from before anybody waits.
_WARM_UP_ROWS = 300


class ModelState(NamedTuple):
    """A model, its decisions at all rows, codes of its classes, its function, and its pickle.

    ``doubts`` are decisions by the labels alone, if they differ. The function is a value: it can
    be called while the model is updated by further answers. ``pickled`` is the model as fitted.
    """

    model: Model
    decisions: FloatArray
    classes: tuple[int, ...]
    function: Callable[..., FloatArray]
    doubts: FloatArray | None = None
    pickled: bytes | None = None

    @classmethod
    def from_model(cls, model: S3VM) -> Self:
        """Return the state of a fitted S3VM."""
        classes, decisions = tuple(model.classes_.tolist()), model.training_decisions_
        return cls(model, decisions, classes, model.function_, decide_by_labels(model))


class Learner:
    """Rows, the codes of their labels (``UNKNOWN`` for none), and the model that learns from them.

    Answers are recorded at once. The work that follows from them is returned as functions without
    arguments. These may run in other threads while more answers are recorded, and
    ``store_result`` receives their results. ``plan_update`` adds new answers to the model by exact
    updates, ``plan_undo`` takes undone answers out of it, and ``plan_heavy_work`` fits it anew.
    One of the first two may run at a time, and one of ``plan_heavy_work`` next to it; all other
    calls are one at a time.

    ``decisions`` are for all rows and each of the ``classes`` (codes), or (n,) where there
    is one number a row: of two classes positive for the second, of one for it, of none for rows
    that are like most.

    ``targets_rare_class``: rows of the first class are anomalies and wanted. Until some are known,
    the model is an ``SVDD`` of all rows, in which they are confirmed anomalies.
    """

    def __init__(
        self,
        X: RowMatrix,
        codes: npt.ArrayLike,
        kernel: str | None = None,
        targets_rare_class: bool = False,
    ) -> None:
        self.X, self.codes, self.targets_rare_class = X, np.array(codes), targets_rare_class
        self.kernel = kernel or choose_kernel(X)
        self.model: Model | None = None
        self.decisions: FloatArray | None = None
        self.doubts: FloatArray | None = None
        self._function: Callable[..., FloatArray] | None = None
        self.classes: tuple[int, ...] = ()
        self.left_out_predictions: LeftOut = {}
        # Answers recorded when rows were left out, and labels that models were then trained on.
        self.n_answers_at_left_out, self.n_labels_of_left_out = 0, np.inf
        self.n_answers = self.n_fits = 0
        # The model as it was fitted, answers since then, and how many of them it has learned.
        self._pickled_fit: bytes | None = None
        self._answers_since_fit: list[tuple[int, int]] = []
        self._n_followed = 0
        self._n_surprises = 0  # answers since the last fit that the model predicted wrongly
        self._due, self._is_left_out_due = "fit", False
        self._shares: ClassRatio | None = None
        self._column_means = np.asarray(X.mean(axis=0)).ravel()
        self.left_out_first: tuple[int, ...] = ()  # rows that are left out before others

    # -- answers ----------------------------------------------------------------------------------

    def record_answer(self, row: int, code: int) -> None:
        """Record that a row got a label, another one, or (``UNKNOWN``) none."""
        expected = self.predictions
        self._n_surprises += expected is not None and code not in (UNKNOWN, expected[row])
        self._set_code(row, code)
        self._answers_since_fit.append((row, code))
        if not self._can_update():
            self._due = "fit"
        elif self._due != "undoing" and self._must_refit(int(np.sum(self.codes >= 0))):
            self._due = "fit"

    def _must_refit(self, n_labels: int) -> bool:
        return len(self._answers_since_fit) >= max(_MIN_ANSWERS, _MIN_ANSWER_SHARE * n_labels) or (
            self._n_surprises >= max(_MIN_SURPRISES, _MIN_SURPRISE_SHARE * n_labels)
        )

    def undo_answer(self, row: int, code: int) -> None:
        """Remove the newest label of a row, which gets the code that it had before.

        The model becomes the one that the other answers lead to, from the last fit on.
        """
        self._set_code(row, code)
        positions = [
            k for k, (answered, _) in enumerate(self._answers_since_fit) if answered == row
        ]
        if positions:
            del self._answers_since_fit[positions[-1]]
        if not positions or not self._can_update():
            self._due = "fit"
        else:
            self._due = "undoing"

    def _set_code(self, row: int, code: int) -> None:
        self.codes[row] = code
        self.n_answers += 1
        self._is_left_out_due = self.n_answers - self.n_answers_at_left_out >= _MIN_ANSWERS

    def set_class_shares(self, shares: ClassRatio | None) -> None:
        """Set the share of the rows that each class (by code) seems to have; None for unknown."""
        self._shares = shares

    def _can_update(self) -> bool:
        """Return whether the model is an S3VM of exactly the classes that have labels."""
        present = np.unique(self.codes[self.codes >= 0])
        return isinstance(self.model, S3VM) and np.array_equal(present, self.model.classes_)

    # -- state ------------------------------------------------------------------------------------

    @property
    def kind(self) -> str:
        """Return the kind of the model: "", "svdd", "pusvm" or "s3vm"."""
        return "" if self.model is None else type(self.model).__name__.lower()

    @property
    def is_busy(self) -> bool:
        """Return whether heavier work is due."""
        return bool(self._due)

    @property
    def predictions(self) -> IntArray | None:
        """Return the predicted code of every row, or None without a model of two classes."""
        if self.decisions is None or self.kind != "s3vm":
            return None
        return _predicted_codes(self.decisions, self.classes)

    def find_drivers(self, row: int, columns: ObjectArray, max_columns: int = 3) -> list[str]:
        """Return the columns that a row's score would change most without, greatest first.

        Each column in turn is set to its mean over all rows; ``columns`` names the column of every
        feature. None of them before the first label, and never all of them.
        """
        names = [name for name in dict.fromkeys(columns) if name]
        has_labels = bool(np.any(self.codes != UNKNOWN))
        if self._function is None or not has_labels or not 1 < len(names) <= 100:
            return []
        row_values = (
            sp.csr_array(self.X[[row]]).toarray()[0] if sp.issparse(self.X) else self.X[row]
        )
        without = np.tile(row_values, (len(names) + 1, 1))
        for k, name in enumerate(names):
            without[k, columns == name] = self._column_means[columns == name]
        without = sp.csr_array(without) if sp.issparse(self.X) else without
        values = self._function(without, n_jobs=1).reshape(len(names) + 1, -1)
        best = int(np.argmax(values[-1]))
        change = np.abs(values[:-1, best] - values[-1, best])
        first = np.argsort(-change)[: min(max_columns, len(names) - 1)]
        return [names[k] for k in first if change[k] > 0.1 * max(change.max(), 1e-12)]

    # -- work -------------------------------------------------------------------------------------

    @property
    def is_up_to_date(self) -> bool:
        """Return whether the model has learned all answers that updates can add."""
        return self.plan_update() is None

    def plan_update(self) -> Work | None:
        """Return a function that updates the model by new answers; None if there are none."""
        if (
            self._due == "undoing"
            or self._n_followed >= len(self._answers_since_fit)
            or not self._can_update()
        ):
            return None
        model, since, first = self.model, list(self._answers_since_fit), self._n_followed
        assert isinstance(model, S3VM)
        return lambda: ("followed", since, update_model(model, since[first:]))

    def plan_undo(self) -> Work | None:
        """Return a function that takes undone answers out of the model; None if not due."""
        if self._due != "undoing":
            return None
        pickled, since = self._pickled_fit, list(self._answers_since_fit)
        assert pickled is not None
        return lambda: ("undone", since, replay_answers(pickled, since))

    def plan_heavy_work(self, leave_out: bool = True) -> Work | None:
        """Return a function that does the heavier work that is due; None if nothing is.

        ``leave_out``: whether estimates of errors count as due.
        """
        codes, n_answers, shares = self.codes.copy(), self.n_answers, self._shares
        if self._due == "fit":
            rare = self.targets_rare_class
            return lambda: ("fit", codes, fit_model(self.X, codes, self.kernel, shares, rare))
        if leave_out and not self._due and self._is_left_out_due and self._can_update():
            rows = self._choose_left_out()
            started_from = n_answers, np.sum(codes >= 0) - len(rows) / _FOLDS
            return lambda: (
                "left out",
                started_from,
                predict_left_out(self.X, codes, self.kernel, shares, rows),
            )
        return None

    def _choose_left_out(self) -> list[int]:
        """Return the labelled rows to leave out; those queried at random come first."""
        labelled = np.flatnonzero(self.codes >= 0)
        first = [row for row in self.left_out_first if self.codes[row] >= 0]
        rest = np.setdiff1d(labelled, first).tolist()
        return first + rest[-max(0, _MAX_LEFT_OUT - len(first)) :]

    def discard_work(self, *, refit: bool) -> None:
        """Discard work that failed; a fit is due (``refit``), or nothing until the next answer."""
        self._due, self._is_left_out_due = "fit" if refit else "", False
        self._n_followed = len(self._answers_since_fit)

    def store_result(self, result: WorkResult) -> None:
        """Store the result of a function that one of the plans returned."""
        kind, started_from, state = result
        if kind == "fit":
            self._store_fit(started_from, state)
        elif kind == "left out":
            self.left_out_predictions = state
            self.n_answers_at_left_out, self.n_labels_of_left_out = started_from
            self._is_left_out_due = self.n_answers - self.n_answers_at_left_out >= _MIN_ANSWERS
        elif (
            kind == "undone"
            and self._due == "undoing"
            and self._answers_since_fit[: len(started_from)] == started_from
        ):
            self._due = ""
            self._set_model(state, len(started_from))
        elif kind == "followed" and state.model is self.model:
            if self._answers_since_fit[: len(started_from)] != started_from:
                # Some of the answers were undone meanwhile.
                self._due = self._due or "undoing"
            else:
                self._set_model(state, len(started_from))

    def _set_model(self, state: ModelState, n_followed: int) -> None:
        self.model, self.decisions, self.classes, self._function = state[:4]
        self.doubts = state.doubts
        self._n_followed = n_followed

    def _store_fit(self, started_from: IntArray, state: ModelState) -> None:
        changed = np.flatnonzero(started_from != self.codes)
        before, now = (np.unique(codes[codes >= 0]) for codes in (started_from, self.codes))
        # The fit has other classes, or has learned from a label that was undone.
        stale = not np.array_equal(before, now) or np.any(started_from[changed] >= 0)
        if stale and (
            self._can_update()
            or _RANK_OF_MODEL[type(state.model)] < _RANK_OF_MODEL[type(self.model)]
        ):
            self._due = "fit"
            return  # the present model is better
        self._set_model(state, 0)
        self._pickled_fit = state.pickled
        self._answers_since_fit = [(int(row), int(self.codes[row])) for row in changed]
        self._n_surprises = 0
        self.n_fits += 1
        self._due = "fit" if stale or (len(changed) and not self._can_update()) else ""


# Models that learn from more labels are better.
_RANK_OF_MODEL = {type(None): 0, SVDD: 1, PUSVM: 2, S3VM: 3}


def fit_model(
    X: RowMatrix,
    codes: IntArray,
    kernel: str,
    shares: ClassRatio | None = None,
    targets_rare_class: bool = False,
) -> ModelState:
    """Fit the model that suits the labels, and return its state."""
    known = np.unique(codes[codes >= 0])
    anomalous = codes == 0
    if targets_rare_class and anomalous.sum() < _MIN_ANOMALIES:
        known = known[:0]  # rows of other classes are like most rows
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # limits and ties: the page says what it is sure of
        if len(known) == 0:
            model = SVDD(slack="linear", nu=0.05, n_jobs=JOBS)
            model.fit(X, anomalies=anomalous if anomalous.any() else None)
        elif len(known) == 1:
            is_few = np.sum(codes >= 0) < _MIN_POSITIVES
            prior = _DEFAULT_PRIOR if is_few else "estimate"
            model = PUSVM(prior=prior, threshold="prior", random_state=0, n_jobs=JOBS)
            model.fit(X, codes >= 0)
        else:
            model = make_classifier(kernel, known, shares).fit(X, codes)
            model.resume()  # the path begins, which takes its time
            return ModelState.from_model(model)._replace(pickled=pickle.dumps(model))
        decisions = model.decision_function(X)
        return ModelState(model, decisions, tuple(known.tolist()), model.function_)


def warm_up(X: RowMatrix, kernel: str, columns: ObjectArray) -> None:
    """Learn from a few rows, so that every import is done before anybody waits for it."""
    if X.shape[0] < 4:
        return
    learner = Learner(X[:_WARM_UP_ROWS], np.full(min(X.shape[0], _WARM_UP_ROWS), UNKNOWN), kernel)
    with contextlib.suppress(ValueError, ArithmeticError, MemoryError):  # said when it matters
        for answer in (None, (0, 0), (1, 1), (2, 0), (3, 1)):
            if answer is not None:
                learner.record_answer(*answer)
            while plan := learner.plan_update() or learner.plan_heavy_work(leave_out=False):
                learner.store_result(plan())
        learner.find_drivers(0, columns)


def update_model(model: S3VM, since: Iterable[tuple[int, int]]) -> ModelState:
    """Update a model by answers, one after the other, and return its state."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for row, code in since:
            model.relabel([row], None if code == UNKNOWN else [code])
    return ModelState.from_model(model)


def replay_answers(pickled: bytes, since: Iterable[tuple[int, int]]) -> ModelState:
    """Restore a pickled model and update it by answers."""
    model = pickle.loads(pickled)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.resume()  # the path begins, which takes its time
    return update_model(model, since)


def predict_left_out(
    X: RowMatrix, codes: IntArray, kernel: str, shares: ClassRatio | None, rows: Sequence[int]
) -> LeftOut:
    """Return the code and the decisions of rows by models that were fitted without them.

    A fifth of the rows are left out at a time, and not just their labels: an S3VM that takes a row
    for an unlabelled one moves it away from the boundary, to the wrong side as often as not, and
    then errors look larger than they are on new rows.
    """
    predictions: LeftOut = {}
    for k in range(_FOLDS):
        kept_rows, fold_rows = np.ones(len(codes), dtype=bool), []
        for row in rows[k::_FOLDS]:
            if np.sum(codes[kept_rows] == codes[row]) > 1:  # every class keeps a label
                kept_rows[row] = False
                fold_rows.append(row)
        if fold_rows:
            decisions, classes = _decide_left_out(X, codes, kernel, shares, kept_rows, fold_rows)
            predicted = _predicted_codes(decisions, classes)
            predictions |= {
                row: (int(code), decision)
                for row, code, decision in zip(fold_rows, predicted, decisions, strict=True)
            }
    return predictions


def _decide_left_out(
    X: RowMatrix,
    codes: IntArray,
    kernel: str,
    shares: ClassRatio | None,
    kept_rows: BoolArray,
    rows: list[int],
) -> tuple[FloatArray, tuple[int, ...]]:
    """Return decisions about some rows by a model of those kept, and codes of its classes."""
    if not is_label_only(kernel):
        state = fit_model(X[kept_rows], codes[kept_rows], kernel, shares)
        return state.model.decision_function(X[rows]), state.classes
    labelled = np.flatnonzero(kept_rows & (codes >= 0))
    model = make_classifier(kernel, np.unique(codes[labelled]))
    model.set_params(gamma=resolve_gamma(model.gamma, X, None))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(X[labelled], codes[labelled])
    return model.decision_function(X[rows]), tuple(model.classes_.tolist())


def _predicted_codes(decisions: FloatArray, classes: Sequence[int]) -> IntArray:
    return np.asarray(classes)[class_of(decisions)]
