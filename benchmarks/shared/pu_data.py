"""Positive and unlabelled rows: drawn from real sets, made, or dealt."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np


@dataclass
class Draw:
    """One learning problem: labelled positives, unlabelled rows, test rows.

    Attributes
    ----------
    X : ndarray of shape (n_P + n_U, d)
        The labelled positives, then the unlabelled rows.
    n_positive : int
        How many of them are labelled.
    truth : ndarray of bool of shape (n_U,)
        Which unlabelled rows are positive; for the oracle and for the prior only.
    X_test, y_test : ndarray
        Test rows, and which of them are positive (bool).
    prior : float
        Share of positives among the unlabelled rows.
    """

    X: np.ndarray
    n_positive: int
    truth: np.ndarray
    X_test: np.ndarray
    y_test: np.ndarray
    prior: float

    @property
    def y(self):
        """1 for labelled positives, 0 for unlabelled rows."""
        return np.repeat([1.0, 0.0], [self.n_positive, len(self.truth)])


@dataclass(frozen=True)
class RealSet:
    """Where a set's rows come from and which of its classes are the positive one."""

    file: str
    positive: tuple
    scaling: str = "standard"  # every column to mean 0 and deviation 1; "pixels": / 255; "none"


# 100 positives and 3000 unlabelled rows leave at least a thousand rows of each for testing.
REAL_SETS = {
    "a9a": RealSet("a9a", (1,), "none"),
    "bank": RealSet("bank_additional", (1,)),
    "shuttle, not Rad Flow": RealSet("shuttle", (2, 3, 4, 5, 6, 7)),
    "mnist, even digits": RealSet("mnist", (0, 2, 4, 6, 8), "pixels"),
    "mnist, digit 3": RealSet("mnist", (3,), "pixels"),
    "usps, even digits": RealSet("usps", (0, 2, 4, 6, 8), "none"),
    "cod-rna": RealSet("cod_rna", (1,)),
    "ijcnn1": RealSet("ijcnn1", (1,)),
    "w8a": RealSet("w8a", (1,), "none"),
    "mushrooms, poisonous": RealSet("mushrooms", (2,), "none"),
    "phishing": RealSet("phishing", (1,), "none"),
    "magic": RealSet("adbench_magic_gamma", (1,)),
    "spambase": RealSet("adbench_spambase", (1,)),
    "satellite": RealSet("adbench_satellite", (1,)),
    "pageblocks": RealSet("adbench_pageblocks", (1,)),
    "annthyroid": RealSet("adbench_annthyroid", (1,)),
}


def read(folder, file, *keys):
    """Arrays of a stored set."""
    with np.load(Path(folder) / f"{file}.npz", allow_pickle=False) as stored:
        return [stored[key] for key in keys]


def draw_real(folder, name, seed, n_positive=100, n_unlabeled=3000, n_test=5000):
    """A random draw from a real set; the prior is that of the unlabelled rows drawn.

    Parameters
    ----------
    n_test : int
        Test rows, or all that are left where these are fewer.
    """
    source = REAL_SETS[name]
    X, y = read(folder, source.file, "X", "y")
    y = np.isin(y, source.positive)
    rng = np.random.default_rng(seed)
    labelled, rest = label_some(y, n_positive, rng)
    unlabeled, test = np.split(rest[: n_unlabeled + n_test], [n_unlabeled])
    train = np.concatenate([labelled, unlabeled])
    X_train, X_test = scaled(source.scaling, X[train].astype(float), X[test].astype(float))
    truth = y[unlabeled]
    return Draw(X_train, n_positive, truth, X_test, y[test], float(truth.mean()))


def label_some(positive, n_positive, rng):
    """``n_positive`` rows of the positive class, and all other rows in random order."""
    labelled = rng.permutation(np.flatnonzero(positive))[:n_positive]
    rest = np.setdiff1d(np.arange(len(positive)), labelled)
    return labelled, rng.permutation(rest)


def scaled(scaling, train, test=None):
    """Rows as a set's ``scaling`` says, by the first ones."""
    test = train if test is None else test
    if scaling == "pixels":
        return train / 255.0, test / 255.0
    if scaling == "none":
        return train, test
    mean, deviation = train.mean(axis=0), train.std(axis=0)
    deviation[deviation <= 1e-12 * np.maximum(1.0, np.abs(mean))] = np.inf
    return (train - mean) / deviation, (test - mean) / deviation


def make_family(n, seed=0, n_test=10_000, prior=0.4):
    """Six Gaussian clusters in 20 dimensions, three per class, a tenth of the rows labelled.

    Centres N(0, 0.8^2), deviation 1.2; ``prior`` of the unlabelled rows are positive.
    """
    rng = np.random.default_rng(seed)
    centres = rng.normal(scale=0.8, size=(6, 20))

    def rows(positive):
        cluster = rng.integers(3, size=len(positive)) + 3 * ~positive
        return centres[cluster] + 1.2 * rng.normal(size=(len(positive), 20))

    n_positive = n // 10
    truth = rng.random(n - n_positive) < prior
    y_test = rng.random(n_test) < prior
    X = np.concatenate([rows(np.ones(n_positive, dtype=bool)), rows(truth)])
    return Draw(X, n_positive, truth, rows(y_test), y_test, prior)
