"""Compiled steps of path following: where rows stand, which event comes next, the step.

The optimality condition of a row says that (a, -h) lies on the staircase of its penalty's
slopes: flat on a segment (``h + slope = 0``, a between two breakpoints), upright on a
breakpoint (``left <= -h <= right``). A row is

    FREE    on a flat: a member of M, its ``h`` held while its ``a`` moves
    REST    on an upright: its ``a`` held while its ``h`` moves in a range
    TRAVEL  beside the staircase: its ``a`` moves until it meets it
    DEAD    not there any more

State lives in two arrays with a line per quantity: floats ``F`` and integers ``S``.
"""

import numpy as np

from ..._jit import jit

# Lines of F. LO..SR is the penalty now, TARGET its five quantities when the clock has run
# out, RATE what they change by over the whole clock. LOW, HIGH: range of h at rest; RLOW,
# RHIGH: its rate. D: direction; GAMMA: direction of h; ROOT: sqrt of the diagonal of Q.
A, H, LO, KINK, UP, SL, SR, LOW, HIGH, GAMMA, D, RIDGE, ROOT = range(13)
RATE, TARGET, RLOW, RHIGH, N_FLOATS = 13, 18, 23, 24, 25
# Lines of S. SIGN: current sign of a row with a hat loss, 0 for convex ones. REGION: 0 below
# the interval, 1 and 2 on the segments, 3 above; at rest the line of F it rests on. DIR:
# direction of travel. IGNORED: how often the row was met here in steps of no length. PLACE:
# position in M.
STATUS, SIGN, REGION, DIR, IGNORED, PLACE, N_INTS = range(7)
REST, FREE, TRAVEL, DEAD = 0, 1, 2, 3


@jit()
def slopes(F, i):
    """Slopes to the left and to the right of a, infinite at the ends of the interval."""
    a = F[A, i]
    right = F[SR, i] if a >= F[KINK, i] else F[SL, i]
    left = F[SL, i] if a <= F[KINK, i] else F[SR, i]
    if a >= F[UP, i]:
        right = np.inf
    if a <= F[LO, i]:
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
    """Line of F with the breakpoint that a traveller reaches next."""
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
def rest(F, S, i):
    """Let row i rest at the breakpoint where it stands."""
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
    S[STATUS, i] = REST
    if S[SIGN, i] != 0 and (F[LO, i] < F[UP, i] or F[RATE, i] != F[RATE + UP - LO, i]):
        # Beyond h = 0 the row changes sign.
        if S[SIGN, i] > 0 and line == UP:
            F[LOW, i], F[RLOW, i] = 0.0, 0.0
        elif S[SIGN, i] < 0 and line == LO:
            F[HIGH, i], F[RHIGH, i] = 0.0, 0.0


@jit()
def unrest(F, S, i, status):
    """Row i rests no more: no range for its h."""
    F[LOW, i], F[HIGH, i] = -np.inf, np.inf
    F[RLOW, i], F[RHIGH, i], F[D, i] = 0.0, 0.0, 0.0
    S[STATUS, i] = status


@jit()
def mirror(F, S, i):
    """Flip the sign of a row with a hat loss: interval and slope change side."""
    for first in (LO, RATE, TARGET):
        low, up = F[first, i], F[first + UP - LO, i]
        F[first, i], F[first + KINK - LO, i], F[first + UP - LO, i] = -up, -up, -low
        F[first + SL - LO, i] = -F[first + SL - LO, i]
        F[first + SR - LO, i] = -F[first + SR - LO, i]
    S[SIGN, i] = -S[SIGN, i]


@jit()
def travel(F, S, i, region, direction):
    """Row i leaves for the staircase."""
    unrest(F, S, i, TRAVEL)
    S[REGION, i], S[DIR, i] = region, direction


