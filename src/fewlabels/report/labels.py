"""Labels that contradict what models say that were trained without them."""

import numpy as np

from .contents import Ranking
from .reasons import reasons
from .ties import alike, first_of_equal

_LISTED = 10


def doubtful(fit, held, names):
    """A list of rows whose label held-out scores contradict, the most contradicted first.

    ``names`` maps codes of labels to names. No list where nothing is contradicted.
    """
    given = fit.y[held.rows]
    labelled = np.flatnonzero(np.isin(given, list(names)))
    margins, chances = _margins(fit.estimator, held.scores[labelled], given[labelled])
    order = np.argsort(margins, kind="stable")[: int(np.count_nonzero(margins < 0))]
    if not len(order):
        return []
    best, sizes = first_of_equal(fit.X[held.rows[labelled]], order, _LISTED)
    chosen, rows = labelled[best], held.rows[labelled[best]]
    scores = held.scores[chosen]
    columns = {"label": [names[int(code)] for code in given[chosen]]}
    directions = 0.0
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


def _margins(machine, scores, given):
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
