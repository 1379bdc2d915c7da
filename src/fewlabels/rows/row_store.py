"""Training rows that a model keeps, so that it can be updated: numbers, marks, saved states."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, Self

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from .._typing import AnyArray, BoolArray, FloatArray, IntArray, RowMatrix, VectorLike
from .._util.deadline import ENDLESS, Deadline
from .._util.messages import plural
from .._util.threads import one_blas_thread
from ..kernels.operators.growing.stores import grow_array
from ..kernels.rows import row_keys
from ..solvers.path import PathFollower

# What rounding may do to a path.
BREAKDOWNS = (ArithmeticError, np.linalg.LinAlgError)
# Rows that are gone are removed from all arrays when they are more than this share of the places,
_MAX_GONE_SHARE = 0.25
# and more than so many rows.
_MAX_GONE_ROWS = 64


def run_until_current(
    path: PathFollower,
    operate: Callable[[int | None], bool | None],
    max_steps: int | None,
    deadline: Deadline,
) -> bool:
    """Let a path come to its end, and do ``operate(max_steps)`` until that says None.

    Whether that is reached within ``max_steps`` steps and before the ``deadline``; an operation
    says whether it is at its end.
    """
    path.deadline = deadline
    last = None if max_steps is None else path.n_steps + max_steps
    with one_blas_thread():  # once, not with every operation
        done: bool | None = path.run(max_steps)
        while done:
            done = operate(None if last is None else max(0, last - path.n_steps))
    path.deadline = ENDLESS
    return done is None


class PlainState(ABC):
    """A stream whose ``__getstate__`` gives plain values, all that another needs to continue."""

    @abstractmethod
    def __getstate__(self) -> dict[str, Any]:
        """Return the plain values."""

    @abstractmethod
    def __setstate__(self, state: dict[str, Any]) -> None:
        """Continue from these values."""

    def snapshot(self) -> Self:
        """Return another stream where this one stands: changes of either don't reach the other."""
        other = type(self).__new__(type(self))
        other.__setstate__(self.__getstate__())
        return other


