"""Rows of an ensemble of bags that come and go: its bags are drawn again when somebody asks."""

from typing import Any

import numpy as np

from .._typing import AnyArray, IntArray, RowMatrix
from .._util.deadline import ENDLESS
from ..base.training_rows import TrainingRows
from ..rows.row_store import PlainState, RowStore


class BagStream(PlainState):
    """RowStore with "weight", and how often they have changed (``version``).

    There is no path to follow: bags are as in a fit to the present rows.
    """

    cache_size, n_jobs, deadline, tol = 200e6, 1, ENDLESS, np.inf
    done = True

    def __init__(self, rows: RowStore) -> None:
        self.rows, self.version = rows, 0

    def __len__(self) -> int:
        return len(self.rows)

    def add(self, X: RowMatrix, **values: AnyArray) -> IntArray:
        """Add rows with their numbers; their places."""
        self.version += 1
        return self.rows.append(X, **values)

    def remove(self, indices: IntArray) -> IntArray:
        """Let rows go, by what users call them."""
        places, left = self.rows.places[indices], self.rows.alive.copy()
        left[places] = False
        if not np.any(self.rows["weight"][left] > 0):
            raise ValueError("no training row would be left; keep at least one.")
        self.version += 1
        self.rows.drop(places)
        self.rows.compact()
        return places

    def run(self, max_steps: int | None = None) -> bool:
        """Nothing is on its way."""
        return True

    def rounding_violation(self) -> float:
        """No violation."""
        return 0.0

    def training_rows(self) -> TrainingRows:
        """The rows that are there, as ``TrainingRows``."""
        state = self.rows.state()
        return TrainingRows(state["X"], state["weight"])

    def __getstate__(self) -> dict[str, Any]:
        return {"rows": self.rows.state(), "version": self.version}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.rows, self.version = RowStore(**state["rows"]), state["version"]
