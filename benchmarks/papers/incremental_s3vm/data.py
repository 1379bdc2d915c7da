"""The papers' sets, kernels and settings, and what they leave open.

Gu et al. (2018), section 5.1: C = 10, C* = 5; kernels <x, z>, (<x, z> + 1)^2 and
exp(-0.1 |x - z|^2). The number of labelled rows of a set is its rows minus the unlabelled ones of
Table 1. Not stated, and assumed here: all these labelled rows are in every problem, whatever its
size; the size counts all rows; columns are as LIBSVM distributes them, except that those of CodRNA
and Madelon, which it distributes unscaled, are scaled to [-1, 1].
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import scipy.sparse as sp

C, C_STAR = 10.0, 5.0
KERNELS = {
    "linear": {"kernel": "linear"},
    "poly": {"kernel": "poly", "gamma": 1.0, "degree": 2, "coef0": 1.0},
    "rbf": {"kernel": "rbf", "gamma": 0.1},
}


@dataclass(frozen=True)
class PaperSet:
    """Where a set of the papers comes from.

    Attributes
    ----------
    file : str
        Name in the data folder.
    n_labelled, n_labelled_balanced : int
        Labelled rows in Gu et al. (2018) and in Yu et al. (2019).
    """

    file: str
    n_labelled: int
    n_labelled_balanced: int


# The papers' w6a is part of w8a, which stands in for it.
SETS = {
    "madelon": PaperSet("madelon", 200, 200),
    "text": PaperSet("chapelle_text", 146, 146),
    "usps": PaperSet("usps", 207, 207),
    "mushrooms": PaperSet("mushrooms", 224, 224),
    "phishing": PaperSet("phishing", 255, 255),
    "w6a": PaperSet("w8a", 188, 188),
    "cod_rna": PaperSet("cod_rna", 300, 500),
    "ijcnn1": PaperSet("ijcnn1", 200, 200),
    "a9a": PaperSet("a9a", 361, 361),
}


def is_present(folder, name):
    """Whether the data folder has a set of the papers; without a folder, all are listed."""
    if folder is None:
        return True
    file = SETS[name].file
    return any((Path(folder) / f"{file}{end}.npz").is_file() for end in ("", "_X"))


def load(folder, name):
    """Rows (float64; CSR for Text) and labels +1, -1."""
    path = Path(folder) / f"{SETS[name].file}.npz"
    if name == "text":
        X = sp.csr_array(sp.load_npz(path.with_name("chapelle_text_X.npz")), dtype=np.float64)
        with np.load(path.with_name("chapelle_text_y.npz")) as stored:
            return X, np.where(stored["y"] > 0, 1, -1)
    with np.load(path, allow_pickle=False) as stored:
        part = "_test" if name == "usps" else ""  # its 2007 rows
        X, y = stored[f"X{part}"].astype(np.float64), stored[f"y{part}"]
    if name == "usps":
        return X, np.where(y <= 4, 1, -1)
    if name in ("cod_rna", "madelon"):
        X = to_unit_box(X)
    if name == "phishing":
        X /= np.sqrt(30.0)  # LIBSVM's rows have length one
    return X, np.where(y == y.max(), 1, -1)


def to_unit_box(X):
    """Columns scaled to [-1, 1]; constant ones become -1."""
    low, high = X.min(axis=0), X.max(axis=0)
    return 2.0 * (X - low) / np.where(high > low, high - low, 1.0) - 1.0


def largest_size(folder, name, extra):
    """Largest size that leaves ``extra`` rows to be added."""
    return load(folder, name)[0].shape[0] - extra


@dataclass
class Draw:
    """Rows in random order: labelled, unlabelled, and those that are added.

    Attributes
    ----------
    X : ndarray or CSR array of shape (size + extra, d)
        Rows; the first ``size`` make the problem, the first ``n_labelled`` are labelled.
    y : ndarray of shape (size + extra,)
        True labels.
    given : ndarray of float of shape (size,)
        Labels as S3VM takes them, NaN for unlabelled rows.
    """

    X: object
    y: np.ndarray
    given: np.ndarray
    size: int
    n_labelled: int


def draw(folder, name, size, seed, *, balanced=False, extra=20):
    """A random choice and order of rows with labels of both classes."""
    X, y = load(folder, name)
    n_labelled = SETS[name].n_labelled_balanced if balanced else SETS[name].n_labelled
    n_labelled = min(n_labelled, size // 2)
    rng = np.random.default_rng(seed)
    while True:
        order = rng.permutation(len(y))[: size + extra]
        if len(np.unique(y[order[:n_labelled]])) == 2:
            break
    X, y = X[order], y[order]
    given = np.where(np.arange(size) < n_labelled, y[:size], np.nan)
    return Draw(X, y, given, size, n_labelled)
