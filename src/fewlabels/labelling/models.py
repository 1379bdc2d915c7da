"""Classifiers that learn from labels, and decisions by which uncertain rows are chosen."""

from typing import Any, TypeAlias

import numpy as np
import scipy.sparse as sp

from .._typing import FloatArray, IntArray, RowMatrix
from .._util.threads import resolve_n_jobs
from ..semi_supervised.s3vm import S3VM

# Cores for the models: one is left for the page.
JOBS = max(1, resolve_n_jobs(None) - 1)
_LABELS_ONLY: dict[str, Any] = {"C": 1.0, "C_star": 0.0, "balance": False}

# Shares of the rows by the codes of the classes.
ClassRatio: TypeAlias = dict[int, float]
# Row to the code predicted without it, and the decisions.
LeftOut: TypeAlias = dict[int, tuple[int, Any]]


def choose_kernel(X: RowMatrix) -> str:
    """Return "linear" for texts, whose rows are sparse, else "trees"."""
    return "linear" if sp.issparse(X) else "trees"


def make_classifier(kernel: str, classes: IntArray, shares: ClassRatio | None = None) -> S3VM:
    """Return an S3VM that is not fitted.

    With trees it learns from labels alone, as ``fit`` does with tables of features. Otherwise
    unlabelled rows count, and ``shares`` says what share of the rows each of the ``classes``
    (codes) seems to have, if they are known.
    """
    if is_label_only(kernel):
        return S3VM(kernel=kernel, **_LABELS_ONLY, n_jobs=JOBS, random_state=0)
    if shares is None or set(shares) != set(classes.tolist()):
        return S3VM(kernel=kernel, balance=True, n_jobs=JOBS)
    return S3VM(kernel=kernel, balance=shares, n_jobs=JOBS)


def is_label_only(kernel: str) -> bool:
    """Return whether rows without labels make no difference to the classifier."""
    return kernel == "trees"


def decide_by_labels(model: S3VM) -> FloatArray:
    """Return decisions for all rows of a fitted S3VM that follow from its labels alone.

    Unlabelled rows push the boundary of an S3VM to where rows are rare. So rows near it are rare
    as well, and their labels say little about the others.
    """
    if model.C_star == 0:
        return model.training_decisions_
    rows = model.training_rows_
    assert rows is not None and rows.label is not None  # an S3VM keeps its rows and labels
    X, label = rows.X, rows.label
    known = np.flatnonzero(label)
    alone = S3VM(kernel=model.kernel, gamma=model.gamma_, unlabeled=0, n_jobs=1, **_LABELS_ONLY)
    return alone.fit(X[known], label[known]).decision_function(X)
