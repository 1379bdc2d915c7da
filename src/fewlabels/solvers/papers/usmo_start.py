"""The initialisation of USMO, section 4.5 of the paper.

A one-class model of the positive rows ranks the unlabelled ones. Along the ranking they
fall into five groups (17), from the least to the most positive,

    s = 0,   0 < s < c2/2,   s = c2/2,   c2/2 < s < c2,   s = c2

of sizes ``(1 - pi) a n,  b n,  (1 - a - b - c) n,  c n,  pi a n``, where a, b, c and the
values of the second and fourth group minimise (18): they make the sum as nearly right as
sizes between 1 and n, the middle ones ``n_2, n_4 <= log n``, allow.

**(18) in closed form.** The values of the second and fourth group are ``t c2/2`` and
``(1 + t) c2/2`` with one t in (0, 1): two different ones reach no other sums. With ``c1 p = pi
c2 n`` the expression in braces is zero if

    t = ((2 pi - 1)(1 - a) + b) / (b + c)

which has many solutions. This one has the largest non-bound groups that leave t below 1,
``b = c = log(n)/n`` where possible, and then the largest group on the kink with t between
1/4 and 3/4. Near pi = 0 or 1 no a with ``n_3 >= 1`` gives zero; nearest to it are the largest
a, one of b and c at 1/n and the other at log(n)/n.

**The bounds of a.** ``max(1/(pi n), 1/((1-pi) n)) <= a`` says ``n_1, n_5 >= 1``. The upper one,
``min(1/(1-pi), 1/pi)``, says ``n_1, n_5 <= n`` and never binds: it is above 1, and the first
constraint keeps a below. Fewer than five rows, or ``pi n < 1``, leave nothing feasible: then
the last group alone is filled, the best row first.

**Whole numbers and weights.** Sizes are rounded, then (18) is solved once more for t with
these sizes and the samples' own c2. If t leaves (0, 1), the group in the middle gives up
samples until it is back. What still lacks is lifted, the best rows to c2 first, or taken,
the worst rows to 0 first.
"""

from __future__ import annotations

import numpy as np

from ..._typing import FloatArray, IntArray, VectorLike

# Where the value of the non-bound groups should be, in their intervals, if (18) leaves a choice.
_CENTRAL = 0.25
# Differences below this share are rounding.
_ROUNDING = 1e-13


def usmo_start(
    scores: VectorLike, prior: float, c1_mass: float, c2: FloatArray | float
) -> FloatArray:
    """Return a feasible start of the double hinge problem.

    The paper's sigma, from one-class scores.

    ``scores`` of the unlabelled rows rank them, the greater the more positive; ``prior`` is pi,
    ``c1_mass`` what the variables sum to, from 0 to ``sum(c2)``, and ``c2`` their upper bounds.

    >>> usmo_start(np.arange(10.0), 0.4, c1_mass=4.0, c2=1.0)
    array([0.   , 0.   , 0.   , 0.125, 0.125, 0.5  , 0.625, 0.625, 1.   ,
           1.   ])
    """
    scores = np.asarray(scores, dtype=float)
    n = len(scores)
    upper = np.broadcast_to(np.asarray(c2, dtype=float), n)
    order = np.argsort(scores, kind="stable")
    ranked = _start_by_rank(upper[order], prior, c1_mass)
    sigma = np.empty(n)
    sigma[order] = ranked
    return sigma


def _start_by_rank(upper: FloatArray, prior: float, total: float) -> FloatArray:
    """Sigma along the ranking, the least positive first."""
    sums = np.concatenate([[0.0], np.cumsum(upper)])
    sizes, t = _balance_sizes(group_sizes(len(upper), prior), sums, total)
    share = np.repeat([0.0, 0.5 * t, 0.5, 0.5 + 0.5 * t, 1.0], sizes)
    return _assign_rounding(_repair_sum(share * upper, upper, total), upper, total)


def group_sizes(n: int, prior: float) -> IntArray:
    """Return sizes of the five groups (17) in whole numbers.

    All n in the first if (18) has no point.
    """
    solution = solve_sizes(n, prior)
    if solution is None:
        return np.array([n, 0, 0, 0, 0])
    second, fourth, free = solution
    middle = free - second - fourth
    exact = [(1.0 - prior) * (n - free), second, middle, fourth, prior * (n - free)]
    edges = np.floor(np.cumsum(exact) + 0.5).astype(int)
    edges[-1] = n
    return np.diff(np.concatenate([[0], edges]))


def solve_sizes(n: int, prior: float) -> tuple[float, float, float] | None:
    """(18) in closed form: ``b n``, ``c n``, whole, and ``(1 - a) n``; None without a point."""
    most_free = n - max(1.0 / prior, 1.0 / (1.0 - prior))
    largest = np.floor(np.log(max(n, 1)))
    if largest < 1.0 or most_free < 3.0:
        return None
    tilt = abs(2.0 * prior - 1.0)
    # For pi > 1/2 it is n_2 that shrinks, else n_4.
    large = min(largest, np.floor(most_free - 2.0))
    small = min(large, np.floor(most_free - 1.0 - large))
    free = most_free
    if tilt > 0.0:
        small = min(small, max(1.0, np.ceil(large / tilt - large - _ROUNDING) - 2.0))
        central = ((1.0 - _CENTRAL) * (small + large) - small) / tilt
        free = min(most_free, max(1.0 + small + large, central))
    return (small, large, free) if prior > 0.5 else (large, small, free)


def _balance_sizes(sizes: IntArray, sums: FloatArray, total: float) -> tuple[IntArray, float]:
    """Return sizes and t for which the sum is right, as far as the middle group can give."""
    sizes, rising = sizes.copy(), None
    while True:
        edges = np.concatenate([[0], np.cumsum(sizes)])
        _, second, third, fourth, fifth = np.diff(sums[edges])
        if second + fourth <= 0.0:
            return sizes, 0.5
        t = (2.0 * total - third - 2.0 * fifth - fourth) / (second + fourth)
        if 0.0 < t < 1.0:
            return sizes, t
        if sizes[2] == 0 or rising not in (None, t >= 1.0):
            return sizes, min(max(t, _CENTRAL), 1.0 - _CENTRAL)
        rising = t >= 1.0
        sizes[2] -= 1
        sizes[4 if rising else 0] += 1


def _repair_sum(sigma: FloatArray, upper: FloatArray, total: float) -> FloatArray:
    """Lift the best rows to their bound, or take the worst ones to 0, until the sum is right."""
    missing = total - sigma.sum()
    if abs(missing) <= _ROUNDING * total:
        return sigma
    if missing < 0.0:
        return _fill_from_last(sigma, total)
    lift = _fill_from_last(upper - sigma, missing)
    return np.where(lift == upper - sigma, upper, sigma + lift)


def _assign_rounding(sigma: FloatArray, upper: FloatArray, total: float) -> FloatArray:
    """Rounding of the sum goes to the sample farthest from its breakpoints."""
    free = np.minimum(np.minimum(sigma, upper - sigma), np.abs(sigma - 0.5 * upper))
    i = int(np.argmax(free))
    missing = total - sigma.sum()
    if abs(missing) <= free[i]:
        sigma[i] += missing
    return sigma


def _fill_from_last(amounts: FloatArray, total: float) -> FloatArray:
    """Return the last of ``amounts`` that sum to ``total``; of one a part, before it zeros."""
    from_last = amounts[::-1]
    before = np.concatenate([[0.0], np.cumsum(from_last)[:-1]])
    return np.clip(total - before, 0.0, from_last)[::-1]
