"""The model behind the page: it follows every answer, and heavier work is given away."""

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
from ..kernels.width import resolve_gamma
from ..one_class.svdd import SVDD
from ..positive_unlabelled.pusvm import PUSVM
from ..semi_supervised.s3vm import S3VM
from .models import (
    JOBS,
    ClassRatio,
    LeftOut,
    classifier,
    default_kernel,
    doubts_of,
    ignores_unlabelled,
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


class Learnt(NamedTuple):
    """A model, its decisions at all rows, codes of its classes, its function, itself pickled.

    ``doubts`` are as :class:`Learner` shows them. The function is a value: it can be called while
    the model follows further answers.
    """

    machine: Model
    decisions: FloatArray
    classes: tuple[int, ...]
    function: Callable[..., FloatArray]
    doubts: FloatArray | None = None
    anchor: bytes | None = None

    @classmethod
    def of(cls, machine: S3VM) -> Self:
        """Return the state of a fitted S3VM."""
        classes, decisions = tuple(machine.classes_.tolist()), machine.training_decisions_
        return cls(machine, decisions, classes, machine.function_, doubts_of(machine))


class Learner:
    """Rows, the codes of their labels (``UNKNOWN`` for none), and what has learned from them.

    What is told is noted at once. The work that follows from it is given as functions without
    arguments, which may run in other threads while more is told, and whose results ``take`` takes:
    ``following`` brings the model up to what was told, by exact updates, ``undoing`` to what was
    taken back, and ``plan`` is heavier. One of the first two may run at a time, and one of
    ``plan`` next to it; all other calls are one at a time.

    ``decisions`` are for all rows and each of the ``classes`` (codes), or (n,) where there
    is one number a row: of two classes positive for the second, of one for it, of none for rows
    that are like most.

    ``hunts``: rows of the first class are anomalies and wanted. Until some are known, the model is
    an ``SVDD`` of all rows, in which they are confirmed anomalies.
    """

    def __init__(
        self, X: RowMatrix, codes: npt.ArrayLike, kernel: str | None = None, hunts: bool = False
    ) -> None:
        self.X, self.codes, self.hunts = X, np.array(codes), hunts
        self.kernel = kernel or default_kernel(X)
        self.machine: Model | None = None
        self.decisions: FloatArray | None = None
        self.doubts: FloatArray | None = None
        self._function: Callable[..., FloatArray] | None = None
        self.classes: tuple[int, ...] = ()
        self.left_out: LeftOut = {}
        # Answers told when rows were left out, and labels that machines were then trained on.
        self.left_out_at, self.left_out_trained = 0, np.inf
        self.n_told = self.n_fits = 0
        # A machine pickled, what was told since, and how much of that the machine has followed.
        self._anchor: bytes | None = None
        self._since: list[tuple[int, int]] = []
        self._followed = 0
        self._surprises = 0  # answers since the last fit that the machine did not expect
        self._due, self._due_left_out = "fit", False
        self._shares: ClassRatio | None = None
        self._means = np.asarray(X.mean(axis=0)).ravel()
        self.first_left_out: tuple[int, ...] = ()  # rows that are left out before others

    # -- answers ----------------------------------------------------------------------------------

    def tell(self, row: int, code: int) -> None:
        """Record that a row got a label, another one, or (``UNKNOWN``) none."""
        expected = self.predictions
        self._surprises += expected is not None and code not in (UNKNOWN, expected[row])
        self._noted(row, code)
        self._since.append((row, code))
        if not self._follows():
            self._due = "fit"
        elif self._due != "undoing" and self._worth_a_fit(int(np.sum(self.codes >= 0))):
            self._due = "fit"

    def _worth_a_fit(self, n_labels: int) -> bool:
        return len(self._since) >= max(_MIN_ANSWERS, _MIN_ANSWER_SHARE * n_labels) or (
            self._surprises >= max(_MIN_SURPRISES, _MIN_SURPRISE_SHARE * n_labels)
        )

    def take_back(self, row: int, code: int) -> None:
        """Remove the newest label of a row, which gets the code that it had before.

        The model becomes the one that the other answers lead to, from the last fit on.
        """
        self._noted(row, code)
        told = [k for k, (one, _) in enumerate(self._since) if one == row]
        if told:
            del self._since[told[-1]]
        if not told or not self._follows():
            self._due = "fit"
        else:
            self._due = "undoing"

    def _noted(self, row: int, code: int) -> None:
        self.codes[row] = code
        self.n_told += 1
        self._due_left_out = self.n_told - self.left_out_at >= _MIN_ANSWERS

    def share(self, shares: ClassRatio | None) -> None:
        """Say what share of the rows each class (by code) seems to have; None for unknown."""
        self._shares = shares

    def _follows(self) -> bool:
        """Return whether the model is an S3VM of exactly the classes that have labels."""
        present = np.unique(self.codes[self.codes >= 0])
        return isinstance(self.machine, S3VM) and np.array_equal(present, self.machine.classes_)

    # -- what is seen -----------------------------------------------------------------------------

    @property
    def kind(self) -> str:
        """Return the kind of the model: "", "svdd", "pusvm" or "s3vm"."""
        return "" if self.machine is None else type(self.machine).__name__.lower()

    @property
    def busy(self) -> bool:
        """Return whether heavier work is due."""
        return bool(self._due)

    @property
    def predictions(self) -> IntArray | None:
        """Return the predicted code of every row, or None without a model of two classes."""
        if self.decisions is None or self.kind != "s3vm":
            return None
        return _codes(self.decisions, self.classes)

    def drivers(self, row: int, columns: ObjectArray, most: int = 3) -> list[str]:
        """Return the columns that a row's score would change most without, greatest first.

        Each column in turn is set to its mean over all rows; ``columns`` names the column of every
        feature. None of them where there is no model.
        """
        names = [name for name in dict.fromkeys(columns) if name]
        if self._function is None or not 1 < len(names) <= 100:
            return []
        one = sp.csr_array(self.X[[row]]).toarray()[0] if sp.issparse(self.X) else self.X[row]
        without = np.tile(one, (len(names) + 1, 1))
        for k, name in enumerate(names):
            without[k, columns == name] = self._means[columns == name]
        without = sp.csr_array(without) if sp.issparse(self.X) else without
        values = self._function(without, n_jobs=1).reshape(len(names) + 1, -1)
        place = int(np.argmax(values[-1]))
        change = np.abs(values[:-1, place] - values[-1, place])
        first = np.argsort(-change)[:most]
        return [names[k] for k in first if change[k] > 0.1 * max(change.max(), 1e-12)]

    # -- work -------------------------------------------------------------------------------------

    @property
    def up_to_date(self) -> bool:
        """Return whether the model has learned all answers that updates can add."""
        return self.following() is None

    def following(self) -> Work | None:
        """Return a function that updates the model by new answers; None if there are none."""
        if self._due == "undoing" or self._followed >= len(self._since) or not self._follows():
            return None
        machine, since, first = self.machine, list(self._since), self._followed
        assert isinstance(machine, S3VM)
        return lambda: ("followed", since, followed(machine, since[first:]))

    def undoing(self) -> Work | None:
        """Return a function that takes undone answers out of the model; None if not due."""
        if self._due != "undoing":
            return None
        anchor, since = self._anchor, list(self._since)
        assert anchor is not None
        return lambda: ("undone", since, replayed(anchor, since))

    def plan(self, leave_out: bool = True) -> Work | None:
        """Return a function that does the heavier work that is due; None if nothing is.

        ``leave_out``: whether that is due as well.
        """
        codes, n_told, shares = self.codes.copy(), self.n_told, self._shares
        if self._due == "fit":
            hunts = self.hunts
            return lambda: ("fit", codes, fitted(self.X, codes, self.kernel, shares, hunts))
        if leave_out and not self._due and self._due_left_out and self._follows():
            rows = self._to_leave_out()
            then = n_told, np.sum(codes >= 0) - len(rows) / _FOLDS
            return lambda: ("left out", then, left_out(self.X, codes, self.kernel, shares, rows))
        return None

    def _to_leave_out(self) -> list[int]:
        """Return the labelled rows to leave out; those queried at random come first."""
        labelled = np.flatnonzero(self.codes >= 0)
        first = [row for row in self.first_left_out if self.codes[row] >= 0]
        rest = np.setdiff1d(labelled, first).tolist()
        return first + rest[-max(0, _MAX_LEFT_OUT - len(first)) :]

    def give_up(self, *, refit: bool) -> None:
        """Discard work that failed; a fit is due (``refit``), or nothing until the next answer."""
        self._due, self._due_left_out = "fit" if refit else "", False
        self._followed = len(self._since)

    def take(self, result: WorkResult) -> None:
        """Take what a function gave that was made here."""
        what, then, made = result
        if what == "fit":
            self._take_fit(then, made)
        elif what == "left out":
            self.left_out, (self.left_out_at, self.left_out_trained) = made, then
            self._due_left_out = self.n_told - self.left_out_at >= _MIN_ANSWERS
        elif what == "undone" and self._due == "undoing" and self._since[: len(then)] == then:
            self._due = ""
            self._show(made, len(then))
        elif what == "followed" and made.machine is self.machine:
            if self._since[: len(then)] != then:  # some of it was taken back meanwhile
                self._due = self._due or "undoing"
            else:
                self._show(made, len(then))

    def _show(self, made: Learnt, n_followed: int) -> None:
        self.machine, self.decisions, self.classes, self._function = made[:4]
        self.doubts = made.doubts
        self._followed = n_followed

    def _take_fit(self, then: IntArray, made: Learnt) -> None:
        changed = np.flatnonzero(then != self.codes)
        before, now = (np.unique(codes[codes >= 0]) for codes in (then, self.codes))
        # It knows other classes, or has learnt from a label that was taken back.
        stale = not np.array_equal(before, now) or np.any(then[changed] >= 0)
        if stale and (
            self._follows()
            or _RANK_OF_MODEL[type(made.machine)] < _RANK_OF_MODEL[type(self.machine)]
        ):
            self._due = "fit"
            return  # what is there is better
        self._show(made, 0)
        self._anchor, self._since = made.anchor, [(int(r), int(self.codes[r])) for r in changed]
        self._surprises = 0
        self.n_fits += 1
        self._due = "fit" if stale or (len(changed) and not self._follows()) else ""


# The more labels a machine takes, the better it is.
_RANK_OF_MODEL = {type(None): 0, SVDD: 1, PUSVM: 2, S3VM: 3}


def fitted(
    X: RowMatrix,
    codes: IntArray,
    kernel: str,
    shares: ClassRatio | None = None,
    hunts: bool = False,
) -> Learnt:
    """Fit the model that suits the labels, and return its state."""
    known = np.unique(codes[codes >= 0])
    odd = codes == 0
    if hunts and odd.sum() < _MIN_ANOMALIES:
        known = known[:0]  # rows of other classes are like most rows
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # limits and ties: the page says what it is sure of
        if len(known) == 0:
            machine = SVDD(slack="linear", nu=0.05, n_jobs=JOBS)
            machine.fit(X, anomalies=odd if odd.any() else None)
        elif len(known) == 1:
            few = np.sum(codes >= 0) < _MIN_POSITIVES
            prior = _DEFAULT_PRIOR if few else "estimate"
            machine = PUSVM(prior=prior, threshold="prior", random_state=0, n_jobs=JOBS)
            machine.fit(X, codes >= 0)
        else:
            machine = classifier(kernel, known, shares).fit(X, codes)
            machine.resume()  # the path begins, which takes its time
            return Learnt.of(machine)._replace(anchor=pickle.dumps(machine))
        decisions = machine.decision_function(X)
        return Learnt(machine, decisions, tuple(known.tolist()), machine.function_)


def warm_up(X: RowMatrix, kernel: str, columns: ObjectArray) -> None:
    """Learn from a few rows, so that every import is done before anybody waits for it."""
    if X.shape[0] < 4:
        return
    some = Learner(X[:_WARM_UP_ROWS], np.full(min(X.shape[0], _WARM_UP_ROWS), UNKNOWN), kernel)
    with contextlib.suppress(ValueError, ArithmeticError, MemoryError):  # said when it matters
        for answer in (None, (0, 0), (1, 1), (2, 0), (3, 1)):
            if answer is not None:
                some.tell(*answer)
            while plan := some.following() or some.plan(leave_out=False):
                some.take(plan())
        some.drivers(0, columns)


def followed(model: S3VM, since: Iterable[tuple[int, int]]) -> Learnt:
    """Update a model by answers, one after the other, and return its state."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for row, code in since:
            model.relabel([row], None if code == UNKNOWN else [code])
    return Learnt.of(model)


def replayed(anchor: bytes, since: Iterable[tuple[int, int]]) -> Learnt:
    """Restore a pickled model and update it by answers."""
    model = pickle.loads(anchor)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.resume()  # the path begins, which takes its time
    return followed(model, since)


def left_out(
    X: RowMatrix, codes: IntArray, kernel: str, shares: ClassRatio | None, rows: Sequence[int]
) -> LeftOut:
    """Return the code and the decisions of rows by models that were fitted without them.

    A fifth of the rows are left out at a time, and not just their labels: an S3VM that takes a row
    for an unlabelled one moves it away from the boundary, to the wrong side as often as not, and
    then errors look larger than they are on new rows.
    """
    found: LeftOut = {}
    for k in range(_FOLDS):
        kept, fold = np.ones(len(codes), dtype=bool), []
        for row in rows[k::_FOLDS]:
            if np.sum(codes[kept] == codes[row]) > 1:  # every class keeps a label
                kept[row] = False
                fold.append(row)
        if fold:
            decisions, classes = _decided(X, codes, kernel, shares, kept, fold)
            predicted = _codes(decisions, classes)
            found |= {
                row: (int(code), decision)
                for row, code, decision in zip(fold, predicted, decisions, strict=True)
            }
    return found


def _decided(
    X: RowMatrix,
    codes: IntArray,
    kernel: str,
    shares: ClassRatio | None,
    kept: BoolArray,
    rows: list[int],
) -> tuple[FloatArray, tuple[int, ...]]:
    """Return decisions about some rows by a model of those kept, and codes of its classes."""
    if not ignores_unlabelled(kernel):
        made = fitted(X[kept], codes[kept], kernel, shares)
        return made.machine.decision_function(X[rows]), made.classes
    known = np.flatnonzero(kept & (codes >= 0))
    machine = classifier(kernel, np.unique(codes[known]))
    machine.set_params(gamma=resolve_gamma(machine.gamma, X, None))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        machine.fit(X[known], codes[known])
    return machine.decision_function(X[rows]), tuple(machine.classes_.tolist())


def _codes(decisions: FloatArray, classes: Sequence[int]) -> IntArray:
    return np.asarray(classes)[class_of(decisions)]
