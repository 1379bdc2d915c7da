"""How a stream of a convex model is saved: as plain values."""

import json

import numpy as np

from .rows import HeldRows, PlainState


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
