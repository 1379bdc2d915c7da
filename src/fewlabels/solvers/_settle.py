"""Compiled pass for the coarse start: the sum of all variables at one multiplier."""

import numpy as np

from .._jit import jit


@jit()
def settle(multiplier, smooth, lower, kink, upper, slope_left, slope_right, ridge, held, a):
    """Set every variable that is not held to its optimum at ``multiplier``.

    a_i minimises ``phi_i(a) + (smooth_i - multiplier) a + ridge_i a^2 / 2``. Without a
    ridge that is a breakpoint; where it would be infinite the variable stays put.
    Returns the sum of all variables.
    """
    total = 0.0
    for i in range(a.size):
        if not held[i]:
            right = multiplier - smooth[i] - slope_right[i]
            left = multiplier - smooth[i] - slope_left[i]
            if ridge[i] > 0.0:
                if right > ridge[i] * kink[i]:
                    value = right / ridge[i]
                elif left < ridge[i] * kink[i]:
                    value = left / ridge[i]
                else:
                    value = kink[i]
                a[i] = min(max(value, lower[i]), upper[i])
            else:
                value = upper[i] if right > 0.0 else (kink[i] if left > 0.0 else lower[i])
                if np.isfinite(value):
                    a[i] = value
        total += a[i]
    return total
