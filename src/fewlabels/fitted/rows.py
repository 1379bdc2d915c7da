"""The training rows of a machine, for whoever looks at them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True, eq=False)
class TrainingRows:
    """Rows that a machine holds.

    Attributes
    ----------
    X : ndarray or CSR array of shape (n, d)
        Rows, as they were given. Not to be written to.
    weight : ndarray of shape (n,)
        Weights; 0 for rows that have no part in the fit.
    label : ndarray of int8 of shape (n,) or None
        +1 and -1 for rows with a label, 0 for those without one. A machine of positive and
        unlabelled rows has no -1; None for machines of one class.
    """

    X: np.ndarray
    weight: np.ndarray
    label: np.ndarray | None = None
