"""Compiled steps of path following: where rows stand, which event comes next, the step.

The optimality condition of a row says that (a, -h) lies on the staircase of its penalty's
slopes: flat on a segment (``h + slope = 0``, a between two breakpoints), upright on a
breakpoint (``left <= -h <= right``). A row is

    FREE            on a flat: its ``h`` is held while its ``a`` moves
    AT_BREAKPOINT   on an upright: its ``a`` is held while its ``h`` moves within a range
    MOVING          beside the staircase: its ``a`` moves until it meets it
    ABSENT          not in the problem

The state is two arrays with a line per quantity: floats ``F`` and integers ``S``. This file is
the compiled twin of ``problem.Penalty`` for paths; no other one of this folder knows slopes.
"""

import numpy as np

from ..._jit import jit

# Lines of F. LO to SR: the penalty now. RATE: by how much these five change over the whole
# clock. TARGET: what they are when it has run out. LOW, HIGH: range of h at a breakpoint;
# RLOW, RHIGH: its rates. D: direction of a; GAMMA: direction of h; ROOT: sqrt of Q_ii.
A, H, LO, KINK, UP, SL, SR, LOW, HIGH, GAMMA, D, RIDGE, ROOT = range(13)
RATE, TARGET, RLOW, RHIGH, N_FLOATS = 13, 18, 23, 24, 25
N_PENALTY = 5  # lines of a penalty
# Lines of S. SIGN: current sign of a row with the symmetric hinge, 0 for others. REGION: 0 below
# the interval, 1 and 2 on the segments, 3 above; at a breakpoint, its line of F. DIR: direction
# of a moving row. IGNORED: how often the row was met here in steps of no length. POSITION: where
# a free row stands among the free ones.
STATUS, SIGN, REGION, DIR, IGNORED, POSITION, N_INTS = range(7)
AT_BREAKPOINT, FREE, MOVING, ABSENT = 0, 1, 2, 3


@jit()
def slopes(F, i, first=LO):
    """Slopes to the left and to the right of a, infinite at the ends of the interval.

    Of the penalty in the lines from ``first`` on.
    """
    a = F[A, i]
    kink, slope_left, slope_right = F[first + 1, i], F[first + 3, i], F[first + 4, i]
    right = slope_right if a >= kink else slope_left
    left = slope_left if a <= kink else slope_right
    if a >= F[first + 2, i]:
        right = np.inf
    if a <= F[first, i]:
        left = -np.inf
    return left, right


@jit()
def segment_ends(F, i, region):
    """Lines of F that hold the ends of a segment."""
    if region == 1:
        return LO, KINK
    return (KINK if F[KINK, i] > F[LO, i] else LO), UP


@jit()
def segment_slope(region):
    """Line of F that holds the slope of a segment."""
    return SL if region == 1 else SR


@jit()
def next_breakpoint(F, S, i):
    """Line of F with the breakpoint that a moving row reaches next."""
    region = S[REGION, i]
    if S[DIR, i] > 0:
        return LO if region == 0 else (KINK if region == 1 else UP)
    if region == 3:
        return UP
    return KINK if region == 2 and F[KINK, i] > F[LO, i] else LO


@jit()
def beside(F, i, direction):
    """Region that a row at a breakpoint enters in a direction."""
    if direction > 0:
        return 2 if F[A, i] >= F[KINK, i] else 1
    return 2 if F[A, i] > F[KINK, i] else 1


