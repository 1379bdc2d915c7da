"""Words that tell the rows of a report apart."""

import numpy as np

from ..io.encoding.fit import text_columns, text_encoders
from ..io.tables.schema import Schema

# Words shown of each kind of rows, and the fewest rows that have words of their own.
_SHOWN, _FEWEST = 12, 3
# Standard errors that a word's weight in rows of one kind is above that in all others.
_CLEAR = 3.0


def telling_words(fit, sides):
    """Names of kinds of rows with the words that these have more of; none without texts.

    ``sides`` are the names of the rows below and above the threshold. Where hardly any row is
    above, those with a label are taken for them.
    """
    encoders = text_encoders(fit.encoder, Schema.from_dict(fit.metadata["schema"]))
    if not encoders:
        return []
    X = fit.X[fit.scored][:, text_columns(fit.encoder, fit.X.shape[1])].tocsr()
    several = len(encoders) > 1
    names = np.array(
        [f"{name}: {word}" if several else word for name, one in encoders.items()
         for word in one.words()]
    )  # fmt: skip
    told = []
    for name, rows in _kinds(fit, sides):
        if min(rows.sum(), (~rows).sum()) >= _FEWEST:
            words = names[_telling(X, rows)]
            if len(words):
                told.append((name, ", ".join(words)))
    return told


def _kinds(fit, sides):
    decisions = fit.decisions
    if decisions.ndim == 2:
        answers = decisions.argmax(axis=1)
        return [(f"'{name}'", answers == k) for k, name in enumerate(fit.training["classes"])]
    above = decisions > 0
    if "positive" in fit.training and above.sum() < _FEWEST:
        return [(f"labelled '{fit.training['positive']}'", fit.y[fit.scored] == 1)]
    return [(sides[1], above), (sides[0], ~above)]


def _telling(X, rows):
    """Columns that are clearly greater in these rows than in all others, the clearest first."""
    inside, outside = X[rows], X[~rows]
    means = [np.asarray(part.mean(axis=0)).ravel() for part in (inside, outside)]
    squares = [np.asarray(part.multiply(part).mean(axis=0)).ravel() for part in (inside, outside)]
    error = np.sqrt(
        sum(
            np.maximum(square - mean**2, 0.0) / part.shape[0]
            for square, mean, part in zip(squares, means, (inside, outside), strict=True)
        )
    )
    apart = (means[0] - means[1]) / np.maximum(error, np.finfo(float).tiny)
    several = np.asarray((inside != 0).sum(axis=0)).ravel() >= _FEWEST
    apart[~several] = 0.0
    best = np.argsort(-apart, kind="stable")[:_SHOWN]
    return best[apart[best] > _CLEAR]
