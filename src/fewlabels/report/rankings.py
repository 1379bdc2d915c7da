"""Lists of rows: equal rows as one line, and the labels that held-out scores contradict."""

import numpy as np
from sklearn.base import BaseEstimator

from .._typing import FloatArray, IntArray, RowMatrix
from .contents import Ranking
from .fit import Fit, HeldOutScores, RankingColumns
from .reasons import reasons


def first_of_equal(X: RowMatrix, order: IntArray, most: int) -> tuple[IntArray, IntArray]:
    """At most so many rows in this order, one for all that are equal, and how many these are.

    Rows are equal where their encoded values are.
    """
    places: dict[bytes, int] = {}
    first: list[int] = []
    sizes: list[int] = []
    for place in np.asarray(order):
        row = X[[place]]
        parts = (row,) if isinstance(row, np.ndarray) else (row.indices, row.data)
        key = b"|".join(part.tobytes() for part in parts)
        if key in places:
            sizes[places[key]] += 1
        elif len(first) == most:
            break
        else:
            places[key] = len(first)
            first.append(place)
            sizes.append(1)
    return np.array(first, dtype=int), np.array(sizes, dtype=int)


def alike(sizes: IntArray) -> dict[str, list[int]]:
    """A column that counts the rows that a line means; none where each is one."""
    return {"equal rows": list(map(int, sizes))} if (sizes > 1).any() else {}


def tie_words(sizes: IntArray) -> str:
    """What a text says of lines that represent several rows."""
    return " Rows with the same values share one line." if (sizes > 1).any() else ""


_LISTED = 10


def doubtful(fit: Fit, held: HeldOutScores, names: dict[int, str]) -> list[Ranking]:
    """A list of rows whose label held-out scores contradict, the most contradicted first.

    ``names`` maps codes of labels to names. No list where nothing is contradicted.
    """
    given = fit.labels[held.rows]
    labelled = np.flatnonzero(np.isin(given, list(names)))
    margins, chances = _margins(fit.estimator, held.scores[labelled], given[labelled])
    order = np.argsort(margins, kind="stable")[: int(np.count_nonzero(margins < 0))]
    if not len(order):
        return []
    best, sizes = first_of_equal(fit.X[held.rows[labelled]], order, _LISTED)
    chosen, rows = labelled[best], held.rows[labelled[best]]
    scores = held.scores[chosen]
    columns: RankingColumns = {"label": [names[int(code)] for code in given[chosen]]}
    directions: float | FloatArray = 0.0
    if scores.ndim == 1:
        directions = np.where(given[chosen] == 1, -1.0, 1.0)
        columns["score"] = scores
    if chances is not None:
        columns["probability"] = chances[best]
    columns |= alike(sizes)
    columns["why"] = reasons(fit, fit.trained, rows, directions)
    text = (
        f"{held.about.removesuffix('.')}; {len(order)} of {len(labelled)} scores contradict the "
        "label, the clearest first. The label may be wrong, or the row unusual. "
    )
    if "probability" in columns:
        text += "The probability refers to the given label."
    return [Ranking("Labels to check", text.rstrip(), fit.table(fit.trained, rows, columns))]


def _margins(
    machine: BaseEstimator, scores: FloatArray, given: IntArray
) -> tuple[FloatArray, FloatArray | None]:
    """How far scores speak for the label of each row, negative against it, and its probability."""
    if scores.ndim == 1 and getattr(machine, "has_curve_", False):
        of_one = machine.curve_(scores)[:, 1]
        chances = np.where(given == 1, of_one, 1.0 - of_one)
        return chances - 0.5, chances
    if scores.ndim == 1:
        return np.where(given == 1, scores, -scores), None
    own = np.take_along_axis(scores, given[:, None], axis=1)[:, 0]
    others = scores.copy()
    np.put_along_axis(others, given[:, None], -np.inf, axis=1)
    return own - others.max(axis=1), None
