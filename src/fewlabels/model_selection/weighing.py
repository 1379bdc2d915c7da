"""How much some columns count beside the others, by labels that are held out."""

from typing import NamedTuple

import numpy as np

from .._threads import one_blas_thread
from .signal import FREEDOM, MOST_ROWS, areas, pairs_left_out, smoother, weighed

# Times the variance of the other columns; 1, the first, is what is taken without labels.
RATIOS = (1.0, 4.0, 16.0, 64.0, 0.25, 1.0 / 16.0)
# Standard errors that another ratio must be ahead.
_AHEAD = 1.0


class Weighing(NamedTuple):
    """The ratio taken, and areas under the ROC curve of held-out rows by ratio."""

    ratio: float
    areas: dict[float, float]


def weigh_columns(X, y, columns, random_state=0):
    """Choose the variance of some columns in terms of that of all others, which X has equal.

    Rows of every class of ``y`` are told from those of the others (negative: without a label) by
    the regression of :mod:`fewlabels.model_selection.signal`, each pair by that of all other rows.
    None where no pair can be held out.
    """
    classes, counts = np.unique(y[y >= 0], return_counts=True)
    if len(classes) < 2 or counts.min() < 2:
        return None
    rng = np.random.default_rng(random_state)
    kinds = [np.flatnonzero(y == k) for k in classes]
    drawn = [rng.choice(rows, min(len(rows), MOST_ROWS), replace=False) for rows in kinds]
    labels = np.repeat(classes, [len(rows) for rows in drawn])
    others = np.flatnonzero(y < 0)
    drawn.append(rng.choice(others, min(len(others), MOST_ROWS), replace=False))
    rows = X[np.concatenate(drawn)]
    found = {}
    with one_blas_thread():
        for ratio in RATIOS:
            weights = multipliers(columns, ratio)
            found[ratio] = _held_out(weighed(rows, weights), labels, classes)
    of = [labels == k for k in classes]
    means = {
        ratio: float(np.mean([right[rows].mean() for rows in of]))
        for ratio, right in found.items()
    }
    best = max(means, key=means.__getitem__)
    ahead = found[best] - found[1.0]
    error = float(np.sqrt(sum(np.var(ahead[rows]) / rows.sum() for rows in of)))
    if means[best] - means[1.0] <= _AHEAD * error:
        best = 1.0
    return Weighing(best, means)


def multipliers(columns, ratio):
    """What to multiply columns with that have the variance of all others, which then stays."""
    return np.sqrt(np.where(columns, ratio, 1.0) * 2.0 / (1.0 + ratio))


def _held_out(rows, labels, classes):
    """How often each row is told from rows of other classes, by regressions without both."""
    smallest = min(int(np.sum(labels == k)) for k in classes)
    smooth = smoother(rows, len(labels), FREEDOM * smallest)
    weight = pairs_left_out(smooth)
    of_rows = np.zeros(len(labels))
    for k in classes[1:] if len(classes) == 2 else classes:
        # The same pairs whatever the ratio.
        right, _ = areas(smooth, weight, (labels == k).astype(float), np.random.default_rng(0))
        of_rows += right
    return of_rows / (1 if len(classes) == 2 else len(classes))