@jit()
def hold(F, S, i):
    """Hold row i at the breakpoint where it stands: its range of h."""
    left, right = slopes(F, i)
    line = UP if F[A, i] >= F[UP, i] else (LO if F[A, i] <= F[LO, i] else KINK)
    if F[LO, i] == F[UP, i] and F[RATE, i] != F[RATE + UP - LO, i]:
        # An interval that opens: the row goes with the end that its h asks for.
        if F[H, i] + F[SR, i] < 0.0:
            line, left = UP, F[SR, i]
        elif F[H, i] + F[SL, i] > 0.0 or F[KINK, i] <= F[LO, i]:
            line, right = LO, F[SL, i] if F[KINK, i] > F[LO, i] else F[SR, i]
        else:
            line, left, right = KINK, F[SL, i], F[SR, i]
    F[A, i] = F[line, i]
    S[REGION, i] = line
    F[D, i] = F[RATE + line - LO, i]
    F[LOW, i], F[HIGH, i] = -right, -left
    F[RLOW, i] = -F[RATE + (SR if right == F[SR, i] else SL) - LO, i] if right < np.inf else 0.0
    F[RHIGH, i] = -F[RATE + (SL if left == F[SL, i] else SR) - LO, i] if left > -np.inf else 0.0
    S[STATUS, i] = AT_BREAKPOINT
    if S[SIGN, i] != 0 and (F[LO, i] < F[UP, i] or F[RATE, i] != F[RATE + UP - LO, i]):
        # Beyond h = 0 the row changes sign.
        if S[SIGN, i] > 0 and line == UP:
            F[LOW, i], F[RLOW, i] = 0.0, 0.0
        elif S[SIGN, i] < 0 and line == LO:
            F[HIGH, i], F[RHIGH, i] = 0.0, 0.0


@jit()
def release(F, S, i, status):
    """Row i is at a breakpoint no longer: no range for its h."""
    F[LOW, i], F[HIGH, i] = -np.inf, np.inf
    F[RLOW, i], F[RHIGH, i], F[D, i] = 0.0, 0.0, 0.0
    S[STATUS, i] = status


@jit()
def mirror_penalty(F, i, first):
    """The penalty in the lines from ``first`` on, for the other sign of the symmetric hinge."""
    low, up = F[first, i], F[first + 2, i]
    F[first, i], F[first + 1, i], F[first + 2, i] = -up, -up, -low
    F[first + 3, i] = -F[first + 3, i]
    F[first + 4, i] = -F[first + 4, i]


@jit()
def flip(F, S, i):
    """Change the sign of a row with the symmetric hinge."""
    for first in (LO, RATE, TARGET):
        mirror_penalty(F, i, first)
    S[SIGN, i] = -S[SIGN, i]


@jit()
def set_off(F, S, i, region, direction):
    """Row i starts to move towards its staircase."""
    release(F, S, i, MOVING)
    S[REGION, i], S[DIR, i] = region, direction


@jit()
def place(F, S, i, tol, tol_inside):
    """Give row i, which is not free, the status that its a and h ask for.

    Returns FREE, and changes nothing, when it stands on a flat: the caller makes it free.
    """
    if S[SIGN, i] * F[H, i] < -tol:
        flip(F, S, i)
    a = F[A, i]
    if a < F[LO, i]:
        set_off(F, S, i, 0, 1)
    elif a > F[UP, i]:
        set_off(F, S, i, 3, -1)
    elif a == F[LO, i] or a == F[UP, i] or a == F[KINK, i]:
        left, right = slopes(F, i)
        if F[H, i] + right < -tol:
            set_off(F, S, i, beside(F, i, 1), 1)
        elif F[H, i] + left > tol:
            set_off(F, S, i, beside(F, i, -1), -1)
        else:
            hold(F, S, i)
    else:
        region = 1 if a < F[KINK, i] else 2
        g = F[H, i] + F[segment_slope(region), i]
        if abs(g) <= tol_inside:
            return FREE
        set_off(F, S, i, region, 1 if g < 0.0 else -1)
    return S[STATUS, i]


@jit()
def place_all(F, S, rows, tol, tol_inside, found):
    """``place`` for several rows; their codes go to ``found``."""
    for k in range(rows.size):
        found[k] = place(F, S, rows[k], tol, tol_inside)


