"""The mask of confirmed anomalies that users pass."""

import numpy as np

from .arrays import is_missing

_WHAT = "one True or False per row of X"


def read_anomalies(anomalies, n):
    """A mask of shape (n,) from what users pass as ``anomalies``; None where all are normal."""
    mask = None if anomalies is None else read_marks(anomalies, n)
    return mask if mask is not None and mask.any() else None


def read_marks(anomalies, n):
    """A mask of shape (n,), from one or one mark for all."""
    if isinstance(anomalies, bool | np.bool_):
        anomalies = np.full(n, bool(anomalies))
    try:
        missing = is_missing(anomalies)
        mask = np.asarray(anomalies)
    except ValueError:
        raise ValueError(f"anomalies is ragged; it needs {_WHAT}.") from None
    if mask.ndim == 2 and mask.shape[1] == 1:  # a table of one column
        mask, missing = mask[:, 0], missing.reshape(-1)
    if mask.shape != (n,):
        raise ValueError(f"anomalies has shape {mask.shape}; it needs {_WHAT}, shape ({n},).")
    if missing.any():
        raise ValueError(
            f"anomalies has a missing value at row {np.argmax(missing)}; it needs {_WHAT}: pass "
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
            raise ValueError(f"anomalies holds {value!r}; it needs {_WHAT} (1 and 0 will do).")
        mask = mask.astype(bool)
    return mask
