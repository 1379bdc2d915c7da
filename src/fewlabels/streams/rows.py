"""Training rows that a model keeps, so that it can be updated, and how they are saved."""

import json

import numpy as np
import scipy.sparse as sp

from .._deadline import ENDLESS
from .._threads import one_blas_thread
from ..gram.growing.stores import grown

# Rows that are gone are removed from all arrays when they are this share, and so many.
_GONE_SHARE, _FEW = 0.25, 64


def caught_up(path, operate, max_steps, deadline):
    """Let a path come to its end, and do ``operate(max_steps)`` until that says None.

    Whether that is reached within ``max_steps`` steps and before the ``deadline``; an operation
    says whether it is at its end.
    """
    path.deadline = deadline
    last = None if max_steps is None else path.n_steps + max_steps
    with one_blas_thread():  # once, not with every operation
        done = path.run(max_steps)
        while done:
            done = operate(None if last is None else max(0, last - path.n_steps))
    path.deadline = ENDLESS
    return done is None


class PlainState:
    """A stream whose ``__getstate__`` gives plain values, all that another needs to continue."""

    def snapshot(self):
        """Another stream where this one stands: changes of either don't reach the other."""
        other = type(self).__new__(type(self))
        other.__setstate__(self.__getstate__())
        return other


class HeldRows:
    """Rows that come and go, and numbers that belong to each.

    A row has a *place* in all arrays. Places are in the order of arrival and stay as they are
    when rows go, until ``compact`` numbers them again. What users call row k is ``places[k]``.

    Rows and numbers are copied, as whoever gave them may write to them, and ``X`` is read-only.
    Every number has a name, as ``weight``, and ``held["weight"]`` has those at all places.
    """

    def __init__(self, X, **values):
        self.n_places = n = X.shape[0]
        self.alive = np.ones(n, bool)
        self._n_alive = n
        self._X = X.copy()
        self._more = []  # blocks of sparse rows
        self._values = {}
        for name, value in values.items():
            self[name] = np.array(value)

    def __len__(self):
        return self._n_alive

    def __getitem__(self, name):
        return self._values[name]

    def get(self, name):
        """The numbers of that name at all places, None without any."""
        return self._values.get(name)

    def __setitem__(self, name, value):
        self._values[name] = _one_each(name, value, self.n_places)

    @property
    def X(self):
        """Rows at all places."""
        if self._more:
            together = sp.csr_array(sp.vstack([self._X, *self._more], format="csr"))
            self._X, self._more = together, []
        X = self._X if sp.issparse(self._X) else self._X[: self.n_places]
        for part in (X.data, X.indices, X.indptr) if sp.issparse(X) else (X,):
            part.flags.writeable = False
        return X

    @property
    def places(self):
        """Places of the rows that are there, in their order."""
        return np.flatnonzero(self.alive)

    @property
    def are_all_there(self):
        """Whether there is a row at every place."""
        return self._n_alive == self.n_places

    def rows(self, places):
        """Rows at some places."""
        return self.X[places]

    def at(self, places):
        """The numbers of rows at some places (a mask will do), by name."""
        return {name: value[places] for name, value in self._values.items()}

    def append(self, X, **values):
        """Add rows with the numbers that the first rows had; their places.

        Rows are stored as the first ones are, but float64 rows turn those held into float64.
        """
        if values.keys() != self._values.keys():
            raise ValueError(f"rows need {sorted(self._values)}; got {sorted(values)}.")
        n, b = self.n_places, X.shape[0]
        joined = {
            name: _one_each(name, np.concatenate([held, np.asarray(values[name])]), n + b)
            for name, held in self._values.items()
        }
        alive, more = np.concatenate([self.alive, np.ones(b, bool)]), self._more
        if sp.issparse(self._X):
            more = [*more, X.copy()]
        elif b:
            held = self._X.astype(np.result_type(self._X, X), copy=False)
            self._X = grown(held, n + b)
            self._X[n : n + b] = X
        # All at once: Ctrl-C leaves all rows or none.
        self._more, self._values, self.alive = more, joined, alive
        self.n_places, self._n_alive = n + b, self._n_alive + b
        return np.arange(n, n + b)

    def widen(self, n_columns):
        """Give all rows more columns, of zeros."""
        X = self.X
        if sp.issparse(X):
            self._X = sp.csr_array((X.data, X.indices, X.indptr), shape=(X.shape[0], n_columns))
        else:
            self._X = np.pad(X, ((0, 0), (0, n_columns - X.shape[1])))

    def drop(self, places):
        """Let rows go; their places stay until ``compact``."""
        self.alive = self.alive.copy()
        self.alive[places] = False
        self._n_alive = int(self.alive.sum())

    def compact(self):
        """Free the places of rows that are gone, once there are many.

        Gives the new place of every old one, -1 for rows that are gone; None if nothing changed.
        """
        gone = self.n_places - len(self)
        if gone <= max(_FEW, _GONE_SHARE * self.n_places):
            return None
        kept = self.places
        place = np.full(self.n_places, -1)
        place[kept] = np.arange(len(kept))
        self._X = self.X[kept]
        self._values = {name: value[kept] for name, value in self._values.items()}
        self.n_places, self.alive = len(kept), np.ones(len(kept), bool)
        return place

    def copy(self):
        """The same rows, to be changed in their place: only one of the two may be added to."""
        other = HeldRows.__new__(HeldRows)
        other.n_places, other.alive, other._n_alive = self.n_places, self.alive, self._n_alive
        other._X, other._more, other._values = self._X, self._more, dict(self._values)
        return other

    def viewed(self, **values):
        """The same rows with other numbers next to them."""
        other = self.copy()
        other._values = {name: np.asarray(value) for name, value in values.items()}
        return other

    def state(self):
        """The rows that are there and their numbers, as a dict of arrays with a key ``X``."""
        kept = self.places
        everything = self.are_all_there
        state = {"X": self.X if everything else self.X[kept]}
        for name, value in self._values.items():
            state[name] = value if everything else value[kept]
        return state


