"""How the paper's Tables 3 and 4 were made: sets, labels, priors, methods, F-measures.

What the paper says (section 6): 20 % of the positives are labelled, the prior is the class
proportion, the F-measure is transductive. What it leaves open is taken from the demonstration
script published with it (github.com/emsansone/USMO, demo2.m and performance.m, read for the
protocol only):

* the prior is the proportion in the whole set, to two digits, not in the unlabelled part;
* ``floor(0.2 prior n)`` random positives are labelled;
* the F-measure is that of the class with more unlabelled rows, be it the positive one or not;
* labels of the unlabelled rows are compared with predictions for *all* rows in the order of the
  file, so that the i-th unlabelled row is compared with the prediction for the i-th row.

The last point is a mistake: unless labelled rows come last, labels and predictions belong to
different rows. ``f_measures`` computes what the script prints and what it meant to print.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass

import numpy as np
from shared.common import load_set
from sklearn.exceptions import ConvergenceWarning

from fewlabels import PUSVM

# Set: the prior in the authors' script.
PRIORS = {
    "australian": 0.56,
    "clean1": 0.44,
    "diabetes": 0.35,
    "heart": 0.44,
    "heart_statlog": 0.44,
    "house": 0.47,
    "house_votes": 0.61,
    "ionosphere": 0.64,
    "isolet": 0.50,
    "krvskp": 0.48,
    "liverdisorders": 0.58,
    "spectf": 0.73,
}
LABELLED = 0.2
# "Scale parameter equal to 1": exp(-|x - z|^2 / 2).
KERNELS = {"linear": {"kernel": "linear"}, "gaussian": {"kernel": "rbf", "gamma": 0.5}}

# Column: parameters of PUSVM.
METHODS = {
    "init": {"solver": "usmo", "max_iter": 0},
    "ramp": {"loss": "ramp", "solver": "decomposition", "tol": 1e-4},
    "qp": {"solver": "qp"},
    "usmo": {"solver": "usmo", "tol": 1e-3},
    "ours": {"solver": "decomposition", "tol": 1e-5},
}
# The problem of [7] where its n x n matrix is too large.
EXACT = {"solver": "decomposition", "tol": 1e-8}


@dataclass(frozen=True)
class Draw:
    """One set with one random choice of labelled positives.

    Attributes
    ----------
    X : ndarray of shape (n, d)
        Rows in the order of the file.
    truth : ndarray of int of shape (n,)
        1 for positives, 0 for negatives.
    labelled : ndarray of bool of shape (n,)
        Which positives are labelled.
    prior : float
        What the methods are told.
    """

    X: np.ndarray
    truth: np.ndarray
    labelled: np.ndarray
    prior: float


def draw(folder, name, seed):
    """Draw number ``seed`` of a set."""
    X, y = load_set(folder, f"usmo_{name}")
    truth = (y == 1).astype(int)
    positives = np.random.default_rng(seed).permutation(np.flatnonzero(truth))
    labelled = np.zeros(len(X), dtype=bool)
    labelled[positives[: int(len(X) * PRIORS[name] * LABELLED)]] = True
    return Draw(X, truth, labelled, PRIORS[name])


def fitted(data, kernel, lam, method):
    """A fitted PUSVM with the threshold that minimises the risk, as in the paper."""
    machine = PUSVM(
        prior=data.prior, lam=lam, threshold="risk", n_jobs=1, **KERNELS[kernel],
        **(EXACT if method == "exact" else METHODS[method]),
    )  # fmt: skip
    with warnings.catch_warnings():
        # Init* is stopped before its first step on purpose.
        warnings.simplefilter("ignore", ConvergenceWarning)
        return machine.fit(data.X, data.labelled.astype(int))


def f_measures(data, decision):
    """F-measures in percent of decision values of all rows.

    Returns
    -------
    dict
        "printed": as the authors' script computes it. "majority": the same with every label
        beside its own prediction.
    """
    predicted = (decision > 0).astype(int)
    unlabelled = ~data.labelled
    truth = data.truth[unlabelled]
    majority = int(truth.sum() > len(truth) - truth.sum())
    return {
        "printed": f_measure(truth, predicted[: len(truth)], majority),
        "majority": f_measure(truth, predicted[unlabelled], majority),
    }


def f_measure(truth, predicted, label):
    """F-measure of class ``label`` in percent; 0 where no row of it is found."""
    hits = int(((truth == label) & (predicted == label)).sum())
    return 200.0 * hits / max(1, int((truth == label).sum() + (predicted == label).sum()))
