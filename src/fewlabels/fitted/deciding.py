"""The decision rule of classifiers, and probabilities that agree with it."""

import numpy as np

# How much more probable than any other class the class of a row is at least, where a curve has
# another class ahead.
AHEAD = 1e-3


def class_of(decision):
    """Place of the class of each row.

    Of two classes it is 1 where the decision is greater than 0, else 0. Of several it is the
    first one of the largest decision. Labels, reports, exports and adapters all follow this rule.
    """
    decision = np.asarray(decision)
    chosen = decision > 0 if decision.ndim == 1 else decision.argmax(axis=1)
    return chosen.astype(np.intp)


def agreeing(p, chosen):
    """Probabilities in which no class is ahead of the ``chosen`` one.

    Rows whose chosen class leads by a thousandth stay as they are. In the others just as much is
    moved to it, in proportion from all classes, as makes it lead by this: of two classes both have
    one half, nearly. On either side of the decision the order of rows stays what it was.

    Parameters
    ----------
    p : ndarray of shape (n, n_classes)
        Probabilities.
    chosen : ndarray of int of shape (n,)
        Places of classes, see ``class_of``.

    Returns
    -------
    ndarray of shape (n, n_classes)
    """
    is_own = np.arange(p.shape[1]) == chosen[:, None]
    own = p[is_own][:, None]
    rival = np.where(is_own, -1.0, p).max(axis=1, keepdims=True)
    lack = np.maximum(rival - own + AHEAD, 0.0)
    return (p + lack * is_own) / (1.0 + lack)