class SavedStream(PlainState):
    """The saved state of a ``ConvexStream``: its rows, and where its path continues."""

    # Numbers of rows that follow from the others, and are not saved.
    derived_values: tuple[str, ...] = ("diagonal", "key", "followed")

    def __getstate__(self):
        """Plain values: the rows that are there, and the solution that a path continues from."""
        alive, rows = self.rows.alive, self.rows.state()
        a, multiplier = self._start
        if self.on_path is not None:
            # In the machine's own variables; leaving rows are gone, and a path makes good for it.
            _, result = self.solution()
            a, multiplier = self._spread(result.a)[alive], result.multiplier
        weight, own = weight_in_training(rows), rows.pop("weight")
        kept = {name: value for name, value in rows.items() if name not in self.derived_values}
        if np.any(own[weight != own] != 1.0):
            kept["weight_before"] = own
        if "anomaly" in kept and not kept["anomaly"].any():
            del kept["anomaly"]
        return {
            "formulation": self.stated,
            "kernel": self.kernel,
            "shift": self.shift,
            "rows": kept | {"weight": None if np.all(weight == 1.0) else weight},
            "a": a,
            "multiplier": float(multiplier),
            "n_steps": self.n_steps,
            "history": json.dumps(self.history, default=float),
            "version": self.version,
            "done": self.done,
        }

    def __setstate__(self, state):
        rows = dict(state["rows"])
        if rows["weight"] is None:
            rows["weight"] = np.ones(rows["X"].shape[0])
        if "calibrates" in rows:  # marked rows are saved with a weight of 0
            known = np.where(rows["calibrates"], 1.0, rows["weight"])
            rows["weight"] = rows.pop("weight_before", known)
        self.__init__(
            state["formulation"],
            state["kernel"],
            HeldRows(**rows),
            (state["a"], state["multiplier"]),
            shift=state["shift"],
            n_steps=state["n_steps"],
            history=json.loads(state["history"]),
        )
        self.version, self.done = state["version"], state["done"]


def weight_in_training(rows):
    """Weights from numbers of rows by name; 0 for rows that calibrate."""
    weight = rows["weight"]
    return np.where(rows["calibrates"], 0.0, weight) if "calibrates" in rows else weight


def _one_each(name, value, n_places):
    value = np.asarray(value)
    if value.shape != (n_places,):
        raise ValueError(
            f"{name} has shape {value.shape}; it needs one number per place, shape ({n_places},)."
        )
    return value


def labelled_rows(X, label, weight):
    """``HeldRows`` with a label and a weight (None: 1) each."""
    weight = np.ones(X.shape[0]) if weight is None else weight
    return HeldRows(X, label=np.asarray(label, dtype=float), weight=weight)


def read_indices(indices, n):
    """Indices of ``n`` training rows, each once, from 0 to n - 1; a mask is allowed."""
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
    indices = (indices % max(1, n)).astype(np.int64)
    if len(indices) > 1 and len(np.unique(indices)) < len(indices):
        raise ValueError("the same row is named twice; name every row once.")
    return indices