@jit()
def place(F, S, i, tol, tol_inside):
    """Give row i, which is not in M, the status that its a and h ask for.

    Returns FREE (and changes nothing) when it stands on a flat: the caller lets it join M.
    """
    if S[SIGN, i] * F[H, i] < -tol:
        mirror(F, S, i)
    a = F[A, i]
    if a < F[LO, i]:
        travel(F, S, i, 0, 1)
    elif a > F[UP, i]:
        travel(F, S, i, 3, -1)
    elif a == F[LO, i] or a == F[UP, i] or a == F[KINK, i]:
        left, right = slopes(F, i)
        if F[H, i] + right < -tol:
            travel(F, S, i, beside(F, i, 1), 1)
        elif F[H, i] + left > tol:
            travel(F, S, i, beside(F, i, -1), -1)
        else:
            rest(F, S, i)
    else:
        region = 1 if a < F[KINK, i] else 2
        g = F[H, i] + F[segment_slope(region), i]
        if abs(g) <= tol_inside:
            return FREE
        travel(F, S, i, region, 1 if g < 0.0 else -1)
    return S[STATUS, i]


@jit()
def place_all(F, S, rows, tol, tol_inside, found):
    """``place`` for several rows; their codes go to ``found``."""
    for k in range(rows.size):
        found[k] = place(F, S, rows[k], tol, tol_inside)


@jit()
def arrive(F, S, travellers, n_travellers, rtol, atol, tol, arrived):
    """Let travellers at their next breakpoint rest there or pass it.

    Returns how many travel on and how many of ``arrived`` came to rest.
    """
    left_over, n_arrived = 0, 0
    for k in range(n_travellers):
        i = travellers[k]
        line = next_breakpoint(F, S, i)
        size = abs(F[A, i])
        for other in (LO, KINK, UP):
            if abs(F[other, i]) < np.inf:
                size = max(size, abs(F[other, i]))
        if S[DIR, i] * (F[line, i] - F[A, i]) <= max(rtol * size, atol):
            F[A, i] = F[line, i]
            left, right = slopes(F, i)
            if (S[DIR, i] > 0 and F[H, i] + right >= -tol) or (
                S[DIR, i] < 0 and F[H, i] + left <= tol
            ):
                rest(F, S, i)
                arrived[n_arrived] = i
                n_arrived += 1
                continue
            S[REGION, i] = beside(F, i, S[DIR, i])
        travellers[left_over] = i
        left_over += 1
    return left_over, n_arrived


@jit()
def rest_again(F, S, n):
    """Ranges and rates of all rows at rest, after their penalties changed."""
    for i in range(n):
        if S[STATUS, i] == REST:
            rest(F, S, i)


@jit()
def sweep(F, S, n, tol, found):
    """Rows at rest whose h left its range; members a rounding beyond their segment go to its end.

    Returns how many were found, and the largest error of a member's condition.
    """
    n_found, largest = 0, 0.0
    for i in range(n):
        if S[STATUS, i] == REST:
            h = F[H, i]
            if h < F[LOW, i] - tol or h > F[HIGH, i] + tol:
                found[n_found] = i
                n_found += 1
        elif S[STATUS, i] == FREE:
            low, high = segment_ends(F, i, S[REGION, i])
            F[A, i] = min(max(F[A, i], F[low, i]), F[high, i])
            largest = max(largest, abs(F[H, i] + F[segment_slope(S[REGION, i]), i]))
    return n_found, largest


# -- steps ---------------------------------------------------------------------------------

# What ends a step.
CLOCK, MEMBER_LOW, MEMBER_HIGH, REST_LOW, REST_HIGH, MEET, BREAK, FLIP, NONE = range(9)
_FAR = 1e300
_TIMES_IGNORED = 3


@jit()
def set_directions(F, S, travellers, n_travellers, left, cap):
    """Travellers head for the far end of their interval; returns the sum of the directions.

    ``left`` is the share of the clock that is left: ends that move are met where they stop.
    """
    total = 0.0
    for k in range(n_travellers):
        i = travellers[k]
        line = UP if S[DIR, i] > 0 else LO
        if abs(F[line, i]) < np.inf:
            d = F[line, i] - F[A, i] + left * F[RATE + line - LO, i]
        else:
            d = cap * S[DIR, i]
        F[D, i] = d
        total += d
    return total


