"""Training rows of an S3VM that come, go and change their labels, and the path over them.

The estimator's rows change at once; the path may lag behind when its steps are limited. So rows
have *places* that stay until the path is done with them, and operations wait in a queue.
"""

from __future__ import annotations

from contextlib import contextmanager

import numpy as np

from .._threads import resolve_n_jobs
from ..solvers.path import RowPenalties
from . import _s3vm_begin
from ._held_rows import HeldRows
from ._s3vm_data import plain_balance
from ._s3vm_function import StreamFunction
from ._s3vm_reading import stream_parameters

# A rebuild is due when as many rows came, went or changed as this share of those at the last one.
_DUE_SHARE = 0.5
_HISTORY_KEPT = 1000
_NONE = np.zeros(0, np.int64)


class S3VMStream(StreamFunction):
    """Rows, labels and weights of an S3VM, and the path that follows them.

    Parameters
    ----------
    machine : S3VM
        Whose parameters, kernel and centre count from now on.
    X : ndarray or CSR array of shape (n, d)
        First rows.
    label : ndarray of shape (n,)
        +1, -1, or 0 for unlabelled rows.
    weight : ndarray of shape (n,) or None
        Weights, > 0.

    Attributes
    ----------
    held : HeldRows
        Rows with their "label" and "weight".
    path : PathFollower or None
        None before the first operation, and until both classes have a label.
    start : dict or None
        Where the path starts from: ``a`` and ``sign`` at all places, ``virtual`` and
        ``multiplier``. It need not be a solution.
    done : bool
        Whether the path has caught up.
    steps_before, flips_before : int
        Of earlier paths.
    """

    def __init__(self, machine, X, label, weight):
        self.machine_parameters = stream_parameters(machine)
        self.kernel, self.shift = machine._kernel, machine._shift
        self.C, self.C_star = float(machine.C), float(machine.C_star)
        self.balance = plain_balance(machine.balance)
        self.options = {
            "balance": None if self.balance is False else machine.balance_update,
            "cache_size": machine.cache_size * 1e6,
            "n_jobs": resolve_n_jobs(machine.n_jobs),
        }
        n = X.shape[0]
        self.held = HeldRows(
            X,
            label=np.asarray(label, dtype=float),
            weight=np.ones(n) if weight is None else weight,
        )
        self.path = self.start = None
        self._on_path = _NONE  # places in the path's order
        self._joining = self._leaving = _NONE
        self._queue = []
        self.done = True
        self.steps_before = self.flips_before = self.iterations_before = 0
        self.history_before = []
        self._n_rebuilt, self._n_changed = n, 0

    # -- rows -------------------------------------------------------------------------------

    def __len__(self):
        return len(self.held)

    @property
    def label(self):
        """Labels at all places."""
        return self.held["label"]

    @property
    def n_columns(self):
        """Features of a row."""
        return self.held.X.shape[1]

    @property
    def weight(self):
        """Weights at all places."""
        return self.held["weight"]

    @property
    def places(self):
        """Places of the training rows, in their order."""
        return self.held.places

    @property
    def leaving(self):
        """Places of rows that are on their way out."""
        return self._leaving

    def rows(self, places):
        """Rows at some places, as the user gave them."""
        return self.held.rows(places)

    def kernel_rows(self, places):
        """Rows at some places, as the kernel sees them."""
        rows = self.rows(places)
        return rows if self.shift is None else rows - self.shift

    @property
    def ready(self):
        """Whether both classes have a label."""
        label = self.label[self.places]
        return bool(np.any(label > 0) and np.any(label < 0))

    @property
    def due(self):
        """Whether enough has changed since the last rebuild for another."""
        return self._n_changed >= max(1.0, _DUE_SHARE * self._n_rebuilt)

    @property
    def n_steps(self):
        """Steps of this path and of those before."""
        return self.steps_before + (0 if self.path is None else self.path.n_steps)

    @property
    def n_flips(self):
        """Sign changes on this path and on those before."""
        return self.flips_before + (0 if self.path is None else self.path.n_flips)

    def check(self):
        """Refuse weights that the path cannot hold."""
        self._check_weight(self.label[self.places], self.weight[self.places])

    def _check_weight(self, label, weight):
        if np.any(weight <= 0):
            raise ValueError(
                "a stream cannot hold rows of weight <= 0; leave them out, or give them a "
                "weight > 0."
            )
        free = weight[label == 0]
        if self.balance is not False and len(free) and np.ptp(free) > 0:
            raise ValueError(
                f"unlabelled rows have weights from {free.min():g} to {free.max():g}; the "
                "balancing constraint of a stream counts them alike: give them equal weights, or "
                "set balance=False."
            )

    # -- operations ---------------------------------------------------------------------------

    @contextmanager
    def _wholly(self):
        """Rows and queue change wholly or, when something is wrong on the way, not at all."""
        state, rows = self.__dict__.copy(), self.held.__dict__.copy()
        state["_queue"], rows["_more"] = self._queue.copy(), self.held._more.copy()
        rows["_values"], rows["alive"] = self.held._values.copy(), self.held.alive.copy()
        try:
            yield
        except BaseException:
            self.__dict__.update(state)
            self.held.__dict__.update(rows)
            raise

    def add(self, X, label, weight):
        """Add rows, labelled ones first."""
        weight = np.ones(len(label)) if weight is None else weight
        kept = self.places
        self._check_weight(
            np.append(self.label[kept], label), np.append(self.weight[kept], weight)
        )
        with self._wholly():
            places = self.held.append(X, label=label, weight=weight)
            for part in (np.flatnonzero(label), np.flatnonzero(label == 0)):
                rows = X[part] if self.shift is None else X[part] - self.shift
                self._queue_up("add", places[part], rows)

    def remove(self, indices):
        """Remove rows; both classes must keep a label once both have one."""
        places = self.places[indices]
        left = self.held.alive.copy()
        left[places] = False
        self._check_labels(self.label[left], "forget these rows")
        with self._wholly():
            self.held.drop(places)
            self._queue_up("remove", places)

    def relabel(self, indices, label):
        """Give rows other labels, 0 for none."""
        places, kept = self.places[indices], self.places
        new = self.label.copy()
        new[places] = label
        self._check_labels(new[kept], "take back or change these labels")
        self._check_weight(new[kept], self.weight[kept])
        changed = places[new[places] != self.label[places]]
        with self._wholly():
            self.held["label"] = new
            self._queue_up("change", changed)

    def reprice(self, C, C_star):
        """Let prices move steadily to other values."""
        with self._wholly():
            self.C, self.C_star = float(C), float(C_star)
            self.machine_parameters = {**self.machine_parameters, "C": C, "C_star": C_star}
            if self.path is not None:
                self._queue.append(("move", _NONE, None))

    def _check_labels(self, label, what):
        if not len(label):
            raise ValueError("no training row would be left; keep at least one.")
        if self.ready and not (np.any(label > 0) and np.any(label < 0)):
            raise ValueError(
                f"cannot {what}: labels of one class only would be left; label a row of the "
                "other class first."
            )

    def _queue_up(self, name, places, rows=None):
        self._n_changed += len(places)
        if self.path is not None and len(places):
            self._queue.append((name, places, rows))

    def run(self, max_steps=None):
        """Let the path catch up. Returns whether it has, within ``max_steps``.

        After an exception there is no path but a ``start`` for another one.
        """
        try:
            if self.path is None:
                if not self.ready:
                    return True
                self.begin()
            self.done = self._catch_up(max_steps)
        except BaseException:
            self._give_up_path()
            raise
        return self.done

    def lost_to_rounding(self, tol):
        """The violation at the end of the path where rounding keeps it above ``tol``, else 0."""
        path = self.path
        if path is None or not self.done or path.resolution <= tol:
            return 0.0
        violation = path.violation()
        return violation if violation > tol else 0.0

    def _catch_up(self, max_steps):
        path = self.path
        last = None if max_steps is None else path.n_steps + max_steps
        done = path.run(max_steps)
        while done:
            self._notice()
            if not self._queue:
                self._forget_places()
                break
            left = None if last is None else max(0, last - path.n_steps)
            done = self._next(left)
        self._notice()
        return done

    def _next(self, max_steps):
        """Start the next operation that waits."""
        name, places, rows = self._queue.pop(0)
        path, budget = self.path, {"target": self.target(), "max_steps": max_steps}
        if name == "add":
            self._joining = places
            return path.add(rows, self.penalties(places), **budget)
        on_path = self._on_path
        if name == "move":
            # Rows whose label has changed since wait for their own turn.
            same = np.flatnonzero((path.signs != 0) == (self.label[on_path] == 0))
            return path.move(same, self.penalties(on_path[same]), **budget)
        where = np.full(self.held.n_places, -1)
        where[on_path] = np.arange(len(on_path))
        if name == "remove":
            self._leaving = places
            return path.remove(where[places], **budget)
        return path.change(where[places], self.penalties(places), **budget)

    def _notice(self):
        """See whether rows that join or leave have done so: balance_update="paper" delays it."""
        if len(self.path) == len(self._on_path):
            return
        if len(self._joining):
            self._on_path = np.append(self._on_path, self._joining)
        else:
            self._on_path = self._on_path[~np.isin(self._on_path, self._leaving)]
        self._joining = self._leaving = _NONE

    def _forget_places(self):
        """Free the places of rows that are gone, once there are many."""
        with self._wholly():
            place = self.held.compact()
            if place is not None:
                self._on_path = place[self._on_path]

    def target(self):
        """Mean of f over the unlabelled rows; None for no constraint."""
        if self.balance is False:
            return None
        if self.balance is not True:
            return float(self.balance)
        labelled = self.held.alive & (self.label != 0)
        return float(np.average(self.label[labelled], weights=self.weight[labelled]))

    def penalties(self, places, C_star=None):
        """Prices times weights. Rows of both kinds may be mixed."""
        C_star = self.C_star if C_star is None else C_star
        label, weight = self.label[places], self.weight[places]
        free = np.flatnonzero(label == 0)
        given = np.flatnonzero(label)
        unlabelled = RowPenalties.unlabelled(C_star * weight[free], len(free))
        if not len(given):
            return unlabelled
        labelled = RowPenalties.labelled(label[given], self.C * weight[given])
        if not len(free):
            return labelled
        order = np.argsort(np.concatenate([given, free]))
        return RowPenalties.concatenate([labelled, unlabelled]).take(order)

    # -- where a path begins ----------------------------------------------------------------

    def begin(self, build=_s3vm_begin.row_by_row):
        """Begin the path where ``start`` says, or build one."""
        self.check()
        if self.start is not None:
            build = _s3vm_begin.at_solution
        else:
            self.mark_rebuilt()
        path, places = build(self)
        self.path, self._on_path, self.start, self.done = path, places, None, True

    def start_from(self, found):
        """Let the path begin at a batch solution of the training rows."""
        places, n = self.places, len(self)
        a, sign = np.zeros(self.held.n_places), np.ones(self.held.n_places)
        a[places], sign[places] = found.result.a[:n], found.sign
        self.start = {
            "a": a,
            "sign": sign,
            "virtual": float(found.result.a[n]) if len(found.result.a) > n else 0.0,
            "multiplier": float(found.result.multiplier),
        }

    def _give_up_path(self):
        """Go on without this path: ``start`` is what can be read off it."""
        path, self.done = self.path, False
        if path is None:
            return
        a, sign = np.zeros(self.held.n_places), np.zeros(self.held.n_places)
        self._notice()
        if len(path) == len(self._on_path):
            a[self._on_path], sign[self._on_path] = path.a, path.signs
        numbers = np.append(a, [path.virtual, path.multiplier])
        numbers[~np.isfinite(numbers)] = 0.0
        start = {
            "a": numbers[:-2], "sign": sign, "virtual": numbers[-2], "multiplier": numbers[-1]
        }  # fmt: skip
        self.steps_before, self.flips_before = self.n_steps, self.n_flips
        self.history_before = self.history
        self.path, self.start = None, start
        self._on_path = self._joining = self._leaving = _NONE
        self._queue = []

    def widen(self, n_columns):
        """Give all rows more columns, of zeros: the function stays the same."""
        with self._wholly():
            if self.shift is not None:
                self.shift = np.pad(self.shift, (0, n_columns - len(self.shift)))
            self.held.widen(n_columns)
            self._give_up_path()

    def fresh(self, machine):
        """A stream of the same rows without a path."""
        rows = self.held.state()
        again = S3VMStream(machine, rows["X"], rows["label"], rows["weight"])
        again.steps_before, again.flips_before = self.n_steps, self.n_flips
        again.iterations_before, again.history_before = self.iterations_before, self.history
        return again

    @property
    def history(self):
        """Entries of the batch training and of the newest operations."""
        path = [] if self.path is None else self.path.history
        return (self.history_before + path)[-_HISTORY_KEPT:]

    def mark_rebuilt(self):
        """Count changes from now on."""
        self._n_rebuilt, self._n_changed = len(self), 0
