"""Confirmed anomalies among rows that come and go."""

import numpy as np

from ..gram.equal_rows import row_keys


class AnomalyMarks:
    """The marks "anomaly" of some ``HeldRows``, and those that a path follows.

    A row whose mark changes leaves the path and joins it again as the other kind. Until it has
    left, the path follows its old mark, "followed". An anomaly has another "key" than an equal
    normal row, so that the path never has the two as one row. Rows hold no marks while all are
    normal.
    """

    def __init__(self, rows):
        self.rows = rows

    @property
    def mask(self):
        """Mask of the places whose rows are anomalies."""
        anomaly = self.rows.get("anomaly")
        return np.zeros(self.rows.n_places, bool) if anomaly is None else anomaly

    def begin(self):
        """Let keys, which have just been computed, follow the marks."""
        if self.rows.get("anomaly") is not None:
            self.rows["followed"] = np.zeros(self.rows.n_places, bool)
            self._follow(self.rows["anomaly"])

    def hold(self):
        """Hold marks from now on."""
        if self.rows.get("anomaly") is None:
            self.rows["anomaly"] = self.rows["followed"] = np.zeros(self.rows.n_places, bool)

    def of_new(self, key, anomaly):
        """Numbers by name of new rows, from their keys and marks (None: all are normal)."""
        if anomaly is not None and anomaly.any():
            self.hold()
        if self.rows.get("anomaly") is None:
            return {"key": key}
        anomaly = np.zeros(len(key), bool) if anomaly is None else np.asarray(anomaly, dtype=bool)
        key = np.where(anomaly, _other(key), key)
        return {"key": key, "anomaly": anomaly, "followed": anomaly}

    def at(self, places):
        """Numbers of rows at places by name, with the marks that the path follows."""
        numbers = self.rows.at(places)
        return numbers | {"anomaly": numbers["followed"]} if "followed" in numbers else numbers

    def turning(self, on_path):
        """Mask of the rows on the path that leave it because their marks have changed.

        Those that become normal come first, so that every sum on the way can be reached.
        """
        if self.rows.get("followed") is None:
            return np.zeros(len(on_path), bool)
        followed = self.rows["followed"][on_path]
        turning = followed != self.rows["anomaly"][on_path]
        becoming_normal = turning & followed
        return becoming_normal if becoming_normal.any() else turning

    def turn(self, on_path):
        """Follow the present marks of all rows but those that are on the path."""
        if self.rows.get("followed") is None:
            return
        followed, anomaly = self.rows["followed"], self.rows["anomaly"]
        if np.array_equal(followed, anomaly):
            return
        marks = anomaly.copy()
        marks[on_path] = followed[on_path]
        self._follow(marks)

    def _follow(self, marks):
        """Follow other marks: keys go with them."""
        rows, turned = self.rows, marks != self.rows["followed"]
        if turned.any():
            key = rows["key"].copy()
            there = np.flatnonzero(turned)
            known = row_keys(rows.rows(there))
            key[there] = np.where(marks[there], _other(known), known)
            rows["key"] = key
        rows["followed"] = np.array(marks)


def _other(key):
    """A number that differs from the key, for each key."""
    return np.where(np.abs(key) < 1.0, key + 2.0, 2.0 * key)
