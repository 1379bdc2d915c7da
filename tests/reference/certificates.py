"""What certifies a solution of problem (P), one variable at a time.

    minimise  1/2 a'Qa + sum_i phi_i(a_i)   over  lower <= a <= upper,  sum a = total

phi_i(a) is the integral from 0 to a of its slope. A penalty is given as a tuple of arrays: the
ends of its pieces (lower, kinks, upper), and then their slopes.
"""

import math

import numpy as np


def pieces(penalty):
    """Ends and slopes of a penalty, or of one variable."""
    penalty = list(penalty)
    n_ends = len(penalty) // 2 + 1
    return penalty[:n_ends], penalty[n_ends:]


def each(penalty):
    """Ends and slopes of one variable after the other, as numbers."""
    return [pieces(map(float, row)) for row in zip(*penalty, strict=True)]


def _phi(a, kinks, slopes):
    def integral(start, stop):  # start <= stop
        total = 0.0
        limits = [-math.inf, *kinks, math.inf]
        for low, high, slope in zip(limits, limits[1:], slopes, strict=False):
            # No product of an unused slope with an infinite piece can arise: pieces are finite.
            total += slope * max(0.0, min(stop, high) - max(start, low))
        return total

    return integral(0.0, a) if a >= 0 else -integral(a, 0.0)


def penalty_value(penalty, a):
    """Sum of phi_i(a_i)."""
    return math.fsum(
        _phi(float(x), ends[1:-1], slopes)
        for x, (ends, slopes) in zip(a, each(penalty), strict=True)
    )


def objective(Q, penalty, a):
    """Value of (P)."""
    return 0.5 * float(a @ (Q @ a)) + penalty_value(penalty, a)


def _slopes(a, ends, slopes):
    """Slopes of phi (with the interval) to the left and to the right of ``a``."""
    low, *kinks, high = ends
    to_right = math.inf if a >= high else slopes[sum(a >= kink for kink in kinks)]
    to_left = -math.inf if a <= low else slopes[sum(a > kink for kink in kinks)]
    return to_left, to_right


def kkt_residual(Q, penalty, a):
    """How far the largest downward slope exceeds the smallest upward slope."""
    g = Q @ np.asarray(a, float)
    smallest_up, largest_down = math.inf, -math.inf
    for x, g_i, row in zip(a, g, each(penalty), strict=True):
        to_left, to_right = _slopes(float(x), *row)
        smallest_up = min(smallest_up, g_i + to_right)
        largest_down = max(largest_down, g_i + to_left)
    if smallest_up == math.inf or largest_down == -math.inf:
        return 0.0
    return max(0.0, largest_down - smallest_up)


def dual_bound(M, ridge, penalty, a, total, multiplier):
    """Lagrangian bound at ``multiplier`` around ``a``, Q = M + diag(ridge).

    The minimum over each interval is taken over its candidates: the ends, the kinks and
    the stationary points of the pieces.
    """
    a = np.asarray(a, float)
    Ma = M @ a
    parts = [-0.5 * float(a @ Ma), multiplier * total]
    for m_i, r, (ends, slopes) in zip(Ma, ridge, each(penalty), strict=True):
        slope, (low, *kinks, high) = float(m_i) - multiplier, ends
        candidates = [v for v in ends if math.isfinite(v)]
        if r > 0:
            candidates += [min(max(-(slope + piece) / r, low), high) for piece in slopes]
        if high == math.inf and r == 0 and slope + slopes[-1] < 0:
            return -math.inf
        if low == -math.inf and r == 0 and slope + slopes[sum(low >= k for k in kinks)] > 0:
            return -math.inf
        if not candidates:  # a free variable with zero slope
            candidates = [0.0]
        parts.append(min(slope * b + 0.5 * r * b * b + _phi(b, kinks, slopes) for b in candidates))
    return math.fsum(parts)
