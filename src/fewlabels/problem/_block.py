"""Compiled steps within a block of problem (P), the twin of ``Penalty`` for blocks.

``penalty`` is (lower, kink, upper, slope_left, slope_right), as in ``Penalty.arrays``. What knows
slopes is written here again, as compiled code calls its own file only.
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
# Then rows are evaluated together that are within this share of the worst violation; so many.
_URGENT, _FEWEST, MOST_WANTED = 0.5, 12, 32
# Pair steps between Newton steps: enough for a variable in the wrong state to join the others.
_STEPS_BETWEEN = 2
# Times that a Newton direction is refined.
_REFINED = 2
# Violation relative to the multiplier that counts as none.
EXACT = 1e-13
# What a Newton step costs, and factors of _CHEAP variables: their shares of a budget.
_STEP_COSTS, _CHEAP = 0.1, 200.0


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
def _rates(penalty, a, g, k):
    """Slopes of the objective in variable k, to the right and to the left."""
    lower, kink, upper, slope_left, slope_right = penalty
    up = g[k] + _slope_right(a[k], kink[k], upper[k], slope_left[k], slope_right[k])
    return up, g[k] + _slope_left(a[k], lower[k], kink[k], slope_left[k], slope_right[k])


@jit()
def _extremes(penalty, a, g):
    """Lowest slope of the objective to the right, and highest one to the left."""
    low, high = np.inf, -np.inf
    for k in range(a.size):
        up, down = _rates(penalty, a, g, k)
        low, high = min(low, up), max(high, down)
    return low, high


# -- products --------------------------------------------------------------------------------


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
    """``g += change @ Q[which]``, four rows of Q in one pass."""
    whole = which.size - which.size % 4
    for p in range(0, whole, 4):
        i, j, k, m = which[p], which[p + 1], which[p + 2], which[p + 3]
        _add_four(
            change[p], change[p + 1], change[p + 2], change[p + 3], Q[i], Q[j], Q[k], Q[m], g
        )  # fmt: skip
    for p in range(whole, which.size):
        _add_row(change[p], Q[which[p]], g)


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
def _best_of(movable, lowest, diagonal_i, row_i, diagonal, g, left):
    """As ``_score``, of those that are ``movable`` alone: largest violation, best variable."""
    highest, best, j = -np.inf, 0.0, 0
    for k in movable:
        violation = g[k] + left[k] - lowest
        size = diagonal_i + diagonal[k]
        curvature = max(size - 2.0 * row_i[k], FLAT * abs(size) + TINY)
        score = violation * violation / curvature
        highest = max(highest, violation)
        if violation > 0.0 and score > best:
            best, j = score, k
    return highest, j


@jit()
def _first(values, value):
    """The first place of a value that is there."""
    k = 0
    while values[k] != value and k < values.size - 1:
        k += 1
    return k


@jit()
def _steps(Q, diagonal, g, a, penalty, tol, max_steps):
    """Pair steps where all of Q is there; their number, and how they ended."""
    lower, kink, upper, slope_left, slope_right = penalty
    q = g.size
    right, left, score, up = np.empty(q), np.empty(q), np.empty(q), np.empty(q)
    # Variables that can become less, and their places: where they are few, no others are scored.
    movable, place, m = np.empty(q, np.intp), np.full(q, -1), 0
    lowest, steps = np.inf, 0
    for k in range(q):
        right[k] = _slope_right(a[k], kink[k], upper[k], slope_left[k], slope_right[k])
        left[k] = _slope_left(a[k], lower[k], kink[k], slope_left[k], slope_right[k])
        up[k] = g[k] + right[k]
        lowest = min(lowest, up[k])
        if a[k] > lower[k]:
            movable[m], place[k] = k, m
            m += 1
    while True:
        if not lowest < np.inf:
            return steps, DONE
        i = _first(up, lowest)
        if 2 * m < q:
            highest, j = _best_of(movable[:m], lowest, diagonal[i], Q[i], diagonal, g, left)
        else:
            highest, best = _score(lowest, diagonal[i], Q[i], diagonal, g, left, score)
            j = _first(score, best)
        if highest <= tol:
            return steps, DONE
        if steps >= max_steps:
            return steps, STEP_LIMIT
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
            if a[k] > lower[k] and place[k] < 0:
                movable[m], place[k] = k, m
                m += 1
            elif a[k] <= lower[k] and place[k] >= 0:
                m -= 1
                last = movable[m]
                movable[place[k]], place[last] = last, place[k]
                place[k] = -1
        lowest = _move_gradient(step, Q[i], Q[j], g, right, up)
        steps += 1


@jit()
def _gather(Q, here, before, part):
    """Let ``part`` be the columns ``here`` of the rows of Q; ``before`` of them are there."""
    for p in range(before, here.size):
        row = Q[p]
        for q in range(p + 1):
            part[p, q] = part[q, p] = row[here[q]]


@jit()
def _nearest(far, wanted):
    """Let ``wanted`` be the rows that are least ``far`` from the worst violation, best first.

    The urgent ones: at least _FEWEST, and as a multiple of four, which is how kernel values are
    evaluated. None of those that are infinitely far; places that are left are -1.
    """
    m, most = 0, wanted.size
    wanted[:] = -1
    for k in range(far.size):
        if far[k] == np.inf or (m == most and far[k] >= far[wanted[m - 1]]):
            continue
        p = m if m < most else m - 1
        while p > 0 and far[wanted[p - 1]] > far[k]:
            wanted[p] = wanted[p - 1]
            p -= 1
        wanted[p] = k
        m = min(m + 1, most)
    while m > _FEWEST and (far[wanted[m - 1]] > _URGENT or m % 4):
        m -= 1
        wanted[m] = -1


@jit()
def _pair_steps(Q, part, here, diagonal, g, a, penalty, wanted, tol, max_steps):
    """Pair steps: their number, and how they ended.

    Where rows of Q are missing, steps are taken among the others, until these are better off.
    """
    if wanted.size == 0:
        return _steps(Q, diagonal, g, a, penalty, tol, max_steps)
    lower, kink, upper, slope_left, slope_right = penalty
    size = diagonal[here]
    some = (lower[here], kink[here], upper[here], slope_left[here], slope_right[here])
    steps = 0
    while True:
        lowest, highest = _extremes(penalty, a, g)
        if highest - lowest <= tol:
            return steps, DONE
        now, slopes = a[here], g[here]
        goal = max(0.9 * tol, _SHARE * (highest - lowest))
        more, ended = _steps(part, size, slopes, now, some, goal, max_steps - steps)
        if more == 0 and ended == DONE:
            far = np.empty(a.size)
            for k in range(a.size):
                up, down = _rates(penalty, a, g, k)
                far[k] = min(up - lowest, highest - down) / (highest - lowest)
            far[here] = np.inf
            _nearest(far, wanted)
            return steps, MISSING
        steps += more
        change = now - a[here]
        moved = np.flatnonzero(change)
        add_products(Q, moved, change[moved], g)
        a[here] = now
        if ended != DONE:
            return steps, ended


# -- Newton steps ----------------------------------------------------------------------------


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
def _leave_out(L, p, m):
    """Make a Cholesky factor of m variables that of the others than variable p, by rotations.

    The same as ``delete`` of ``solvers/path/_factor.py``: compiled code calls its own file only.
    """
    cosine, sine = np.empty(m), np.empty(m)
    for i in range(p, m - 1):
        L[i, :p] = L[i + 1, :p]
        x = L[i + 1, p]
        for k in range(p, i):
            entry = L[i + 1, k + 1]
            L[i, k] = cosine[k] * entry + sine[k] * x
            x = cosine[k] * x - sine[k] * entry
        entry = L[i + 1, i + 1]
        L[i, i] = np.hypot(entry, x)
        cosine[i], sine[i] = entry / L[i, i], x / L[i, i]


@jit()
def _solve(L, x):
    """x = (L L')^-1 x in place, for the first variables of L."""
    for i in range(x.size):
        x[i] = (x[i] - _dot(L[i], x, i)) / L[i, i]
    for i in range(x.size - 1, -1, -1):
        x[i] /= L[i, i]
        _add_row(-x[i], L[i, :i], x[:i])


@jit()
def _improve(B, L, ones, free, slope, d, turns):
    """Bring d closer to a sum of zero and ``B d + slope`` constant where variables are ``free``.

    L is the Cholesky factor of the free rows and columns of B, and ones the solution for ones.
    """
    m, total = free.size, ones.sum()
    residual = np.empty(m)
    for _ in range(turns):
        for p in range(m):
            residual[p] = slope[free[p]] + _dot(B[free[p]], d, d.size)
        _solve(L, residual)
        share = residual.sum() / total
        for p in range(m):
            d[free[p]] += ones[p] * share - residual[p]
    # The sum is zero to rounding even where Q is badly conditioned.
    rest = d.sum() / total
    for p in range(m):
        d[free[p]] -= ones[p] * rest


@jit()
def _room(penalty, a, F, d):
    """The share of d that the variables F can move before one is on a breakpoint, and which."""
    lower, kink, upper, _, _ = penalty
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
    return room, first


@jit()
def _go(penalty, a, F, d, room, first):
    """Move the variables F by d, or as far as there is room; d becomes what they moved."""
    lower, kink, upper, _, _ = penalty
    for p in range(F.size):
        i, before = F[p], a[F[p]]
        if d[p] == 0.0:
            continue
        high = kink[i] if before < kink[i] else upper[i]
        low = kink[i] if before > kink[i] else lower[i]
        if room > 1.0:
            a[i] = before + d[p]
        elif p == first:
            a[i] = high if d[p] > 0.0 else low
        else:
            a[i] = min(max(before + room * d[p], low), high)
        d[p] = a[i] - before


@jit()
def _newton_steps(Q, place, penalty, a, g, F):
    """Newton steps among F until one goes the whole way; variables stay on the way's breakpoints.

    Returns their number, 0 where Q_FF is singular, and whether one went the whole way. Only the
    first needs a factorisation: a factor loses variables in far fewer operations.
    """
    lower, kink, upper, slope_left, slope_right = penalty
    m = F.size
    B, L, size = np.empty((m, m)), np.empty((m, m)), TINY
    for p in range(m):
        row = Q[place[F[p]]]
        for q in range(m):
            B[p, q] = L[p, q] = row[F[q]]
        size = max(size, abs(B[p, p]))
    if not _factorise(L) > _SINGULAR * size:
        return 0, False
    slope = g[F] + np.where(a[F] > kink[F], slope_right[F], slope_left[F])
    before, d, free = a[F], np.empty(m), np.arange(m)
    steps, room = 0, 0.0
    while room <= 1.0 and m > 1:
        ones = np.ones(m)
        _solve(L, ones)
        d[:] = 0.0
        _improve(B, L, ones, free[:m], slope, d, 1)
        room, first = _room(penalty, a, F, d)
        if room > 1.0:  # otherwise it need not be exact
            _improve(B, L, ones, free[:m], slope, d, _REFINED)
            room, first = _room(penalty, a, F, d)
        _go(penalty, a, F, d, room, first)
        steps += 1
        if room <= 1.0:
            add_products(B, free[:m], d[free[:m]], slope)
            for p in range(m - 1, -1, -1):
                i = F[free[p]]
                if a[i] == lower[i] or a[i] == upper[i] or a[i] == kink[i]:
                    _leave_out(L, p, m)
                    m -= 1
                    for q in range(p, m):
                        free[q] = free[q + 1]
    add_products(Q, place[F], a[F] - before, g)
    return steps, room > 1.0


# -- both ------------------------------------------------------------------------------------


@jit()
def solve_block(
    Q, here, place, part, joined, diagonal, g, a, penalty,
    wanted, tol, max_steps, goal, largest, budget,
):  # fmt: skip
    """See ``block.solve_block``, ``finish_block`` (no ``max_steps``), ``solve_whole`` (both).

    Row p of Q is that of variable here[p], which place is the inverse of. Where rows are missing,
    part is Q[:, here], of which so many rows as have joined are filled, and ``wanted`` has room
    for rows to evaluate next, filled up with -1. Returns the pair steps, what is left of the
    budget, and how they ended.
    """
    lower, kink, upper, _, _ = penalty
    _gather(Q, here, joined, part)
    steps, whole = 0, False
    if max_steps > 0 or largest == 0:
        steps, ended = _pair_steps(Q, part, here, diagonal, g, a, penalty, wanted, tol, max_steps)
        if ended != DONE or largest == 0:
            return steps, budget, ended
        used = np.flatnonzero(a)
        g[:] = 0.0  # many small steps leave more rounding in it than one product
        add_products(Q, place[used], a[used], g)
        lowest, highest = _extremes(penalty, a, g)
        if abs(lowest + highest) < np.inf:
            goal = max(goal, 0.5 * EXACT * abs(lowest + highest))
    while True:
        if whole:
            more, ended = _pair_steps(
                Q, part, here, diagonal, g, a, penalty, wanted, 0.5 * goal, _STEPS_BETWEEN
            )
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
        newton, whole = _newton_steps(Q, place, penalty, a, g, F)
        if newton == 0:
            return steps, budget, SINGULAR
        budget -= newton * _STEP_COSTS + (m / _CHEAP) ** 3
        if whole:
            lowest, highest = _extremes(penalty, a, g)
            if highest - lowest <= goal:
                return steps, budget, DONE
