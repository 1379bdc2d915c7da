"""The machine behind the page: it follows every answer, and heavier work runs beside."""

import pickle
import warnings

import numpy as np
import scipy.sparse as sp

from ..estimators import PUSVM, S3VM, SVDD

# Answers after which a fit from scratch is worth its time: so many, and this share of the labels.
_FEW_ANSWERS, _SHARE = 8, 0.25
# Random rows from which the classes' shares are taken from these and no longer from all labels.
_ENOUGH = 8
_LEFT_OUT, _FOLDS = 150, 5
# Share of positives that a PUSVM takes until this many are known, from which it can be estimated.
_PRIOR, _FEW_POSITIVES = 0.1, 10
UNKNOWN = -1


class Learner:
    """Rows, the codes of their labels (``UNKNOWN`` for none), and what has learnt from them.

    Only ``tell``, ``take_back`` and ``take`` change it; ``plan`` gives heavier work as a function
    without arguments, which may run in another thread and whose result ``take`` takes. Whoever
    calls sees to it that no two of these run at once.

    ``decisions`` are those of all rows, for each of the ``classes`` (codes), or (n,) where there
    is one number a row: of two classes positive for the second, of one for it, of none for rows
    that are like most.
    """

    def __init__(self, X, codes, kernel=None):
        self.X, self.codes = X, np.array(codes)
        self.kernel = kernel or ("linear" if sp.issparse(X) else "rbf")
        self.machine = self.decisions = None
        self.classes = ()
        self.left_out = {}  # row: (code predicted without it, decisions without it)
        self.left_out_at = 0
        self.n_told = self.n_fits = 0
        self._anchor, self._since = None, []  # a machine pickled, and what it was told since
        self._due, self._due_left_out = "fit", False
        self._shares = None
        self.first_left_out = ()  # rows that are left out before others

    # -- answers ----------------------------------------------------------------------------------

    def tell(self, row, code):
        """A row got a label, another one, or (``UNKNOWN``) none; the machine follows at once."""
        self.codes[row] = code
        self.n_told += 1
        self._since.append((row, code))
        if not self._follows():
            self._due = "fit"
        elif self._due != "replay":  # which will follow it, too
            _relabel(self.machine, row, code)
            self.decisions = self.machine.training_decisions_
            if len(self._since) >= max(_FEW_ANSWERS, _SHARE * np.sum(self.codes >= 0)):
                self._due = "fit"
        self._due_left_out = self.n_told - self.left_out_at >= _FEW_ANSWERS

    def take_back(self, row, code):
        """The newest label of a row goes, and the one before it comes back.

        The machine becomes the one that the other answers lead to, from the last fit on.
        """
        self.codes[row] = code
        self.n_told += 1
        self._due_left_out = self.n_told - self.left_out_at >= _FEW_ANSWERS
        told = [k for k, (one, _) in enumerate(self._since) if one == row]
        if not told or not self._follows():
            self._due = "fit"
            return
        del self._since[told[-1]]
        self._due = "replay"

    def share(self, shares):
        """Say what share of the rows each class (by code) seems to have; None for unknown."""
        self._shares = shares

    def _follows(self):
        """Whether the machine is one of exactly the classes that have labels."""
        present = np.unique(self.codes[self.codes >= 0])
        return isinstance(self.machine, S3VM) and np.array_equal(present, self.machine.classes_)

    # -- what is seen -----------------------------------------------------------------------------

    @property
    def kind(self):
        """What has learnt: "", "svdd", "pusvm" or "s3vm"."""
        return "" if self.machine is None else type(self.machine).__name__.lower()

    @property
    def busy(self):
        """Whether heavier work is due."""
        return bool(self._due)

    @property
    def predictions(self):
        """The code predicted for every row; None without a machine of two classes or more."""
        return _codes(self.decisions, self.classes) if self.kind == "s3vm" else None

    def drivers(self, row, columns, most=3):
        """The columns that a row's score would change most without, greatest first.

        Each column in turn is set to its mean over all rows; ``columns`` names the column of every
        feature. None of them where there is no machine.
        """
        names = [name for name in dict.fromkeys(columns) if name]
        if self.machine is None or not 1 < len(names) <= 100 or self._due == "replay":
            return []
        one = self.X[[row]].toarray()[0] if sp.issparse(self.X) else self.X[row]
        without = np.tile(one, (len(names) + 1, 1))
        means = np.asarray(self.X.mean(axis=0)).ravel()
        for k, name in enumerate(names):
            without[k, columns == name] = means[columns == name]
        without = sp.csr_array(without) if sp.issparse(self.X) else without
        values = self.machine.decision_function(without).reshape(len(names) + 1, -1)
        place = int(np.argmax(values[-1]))
        change = np.abs(values[:-1, place] - values[-1, place])
        first = np.argsort(-change)[:most]
        return [names[k] for k in first if change[k] > 0.1 * max(change.max(), 1e-12)]

    # -- heavier work -----------------------------------------------------------------------------

    def plan(self, leave_out=True):
        """What is due, as a function; None if nothing is.

        ``leave_out``: whether that is due as well.
        """
        codes, n_told = self.codes.copy(), self.n_told
        if self._due == "replay":
            anchor, since = self._anchor, list(self._since)
            return lambda: ("replay", n_told, since, replayed(anchor, since))
        if self._due == "fit":
            shares = self._shares
            return lambda: ("fit", n_told, codes, fitted(self.X, codes, self.kernel, shares))
        if leave_out and self._due_left_out and self._follows():
            rows, shares = self._to_leave_out(), self._shares
            return lambda: (
                "left out", n_told, codes, left_out(self.X, codes, self.kernel, shares, rows)
            )  # fmt: skip
        return None

    def _to_leave_out(self):
        """Labelled rows that are left out: those asked for at random come first."""
        labelled = np.flatnonzero(self.codes >= 0)
        first = [row for row in self.first_left_out if self.codes[row] >= 0]
        rest = [row for row in labelled.tolist() if row not in set(first)]
        return first + rest[-max(0, _LEFT_OUT - len(first)) :]

    def give_up(self):
        """Leave what is due until the next answer: it failed."""
        self._due, self._due_left_out = "", False

    def take(self, result):
        """Take what ``plan``'s function gave, brought up to the answers since."""
        what, n_told, then, made = result
        if what == "left out":
            self.left_out, self.left_out_at = made, n_told
            self._due_left_out = self.n_told - n_told >= _FEW_ANSWERS
        elif what == "replay":
            if self._due != "replay" or self._since[: len(then)] != then:
                return  # taken back again meanwhile, or a fit is due
            for row, code in self._since[len(then) :]:
                _relabel(made, row, code)
            self.machine, self._due = made, ""
            self.decisions = made.training_decisions_
        else:
            self._take_fit(then, made)

    def _take_fit(self, then, made):
        machine, decisions, classes = made
        changed = np.flatnonzero(then != self.codes)
        before = np.unique(then[then >= 0])
        if len(changed) and not np.array_equal(before, np.unique(self.codes[self.codes >= 0])):
            return  # another machine is needed by now
        if np.any(then[changed] >= 0):
            self._due = "fit"
            return  # it has learnt from a label that was taken back
        self.machine, self.decisions, self.classes = machine, decisions, classes
        self.n_fits += 1
        self._due = ""
        self._anchor, self._since = None, []
        if isinstance(machine, S3VM):
            self._anchor = pickle.dumps(machine)
            for row in changed.tolist():
                self._since.append((row, int(self.codes[row])))
                _relabel(machine, *self._since[-1])
            self.decisions = machine.training_decisions_
        elif len(changed):
            self._due = "fit"


