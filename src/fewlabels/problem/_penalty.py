"""The compiled twin of ``Penalty``: every pass over variables and their breakpoints.

All that depends on slopes and breakpoints is here, as compiled code calls its own file only.
``lower, kink, upper, slope_left, slope_right`` are the penalty, as in ``Penalty.arrays``.
"""

import numpy as np

from .._jit import REDUCTION_MATH, SUM_MATH, jit

# Curvature below this share of the pair's diagonal is rounding (duplicated rows) or a
# kernel that is not positive semi-definite: go to the next breakpoint.
FLAT = 1e-12
TINY = 1e-300

DONE, STEP_LIMIT, STUCK, UNBOUNDED, SINGULAR, MISSING = range(6)

# Pivots below this share of the largest entry are rounding.
_SINGULAR = 1e-13
# As long as their part of the violation is this, steps are taken among the rows that are there.
_SHARE = 0.5
# Pair steps between Newton steps: enough for a variable in the wrong state to join the others.
_STEPS_BETWEEN = 2
# Times that a Newton direction is refined.
_REFINED = 2
# Violation relative to the multiplier that counts as none.
EXACT = 1e-13
# What a Newton step costs: its share of a budget, and that share of _CHEAP variables.
_STEP_COSTS, _CHEAP = 0.1, 200.0

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


# -- pair steps ------------------------------------------------------------------------------


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
    highest, best = -np.inf, 0.0
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
def _steps(Q, diagonal, g, a, lower, kink, upper, slope_left, slope_right, tol, max_steps):
    """Pair steps where all of Q is there; their number, and how they ended."""
    q = g.size
    right, left, score, up = np.empty(q), np.empty(q), np.empty(q), np.empty(q)
    lowest, steps = np.inf, 0
    for k in range(q):
        right[k] = _slope_right(a[k], kink[k], upper[k], slope_left[k], slope_right[k])
        left[k] = _slope_left(a[k], lower[k], kink[k], slope_left[k], slope_right[k])
        up[k] = g[k] + right[k]
        lowest = min(lowest, up[k])
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
        excess = g[j] + left[j] - lowest
        step = excess / curvature if curvature > FLAT * abs(size) + TINY else np.inf

        breakpoint_i = kink[i] if a[i] < kink[i] else upper[i]
        breakpoint_j = kink[j] if a[j] > kink[j] else lower[j]
        room_i = breakpoint_i - a[i]
        room_j = a[j] - breakpoint_j
        room = min(room_i, room_j)
        step = room if step >= room else step
        if step == np.inf:
            return steps, UNBOUNDED
        if not (a[i] + step > a[i] or a[j] - step < a[j]):
            return steps, STUCK
        # A step that ends on a breakpoint stores the breakpoint itself.
        a[i] = breakpoint_i if step == room_i else a[i] + step
        a[j] = breakpoint_j if step == room_j else a[j] - step
        for k in (i, j):
            right[k] = _slope_right(a[k], kink[k], upper[k], slope_left[k], slope_right[k])
            left[k] = _slope_left(a[k], lower[k], kink[k], slope_left[k], slope_right[k])
        lowest = _move_gradient(step, Q[i], Q[j], g, right, up)
        steps += 1


# -- exact finish ----------------------------------------------------------------------------


@jit(SUM_MATH)
def _dot(x, y, n):
    """Inner product of the first ``n`` entries."""
    total = 0.0
    for k in range(n):
        total += x[k] * y[k]
    return total


@jit(SUM_MATH)
def _add_row(t, row, g):
    """g += t row."""
    for k in range(g.size):
        g[k] += t * row[k]


@jit(SUM_MATH)
def _add_four(t0, t1, t2, t3, row0, row1, row2, row3, g):
    for k in range(g.size):
        g[k] += t0 * row0[k] + t1 * row1[k] + t2 * row2[k] + t3 * row3[k]


