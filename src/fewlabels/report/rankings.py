"""Lists of rows: equal rows as one line, and the labels that held-out scores contradict."""

import numpy as np
from sklearn.base import BaseEstimator

from .._typing import FloatArray, IntArray, RowMatrix
from .contents import Ranking
from .fit import Fit, HeldOutScores, RankingColumns
from .reasons import explain_rows


def merge_equal_rows(X: RowMatrix, order: IntArray, max_rows: int) -> tuple[IntArray, IntArray]:
    """Return up to this many different rows in this order, and how many rows equal each.

    Rows are equal where their encoded values are.
    """
    position_of: dict[bytes, int] = {}
    representatives: list[int] = []
    sizes: list[int] = []
    for row in np.asarray(order):
        cells = X[[row]]
        parts = (cells,) if isinstance(cells, np.ndarray) else (cells.indices, cells.data)
        key = b"|".join(part.tobytes() for part in parts)
        if key in position_of:
            sizes[position_of[key]] += 1
        elif len(representatives) == max_rows:
            break
        else:
            position_of[key] = len(representatives)
            representatives.append(row)
            sizes.append(1)
    return np.array(representatives, dtype=int), np.array(sizes, dtype=int)


def count_equal_rows(sizes: IntArray) -> dict[str, list[int]]:
    """Return a column with the number of rows on each line; none where each is one."""
    return {"equal rows": list(map(int, sizes))} if (sizes > 1).any() else {}


def describe_ties(sizes: IntArray) -> str:
    """Return a sentence on lines that represent several rows."""
    return " Rows with the same values share one line." if (sizes > 1).any() else ""


_ROWS_LISTED = 10


def list_contradicted_labels(
    fit: Fit, held: HeldOutScores, names: dict[int, str]
) -> list[Ranking]:
    """List rows whose label held-out scores contradict, the most contradicted first.

    ``names`` maps codes of labels to names. No list where nothing is contradicted.
    """
    labels = fit.labels[held.rows]
    labelled = np.flatnonzero(np.isin(labels, list(names)))
    margins, chances = _margins_of_labels(fit.estimator, held.scores[labelled], labels[labelled])
    order = np.argsort(margins, kind="stable")[: int(np.count_nonzero(margins < 0))]
    if not len(order):
        return []
    best, sizes = merge_equal_rows(fit.X[held.rows[labelled]], order, _ROWS_LISTED)
    chosen, rows = labelled[best], held.rows[labelled[best]]
    scores = held.scores[chosen]
    columns: RankingColumns = {"label": [names[int(code)] for code in labels[chosen]]}
    directions: float | FloatArray = 0.0
    if scores.ndim == 1:
        directions = np.where(labels[chosen] == 1, -1.0, 1.0)
        columns["score"] = scores
    if chances is not None:
        columns["probability"] = chances[best]
    columns |= count_equal_rows(sizes)
    columns["why"] = explain_rows(fit, fit.trained_rows, rows, directions)
    text = (
        f"{held.about.removesuffix('.')}; {len(order)} of {len(labelled)} scores contradict the "
        "label, the clearest first. The label may be wrong, or the row unusual. "
    )
    if "probability" in columns:
        text += "The probability refers to the given label."
    return [Ranking("Labels to check", text.rstrip(), fit.table(fit.trained_rows, rows, columns))]


def _margins_of_labels(
    estimator: BaseEstimator, scores: FloatArray, labels: IntArray
) -> tuple[FloatArray, FloatArray | None]:
    """Return how far scores speak for each row's label, and the label's probability."""
    if scores.ndim == 1 and getattr(estimator, "has_curve_", False):
        positive_chances = estimator.curve_(scores)[:, 1]
        chances = np.where(labels == 1, positive_chances, 1.0 - positive_chances)
        return chances - 0.5, chances
    if scores.ndim == 1:
        return np.where(labels == 1, scores, -scores), None
    label_scores = np.take_along_axis(scores, labels[:, None], axis=1)[:, 0]
    other_scores = scores.copy()
    np.put_along_axis(other_scores, labels[:, None], -np.inf, axis=1)
    return label_scores - other_scores.max(axis=1), None