class RowStore:
    """Rows that come and go, and numbers that belong to each.

    A row has a *place* in all arrays. Places are in the order of arrival and stay as they are
    when rows go, until ``compact`` numbers them again. What users call row k is ``places[k]``.

    Rows and numbers are copied, as whoever gave them may write to them, and ``X`` is read-only.
    Every number has a name, as ``weight``, and ``held["weight"]`` has those at all places.
    """

    def __init__(self, X: RowMatrix, **values: npt.ArrayLike) -> None:
        self.n_places = n = X.shape[0]
        self.alive = np.ones(n, bool)
        self._n_alive = n
        self._X = X.copy()
        self._more: list[RowMatrix] = []  # blocks of sparse rows
        self._values: dict[str, AnyArray] = {}
        for name, value in values.items():
            self[name] = np.array(value)

    def __len__(self) -> int:
        return self._n_alive

    def __getitem__(self, name: str) -> AnyArray:
        return self._values[name]

    def get(self, name: str) -> AnyArray | None:
        """Return the numbers of that name at all places, None without any."""
        return self._values.get(name)

    def __setitem__(self, name: str, value: npt.ArrayLike) -> None:
        self._values[name] = _check_length(name, value, self.n_places)

    @property
    def X(self) -> RowMatrix:
        """Rows at all places."""
        if self._more:
            together = sp.csr_array(sp.vstack([self._X, *self._more], format="csr"))
            self._X, self._more = together, []
        X = self._X if sp.issparse(self._X) else self._X[: self.n_places]
        for part in (X,) if isinstance(X, np.ndarray) else (X.data, X.indices, X.indptr):
            part.flags.writeable = False
        return X

    @property
    def places(self) -> IntArray:
        """Places of the rows that are there, in their order."""
        return np.flatnonzero(self.alive)

    @property
    def has_all_rows(self) -> bool:
        """bool: Whether there is a row at every place."""
        return self._n_alive == self.n_places

    def rows(self, places: IntArray) -> RowMatrix:
        """Return rows at some places."""
        return self.X[places]

    def at(self, places: IntArray | BoolArray) -> dict[str, AnyArray]:
        """Return the numbers of rows at some places (a mask will do), by name."""
        return {name: value[places] for name, value in self._values.items()}

    def numbers(self, places: IntArray) -> IntArray:
        """Return the indices by which users know the rows at some places; -1 for removed ones."""
        return np.where(self.alive, np.cumsum(self.alive) - 1, -1)[places]

    def scatter(self, places: IntArray, values: FloatArray) -> FloatArray:
        """Return values of the rows at some places, at all places; 0 for the others."""
        everywhere = np.zeros(self.n_places)
        everywhere[places] = values
        return everywhere

    def append(self, X: RowMatrix, **values: npt.ArrayLike) -> IntArray:
        """Add rows with the numbers that the first rows had; their places.

        Rows are stored as the first ones are, but float64 rows turn those held into float64.
        """
        if values.keys() != self._values.keys():
            raise ValueError(f"rows need {sorted(self._values)}; got {sorted(values)}.")
        n, b = self.n_places, X.shape[0]
        joined = {
            name: _check_length(name, np.concatenate([held, np.asarray(values[name])]), n + b)
            for name, held in self._values.items()
        }
        alive, more = np.concatenate([self.alive, np.ones(b, bool)]), self._more
        if sp.issparse(self._X):
            more = [*more, X.copy()]
        elif b:
            held = self._X.astype(np.result_type(self._X, X), copy=False)
            self._X = grow_array(held, n + b)
            self._X[n : n + b] = X
        # All at once: Ctrl-C leaves all rows or none.
        self._more, self._values, self.alive = more, joined, alive
        self.n_places, self._n_alive = n + b, self._n_alive + b
        return np.arange(n, n + b)

    def widen(self, n_columns: int) -> None:
        """Give all rows more columns, of zeros."""
        X = self.X
        if isinstance(X, np.ndarray):
            self._X = np.pad(X, ((0, 0), (0, n_columns - X.shape[1])))
        else:
            self._X = sp.csr_array((X.data, X.indices, X.indptr), shape=(X.shape[0], n_columns))

    def drop(self, places: IntArray) -> None:
        """Let rows go; their places stay until ``compact``."""
        self.alive = self.alive.copy()
        self.alive[places] = False
        self._n_alive = int(self.alive.sum())

    def compact(self) -> IntArray | None:
        """Free the places of rows that are gone, once there are many.

        Gives the new place of every old one, -1 for rows that are gone; None if nothing changed.
        """
        gone = self.n_places - len(self)
        if gone <= max(_MAX_GONE_ROWS, _MAX_GONE_SHARE * self.n_places):
            return None
        kept = self.places
        place = np.full(self.n_places, -1)
        place[kept] = np.arange(len(kept))
        self._X = self.X[kept]
        self._values = {name: value[kept] for name, value in self._values.items()}
        self.n_places, self.alive = len(kept), np.ones(len(kept), bool)
        return place

    def copy(self) -> RowStore:
        """Return a copy to be changed instead: only one of the two may be added to."""
        other = RowStore.__new__(RowStore)
        other.n_places, other.alive, other._n_alive = self.n_places, self.alive, self._n_alive
        other._X, other._more, other._values = self._X, self._more, dict(self._values)
        return other

    def state(self) -> dict[str, RowMatrix]:
        """The rows that are there and their numbers, as a dict of arrays with a key ``X``."""
        kept = self.places
        everything = self.has_all_rows
        state = {"X": self.X if everything else self.X[kept]}
        for name, value in self._values.items():
            state[name] = value if everything else value[kept]
        return state


