"""Compiled pair steps inside one block of problem (P).

    minimise  1/2 a' Q a + sum phi_i(a_i)   over a with a fixed sum

by moving mass between two variables at a time. The pair is chosen by second-order
information (Fan, Chen & Lin 2005, working set selection 2), generalised to penalties
with a kink: i has the lowest slope to the right, j promises the largest decrease.
"""

import numpy as np

from .._jit import REDUCTION_MATH, jit

# Curvature below this share of the pair's diagonal is rounding (duplicated rows) or a
# kernel that is not positive semi-definite: go to the next breakpoint.
FLAT = 1e-12
TINY = 1e-300

DONE, STEP_LIMIT, STUCK, UNBOUNDED = 0, 1, 2, 3


@jit()
def _set_slopes(k, a, lower, kink, upper, slope_left, slope_right, right, left):
    if a[k] >= upper[k]:
        right[k] = np.inf
    elif a[k] >= kink[k]:
        right[k] = slope_right[k]
    else:
        right[k] = slope_left[k]
    if a[k] <= lower[k]:
        left[k] = -np.inf
    elif a[k] <= kink[k]:
        left[k] = slope_left[k]
    else:
        left[k] = slope_right[k]


@jit(REDUCTION_MATH)
def _move_gradient(t, row_i, row_j, g, right, up):
    """g += t (row_i - row_j); up = g + right; returns min(up)."""
    lowest = np.inf
    for k in range(g.size):
        g[k] += t * (row_i[k] - row_j[k])
        up[k] = g[k] + right[k]
        lowest = min(lowest, up[k])
    return lowest


@jit(REDUCTION_MATH)
def _score(lowest, diagonal_i, row_i, diagonal, g, left, score):
    """score_k = predicted decrease of a step with i; returns largest violation and score."""
    highest = -np.inf
    best = 0.0
    for k in range(g.size):
        violation = g[k] + left[k] - lowest
        highest = max(highest, violation)
        size = diagonal_i + diagonal[k]
        curvature = max(size - 2.0 * row_i[k], FLAT * abs(size) + TINY)
        gain = max(violation, 0.0)
        score[k] = gain * gain / curvature
        best = max(best, score[k])
    return highest, best


@jit()
def solve_block(Q, g, a, lower, kink, upper, slope_left, slope_right, tol, max_steps):
    """Pair steps until the KKT violation within the block is at most ``tol``.

    Parameters
    ----------
    Q : float64 array of shape (q, q)
    g : float64 array of shape (q,), changed in place
        Gradient ``(Q a)`` of the whole problem at the block's rows.
    a : float64 array of shape (q,), changed in place
    lower, kink, upper, slope_left, slope_right : float64 arrays of shape (q,)
    tol : float
    max_steps : int

    Returns
    -------
    steps : int
    code : int
        DONE, STEP_LIMIT, STUCK (rounding allows no step) or UNBOUNDED.
    """
    q = g.size
    right = np.empty(q)
    left = np.empty(q)
    score = np.empty(q)
    diagonal = np.empty(q)
    up = np.empty(q)
    for k in range(q):
        _set_slopes(k, a, lower, kink, upper, slope_left, slope_right, right, left)
        diagonal[k] = Q[k, k]
    lowest = _move_gradient(0.0, Q[0], Q[0], g, right, up)
    steps = 0
    while True:
        if not lowest < np.inf:
            return steps, DONE
        i = 0
        while up[i] != lowest and i < q - 1:
            i += 1
        highest, best = _score(lowest, diagonal[i], Q[i], diagonal, g, left, score)
        if highest <= tol:
            return steps, DONE
        if steps >= max_steps:
            return steps, STEP_LIMIT
        j = 0
        while score[j] != best and j < q - 1:
            j += 1
        size = diagonal[i] + diagonal[j]
        curvature = size - 2.0 * Q[i, j]
        violation = g[j] + left[j] - lowest
        step = violation / curvature if curvature > FLAT * abs(size) + TINY else np.inf

        breakpoint_i = kink[i] if a[i] < kink[i] else upper[i]
        breakpoint_j = kink[j] if a[j] > kink[j] else lower[j]
        room_i = breakpoint_i - a[i]
        room_j = a[j] - breakpoint_j
        room = min(room_i, room_j)
        if step >= room:
            step = room
        if step == np.inf:
            return steps, UNBOUNDED
        if not (a[i] + step > a[i] or a[j] - step < a[j]):
            return steps, STUCK
        # A step that ends on a breakpoint stores the breakpoint itself.
        a[i] = breakpoint_i if step == room_i else a[i] + step
        a[j] = breakpoint_j if step == room_j else a[j] - step
        _set_slopes(i, a, lower, kink, upper, slope_left, slope_right, right, left)
        _set_slopes(j, a, lower, kink, upper, slope_left, slope_right, right, left)
        lowest = _move_gradient(step, Q[i], Q[j], g, right, up)
        steps += 1