@jit()
def add_products(Q, which, change, g):
    """``g += Q[:, which] @ change`` of a symmetric Q, four rows of it in one pass."""
    whole = which.size - which.size % 4
    for p in range(0, whole, 4):
        i, j, k, m = which[p], which[p + 1], which[p + 2], which[p + 3]
        _add_four(
            change[p], change[p + 1], change[p + 2], change[p + 3], Q[i], Q[j], Q[k], Q[m], g
        )  # fmt: skip
    for p in range(whole, which.size):
        _add_row(change[p], Q[which[p]], g)


@jit()
def _extremes(lower, kink, upper, slope_left, slope_right, a, g):
    """Lowest slope of the objective to the right, and highest one to the left."""
    low, high = np.inf, -np.inf
    for k in range(a.size):
        low = min(low, g[k] + _slope_right(a[k], kink[k], upper[k], slope_left[k], slope_right[k]))
        down = g[k] + _slope_left(a[k], lower[k], kink[k], slope_left[k], slope_right[k])
        high = max(high, down)
    return low, high


@jit()
def _pair_steps(
    Q, diagonal, ready, g, a, lower, kink, upper, slope_left, slope_right, far, tol, max_steps
):
    """Pair steps: their number, and how they ended.

    Where rows of Q are missing, steps are taken among the others, until these are better off.
    Then ``far`` tells the missing ones' distance from the worst violation, as a share of it.
    """
    steps, whole, here, part = 0, ready.all(), np.flatnonzero(ready), Q
    size, low, bend, high = diagonal, lower, kink, upper
    rise_left, rise_right = slope_left, slope_right
    if not whole:
        part = np.empty((here.size, here.size))
        for p in range(here.size):
            row = Q[here[p]]
            for q in range(here.size):
                part[p, q] = row[here[q]]
        size, low, bend, high = diagonal[here], lower[here], kink[here], upper[here]
        rise_left, rise_right = slope_left[here], slope_right[here]
    while True:
        now, slopes, goal, lowest, highest = a, g, tol, 0.0, 0.0
        if not whole:
            lowest, highest = _extremes(lower, kink, upper, slope_left, slope_right, a, g)
            if highest - lowest <= tol:
                return steps, DONE
            now, slopes = a[here], g[here]
            goal = max(0.9 * tol, _SHARE * (highest - lowest))
        more, ended = _steps(
            part, size, slopes, now, low, bend, high, rise_left, rise_right,
            goal, max_steps - steps,
        )  # fmt: skip
        if whole:
            return more, ended
        if more == 0 and ended == DONE:
            for k in range(a.size):
                up = g[k] + _slope_right(a[k], kink[k], upper[k], slope_left[k], slope_right[k])
                down = g[k] + _slope_left(a[k], lower[k], kink[k], slope_left[k], slope_right[k])
                nearest = min(up - lowest, highest - down)
                far[k] = np.inf if ready[k] else nearest / (highest - lowest)
            return steps, MISSING
        if more == 0:
            return steps, ended
        steps += more
        change = now - a[here]
        moved = np.flatnonzero(change)
        add_products(Q, here[moved], change[moved], g)
        a[here] = now


@jit()
def _factorise(A):
    """Lower Cholesky factor in place, row by row; the smallest pivot, 0 if one is not positive."""
    smallest = np.inf
    for i in range(A.shape[0]):
        for j in range(i):
            A[i, j] = (A[i, j] - _dot(A[i], A[j], j)) / A[j, j]
        pivot = A[i, i] - _dot(A[i], A[i], i)
        if not pivot > 0.0:
            return 0.0
        smallest = min(smallest, pivot)
        A[i, i] = np.sqrt(pivot)
    return smallest


@jit()
def _solve(L, x):
    """x = (L L')^-1 x in place."""
    for i in range(x.size):
        x[i] = (x[i] - _dot(L[i], x, i)) / L[i, i]
    for i in range(x.size - 1, -1, -1):
        x[i] /= L[i, i]
        _add_row(-x[i], L[i, :i], x[:i])


