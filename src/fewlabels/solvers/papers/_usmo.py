"""Compiled scans of USMO; see ``usmo.py`` for the problem and the names.

``F[u]`` is the function without its bias, right at all times for the non-bound samples
(the function cache) and at the moment of examination for the others. ``members[:count]``
lists the non-bound samples, ``place[u]`` says where (-1: not there). ``rows[slot[u]]`` is
the kernel row of u (slot -1: not held).
"""

import numpy as np

from ..._jit import SUM_MATH, jit

# Curvature below this share of the pair's diagonal is rounding: duplicated rows.
FLAT = 1e-12
# A value this near to a breakpoint, relative to the interval, is the breakpoint.
SNAP = 1e-14

DONE, STEP_LIMIT, NEED_ROWS, STUCK = 0, 1, 2, 3

# The five groups of eq. (17): D1 = LOW + BELOW, D2 = ABOVE + HIGH, D3 = BELOW + KINK + ABOVE,
# non-bound = BELOW + ABOVE. FIXED is a sample of weight zero.
LOW, BELOW, KINK, ABOVE, HIGH, FIXED = 0, 1, 2, 3, 4, 5

# Where the most critical values (13) are kept, and the samples that have them.
M1_MAX, M2_MIN, M3_MIN, M3_MAX = 0, 1, 2, 3


@jit()
def _group(sigma, kink, upper):
    if upper <= 0.0:
        return FIXED
    if sigma <= 0.0:
        return LOW
    if sigma < kink:
        return BELOW
    if sigma == kink:
        return KINK
    if sigma < upper:
        return ABOVE
    return HIGH


@jit()
def _snapped(sigma, kink, upper):
    near = SNAP * upper
    if abs(sigma) <= near:
        return 0.0
    if abs(sigma - kink) <= near:
        return kink
    if abs(sigma - upper) <= near:
        return upper
    return min(max(sigma, 0.0), upper)


@jit()
def _phi(sigma, kink, upper):
    """``-delta / 2`` at the best delta."""
    return -sigma if sigma <= kink else sigma - upper


@jit()
def solve_pair(F_i, F_j, sigma_i, sigma_j, k_ii, k_jj, k_ij, kink_i, upper_i, kink_j, upper_j):
    """The pair's sub-problem (8), by the four cases of Table 1: new values and the decrease.

    With ``e`` and ``a`` of the paper, ``a (k_ii - k_ij) + e_1 - e_2`` is ``eta sigma_j + F_j -
    F_i``, and in this form nothing cancels. Where rounding leaves no step the decrease is 0.
    """
    eta = k_ii + k_jj - 2.0 * k_ij
    flat = eta <= FLAT * (abs(k_ii) + abs(k_jj))
    a = sigma_i + sigma_j
    before = _phi(sigma_i, kink_i, upper_i) + _phi(sigma_j, kink_j, upper_j)
    best, best_i, best_j = 0.0, sigma_i, sigma_j
    for case in range(4):
        i_above, j_above = case < 2, case % 2 == 0
        low_i, high_i = (kink_i, upper_i) if i_above else (0.0, kink_i)
        low_j, high_j = (kink_j, upper_j) if j_above else (0.0, kink_j)
        lowest, highest = max(low_j, a - high_i), min(high_j, a - low_i)
        if lowest > highest:
            continue
        first = lowest
        if not flat:
            shift = (1.0 if i_above else -1.0) - (1.0 if j_above else -1.0)
            first = min(max(sigma_j + (F_j - F_i + shift) / eta, lowest), highest)
        # Without curvature the minimum lies at an end of the interval.
        second = highest if flat else first
        for new_j in (first, second):
            new_i = a - new_j
            d = new_j - sigma_j
            after = _phi(new_i, kink_i, upper_i) + _phi(new_j, kink_j, upper_j)
            change = 0.5 * eta * d * d + (F_i - F_j) * d + (after - before)
            if change < best:
                best, best_i, best_j = change, new_i, new_j
    return _snapped(best_i, kink_i, upper_i), _snapped(best_j, kink_j, upper_j), -best


@jit(SUM_MATH)
def _dot(row, sigma):
    total = 0.0
    for v in range(row.size):
        total += row[v] * sigma[v]
    return total


@jit()
def evaluate(samples, sigma, linear, rows, slot, F):
    """``F`` of ``samples`` from their kernel rows, which must be held."""
    for u in samples:
        F[u] = -linear[u] - _dot(rows[slot[u]], sigma)


@jit()
def _include(u, group, value, critical, who):
    """Let sample u take part in the most critical values."""
    if group <= BELOW and value > critical[M1_MAX]:
        critical[M1_MAX] = value
        who[M1_MAX] = u
    if (group == ABOVE or group == HIGH) and value < critical[M2_MIN]:
        critical[M2_MIN] = value
        who[M2_MIN] = u
    if BELOW <= group <= ABOVE:
        if value < critical[M3_MIN]:
            critical[M3_MIN] = value
            who[M3_MIN] = u
        if value > critical[M3_MAX]:
            critical[M3_MAX] = value
            who[M3_MAX] = u


@jit()
def critical_values(members, count, sigma, kink, upper, F, critical, who):
    """The most critical values over the non-bound set."""
    critical[M1_MAX] = critical[M3_MAX] = -np.inf
    critical[M2_MIN] = critical[M3_MIN] = np.inf
    for k in range(count):
        u = members[k]
        _include(u, _group(sigma[u], kink[u], upper[u]), F[u], critical, who)


