"""Rows of an ensemble of bags that come and go: its bags are drawn again when somebody asks."""

import numpy as np

from ..base.training_rows import TrainingRows
from ..rows.row_store import HeldRows, PlainState


class BagStream(PlainState):
    """HeldRows with "weight", and how often they have changed (``version``).

    There is no path to follow: bags are as in a fit to the present rows.
    """

    cache_size, n_jobs = 200e6, 1
    done = True

    def __init__(self, rows):
        self.rows, self.version = rows, 0

    def __len__(self):
        return len(self.rows)

    def add(self, X, **values):
        """Add rows with their numbers; their places."""
        self.version += 1
        return self.rows.append(X, **values)

    def remove(self, indices):
        """Let rows go, by what users call them."""
        places, left = self.rows.places[indices], self.rows.alive.copy()
        left[places] = False
        if not np.any(self.rows["weight"][left] > 0):
            raise ValueError("no training row would be left; keep at least one.")
        self.version += 1
        self.rows.drop(places)
        self.rows.compact()
        return places

    def run(self, max_steps=None):
        """Nothing is on its way."""
        return True

    def lost_to_rounding(self):
        """No violation."""
        return 0.0

    def training_rows(self):
        """The rows that are there, as ``TrainingRows``."""
        state = self.rows.state()
        return TrainingRows(state["X"], state["weight"])

    def __getstate__(self):
        return {"rows": self.rows.state(), "version": self.version}

    def __setstate__(self, state):
        self.__init__(HeldRows(**state["rows"]))
        self.version = state["version"]
