"""Kernel matrices of rows that come and go.

Path following needs three things of K, again and again for nearly the same rows: products
with a few columns, small blocks, and single columns when rows arrive. Columns are
evaluated in float64, kept within a bound on memory, extended when rows are appended, and
evaluated again after they were dropped. With a linear kernel no column is formed.
"""

from __future__ import annotations

from abc import ABC, abstractmethod

import numpy as np
import scipy.sparse as sp

from ..._threads import run_ranges
from ...kernels import FormedKernel, Linear, Precomputed
from ..tiles import _columns
from .rows import DenseStore, FunctionStore, MatrixStore, SparseStore, grown

# Multiply-adds below which a second thread costs more than it saves.
_WORTH_A_THREAD = 1_000_000
_ROWS_AT_A_TIME = 4096
# Kernel values of new rows that are held at a time (float64: 32 MB).
_VALUES_AT_A_TIME = 4_000_000
# From so many new rows on, their own columns are evaluated only when they are needed.
MANY = 64


def make_growing(kernel, X, *, cache_size=200e6, n_jobs=1):
    """An empty growing kernel matrix for rows such as those of ``X``.

    Parameters
    ----------
    kernel : kernel object
        See ``fewlabels.kernels``.
    X : ndarray or CSR array of shape (n, d)
        First rows. They are not added; they decide the storage, and the centre of an RBF
        kernel.
    cache_size : float, default=200e6
        Bytes for columns.
    n_jobs : int, default=1
        Threads.
    """
    if isinstance(kernel, Linear):
        return GrowingLinear(X.shape[1], sp.issparse(X), n_jobs)
    if isinstance(kernel, Precomputed):
        store = MatrixStore()
    elif isinstance(kernel, FormedKernel):
        store = FunctionStore(kernel.values)
    else:
        store = SparseStore(kernel, X) if sp.issparse(X) else DenseStore(kernel, X)
    return GrowingColumns(store, cache_size, n_jobs)


class GrowingGram(ABC):
    """A kernel matrix K of which rows can be appended and dropped.

    Attributes
    ----------
    n : int
        Number of rows.
    n_values : int
        Kernel values evaluated so far.
    """

    def __init__(self, n_jobs=1):
        self.n = 0
        self.n_jobs = n_jobs
        self.n_values = 0

    @abstractmethod
    def append(self, X):
        """Add rows; they get the indices ``n, n + 1, ...``. Returns their K(x, x)."""

    @abstractmethod
    def keep(self, indices):
        """Drop all rows but ``indices`` (sorted), which become 0, 1, ..."""

    @abstractmethod
    def columns(self, indices):
        """The columns ``indices``, one per row of the result, shape (len(indices), n)."""

    @abstractmethod
    def block(self, rows, columns):
        """``K[rows][:, columns]``, float64."""

    @abstractmethod
    def apply(self, indices, coef, out, hold=True):
        """``out += K[:, indices] @ coef`` with ``out`` float64, shape (n,).

        ``hold`` says whether columns that are evaluated for it are worth keeping.
        """

    @abstractmethod
    def product_at(self, rows, indices, coef):
        """``K[rows][:, indices] @ coef`` without touching other rows."""

    def prefetch(self, indices):
        """Say that columns will be needed soon, so that they are evaluated together."""
        return


class GrowingLinear(GrowingGram):
    """K = X X': products cost O(n d).

    Parameters
    ----------
    d : int
        Number of features.
    sparse : bool
        Whether rows are kept as CSR.
    """

    def __init__(self, d, sparse, n_jobs=1):
        super().__init__(n_jobs)
        self.sparse = sparse
        self._rows = sp.csr_array((0, d)) if sparse else np.zeros((0, d))

    def __getstate__(self):
        return {**self.__dict__, "_rows": self.X}  # without the room for more

    @property
    def X(self):
        """The rows."""
        return self._rows if self.sparse else self._rows[: self.n]

    def append(self, X):
        d = self._rows.shape[1]
        if X.shape[1] != d:
            raise ValueError(
                f"the new rows have {X.shape[1]} features, the others {d}; "
                "they must have the same."
            )
        if self.sparse:
            X = sp.csr_array(X, dtype=np.float64)
            self._rows = sp.csr_array(sp.vstack([self._rows, X], format="csr"))
            self.n = self._rows.shape[0]
            return np.asarray(X.multiply(X).sum(axis=1)).ravel()
        X = np.asarray(X.toarray() if sp.issparse(X) else X, dtype=np.float64)
        self._rows = grown(self._rows, self.n + len(X))
        self._rows[self.n : self.n + len(X)] = X
        self.n += len(X)
        return np.einsum("ij,ij->i", X, X)

    def keep(self, indices):
        self._rows = self.X[indices]
        self.n = len(indices)

    def weights(self, indices, coef):
        """``X[indices].T @ coef``, shape (d,)."""
        return np.asarray(self.X[indices].T @ coef).ravel()

    def at(self, rows, weights):
        """``X[rows] @ weights``."""
        return self.X[rows] @ weights

    def columns(self, indices):
        self.n_values += len(indices) * self.n
        return _dense(self.X[indices] @ self.X.T)

    def block(self, rows, columns):
        self.n_values += len(rows) * len(columns)
        return _dense(self.X[rows] @ self.X[columns].T)

    def apply(self, indices, coef, out, hold=True):
        out += self.X @ self.weights(indices, coef)

    def product_at(self, rows, indices, coef):
        return self.X[rows] @ self.weights(indices, coef)


