"""The compiled twin of ``Penalty``: every pass over variables and their breakpoints.

``lower, kink, upper, slope_left, slope_right`` are the penalty, as in ``Penalty.arrays``.
"""

import numpy as np

from .._jit import jit

# What ``survey`` finds: sums, and then the rest.
SUM, REACH, PRODUCT, PENALTY, SQUARES, BETWEEN = range(6)
LOWEST_UP, HIGHEST_DOWN, LARGEST, N_BETWEEN, N_USED, N_OUTSIDE = range(6, 12)
N_SUMS, N_TOTALS = 6, 12
# So many terms are added plainly before their sum is added with compensation.
_PART = 128


@jit()
def _slope_right(a, kink, upper, slope_left, slope_right):
    """Slope to the right; +inf at the upper bound."""
    if a >= upper:
        return np.inf
    return slope_right if a >= kink else slope_left


@jit()
def _slope_left(a, lower, kink, slope_left, slope_right):
    """Slope to the left; -inf at the lower bound."""
    if a <= lower:
        return -np.inf
    return slope_left if a <= kink else slope_right


@jit()
def _value(a, kink, slope_left, slope_right):
    """phi(a); an infinite kink leaves one piece."""
    if a == 0.0:
        return 0.0
    if kink >= 0.0:
        return slope_left * min(a, kink) + (slope_right * (a - kink) if a > kink else 0.0)
    return slope_right * max(a, kink) + (slope_left * (a - kink) if a < kink else 0.0)


@jit()
def _minimiser(linear, curvature, lower, kink, upper, slope_left, slope_right):
    """``argmin_a  phi(a) + linear a + curvature a^2 / 2``; ties go to the kink or zero."""
    right, left = -(linear + slope_right), -(linear + slope_left)
    # Zero slopes without curvature give NaN, which loses every comparison.
    right, left = right / curvature, left / curvature
    if kink == -np.inf:
        at = right
    elif kink == np.inf:
        at = left
    else:
        at = right if right > kink else (left if left < kink else kink)
    if at != at:
        at = 0.0
    return min(max(at, lower), upper)


@jit()
def _add(totals, lost, part):
    """Add sums of parts with compensation (Neumaier 1974)."""
    for k in range(part.size):
        total = totals[k] + part[k]
        if abs(totals[k]) >= abs(part[k]):
            lost[k] += (totals[k] - total) + part[k]
        else:
            lost[k] += (part[k] - total) + totals[k]
        totals[k] = total
        part[k] = 0.0


@jit()
def survey(lower, kink, upper, slope_left, slope_right, size, a, g, up, down, totals):
    """Fill ``up`` and ``down`` (``g`` plus the slope to either side) and the totals."""
    lost, part = np.zeros(N_SUMS), np.zeros(N_SUMS)
    totals[:] = 0.0
    lowest, highest = np.inf, -np.inf
    for i in range(a.size):
        at = a[i]
        up[i] = g[i] + _slope_right(at, kink[i], upper[i], slope_left[i], slope_right[i])
        down[i] = g[i] + _slope_left(at, lower[i], kink[i], slope_left[i], slope_right[i])
        # A NaN stays.
        if up[i] < lowest or up[i] != up[i]:
            lowest = up[i]
        if down[i] > highest or down[i] != down[i]:
            highest = down[i]
        if at > lower[i] and at < upper[i] and at != kink[i]:
            totals[N_BETWEEN] += 1.0
            part[BETWEEN] += up[i]
        elif not lower[i] <= at <= upper[i]:
            totals[N_OUTSIDE] += 1.0
        if at != 0.0:
            totals[N_USED] += 1.0
            totals[LARGEST] = max(totals[LARGEST], abs(at))
            part[SUM] += at
            part[REACH] += abs(at)
            part[PRODUCT] += at * g[i]
            part[PENALTY] += _value(at, kink[i], slope_left[i], slope_right[i])
            part[SQUARES] += abs(size[i]) * at * at
        if i % _PART == _PART - 1:
            _add(totals, lost, part)
    _add(totals, lost, part)
    for k in range(N_SUMS):
        totals[k] += lost[k]
    totals[LOWEST_UP], totals[HIGHEST_DOWN] = lowest, highest


@jit()
def gap(
    lower, kink, upper, slope_left, slope_right, ridge, a, g,
    multiplier, low, low_free, high, high_free,
):  # fmt: skip
    """Sum of ``h_i(a_i) - min h_i``, see ``DualProblem.duality_gap``; inf where unbounded.

    The last four are what the equality implies for infinite ends (``Extent.implied``).
    """
    totals, lost, part = np.zeros(1), np.zeros(1), np.zeros(1)
    for i in range(a.size):
        linear = g[i] - ridge[i] * a[i] - multiplier
        at = _minimiser(
            linear, ridge[i], lower[i], kink[i], upper[i], slope_left[i], slope_right[i]
        )
        if lower[i] == -np.inf:
            at = max(at, low + upper[i] if upper[i] < np.inf else low_free)
        if upper[i] == np.inf:
            at = min(at, high + lower[i] if lower[i] > -np.inf else high_free)
        if not abs(at) < np.inf:
            return np.inf
        part[0] += (
            (linear + 0.5 * ridge[i] * (a[i] + at)) * (a[i] - at)
            + _value(a[i], kink[i], slope_left[i], slope_right[i])
            - _value(at, kink[i], slope_left[i], slope_right[i])
        )
        if i % _PART == _PART - 1:
            _add(totals, lost, part)
    _add(totals, lost, part)
    return totals[0] + lost[0]


@jit()
def settle(lower, kink, upper, slope_left, slope_right, ridge, multiplier, smooth, held, a):
    """Set every variable that is not held to its optimum at ``multiplier``.

    a_i minimises ``phi_i(a) + (smooth_i - multiplier) a + ridge_i a^2 / 2``. Where that would be
    infinite the variable stays put. Returns the sum of all variables.
    """
    totals, lost, part = np.zeros(1), np.zeros(1), np.zeros(1)
    for i in range(a.size):
        if not held[i]:
            at = _minimiser(
                smooth[i] - multiplier, ridge[i],
                lower[i], kink[i], upper[i], slope_left[i], slope_right[i],
            )  # fmt: skip
            if abs(at) < np.inf:
                a[i] = at
        part[0] += a[i]
        if i % _PART == _PART - 1:
            _add(totals, lost, part)
    _add(totals, lost, part)
    return totals[0] + lost[0]
