"""A few labels and many unlabelled rows: real sets with their official splits, and a family."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from scipy import sparse


@dataclass
class Split:
    """One learning problem: some rows labelled, errors counted on the others.

    Attributes
    ----------
    X : {ndarray, CSR} of shape (n, d)
        The labelled rows, then the unlabelled ones.
    truth : ndarray of int of shape (n,)
        Classes 0, 1, ...
    n_labeled : int
        How many rows are labelled.
    """

    X: np.ndarray
    truth: np.ndarray
    n_labeled: int

    @property
    def y(self):
        """Labels, -1 for unlabelled rows."""
        return np.where(np.arange(len(self.truth)) < self.n_labeled, self.truth, -1)


@dataclass(frozen=True)
class SemiSet:
    """Where rows and labelled rows come from, and how many splits are run by default."""

    file: str | None
    splits: int
    key: str | None = None  # of the official splits
    n_labeled: int = 50  # where there are none
    n_unlabeled: int | None = None  # so many unlabelled rows drawn at random; None for all


# All official splits where a bound on the error is promised, some of them elsewhere.
SETS = {
    "text, 50 labels": SemiSet("chapelle_text", 10, "idx_labeled"),
    "g50c, 50 labels": SemiSet("chapelle_g50c", 10, "idx_labeled"),
    "uspst, 10 classes, 50 labels": SemiSet("chapelle_uspst", 3, "idx_labeled"),
    "usps, 10 labels": SemiSet("ssl_usps", 5, "idx_labeled_10"),
    "usps, 100 labels": SemiSet("ssl_usps", 12, "idx_labeled_100"),
    "coil2, 10 labels": SemiSet("ssl_coil2", 5, "idx_labeled_10"),
    "coil2, 100 labels": SemiSet("ssl_coil2", 5, "idx_labeled_100"),
    "ssl-text, 10 labels": SemiSet("ssl_text", 4, "idx_labeled_10"),
    "ssl-text, 100 labels": SemiSet("ssl_text", 4, "idx_labeled_100"),
    "secstr, 100 labels": SemiSet("ssl_secstr", 4, "idx_labeled_100", n_unlabeled=1000),
    "secstr, 1000 labels": SemiSet("ssl_secstr", 3, "idx_labeled_1000", n_unlabeled=1000),
    "digits, 50 labels": SemiSet("digits", 5),
    "family, 50 labels": SemiSet(None, 5, n_unlabeled=1000),
}
_SPARSE = {"chapelle_text", "ssl_text"}
_BUILT_IN = {"digits"}  # comes with scikit-learn


def files(names):
    """Names of the .npz files that the sets need."""
    found = set()
    for name in names:
        file = SETS[name].file
        if file in _SPARSE:
            found |= {f"{file}_X", f"{file}_y"}
        elif file is not None and file not in _BUILT_IN:
            found.add(file)
    return sorted(found)


def read(folder, name):
    """Rows, classes 0, 1, ..., and one array of labelled rows per official split (or None)."""
    source = SETS[name]
    if source.file == "digits":
        from sklearn.datasets import load_digits

        X, digit = load_digits(return_X_y=True)
        return X / 16.0, digit % 2, None
    folder = Path(folder)
    if source.file in _SPARSE:
        X = sparse.load_npz(folder / f"{source.file}_X.npz").astype(np.float64)
        stored = np.load(folder / f"{source.file}_y.npz", allow_pickle=False)
    else:
        stored = np.load(folder / f"{source.file}.npz", allow_pickle=False)
        X = stored["X"].astype(np.float64)
    if source.file == "ssl_secstr":  # a column per letter and position
        X = np.concatenate([X == letter for letter in range(21)], axis=1)
        X = sparse.csr_matrix(X.astype(np.float64))
    return X, np.unique(stored["y"], return_inverse=True)[1], stored[source.key]


def splits(folder, name, numbers):
    """``(number, Split)`` for every number."""
    source = SETS[name]
    if source.file is None:
        for number in numbers:
            yield number, make_family(source.n_unlabeled, seed=number)[0]
        return
    X, truth, official = read(folder, name)
    for number in numbers:
        rng = np.random.default_rng(number)
        if official is None:
            labeled = _some_of_each(truth, source.n_labeled, rng)
        else:
            labeled = np.asarray(official[number], dtype=np.intp)
        rest = rng.permutation(np.setdiff1d(np.arange(len(truth)), labeled))
        rows = np.concatenate([labeled, rest[: source.n_unlabeled]])
        yield number, Split(X[rows], truth[rows], len(labeled))


def n_splits(name, folder):
    """How many splits a set has (random ones have no end)."""
    if SETS[name].key is None:
        return np.inf
    return len(read(folder, name)[2])


def _some_of_each(truth, n_labeled, rng):
    """Random rows among which every class is."""
    while True:
        rows = rng.choice(len(truth), n_labeled, replace=False)
        if len(np.unique(truth[rows])) == truth.max() + 1:
            return rows


def make_family(n_unlabeled, seed=0, n_labeled=50, n_test=5000):
    """Four Gaussian clusters in 20 dimensions, two per class, and test rows.

    Centres N(0, 1), deviation 1.2.

    Returns
    -------
    split : Split
    X_test, y_test : ndarray
    """
    rng = np.random.default_rng(seed)
    centres = rng.normal(size=(4, 20))

    def rows(n):
        cluster = rng.integers(4, size=n)
        return centres[cluster] + 1.2 * rng.normal(size=(n, 20)), (cluster >= 2).astype(int)

    while True:
        labeled, classes = rows(n_labeled)
        if 0 < classes.sum() < n_labeled:
            break
    unlabeled, hidden = rows(n_unlabeled)
    X_test, y_test = rows(n_test)
    split = Split(
        np.concatenate([labeled, unlabeled]), np.concatenate([classes, hidden]), n_labeled
    )
    return split, X_test, y_test