def _dense(matrix):
    return matrix.toarray() if sp.issparse(matrix) else matrix


class GrowingColumns(GrowingGram):
    """Columns of a kernel matrix, kept within a bound on memory.

    A column stays while it is among the most recently used; columns in use at the moment
    are not dropped for others, so a working set larger than the bound costs evaluations
    and nothing else.

    Parameters
    ----------
    store : DenseStore, SparseStore, FunctionStore or MatrixStore
        Where values come from.
    cache_size : float
        Bytes for columns.
    """

    def __init__(self, store, cache_size, n_jobs=1):
        super().__init__(n_jobs)
        self.store = store
        self.cache_size = cache_size
        self._reset()

    def _reset(self):
        self._storage = np.empty((0, 0))
        self._column_of = np.empty(0, np.int64)  # of every slot; -1 for none
        self._stamp = np.empty(0, np.int64)
        self._slot_of = np.empty(0, np.int64)  # of every row
        self._clock = 1
        self._make_room()

    def __getstate__(self):
        # The columns can be evaluated again.
        state = self.__dict__.copy()
        for name in ("_storage", "_column_of", "_stamp", "_slot_of", "_clock"):
            del state[name]
        return state

    def __setstate__(self, state):
        self.__dict__.update(state)
        self._reset()

    # -- rows ------------------------------------------------------------------------

    def append(self, X):
        first = self.n
        diagonal = self.store.append(X)
        self.n = self.store.n
        self._make_room()
        new = np.arange(first, self.n)
        self._clock += 1
        if len(new) > MANY:
            self._extend(new)
            return diagonal
        values = self.store.columns_of(new, self.n_jobs)
        self.n_values += values.size
        if first:
            _columns.extend_columns(self._storage, self._column_of, values, first)
        self._put(new, values, replace=len(new) == 1)
        return diagonal

    def _extend(self, new):
        """Values of new rows with the columns that are held, and no others."""
        slots = np.flatnonzero(self._column_of >= 0)
        step = max(1, _VALUES_AT_A_TIME // max(1, len(slots)))
        for rows in np.split(new, range(step, len(new), step)) if len(slots) else ():
            values = self.store.cross(rows, self._column_of[slots], self.n_jobs)
            self.n_values += values.size
            for s, column in zip(slots.tolist(), values.T, strict=True):
                self._storage[s, rows] = column

    def keep(self, indices):
        self.store.keep(indices)
        place = np.full(self.n, -1)
        place[indices] = np.arange(len(indices))
        self.n = len(indices)
        for s in np.flatnonzero(self._column_of >= 0):
            column = self._storage[s]
            column[: self.n] = column[indices]
        held = self._column_of >= 0
        self._column_of[held] = place[self._column_of[held]]
        self._slot_of[:] = -1
        slots = np.flatnonzero(self._column_of >= 0)
        self._slot_of[self._column_of[slots]] = slots

    # -- columns -----------------------------------------------------------------------

    def _make_room(self):
        """Room for ``n`` rows in every column, for as many columns as the bound allows."""
        n = self.n
        if len(self._slot_of) < n:
            larger = np.full(max(n, 2 * len(self._slot_of)), -1, np.int64)
            larger[: len(self._slot_of)] = self._slot_of
            self._slot_of = larger
        if self._storage.shape[1] >= n:
            return
        length = max(256, n + n // 2)
        capacity = int(max(0, min(length, self.cache_size / (8 * length))))
        slots = np.flatnonzero(self._column_of >= 0)
        slots = slots[np.argsort(-self._stamp[slots], kind="stable")][:capacity]
        storage = np.empty((capacity, length))
        filled = self._storage.shape[1]
        for new, old in enumerate(slots):
            storage[new, :filled] = self._storage[old]
        column_of = np.full(capacity, -1, np.int64)
        stamp = np.zeros(capacity, np.int64)
        column_of[: len(slots)], stamp[: len(slots)] = self._column_of[slots], self._stamp[slots]
        self._storage, self._column_of, self._stamp = storage, column_of, stamp
        self._slot_of[:] = -1
        self._slot_of[column_of[: len(slots)]] = np.arange(len(slots))

    def _put(self, indices, values, replace=True):
        """Keep columns where there is room, or in the place of those not in use."""
        free = np.flatnonzero(self._column_of < 0)[: len(indices)]
        if replace and len(free) < len(indices):
            idle = np.flatnonzero((self._stamp < self._clock) & (self._column_of >= 0))
            oldest = idle[np.argsort(self._stamp[idle], kind="stable")]
            free = np.concatenate([free, oldest[: len(indices) - len(free)]])
        for s, j, column in zip(free.tolist(), indices.tolist(), values, strict=False):
            if self._column_of[s] >= 0:
                self._slot_of[self._column_of[s]] = -1
            self._storage[s, : self.n] = column
            self._column_of[s], self._slot_of[j], self._stamp[s] = j, s, self._clock

    def _find(self, indices):
        """Slots of the columns, -1 where there is none; missing ones are fetched if possible."""
        slots = self._slot_of[indices]
        self._stamp[slots[slots >= 0]] = self._clock
        if (slots < 0).any():
            room = int(np.sum((self._stamp < self._clock) | (self._column_of < 0)))
            missing = np.unique(indices[slots < 0])[:room]
            step = max(1, _VALUES_AT_A_TIME // max(1, self.n))
            for first in range(0, len(missing), step):
                part = missing[first : first + step]
                values = self.store.columns_of(part, self.n_jobs)
                self.n_values += values.size
                self._put(part, values)
            slots = self._slot_of[indices]
        return slots

    def prefetch(self, indices):
        self._clock += 1
        self._find(np.asarray(indices))

    def columns(self, indices):
        indices = np.asarray(indices)
        slots = self._slot_of[indices]
        out = np.empty((len(indices), self.n))
        out[slots >= 0] = self._storage[slots[slots >= 0], : self.n]
        missing = np.flatnonzero(slots < 0)
        if len(missing):
            out[missing] = self.store.columns_of(indices[missing], self.n_jobs)
            self.n_values += len(missing) * self.n
        return out

    def block(self, rows, columns):
        rows, columns = np.asarray(rows), np.asarray(columns)
        out = np.empty((len(rows), len(columns)))
        if not out.size:
            return out
        slots = self._find(columns)
        held = slots >= 0
        if held.all():
            _columns.gather(self._storage, slots, rows, out)
            return out
        part = np.empty((len(rows), int(held.sum())))
        _columns.gather(self._storage, slots[held], rows, part)
        out[:, held] = part
        self.n_values += int((~held).sum()) * len(rows)
        out[:, ~held] = self.store.cross(rows, columns[~held], self.n_jobs)
        return out

    def product_at(self, rows, indices, coef):
        rows, indices = np.asarray(rows), np.asarray(indices)
        out = np.zeros(len(rows))
        if not (len(rows) and len(indices)):
            return out
        # A few new rows with many old ones: the columns of the former are held.
        if len(rows) < len(indices):
            slots = self._slot_of[rows]
            if (slots >= 0).all():
                for i, s in enumerate(slots):
                    out[i] = self._storage[s][indices] @ coef
                return out
            return self._products(rows, indices, coef)
        slots = self._find(indices)
        held = slots >= 0
        _columns.gather_product(self._storage, slots[held], rows, coef[held], out)
        if not held.all():
            out += self._products(rows, indices[~held], coef[~held])
        return out

    def _products(self, rows, indices, coef):
        out = np.zeros(len(rows))
        step = max(1, _VALUES_AT_A_TIME // max(1, len(rows)))
        for first in range(0, len(indices), step):
            part = slice(first, first + step)
            out += self.store.cross(rows, indices[part], self.n_jobs) @ coef[part]
        self.n_values += len(rows) * len(indices)
        return out

    def apply(self, indices, coef, out, hold=True):
        if not len(indices):
            return
        indices = np.asarray(indices)
        self._clock += 1
        slots = self._find(indices) if hold else self._slot_of[indices]
        held = slots >= 0
        if held.any():
            self._apply_held(slots[held], coef[held], out)
        if not held.all():
            missing = indices[~held]
            self.n_values += len(missing) * self.n
            self.store.add_product(missing, coef[~held], out, self.n_jobs)

    def _apply_held(self, slots, coef, out):
        if self.n_jobs == 1 or self.n * len(slots) < _WORTH_A_THREAD:
            _columns.apply_columns(self._storage, slots, coef, out, 0, self.n)
            return
        run_ranges(
            lambda start, stop: _columns.apply_columns(
                self._storage, slots, coef, out,
                start * _ROWS_AT_A_TIME, min(self.n, stop * _ROWS_AT_A_TIME),
            ),
            -(-self.n // _ROWS_AT_A_TIME),
            self.n_jobs,
        )  # fmt: skip