@jit()
def _direction(Q, F, wanted, d):
    """Fill d with ``Q_FF d + wanted`` constant and ``sum d = 0``; False where Q_FF is singular."""
    m = F.size
    B, A, size = np.empty((m, m)), np.empty((m, m)), TINY
    for p in range(m):
        row = Q[F[p]]
        for q in range(m):
            A[p, q] = B[p, q] = row[F[q]]
        size = max(size, abs(B[p, p]))
    if not _factorise(A) > _SINGULAR * size:
        return False
    ones, residual = np.ones(m), np.empty(m)
    _solve(A, ones)
    total = ones.sum()
    d[:] = 0.0
    for turn in range(1 + _REFINED):
        for p in range(m):
            residual[p] = wanted[p] + (_dot(B[p], d, m) if turn else 0.0)
        _solve(A, residual)
        share = residual.sum() / total
        d += ones * share - residual
    # The sum is zero to rounding even where Q is badly conditioned.
    d -= ones * (d.sum() / total)
    return True


@jit()
def _go(lower, kink, upper, a, F, d):
    """Move the variables F by d, or as far as the first breakpoint; d becomes what they moved.

    Returns whether that was the whole way.
    """
    room, first = np.inf, -1
    for p in range(F.size):
        i = F[p]
        if d[p] == 0.0:
            continue
        if d[p] > 0.0:
            way = ((kink[i] if a[i] < kink[i] else upper[i]) - a[i]) / d[p]
        else:
            way = (a[i] - (kink[i] if a[i] > kink[i] else lower[i])) / -d[p]
        if way < room:
            room, first = way, p
    whole = room > 1.0
    for p in range(F.size):
        i, before = F[p], a[F[p]]
        high = kink[i] if before < kink[i] else upper[i]
        low = kink[i] if before > kink[i] else lower[i]
        if whole:
            a[i] = before + d[p]
        elif p == first:
            a[i] = high if d[p] > 0.0 else low
        else:
            a[i] = min(max(before + room * d[p], low), high)
        d[p] = a[i] - before
    return whole


@jit()
def solve_block(
    Q, diagonal, ready, g, a, lower, kink, upper, slope_left, slope_right,
    far, tol, max_steps, goal, largest, budget,
):  # fmt: skip
    """See ``block.solve_block``, ``finish_block`` (no ``max_steps``), ``solve_whole`` (both).

    Returns the steps, what is left of the budget, and how they ended; see ``_pair_steps``.
    """
    steps, whole = 0, False
    if max_steps > 0 or largest == 0:
        steps, ended = _pair_steps(
            Q, diagonal, ready, g, a, lower, kink, upper, slope_left, slope_right,
            far, tol, max_steps,
        )  # fmt: skip
        if ended != DONE or largest == 0:
            return steps, budget, ended
        used = np.flatnonzero(a)
        g[:] = 0.0  # many small steps leave more rounding in it than one product
        add_products(Q, used, a[used], g)
        lowest, highest = _extremes(lower, kink, upper, slope_left, slope_right, a, g)
        if abs(lowest + highest) < np.inf:
            goal = max(goal, 0.5 * EXACT * abs(lowest + highest))
    while True:
        if whole:
            more, ended = _pair_steps(
                Q, diagonal, ready, g, a, lower, kink, upper, slope_left, slope_right,
                far, 0.5 * goal, _STEPS_BETWEEN,
            )  # fmt: skip
            steps += more
            budget -= _STEP_COSTS
            if ended == MISSING:
                return steps, budget, ended
            if more == 0:
                return steps, budget, STUCK
        if not budget > 0.0:
            return steps, budget, STEP_LIMIT
        F = np.flatnonzero((lower < a) & (a < upper) & (a != kink))
        m = F.size
        if m < 2:
            return steps, budget, STUCK
        if m > largest:
            return steps, budget, SINGULAR
        d, wanted = np.empty(m), g[F] + np.where(a > kink, slope_right, slope_left)[F]
        if not _direction(Q, F, wanted, d):
            return steps, budget, SINGULAR
        budget -= _STEP_COSTS + (m / _CHEAP) ** 3
        whole = _go(lower, kink, upper, a, F, d)
        add_products(Q, F, d, g)
        if whole:
            lowest, highest = _extremes(lower, kink, upper, slope_left, slope_right, a, g)
            if highest - lowest <= goal:
                return steps, budget, DONE