class AnomalyMarks:
    """The marks "anomaly" of some ``RowStore``, and those that a path follows.

    A row whose mark changes leaves the path and joins it again as the other kind. Until it has
    left, the path follows its old mark, "followed". An anomaly has another "key" than an equal
    normal row, so that the path never has the two as one row. Rows hold no marks while all are
    normal.
    """

    def __init__(self, rows: RowStore) -> None:
        self.rows = rows

    @property
    def mask(self) -> BoolArray:
        """Mask of the places whose rows are anomalies."""
        anomaly = self.rows.get("anomaly")
        return np.zeros(self.rows.n_places, bool) if anomaly is None else anomaly

    def begin(self) -> None:
        """Let keys, which have just been computed, follow the marks."""
        if self.rows.get("anomaly") is not None:
            self.rows["followed"] = np.zeros(self.rows.n_places, bool)
            self._follow(self.rows["anomaly"])

    def hold(self) -> None:
        """Hold marks from now on."""
        if self.rows.get("anomaly") is None:
            self.rows["anomaly"] = self.rows["followed"] = np.zeros(self.rows.n_places, bool)

    def values_of_new(self, key: FloatArray, anomaly: BoolArray | None) -> dict[str, AnyArray]:
        """Return numbers by name of new rows, from their keys and marks (None: all are normal)."""
        if anomaly is not None and anomaly.any():
            self.hold()
        if self.rows.get("anomaly") is None:
            return {"key": key}
        anomaly = np.zeros(len(key), bool) if anomaly is None else np.asarray(anomaly, dtype=bool)
        key = np.where(anomaly, _anomaly_key(key), key)
        return {"key": key, "anomaly": anomaly, "followed": anomaly}

    def at(self, places: IntArray) -> dict[str, AnyArray]:
        """Return numbers of rows at places by name, with the marks that the path follows."""
        numbers = self.rows.at(places)
        return numbers | {"anomaly": numbers["followed"]} if "followed" in numbers else numbers

    def mask_of_changed_marks(self, on_path: IntArray) -> BoolArray:
        """Return the mask of the rows on the path that leave it because their marks have changed.

        Those that become normal come first, so that every sum on the way can be reached.
        """
        if self.rows.get("followed") is None:
            return np.zeros(len(on_path), bool)
        followed = self.rows["followed"][on_path]
        turning = followed != self.rows["anomaly"][on_path]
        becoming_normal = turning & followed
        return becoming_normal if becoming_normal.any() else turning

    def follow_current(self, on_path: IntArray) -> None:
        """Follow the present marks of all rows but those that are on the path."""
        if self.rows.get("followed") is None:
            return
        followed, anomaly = self.rows["followed"], self.rows["anomaly"]
        if np.array_equal(followed, anomaly):
            return
        marks = anomaly.copy()
        marks[on_path] = followed[on_path]
        self._follow(marks)

    def _follow(self, marks: BoolArray) -> None:
        """Follow other marks: keys go with them."""
        rows, turned = self.rows, marks != self.rows["followed"]
        if turned.any():
            key = rows["key"].copy()
            there = np.flatnonzero(turned)
            known = row_keys(rows.rows(there))
            key[there] = np.where(marks[there], _anomaly_key(known), known)
            rows["key"] = key
        rows["followed"] = np.array(marks)


def _anomaly_key(key: FloatArray) -> FloatArray:
    """Return a number that differs from the key, for each key."""
    return np.where(np.abs(key) < 1.0, key + 2.0, 2.0 * key)


def _check_length(name: str, value: npt.ArrayLike, n_places: int) -> AnyArray:
    value = np.asarray(value)
    if value.shape != (n_places,):
        raise ValueError(
            f"{name} has shape {value.shape}; it needs one number per place, shape ({n_places},)."
        )
    return value


def make_labelled_store(X: RowMatrix, label: AnyArray, weight: FloatArray | None) -> RowStore:
    """``RowStore`` with a label and a weight (None: 1) each."""
    weight = np.ones(X.shape[0]) if weight is None else weight
    return RowStore(X, label=np.asarray(label, dtype=float), weight=weight)


def read_indices(indices: VectorLike, n: int) -> IntArray:
    """Return indices of ``n`` training rows, each once, from 0 to n - 1; a mask is allowed."""
    indices = np.atleast_1d(np.asarray(indices))
    if indices.dtype == bool:
        if indices.shape != (n,):
            raise ValueError(
                f"the mask has {indices.size} values for {plural(n, 'training row')}."
            )
        return np.flatnonzero(indices)
    if indices.ndim != 1 or (indices.size and not np.issubdtype(indices.dtype, np.integer)):
        raise ValueError("indices must be one-dimensional whole numbers, or a mask.")
    if indices.size and (indices.min() < -n or indices.max() >= n):
        worst = indices[np.argmax(np.where(indices < 0, -indices - 1, indices))]
        raise ValueError(f"row {worst} is not among the {plural(n, 'training row')}.")
    indices = (indices % max(1, n)).astype(np.int64)
    if len(indices) > 1 and len(np.unique(indices)) < len(indices):
        raise ValueError("the same row is named twice; name every row once.")
    return indices
