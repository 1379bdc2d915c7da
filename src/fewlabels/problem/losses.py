"""Losses of positive-unlabelled learning."""

import numpy as np
from numpy.typing import NDArray


def double_hinge(z: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the double hinge loss (du Plessis et al. 2015) of z = label times f."""
    return np.maximum(-z, np.maximum(0.0, 0.5 - 0.5 * z))


def ramp(z: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the ramp loss (du Plessis et al. 2014) of z = label times f."""
    return np.clip(0.5 * (1.0 - z), 0.0, 1.0)
