"""Rows that a monitor keeps to explain an alarm: the latest ones, and a sample of earlier ones."""

from collections import deque
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import pandas as pd
import scipy.sparse as sp

from .._typing import FloatArray, IntArray, RowMatrix
from .ranks import uniform_numbers

# Rows of a stream as a model takes them.
Table: TypeAlias = pd.DataFrame | RowMatrix


class RetainedRow(NamedTuple):
    """A row with its number in the stream (calibration rows: None), score and p-value."""

    number: int | None
    cells: Any
    score: float
    p_value: float | None


# The latest rows, the sample of earlier ones, how many have left the window, and the columns:
# names, or how many.
KeptContents: TypeAlias = tuple[list[RetainedRow], list[RetainedRow], int, list[str] | int | None]


class KeptRows:
    """The latest ``window`` rows of a stream, and ``size`` random ones before them.

    The sample begins with calibration rows. A row that leaves the window takes the place of a
    random one, or of none, so that all earlier rows have the same chance.
    """

    def __init__(self, window: int, size: int, seed: int) -> None:
        self.window, self.size, self.seed = window, size, seed
        self.recent: deque[tuple[RetainedRow, float]] = deque()
        self.earlier: list[RetainedRow] = []
        self.n_left = 0
        self.names: list[str] | int | None = None

    def begin(self, X: Table, scores: FloatArray) -> None:
        """Take calibration rows as the earlier ones."""
        self._remember_columns(X)
        chosen = np.arange(len(scores))
        if len(chosen) > self.size:
            chosen = np.random.default_rng([self.seed, 3]).permutation(len(scores))[: self.size]
            chosen = np.sort(chosen)
        cells = _cells(X, chosen)
        self.earlier = [
            RetainedRow(None, c, float(scores[k]), None)
            for c, k in zip(cells, chosen, strict=True)
        ]
        self.n_left = len(scores)

    def add(self, X: Table, scores: FloatArray, p_values: FloatArray, first: int) -> None:
        """Take the next rows, whose numbers begin with ``first``."""
        self._remember_columns(X)
        n = len(scores)
        draws = self._draws(first, n)
        n_leaving = max(0, len(self.recent) + n - self.window)
        n_old = min(n_leaving, len(self.recent))
        leaving = [self.recent.popleft() for _ in range(n_old)]
        n_new = n_leaving - n_old
        # Only rows that stay are copied: the window's, and rows that the sample takes.
        places = self._places(np.array([d for _, d in leaving] + draws[:n_new]))
        taken = np.flatnonzero(places < self.size)
        stay = np.concatenate([taken[taken >= n_old] - n_old, np.arange(n_new, n)])
        rows = {
            k: RetainedRow(first + k, row, score, p_value)
            for k, row, score, p_value in zip(
                stay.tolist(),
                _cells(X, stay),
                scores[stay].tolist(),
                p_values[stay].tolist(),
                strict=True,
            )
        }
        for k in taken.tolist():
            self._put_in_sample(leaving[k][0] if k < n_old else rows[k - n_old], int(places[k]))
        self.n_left += n_leaving
        self.recent.extend((rows[k], draws[k]) for k in range(n_new, n))

    def _places(self, draws: FloatArray) -> IntArray:
        """Draw places in the sample for the next rows that leave the window, ``size`` for none."""
        n_free = self.size - len(self.earlier)
        places = (draws * (self.n_left + 1 + np.arange(len(draws)))).astype(np.int64)
        places[:n_free] = len(self.earlier) + np.arange(min(n_free, len(draws)))
        return np.minimum(places, self.size)

    def _put_in_sample(self, row: RetainedRow, place: int) -> None:
        if place == len(self.earlier):
            self.earlier.append(row)
        else:
            self.earlier[place] = row

    def drop_columns(self) -> None:
        """Keep scores alone: rows without columns follow, and can't be compared with others."""
        if self.names in (None, 0):
            return
        self.names = 0
        self.recent = deque((row._replace(cells=np.zeros(0)), d) for row, d in self.recent)
        self.earlier = [row._replace(cells=np.zeros(0)) for row in self.earlier]

    def since(self, number: int) -> None:
        """Forget all rows before this one."""
        self.recent = deque(pair for pair in self.recent if (pair[0].number or 0) >= number)
        self.earlier, self.n_left = [], 0

    @property
    def contents(self) -> KeptContents:
        """The latest rows, the sample, how many rows have left the window, and the columns."""
        return [row for row, _ in self.recent], list(self.earlier), self.n_left, self.names

    @contents.setter
    def contents(self, contents: KeptContents) -> None:
        recent, self.earlier, self.n_left, self.names = contents
        draws = self._draws(recent[0].number or 0, len(recent)) if recent else []
        self.recent = deque(zip(recent, draws, strict=True))

    def _draws(self, first: int, n: int) -> list[float]:
        return uniform_numbers(self.seed, 4, first, n).tolist()

    def clear(self) -> None:
        """Forget all rows."""
        self.recent.clear()
        self.earlier, self.n_left = [], 0

    def assemble(self, rows: list[RetainedRow]) -> Table:
        """Return rows as they were given: a matrix, a sparse one, or a data frame."""
        cells = [row.cells for row in rows]
        if isinstance(self.names, list):
            return pd.DataFrame(cells, columns=self.names)
        if cells and isinstance(cells[0], tuple):
            indptr = np.cumsum([0, *(len(indices) for indices, _ in cells)])
            indices = np.concatenate([indices for indices, _ in cells])
            data = np.concatenate([data for _, data in cells])
            return sp.csr_array((data, indices, indptr), shape=(len(cells), self.names))
        return np.array(cells)

    def _remember_columns(self, X: Table) -> None:
        """Remember the columns: names of a data frame, or how many."""
        names = list(X.columns) if isinstance(X, pd.DataFrame) else _n_columns(X)
        if self.names is not None and names != self.names:
            raise ValueError(
                "These rows have other columns than earlier rows; give the columns of the model, "
                "in the same order."
            )
        self.names = names


def _n_columns(X: Table) -> int | None:
    return X.shape[1] if hasattr(X, "shape") and len(X.shape) > 1 else None


def _cells(X: Table, places: IntArray) -> list[Any]:
    if isinstance(X, pd.DataFrame):
        return list(X.iloc[places].itertuples(index=False, name=None))
    if sp.issparse(X):
        part = sp.csr_array(X)[places]
        cut = part.indptr[1:-1]
        return list(zip(np.split(part.indices, cut), np.split(part.data, cut), strict=True))
    return list(np.array(X[places]))
