"""What certifies a solution of problem (P), one variable at a time.

    minimise  1/2 a'Qa + sum_i phi_i(a_i)   over  lower <= a <= upper,  sum a = total

phi_i(a) is the integral from 0 to a of its slope: ``left`` below the kink, ``right``
above it. A penalty is given as the tuple (lower, kink, upper, left, right) of arrays.
"""

import math

import numpy as np


def _phi(a, kink, left, right):
    def integral(start, stop):  # start <= stop
        below = max(0.0, min(stop, kink) - start)
        above = max(0.0, stop - max(start, kink))
        # No product of an unused slope with an infinite piece can arise: pieces are finite.
        return left * below + right * above

    return integral(0.0, a) if a >= 0 else -integral(a, 0.0)


def penalty_value(penalty, a):
    """Sum of phi_i(a_i)."""
    _, kink, _, left, right = penalty
    return math.fsum(
        _phi(float(x), float(k), float(sl), float(sr))
        for x, k, sl, sr in zip(a, kink, left, right, strict=True)
    )


def objective(Q, penalty, a):
    """Value of (P)."""
    return 0.5 * float(a @ (Q @ a)) + penalty_value(penalty, a)


def _slopes(a, low, kink, high, left, right):
    """Slopes of phi (with the interval) to the left and to the right of ``a``."""
    to_right = math.inf if a >= high else (right if a >= kink else left)
    to_left = -math.inf if a <= low else (left if a <= kink else right)
    return to_left, to_right


def kkt_residual(Q, penalty, a):
    """How far the largest downward slope exceeds the smallest upward slope."""
    g = Q @ np.asarray(a, float)
    smallest_up, largest_down = math.inf, -math.inf
    for x, g_i, *row in zip(a, g, *penalty, strict=True):
        to_left, to_right = _slopes(float(x), *(float(v) for v in row))
        smallest_up = min(smallest_up, g_i + to_right)
        largest_down = max(largest_down, g_i + to_left)
    if smallest_up == math.inf or largest_down == -math.inf:
        return 0.0
    return max(0.0, largest_down - smallest_up)


def dual_bound(M, ridge, penalty, a, total, multiplier):
    """Lagrangian bound at ``multiplier`` around ``a``, Q = M + diag(ridge).

    The minimum over each interval is taken over its candidates: the ends, the kink and
    the stationary points of the two pieces.
    """
    a = np.asarray(a, float)
    Ma = M @ a
    parts = [-0.5 * float(a @ Ma), multiplier * total]
    for m_i, r, low, kink, high, left, right in zip(Ma, ridge, *penalty, strict=True):
        slope = float(m_i) - multiplier
        candidates = [v for v in (low, kink, high) if math.isfinite(v)]
        if r > 0:
            for piece in (left, right):
                candidates.append(min(max(-(slope + piece) / r, low), high))
        if high == math.inf and r == 0 and slope + right < 0:
            return -math.inf
        if low == -math.inf and r == 0 and slope + (left if kink > low else right) > 0:
            return -math.inf
        if not candidates:  # a free variable with zero slope
            candidates = [0.0]
        parts.append(
            min(slope * b + 0.5 * r * b * b + _phi(b, kink, left, right) for b in candidates)
        )
    return math.fsum(parts)