@jit()
def adopt(F, S, rows, found):
    """Hold rows that stand at breakpoints of a solution; FREE and MOVING for the others.

    Those are to become free, or to be placed: rows on the wrong side of h = 0.
    """
    for k in range(rows.size):
        i = rows[k]
        found[k] = FREE
        if S[SIGN, i] * F[H, i] < 0.0:
            found[k] = MOVING
        elif F[A, i] == F[LO, i] or F[A, i] == F[KINK, i] or F[A, i] == F[UP, i]:
            hold(F, S, i)
            found[k] = AT_BREAKPOINT


@jit()
def arrive(F, S, moving, n_moving, rtol, atol, tol, arrived):
    """Hold moving rows at the breakpoint that they have reached, or let them pass it.

    Returns how many move on, how many are held, the first ones of ``arrived``, and the largest
    way that was missing to a breakpoint, times ROOT.
    """
    left_over, n_arrived, missing = 0, 0, 0.0
    for k in range(n_moving):
        i = moving[k]
        line = next_breakpoint(F, S, i)
        size = abs(F[A, i])
        for other in (LO, KINK, UP):
            if abs(F[other, i]) < np.inf:
                size = max(size, abs(F[other, i]))
        if S[DIR, i] * (F[line, i] - F[A, i]) <= max(rtol * size, atol):
            missing = max(missing, abs(F[line, i] - F[A, i]) * F[ROOT, i])
            F[A, i] = F[line, i]
            left, right = slopes(F, i)
            if (S[DIR, i] > 0 and F[H, i] + right >= -tol) or (
                S[DIR, i] < 0 and F[H, i] + left <= tol
            ):
                hold(F, S, i)
                arrived[n_arrived] = i
                n_arrived += 1
                continue
            S[REGION, i] = beside(F, i, S[DIR, i])
        moving[left_over] = i
        left_over += 1
    return left_over, n_arrived, missing


@jit()
def hold_all(F, S, n):
    """Ranges and rates of all rows at breakpoints, after their penalties changed."""
    for i in range(n):
        if S[STATUS, i] == AT_BREAKPOINT:
            hold(F, S, i)


@jit()
def check(F, S, n, tol, found):
    """Rows at breakpoints whose h left its range; free ones a rounding outside go to the end.

    Returns how many were found, and the largest error of a free row's condition.
    """
    n_found, largest = 0, 0.0
    for i in range(n):
        S[IGNORED, i] = 0
        if S[STATUS, i] == AT_BREAKPOINT:
            h = F[H, i]
            if h < F[LOW, i] - tol or h > F[HIGH, i] + tol:
                found[n_found] = i
                n_found += 1
        elif S[STATUS, i] == FREE:
            low, high = segment_ends(F, i, S[REGION, i])
            F[A, i] = min(max(F[A, i], F[low, i]), F[high, i])
            largest = max(largest, abs(F[H, i] + F[segment_slope(S[REGION, i]), i]))
    return n_found, largest


@jit()
def violation(F, S, rows, first):
    """Largest violation of a condition under the penalties in the lines from ``first`` on.

    Infinite where a variable is outside its interval.
    """
    largest = 0.0
    for k in range(rows.size):
        i = rows[k]
        if F[A, i] < F[first, i] or F[A, i] > F[first + 2, i]:
            return np.inf
        left, right = slopes(F, i, first)
        h = F[H, i]
        largest = max(largest, h + left, -(h + right), -S[SIGN, i] * h)
    return largest


@jit()
def sizes(F, n):
    """Largest a, largest ROOT, and the sum of their products."""
    largest_a, largest_root, total = 0.0, 0.0, 0.0
    for i in range(n):
        a, root = abs(F[A, i]), F[ROOT, i]
        largest_a, largest_root = max(largest_a, a), max(largest_root, root)
        total += a * root
    return largest_a, largest_root, total


# -- penalties that move -----------------------------------------------------------------------


