"""Rows that change in a known place: what draws them, and the model that scores them."""

import numpy as np
from sklearn.linear_model import LogisticRegression

from fewlabels import SVDD

BEFORE, AFTER, CALIBRATION, TRAIN = 1000, 1000, 200, 500
BASE = np.eye(5)
BASE[0, 1] = BASE[1, 0] = 0.6


class Gaussian:
    """Five columns, two of which are correlated, scored by an ``SVDD``."""

    name = "Gaussian"

    def __init__(self, folder=None):
        rng = np.random.default_rng(0)
        self.score = SVDD().fit(self.draw(rng, TRAIN)).score_samples

    def draw(self, rng, n, mean=0.0, spread=1.0, correlation=None, cluster=0.0):
        covariance = BASE.copy()
        if correlation is not None:
            covariance[0, 1] = covariance[1, 0] = correlation
        X = spread * rng.multivariate_normal(np.zeros(5), covariance, size=n)
        X[:, 2] += mean
        odd = rng.random(n) < cluster
        X[odd] = [0.0, 0.0, 3.0, 3.0, 0.0] + 0.5 * rng.normal(size=(odd.sum(), 5))
        return X


class Classes:
    """Two classes in five columns, scored by a logistic regression of 500 labels."""

    name = "two classes"

    def __init__(self, folder=None):
        rng = np.random.default_rng(1)
        X = self.draw(rng, TRAIN)
        self.score = LogisticRegression().fit(X, self._classes).decision_function

    def draw(self, rng, n, prior=0.5):
        self._classes = (rng.random(n) < prior).astype(int)
        X = rng.normal(size=(n, 5))
        X[:, 0] += 3.0 * self._classes - 1.5
        return X


class Real:
    """Normal rows of an ADBench set, scored by an ``SVDD``; its anomalies are the new cluster."""

    def __init__(self, folder, name):
        self.name = name
        with np.load(folder / f"adbench_{name}.npz") as file:
            X, y = file["X"].astype(float), file["y"]
        rng = np.random.default_rng(0)
        normal = rng.permutation(np.flatnonzero(y == 0))[:4000]
        train = X[normal[:TRAIN]]
        middle, spread = train.mean(axis=0), train.std(axis=0)
        X = ((X - middle) / np.where(spread > 0, spread, 1.0)).clip(-1e3, 1e3)
        self._normal, self._odd = X[normal[TRAIN:]], X[y == 1]
        self.score = SVDD().fit(X[normal[:TRAIN]]).score_samples

    def draw(self, rng, n, cluster=0.0, mean=0.0):
        rows = self._normal[rng.integers(len(self._normal), size=n)].copy()
        rows[:, 0] += mean
        odd = rng.random(n) < cluster
        rows[odd] = self._odd[rng.integers(len(self._odd), size=odd.sum())]
        return rows


def settings(folder):
    """Every kind of rows, by name."""
    made = [Gaussian(), Classes()]
    if folder is not None:
        made += [Real(folder, "satellite"), Real(folder, "shuttle")]
    return {one.name: one for one in made}


CHANGES = {
    **{f"mean + {v} sd": ("Gaussian", {"mean": v}) for v in (0.5, 1.0, 2.0)},
    **{f"spread x {v}": ("Gaussian", {"spread": v}) for v in (0.8, 1.2, 1.5)},
    **{f"correlation .6 to {v:g}": ("Gaussian", {"correlation": v}) for v in (0.0, -0.6, -0.9)},
    **{f"new cluster, {v:.0%}": ("Gaussian", {"cluster": v}) for v in (0.05, 0.1, 0.3)},
    **{f"class prior .5 to {v:g}": ("two classes", {"prior": v}) for v in (0.6, 0.75, 0.9)},
    **{f"satellite, {v:.0%} anomalies": ("satellite", {"cluster": v}) for v in (0.05, 0.1, 0.3)},
    **{f"shuttle, {v:.0%} anomalies": ("shuttle", {"cluster": v}) for v in (0.02, 0.05, 0.1)},
}


class Stream:
    """Calibration rows and a stream: rows, and scores in units of the calibration scores."""

    def __init__(self, setting, seed, change=None):
        rng, self.setting = np.random.default_rng(seed), setting
        self.calibration = setting.draw(rng, CALIBRATION)
        before = setting.draw(rng, BEFORE)
        self.rows = np.vstack([before, setting.draw(rng, AFTER, **(change or {}))])
        first = setting.score(self.calibration)
        middle, spread = first.mean(), first.std() or 1.0
        self.first = (first - middle) / spread
        self.scores = (setting.score(self.rows) - middle) / spread