@jit()
def next_event(F, S, n, members, n_members, travellers, n_travellers, left, limit, least, noise):
    """The first event along the direction: step length, code and position or row.

    ``left`` is the share of the clock that the whole step takes, ``limit`` the longest step;
    ``least`` plus ``noise`` times ROOT is rounding in GAMMA.
    Ties go to the event that is approached fastest: at length zero there are many.
    """
    eta, steepest, code, which = limit, 0.0, CLOCK, -1
    if limit >= _FAR:
        code = NONE
    for p in range(n_members):
        i = members[p]
        low, high = segment_ends(F, i, S[REGION, i])
        slope = F[D, i] - left * F[RATE + low - LO, i]
        if slope < 0.0:
            x = max(0.0, (F[low, i] - F[A, i]) / slope)
            if x < eta or (x == eta and -slope > steepest):
                eta, steepest, code, which = x, -slope, MEMBER_LOW, p
        slope = F[D, i] - left * F[RATE + high - LO, i]
        if slope > 0.0:
            x = max(0.0, (F[high, i] - F[A, i]) / slope)
            if x < eta or (x == eta and slope > steepest):
                eta, steepest, code, which = x, slope, MEMBER_HIGH, p
    for k in range(n_travellers):
        i = travellers[k]
        floor = least + noise * F[ROOT, i]
        region, direction = S[REGION, i], S[DIR, i]
        if 0 < region and region < 3:
            line = segment_slope(region)
            slope = direction * (F[GAMMA, i] + left * F[RATE + line - LO, i])
            if slope > floor:
                x = max(0.0, -direction * (F[H, i] + F[line, i]) / slope)
                if x < eta or (x == eta and slope > steepest):
                    eta, steepest, code, which = x, slope, MEET, k
        line = next_breakpoint(F, S, i)
        slope = direction * (F[D, i] - left * F[RATE + line - LO, i])
        if slope > 0.0:
            x = max(0.0, direction * (F[line, i] - F[A, i]) / slope)
            if x < eta or (x == eta and slope > steepest):
                eta, steepest, code, which = x, slope, BREAK, k
        if S[SIGN, i] != 0:
            slope = -S[SIGN, i] * F[GAMMA, i]
            if slope > floor:
                x = max(0.0, S[SIGN, i] * F[H, i] / slope)
                if x < eta or (x == eta and slope > steepest):
                    eta, steepest, code, which = x, slope, FLIP, k
    for i in range(n):
        reach = F[H, i] + eta * F[GAMMA, i]
        if left == 0.0 and reach > F[LOW, i] and reach < F[HIGH, i]:
            continue
        if S[STATUS, i] != REST or S[IGNORED, i] >= _TIMES_IGNORED:
            continue
        floor = least + noise * F[ROOT, i]
        slope = left * F[RLOW, i] - F[GAMMA, i]
        if slope > floor and F[LOW, i] > -np.inf:
            x = max(0.0, (F[H, i] - F[LOW, i]) / slope)
            if x < eta or (x == eta and slope > steepest):
                eta, steepest, code, which = x, slope, REST_LOW, i
        slope = F[GAMMA, i] - left * F[RHIGH, i]
        if slope > floor and F[HIGH, i] < np.inf:
            x = max(0.0, (F[HIGH, i] - F[H, i]) / slope)
            if x < eta or (x == eta and slope > steepest):
                eta, steepest, code, which = x, slope, REST_HIGH, i
    return eta, code, which


@jit()
def advance(F, S, n, members, n_members, travellers, n_travellers, eta):
    """Take a step of length ``eta``, for penalties that stand still."""
    for p in range(n_members):
        F[A, members[p]] += eta * F[D, members[p]]
    for k in range(n_travellers):
        F[A, travellers[k]] += eta * F[D, travellers[k]]
    for i in range(n):
        F[H, i] += eta * F[GAMMA, i]


@jit()
def move_penalties(F, S, n, left, share):
    """Penalties when the share ``left`` of the clock is left; rows at rest go with them.

    ``share`` of the clock has passed since the last time.
    """
    for i in range(n):
        for line in range(LO, SR + 1):
            rate = F[RATE + line - LO, i]
            if rate != 0.0:
                F[line, i] = F[TARGET + line - LO, i] - left * rate
        if S[STATUS, i] == REST:
            F[A, i] = F[S[REGION, i], i]
            F[LOW, i] += share * F[RLOW, i]
            F[HIGH, i] += share * F[RHIGH, i]