@jit()
def move_penalties(F, S, n, left, share):
    """Penalties when the share ``left`` of the clock is left; rows at breakpoints go with them.

    ``share`` of the clock has passed since the last time.
    """
    for i in range(n):
        for line in range(N_PENALTY):
            rate = F[RATE + line, i]
            if rate != 0.0:
                F[LO + line, i] = F[TARGET + line, i] - left * rate
        if S[STATUS, i] == AT_BREAKPOINT:
            F[A, i] = F[S[REGION, i], i]
            F[LOW, i] += share * F[RLOW, i]
            F[HIGH, i] += share * F[RHIGH, i]


@jit()
def shift_slopes(F, S, n, tol):
    """Shift the slopes of every row by what its condition misses, where that exceeds ``tol``."""
    for i in range(n):
        miss = 0.0
        if S[STATUS, i] == FREE:
            miss = -F[H, i] - F[segment_slope(S[REGION, i]), i]
        elif S[STATUS, i] == AT_BREAKPOINT:
            left, right = slopes(F, i)
            miss = max(0.0, -F[H, i] - right) + min(0.0, -F[H, i] - left)
        if abs(miss) > tol:
            F[SL, i] += miss
            F[SR, i] += miss


@jit()
def widen_ranges(F, S, n, width):
    """Widen the range of h of every row at a breakpoint, by its ``width`` on either side."""
    for i in range(n):
        if S[STATUS, i] == AT_BREAKPOINT:
            F[SL, i] += width[i] if F[A, i] <= F[LO, i] else -width[i]
            F[SR, i] += -width[i] if F[A, i] >= F[UP, i] else width[i]


# -- steps ---------------------------------------------------------------------------------

# What ends a step.
CLOCK, FREE_LOW, FREE_HIGH, RANGE_LOW, RANGE_HIGH, MEET, BREAK, FLIP, NONE = range(9)
FAR = 1e300  # longer than any step
_TIMES_IGNORED = 3


@jit()
def set_directions(F, S, free, moving, left, total):
    """Moving rows head for the far end of their interval; returns the sum of their directions.

    ``left`` is the share of the clock that is left: ends that move are met where they stop.
    The speed towards infinity is as large as the variables and their ``total``.
    """
    cap = 0.0
    for p in range(free.size):
        cap = max(cap, abs(F[A, free[p]]))
    cap += abs(total)
    if cap == 0.0:
        cap = 1.0
    added = 0.0
    for k in range(moving.size):
        i = moving[k]
        line = UP if S[DIR, i] > 0 else LO
        if abs(F[line, i]) < np.inf:
            d = F[line, i] - F[A, i] + left * F[RATE + line - LO, i]
        else:
            d = cap * S[DIR, i]
        F[D, i] = d
        added += d
    return added


@jit()
def subtract_slope_rates(F, S, free, left, out):
    """Take from ``out`` by how much the slopes of free rows change."""
    for p in range(free.size):
        i = free[p]
        out[p] -= left * F[RATE + segment_slope(S[REGION, i]) - LO, i]


@jit()
def size_of_step(F, rows, corner):
    """Sum and maximum that the rounding of a direction over ``rows`` is relative to.

    The factor is that of K + corner: its rounding is relative to both.
    """
    size, largest = 0.0, 0.0
    for k in range(rows.size):
        i = rows[k]
        root = np.sqrt(F[ROOT, i] ** 2 + corner)
        size += abs(F[D, i]) * root
        largest = max(largest, root)
    return size, largest


@jit()
def reached(way, slope, floor, eta, steepest):
    """Step length to the end of ``way``, and whether that is the first event so far."""
    if not slope > floor:
        return eta, False
    x = max(0.0, way / slope)
    return x, x < eta or (x == eta and slope > steepest)


