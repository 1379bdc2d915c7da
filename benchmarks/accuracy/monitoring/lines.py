"""Results as lines of JSON, written as they come, so that a restart continues."""

import json

import numpy as np
from scipy.stats import beta, chi2


class Lines:
    """A file of results; ``key`` names the fields that say which one it is."""

    def __init__(self, path, *key):
        self.path, self.key, self.rows = path, key, []
        path.parent.mkdir(parents=True, exist_ok=True)
        if path.exists():
            self.rows = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
        self._known = {self._of(row) for row in self.rows}

    def _of(self, row):
        return tuple(row[name] for name in self.key)

    def has(self, **fields):
        return self._of(fields) in self._known

    def add(self, **row):
        self.rows.append(row)
        self._known.add(self._of(row))
        with self.path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(row, default=float) + "\n")

    def where(self, **fields):
        return [row for row in self.rows if all(row.get(k) == v for k, v in fields.items())]


def share(k, n):
    """A share with its exact 95 % interval (Clopper and Pearson)."""
    low = beta.ppf(0.025, k, n - k + 1) if k else 0.0
    high = beta.ppf(0.975, k + 1, n - k) if k < n else 1.0
    return k / n, float(low), float(high)


def mean_length(rows, alarms, total, squares):
    """Rows per alarm with a 95 % interval; ``total`` and ``squares`` sum up complete lengths."""
    if alarms < 2:
        return np.inf, 2.0 * rows / chi2.ppf(0.95, 2), np.inf
    mean = rows / alarms
    error = 1.96 * np.sqrt(max(0.0, squares / alarms - (total / alarms) ** 2) / (alarms - 1))
    return mean, float(mean - error), float(mean + error)
