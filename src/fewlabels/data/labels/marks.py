"""What users say of rows besides their labels: confirmed anomalies, and propensities.

A propensity is the probability that a positive row was labelled.
"""

import numpy as np

from ..._typing import BoolArray, FloatArray, VectorLike
from ..checks import check_numbers
from .blanks import is_missing

_MARK = "one True or False per row of X"


def read_anomalies(anomalies: VectorLike | None, n: int) -> BoolArray | None:
    """Read users' ``anomalies`` as a mask of shape (n,); None if all rows are normal."""
    mask = None if anomalies is None else read_marks(anomalies, n)
    return mask if mask is not None and mask.any() else None


def read_marks(anomalies: VectorLike, n: int) -> BoolArray:
    """Read a mask of shape (n,), or one mark for all rows."""
    if isinstance(anomalies, bool | np.bool_):
        anomalies = np.full(n, bool(anomalies))
    try:
        missing = is_missing(anomalies)
        mask = np.asarray(anomalies)
    except ValueError:
        raise ValueError(f"anomalies is ragged; it needs {_MARK}.") from None
    if mask.ndim == 2 and mask.shape[1] == 1:  # a table of one column
        mask, missing = mask[:, 0], missing.reshape(-1)
    if mask.shape != (n,):
        raise ValueError(f"anomalies has shape {mask.shape}; it needs {_MARK}, shape ({n},).")
    if missing.any():
        raise ValueError(
            f"anomalies has a missing value at row {np.argmax(missing)}; it needs {_MARK}: pass "
            "False for rows that aren't confirmed anomalies."
        )
    if mask.dtype != bool:
        try:
            truth = (mask == 0) | (mask == 1)
            truth = np.broadcast_to(np.asarray(truth, dtype=bool), (n,))
        except (TypeError, ValueError):
            truth = np.zeros(n, bool)
        if not truth.all():
            value = mask[np.argmin(truth)]
            value = value.item() if isinstance(value, np.generic) else value
            raise ValueError(f"anomalies holds {value!r}; it needs {_MARK} (1 and 0 will do).")
        mask = mask.astype(bool)
    return mask


_PROPENSITY = "P(labelled | positive, x), greater than 0 and at most 1"


def read_propensity(propensity: VectorLike, positive: BoolArray) -> FloatArray:
    """Read the propensities of all rows, which may be missing where there is no label.

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
    values = check_numbers(
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
    labelled_values = values[positive]
    wrong = ~((labelled_values > 0.0) & (labelled_values <= 1.0))
    if wrong.any():
        place = np.flatnonzero(positive)[wrong][0]
        raise ValueError(
            f"propensity is {values[place]:g} for labelled row {place} (of {wrong.sum()} such); "
            f"pass {_PROPENSITY}, for each labelled row."
        )
    return values