@jit()
def next_event(F, S, n, free, moving, left, limit, least, noise):
    """The first event along the direction: step length, code and position or row.

    ``left`` is the share of the clock that the whole step takes, ``limit`` the longest step;
    ``least`` plus ``noise`` times ROOT is rounding in GAMMA.
    Ties go to the event that is approached fastest: at length zero there are many.
    """
    eta, steepest, code, which = limit, 0.0, CLOCK, -1
    if limit >= FAR:
        code = NONE
    for p in range(free.size):
        i = free[p]
        low, high = segment_ends(F, i, S[REGION, i])
        slope = left * F[RATE + low - LO, i] - F[D, i]
        x, is_first = reached(F[A, i] - F[low, i], slope, 0.0, eta, steepest)
        if is_first:
            eta, steepest, code, which = x, slope, FREE_LOW, p
        slope = F[D, i] - left * F[RATE + high - LO, i]
        x, is_first = reached(F[high, i] - F[A, i], slope, 0.0, eta, steepest)
        if is_first:
            eta, steepest, code, which = x, slope, FREE_HIGH, p
    for k in range(moving.size):
        i = moving[k]
        floor = least + noise * F[ROOT, i]
        region, direction = S[REGION, i], S[DIR, i]
        if 0 < region and region < 3:
            line = segment_slope(region)
            slope = direction * (F[GAMMA, i] + left * F[RATE + line - LO, i])
            x, is_first = reached(-direction * (F[H, i] + F[line, i]), slope, floor, eta, steepest)
            if is_first:
                eta, steepest, code, which = x, slope, MEET, k
        line = next_breakpoint(F, S, i)
        slope = direction * (F[D, i] - left * F[RATE + line - LO, i])
        x, is_first = reached(direction * (F[line, i] - F[A, i]), slope, 0.0, eta, steepest)
        if is_first:
            eta, steepest, code, which = x, slope, BREAK, k
        if S[SIGN, i] != 0:
            slope = -S[SIGN, i] * F[GAMMA, i]
            x, is_first = reached(S[SIGN, i] * F[H, i], slope, floor, eta, steepest)
            if is_first:
                eta, steepest, code, which = x, slope, FLIP, k
    for i in range(n):
        reach = F[H, i] + eta * F[GAMMA, i]
        if left == 0.0 and reach > F[LOW, i] and reach < F[HIGH, i]:
            continue
        if S[STATUS, i] != AT_BREAKPOINT or S[IGNORED, i] >= _TIMES_IGNORED:
            continue
        floor = least + noise * F[ROOT, i]
        slope = left * F[RLOW, i] - F[GAMMA, i]
        x, is_first = reached(F[H, i] - F[LOW, i], slope, floor, eta, steepest)
        if is_first:
            eta, steepest, code, which = x, slope, RANGE_LOW, i
        slope = F[GAMMA, i] - left * F[RHIGH, i]
        x, is_first = reached(F[HIGH, i] - F[H, i], slope, floor, eta, steepest)
        if is_first:
            eta, steepest, code, which = x, slope, RANGE_HIGH, i
    return eta, code, which


@jit()
def first_end(F, S, rows):
    """The first end of a segment that ``rows`` meet along D: step length, which row, line of F."""
    eta, steepest, which, line = np.inf, 0.0, -1, LO
    for p in range(rows.size):
        i = rows[p]
        d = F[D, i]
        if d != 0.0:
            low, high = segment_ends(F, i, S[REGION, i])
            end = high if d > 0.0 else low
            x = max(0.0, (F[end, i] - F[A, i]) / d)
            if x < eta or (x == eta and abs(d) > steepest):
                eta, steepest, which, line = x, abs(d), p, end
    return eta, which, line


@jit()
def advance(F, S, n, free, moving, eta, progress):
    """Take a step of length ``eta``, for penalties that stand still.

    ``progress``: rows that were ignored count again.
    """
    for p in range(free.size):
        F[A, free[p]] += eta * F[D, free[p]]
    for k in range(moving.size):
        F[A, moving[k]] += eta * F[D, moving[k]]
    for i in range(n):
        F[H, i] += eta * F[GAMMA, i]
    if progress:
        S[IGNORED, :n] = 0
