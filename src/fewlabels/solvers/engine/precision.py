"""Rounding in the gradient, and what can be done about it."""

import math

import numpy as np


class Precision:
    """What rounding of kernel values, of some Accuracy, has left in the gradient.

    ``noise`` estimates its error, for independent errors of kernel values.
    """

    def __init__(self, accuracy):
        self.accuracy = accuracy
        self.noise = 0.0

    def _rounding(self, rows, spread):
        """Rounding in a product with columns; ``spread`` is the norm of sqrt(|K_jj|) coef_j."""
        return self.accuracy.error * rows.scale * math.sqrt(rows.facts.largest) * spread

    def computed(self, rows):
        """The gradient was computed from the variables as they are."""
        self.noise = self._rounding(rows, rows.totals().spread)

    def add(self, rows, size, change):
        """What a change of some variables leaves in the gradient for good."""
        spread = math.sqrt(float(np.abs(size) @ np.square(change)))
        self.noise = math.hypot(self.noise, self._rounding(rows, spread))

    def is_stale(self, rows):
        """Whether a gradient computed again would have half the error."""
        return self._rounding(rows, rows.totals().spread) < 0.5 * self.noise
