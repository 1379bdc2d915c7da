"""Propensities: the probability that a positive row was labelled."""

import numpy as np
from sklearn.utils.validation import check_array

_WORDS = "P(labelled | positive, x), greater than 0 and at most 1"


def read_propensity(propensity, positive):
    """Propensities of all rows; rows without a label don't use theirs, which may be missing.

    Parameters
    ----------
    propensity : float or array-like of shape (n_samples,)
        P(labelled | positive, x), in (0, 1].
    positive : ndarray of bool of shape (n_samples,)
        Which rows are labelled.

    Returns
    -------
    ndarray of shape (n_samples,)

    Raises
    ------
    ValueError
        Another shape, or a labelled row whose propensity is missing or out of range.
    """
    n = len(positive)
    if np.ndim(propensity) == 0:
        propensity = np.full(n, propensity)
    values = check_array(
        propensity,
        dtype=np.float64,
        ensure_2d=False,
        ensure_all_finite=False,
        ensure_min_samples=0,
        input_name="propensity",
    )
    if values.shape != (n,):
        raise ValueError(
            f"propensity has shape {values.shape}; it needs one number per row of X, shape ({n},)."
        )
    ours = values[positive]
    wrong = ~((ours > 0.0) & (ours <= 1.0))
    if wrong.any():
        place = np.flatnonzero(positive)[wrong][0]
        raise ValueError(
            f"propensity is {values[place]:g} for labelled row {place} (of {wrong.sum()} such); "
            f"pass {_WORDS}, for each labelled row."
        )
    return values