@jit()
def _rising(critical, who):
    """The sample that should rise most, and its level: f + 1 in D1, f - 1 in D3."""
    if critical[M1_MAX] + 1.0 >= critical[M3_MAX] - 1.0:
        return critical[M1_MAX] + 1.0, who[M1_MAX]
    return critical[M3_MAX] - 1.0, who[M3_MAX]


@jit()
def _falling(critical, who):
    """The sample that should fall most, and its level: f - 1 in D2, f + 1 in D3."""
    if critical[M2_MIN] - 1.0 <= critical[M3_MIN] + 1.0:
        return critical[M2_MIN] - 1.0, who[M2_MIN]
    return critical[M3_MIN] + 1.0, who[M3_MIN]


@jit()
def set_membership(u, inside, members, place, count):
    """Put u into the non-bound set or take it out; returns the new count."""
    if inside and place[u] < 0:
        place[u] = count
        members[count] = u
        return count + 1
    if not inside and place[u] >= 0:
        count -= 1
        last = members[count]
        members[place[u]] = last
        place[last] = place[u]
        place[u] = -1
    return count


@jit()
def _step(i, j, sigma, kink, upper, diagonal, F, members, place, count, rows, slot):
    """Solve the sub-problem of (i, j) and update the cache by (15); (decrease, count)."""
    row_i, row_j = rows[slot[i]], rows[slot[j]]
    new_i, new_j, decrease = solve_pair(
        F[i], F[j], sigma[i], sigma[j], diagonal[i], diagonal[j], row_i[j],
        kink[i], upper[i], kink[j], upper[j],
    )  # fmt: skip
    d_i, d_j = new_i - sigma[i], new_j - sigma[j]
    if not decrease > 0.0 or (d_i == 0.0 and d_j == 0.0):
        return 0.0, count
    sigma[i], sigma[j] = new_i, new_j
    # alpha = -sigma on unlabelled samples.
    for k in range(count):
        v = members[k]
        F[v] -= d_i * row_i[v] + d_j * row_j[v]
    for u in (i, j):
        if place[u] < 0:
            F[u] -= d_i * row_i[u] + d_j * row_j[u]
    for u in (i, j):
        group = _group(sigma[u], kink[u], upper[u])
        count = set_membership(u, group == BELOW or group == ABOVE, members, place, count)
    return decrease, count


@jit()
def scan_non_bound(
    sigma, kink, upper, diagonal, F, members, place, count, rows, slot, tol, max_steps, tally, need
):
    """First approach: most violating pairs of the non-bound set, until tau-optimal on it.

    ``tally`` holds the decrease of the objective (added to) and the largest violation met
    (raised), ``need`` the two samples whose rows are missing. Returns code, steps and count.
    """
    critical, who = np.empty(4), np.zeros(4, np.int64)
    steps = 0
    while True:
        critical_values(members, count, sigma, kink, upper, F, critical, who)
        rise, i = _rising(critical, who)
        fall, j = _falling(critical, who)
        tally[1] = max(tally[1], rise - fall)
        if not rise - fall > tol:
            return DONE, steps, count
        if steps >= max_steps:
            return STEP_LIMIT, steps, count
        if slot[i] < 0 or slot[j] < 0:
            need[0], need[1] = i, j
            return NEED_ROWS, steps, count
        decrease, count = _step(
            i, j, sigma, kink, upper, diagonal, F, members, place, count, rows, slot
        )
        if not decrease > 0.0:
            return STUCK, steps, count
        tally[0] += decrease
        steps += 1


@jit()
def scan_whole(
    first, last, critical, who, sigma, kink, upper, linear, diagonal, F, members, place, count,
    rows, slot, tol, max_steps, tally, need,
):  # fmt: skip
    """Second approach: examine the samples ``first`` to ``last - 1`` one by one.

    ``critical`` and ``who`` go from call to call; at the end of a scan without steps they are
    those of the whole set. Returns code, steps, count and the next sample to examine.
    """
    steps = 0
    for u in range(first, last):
        group = _group(sigma[u], kink[u], upper[u])
        if group == FIXED:
            continue
        if place[u] < 0:
            if slot[u] < 0:
                need[0] = need[1] = u
                return NEED_ROWS, steps, count, u
            F[u] = -linear[u] - _dot(rows[slot[u]], sigma)
        _include(u, group, F[u], critical, who)
        rise, i = _rising(critical, who)
        fall, j = _falling(critical, who)
        # Only pairs of the examined sample with a most critical one.
        rise_u = F[u] + (1.0 if group <= BELOW else -1.0 if group <= ABOVE else -np.inf)
        fall_u = F[u] + (np.inf if group == LOW else 1.0 if group <= KINK else -1.0)
        if rise_u - fall >= rise - fall_u:
            violation, i = rise_u - fall, u
        else:
            violation, j = rise - fall_u, u
        tally[1] = max(tally[1], violation)
        if not violation > tol:
            continue
        if steps >= max_steps:
            return STEP_LIMIT, steps, count, u
        if slot[i] < 0 or slot[j] < 0:
            need[0], need[1] = i, j
            return NEED_ROWS, steps, count, u
        decrease, count = _step(
            i, j, sigma, kink, upper, diagonal, F, members, place, count, rows, slot
        )
        if decrease > 0.0:
            tally[0] += decrease
            steps += 1
            critical_values(members, count, sigma, kink, upper, F, critical, who)
            for v in (i, j):
                _include(v, _group(sigma[v], kink[v], upper[v]), F[v], critical, who)
    return DONE, steps, count, last
