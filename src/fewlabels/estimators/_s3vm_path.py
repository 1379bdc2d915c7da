"""Training rows of an S3VM that come, go and change their labels, and the path over them.

The estimator's rows change at once; the path may lag behind when its steps are limited. So rows
have *places* that stay until the path is done with them, and operations wait in a queue.
"""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pandas as pd
import scipy.sparse as sp
from sklearn.utils.validation import column_or_1d

from .._threads import resolve_n_jobs
from ..gram import Expansion
from ..gram.growing_rows import grown
from ..solvers.path import PathFollower, RowPenalties
from ._s3vm_batch import objective, violation
from ._s3vm_data import S3VMData, _as_array, _is_mark

# A rebuild is due when as many rows came, went or changed as this share of those at the last one.
_DUE_SHARE = 0.5
# Decisions of unlabelled rows this small may have either sign.
_ZERO = 1e-9
# Rows that are gone are removed from all arrays when they are this share, and so many.
_GONE_SHARE, _FEW = 0.25, 64
_OPERATIONS_KEPT = 1000


class S3VMStream:
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
    path : PathFollower or None
        None before the first operation, and until both classes have a label.
    start : dict or None
        Solution that the path starts from: ``a`` and ``sign`` of the rows, ``virtual`` and
        ``multiplier``.
    done : bool
        Whether the path has caught up.
    steps_before, flips_before : int
        Of earlier paths.
    """

    def __init__(self, machine, X, label, weight):
        self.machine_parameters = stream_parameters(machine)
        self.kernel, self._shift = machine._kernel, machine._shift
        self.C, self.C_star = float(machine.C), float(machine.C_star)
        self.balance = machine.balance
        self._options = {
            "balance": None if machine.balance is False else machine.balance_update,
            "cache_size": machine.cache_size * 1e6,
            "n_jobs": resolve_n_jobs(machine.n_jobs),
        }
        n = X.shape[0]
        self._X, self._n_places = X, n
        self._more = []  # blocks of sparse rows
        self.label = np.asarray(label, dtype=float)
        self.weight = np.ones(n) if weight is None else weight
        self._alive = np.ones(n, bool)
        self.path = self.start = None
        self._on_path = np.zeros(0, np.int64)  # places in the path's order
        self._joining = self._leaving = np.zeros(0, np.int64)
        self._queue = []
        self.done = True
        self.steps_before = self.flips_before = self.iterations_before = 0
        self.history_before = []
        self._n_rebuilt, self._n_changed = n, 0

    # -- rows -------------------------------------------------------------------------------

    def __len__(self):
        return int(self._alive.sum())

    @property
    def X(self):
        """Rows at all places."""
        if self._more:
            self._X = sp.csr_array(sp.vstack([self._X, *self._more], format="csr"))
            self._more = []
        return self._X if sp.issparse(self._X) else self._X[: self._n_places]

    def rows(self, places):
        """Rows at some places, as the user gave them."""
        return self.X[places]

    def kernel_rows(self, places):
        """Rows at some places, as the kernel sees them."""
        rows = self.rows(places)
        return rows if self._shift is None else rows - self._shift

    @property
    def places(self):
        """Places of the training rows, in their order."""
        return np.flatnonzero(self._alive)

    @property
    def leaving(self):
        """Places of rows that are on their way out."""
        return self._leaving

    @property
    def ready(self):
        """Whether both classes have a label."""
        label = self.label[self._alive]
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
        self._check_weight(self.label[self._alive], self.weight[self._alive])

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

    def _take(self, X, label, weight):
        n, b = self._n_places, len(label)
        if sp.issparse(self._X):
            self._more.append(X)
        else:
            dtype = np.result_type(self._X, X)
            self._X = grown(self._X.astype(dtype, copy=False), n + b)
            self._X[n : n + b] = X
        self.label = np.append(self.label, label)
        self.weight = np.append(self.weight, weight)
        self._alive = np.append(self._alive, np.ones(b, bool))
        self._n_places = n + b
        return np.arange(n, n + b)

    def _forget_places(self):
        """Free the places of rows that are gone, once there are many."""
        gone = self._n_places - len(self)
        if gone <= max(_FEW, _GONE_SHARE * self._n_places):
            return
        kept = self.places
        place = np.full(self._n_places, -1)
        place[kept] = np.arange(len(kept))
        self._on_path = place[self._on_path]
        self._X = self.X[kept]
        self.label, self.weight = self.label[kept], self.weight[kept]
        self._n_places, self._alive = len(kept), np.ones(len(kept), bool)

    # -- operations ---------------------------------------------------------------------------

    def add(self, X, label, weight):
        """Add rows, labelled ones first."""
        weight = np.ones(len(label)) if weight is None else weight
        alive = self._alive
        self._check_weight(
            np.append(self.label[alive], label), np.append(self.weight[alive], weight)
        )
        places = self._take(X, label, weight)
        for part in (np.flatnonzero(label), np.flatnonzero(label == 0)):
            rows = X[part] if self._shift is None else X[part] - self._shift
            self._queue_up("add", places[part], rows)

    def remove(self, indices):
        """Remove rows; both classes must keep a label once both have one."""
        places = self.places[indices]
        left = self._alive.copy()
        left[places] = False
        self._check_labels(self.label[left], "forget these rows")
        self._alive = left
        self._queue_up("remove", places)

    def relabel(self, indices, label):
        """Give rows other labels, 0 for none."""
        places = self.places[indices]
        new = self.label.copy()
        new[places] = label
        self._check_labels(new[self._alive], "take back or change these labels")
        self._check_weight(new[self._alive], self.weight[self._alive])
        changed = places[new[places] != self.label[places]]
        self.label = new
        self._queue_up("change", changed)

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
        """Let the path catch up. Returns whether it has, within ``max_steps``."""
        if self.path is None:
            if not self.ready:
                return True
            self.begin()
        path = self.path
        last = None if max_steps is None else path.n_steps + max_steps
        done = path.run(max_steps)
        while done:
            self._finish()
            if not self._queue:
                break
            left = None if last is None else max(0, last - path.n_steps)
            done = self._start(*self._queue.pop(0), left)
        self._notice()
        self.done = done
        del path.history[:-_OPERATIONS_KEPT]
        return done

    def _start(self, name, places, rows, max_steps):
        path, target = self.path, self._target()
        if name == "add":
            self._joining = places
            return path.add(rows, self._penalties(places), target=target, max_steps=max_steps)
        where = np.full(self._n_places, -1)
        where[self._on_path] = np.arange(len(self._on_path))
        if name == "remove":
            self._leaving = places
            return path.remove(where[places], target=target, max_steps=max_steps)
        return path.change(
            where[places], self._penalties(places), target=target, max_steps=max_steps
        )

    def _notice(self):
        """See whether rows that join or leave have done so: balance_update="paper" delays it."""
        if len(self.path) == len(self._on_path):
            return
        if len(self._joining):
            self._on_path = np.append(self._on_path, self._joining)
        else:
            self._on_path = self._on_path[~np.isin(self._on_path, self._leaving)]
            self._leaving = self._leaving[:0]
        self._joining = self._joining[:0]

    def _finish(self):
        self._notice()
        if not self._queue:
            self._forget_places()

    def _target(self):
        if self.balance is False:
            return None
        if self.balance is not True:
            return float(self.balance)
        labelled = self._alive & (self.label != 0)
        return float(np.average(self.label[labelled], weights=self.weight[labelled]))

    def _penalties(self, places):
        """Prices times weights. Rows of both kinds may be mixed."""
        label, weight = self.label[places], self.weight[places]
        free = np.flatnonzero(label == 0)
        given = np.flatnonzero(label)
        unlabelled = RowPenalties.unlabelled(self.C_star * weight[free], len(free))
        if not len(given):
            return unlabelled
        labelled = RowPenalties.labelled(label[given], self.C * weight[given])
        if not len(free):
            return labelled
        order = np.argsort(np.concatenate([given, free]))
        return RowPenalties.concatenate([labelled, unlabelled]).take(order)

    # -- where a path begins ----------------------------------------------------------------

    def begin(self):
        """Begin the path: at a solution, or row by row."""
        self.check()
        if self.start is not None:
            self._load()
        else:
            self._build()
        self.mark_rebuilt()

    def start_from(self, found):
        """Let the path begin at a batch solution."""
        n = len(self.label)
        a = found.result.a
        self.start = {
            "a": a[:n].copy(),
            "sign": found.sign,
            "virtual": float(a[n]) if len(a) > n else 0.0,
            "multiplier": float(found.result.multiplier),
        }

    def _load(self):
        """Let the path take over a solution, and make it exact."""
        start, label, weight = self.start, self.label, self.weight
        everywhere = np.arange(self._n_places)
        free = label == 0
        side = np.where(free, start["sign"], label)
        a = side * np.clip(side * start["a"], 0.0, weight * np.where(free, self.C_star, self.C))
        self.path = PathFollower(self.kernel, **self._options)
        self.path.load(
            self.kernel_rows(everywhere), self._penalties(everywhere), a, start["multiplier"],
            signs=np.where(free, side, 0).astype(int), virtual=start["virtual"],
            target=self._target(),
        )  # fmt: skip
        self._on_path, self.start = everywhere, None

    def _build(self):
        """Add labelled rows, then the others one by one, those first that f tells apart best."""
        places = self.places
        given, free = (places[self.label[places] != 0], places[self.label[places] == 0])
        self.path = path = PathFollower(self.kernel, **self._options)
        target = self._target()
        given_rows = self.kernel_rows(given)
        path.add(given_rows, self._penalties(given), target=target)
        if len(free):
            n_jobs = self._options["n_jobs"]
            f = Expansion(self.kernel, given_rows, path.a, n_jobs=n_jobs)(self.kernel_rows(free))
            free = free[np.argsort(-np.abs(f - path.multiplier), kind="stable")]
            path.add(self.kernel_rows(free), self._penalties(free), block=False)
        self._on_path = np.concatenate([given, free])

    def fresh(self, machine):
        """A stream of the same rows without a path."""
        places = self.places
        again = S3VMStream(
            machine, self.rows(places), self.label[places], self.weight[places].copy()
        )
        again.steps_before, again.flips_before = self.n_steps, self.n_flips
        again.iterations_before, again.history_before = self.iterations_before, self.history
        return again

    @property
    def history(self):
        """Entries of the batch training and of the newest operations."""
        path = [] if self.path is None else self.path.history
        return (self.history_before + path)[-_OPERATIONS_KEPT:]

    def mark_rebuilt(self):
        """Count changes from now on."""
        self._n_rebuilt, self._n_changed = len(self), 0

    # -- what the estimator shows -------------------------------------------------------------

    def data(self):
        """Labels and weights of the training rows."""
        places = self.places
        balance = self.balance if self.ready else False
        return S3VMData(None, self.label[places], self.weight[places], None, balance)

    def now(self):
        """The function, at every place.

        ``a`` variables, ``coef`` coefficients (the virtual row's spread over the rows that it
        is the mean of), ``f`` decisions, nan for rows that the path has not reached. On the
        boundary a row may be on either side: its f has the sign that the path gives it.
        """
        n, path = self._n_places, self.path
        a, coef, f = np.zeros(n), np.zeros(n), np.full(n, np.nan)
        if path is None:
            labels = np.unique(self.label[self._alive & (self.label != 0)])
            multiplier = -float(labels[0]) if len(labels) else 0.0
            f[:] = -multiplier
            return SimpleNamespace(a=a, coef=coef, f=f, multiplier=multiplier)
        in_mean = path.signs != 0
        a[self._on_path] = path.a
        coef[self._on_path] = path.a + in_mean * (path.virtual / max(1, in_mean.sum()))
        f[self._on_path] = path.h
        at_zero = in_mean & (np.abs(path.h) <= _ZERO)
        f[self._on_path[at_zero]] = path.signs[at_zero] * np.finfo(float).tiny
        return SimpleNamespace(a=a, coef=coef, f=f, multiplier=path.multiplier)

    def certificate(self, now):
        """Value of (1) and the largest violation of its optimality conditions."""
        places, data = self.places, self.data()
        known = np.concatenate([places, self._leaving])
        result = SimpleNamespace(
            a=now.coef[known], gradient=now.f[known] + now.multiplier, multiplier=now.multiplier
        )
        C, C_star = self.C * data.weight, self.C_star * data.weight
        f = now.f[places]
        worst = violation(data, now.a[places], f, C, C_star)
        if data.target is not None:
            worst = max(worst, abs(float(data.share @ f[data.unlabeled]) - data.target))
        return objective(data, result, C, self.C_star), worst


def stream_parameters(machine):
    """Parameters that a stream cannot change on its way."""
    names = ("C", "C_star", "balance", "balance_update", "kernel", "degree", "coef0")
    return {name: getattr(machine, name) for name in names}


def read_known_labels(y, n, classes, unlabeled):
    """Labels as +1, -1 and 0 for unlabelled rows, of two classes that are known.

    A mark that is one of the classes is that class.
    """
    if y is None:
        return np.zeros(n)
    if np.ndim(y) == 0:
        y = np.full(n, y, dtype=None if isinstance(y, str | int | float) else object)
    y = column_or_1d(_as_array(y), warn=True)
    if len(y) != n:
        raise ValueError(f"y has {len(y)} labels for {n} rows; give one for each, or None.")
    missing = np.asarray(pd.isna(y), dtype=bool)
    label = np.zeros(n)
    for i in np.flatnonzero(~missing):
        value = y[i]
        if value == classes[1]:
            label[i] = 1.0
        elif value == classes[0]:
            label[i] = -1.0
        elif not (_is_mark(unlabeled) and value == unlabeled):
            raise ValueError(
                f"y holds {value!r}, neither a class ({classes[0]}, {classes[1]}) nor the mark of "
                "unlabelled rows; pass one of these, or a missing value."
            )
    return label


def read_classes(classes, unlabeled):
    """Two classes, sorted; the mark of unlabelled rows may be among them as a third value."""
    values = np.unique(np.asarray(classes))
    if len(values) == 3 and _is_mark(unlabeled):
        values = values[values != unlabeled]
    if len(values) != 2:
        raise ValueError(
            f"classes={list(classes)} names {len(values)} classes; S3VM tells two apart."
        )
    return values


def read_indices(indices, n):
    """Indices of rows, each once; a mask is allowed."""
    indices = np.atleast_1d(np.asarray(indices))
    if indices.dtype == bool:
        if indices.shape != (n,):
            raise ValueError(f"the mask has {indices.size} values for {n} training rows.")
        return np.flatnonzero(indices)
    if indices.ndim != 1 or (indices.size and not np.issubdtype(indices.dtype, np.integer)):
        raise ValueError("indices must be one-dimensional whole numbers, or a mask.")
    if indices.size and (indices.min() < -n or indices.max() >= n):
        worst = indices[np.argmax(np.where(indices < 0, -indices - 1, indices))]
        raise ValueError(f"row {worst} is not among the {n} training rows.")
    indices = (indices % n).astype(np.int64)
    if len(np.unique(indices)) < len(indices):
        raise ValueError("the same row is named twice; name every row once.")
    return indices