def fitted(X, codes, kernel, shares=None):
    """The machine that labels ask for, fitted; decisions of all rows; codes of its classes."""
    known = np.unique(codes[codes >= 0])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # limits and ties: the page says what it is sure of
        if len(known) == 0:
            machine = SVDD(slack="linear", nu=0.05).fit(X)
        elif len(known) == 1:
            few = np.sum(codes >= 0) < _FEW_POSITIVES
            prior = _PRIOR if few else "estimate"
            machine = PUSVM(prior=prior, threshold="prior", random_state=0).fit(X, codes >= 0)
        else:
            named = shares is not None and set(shares) == set(known.tolist())
            machine = S3VM(kernel=kernel, balance=shares if named else True).fit(X, codes)
            machine.resume()  # the path begins, which takes its time
            return machine, machine.training_decisions_, tuple(known.tolist())
        return machine, machine.decision_function(X), tuple(known.tolist())


def replayed(anchor, since):
    """A pickled machine that was told answers, one after the other."""
    machine = pickle.loads(anchor)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        machine.resume()  # the path begins, which takes its time
        for row, code in since:
            _relabel(machine, row, code)
    return machine


def left_out(X, codes, kernel, shares, rows):
    """Row to (code, decisions): what machines say that were fitted without its label.

    A fifth of the rows lose their labels at a time. The fits are from scratch: an S3VM that
    forgets a label stays near the minimum that the label led to, and repeats it.
    """
    found = {}
    for k in range(_FOLDS):
        hidden, fold = codes.copy(), []
        for row in rows[k::_FOLDS]:
            if np.sum(hidden == codes[row]) > 1:  # every class keeps a label
                hidden[row] = UNKNOWN
                fold.append(row)
        if fold:
            _, decisions, classes = fitted(X, hidden, kernel, shares)
            predicted = _codes(decisions[fold], classes)
            found |= {
                row: (int(code), decisions[row]) for row, code in zip(fold, predicted, strict=True)
            }
    return found


def _relabel(machine, row, code):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        machine.relabel([row], None if code == UNKNOWN else [code])


def _codes(decisions, classes):
    classes = np.asarray(classes)
    if decisions.ndim == 1:
        return classes[(decisions > 0).astype(int)]
    return classes[np.argmax(decisions, axis=1)]
