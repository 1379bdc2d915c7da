"""Problem (P) by an interior-point solver (Clarabel)."""

import clarabel
import numpy as np
import scipy.sparse as sp

from .certificates import each, objective, pieces


def solve_qp(Q, penalty, total):
    """Solve (P); each variable with kinks is split into its pieces.

    With kinks k, ..., k': a = k + p + ... - m, where every p is between zero and the length of its
    piece, at the price of its slope, and 0 <= m <= k - lower at minus the first slope; otherwise a
    itself with its one slope.

    Returns
    -------
    a : ndarray
    value : float
        Objective of (P) with the constant of the penalty (``phi(0) = 0``).
    """
    penalty = tuple(np.asarray(v, float) for v in penalty)
    ends, slopes = (np.array(arrays) for arrays in pieces(penalty))
    Q = np.asarray(Q, float)
    n = len(Q)
    # In units in which the variables and the objective are about one.
    unit = max(_largest(ends), abs(total)) or 1.0
    worth = max(np.abs(Q).max(initial=0.0) * unit**2, unit * _largest(slopes), 1e-300)
    ends, slopes, total_ = ends / unit, slopes * unit / worth, total / unit
    lower, upper = ends[0], ends[-1]

    # Columns: a (n), and then one for every piece of a variable that has kinks.
    cost, parts, target = np.zeros(n), [], [total_]
    for i, ((low, *kinks, high), prices) in enumerate(each((*ends, *slopes))):
        starts = [low, *sorted({kink for kink in kinks if low < kink < high})]
        cost[i], *more = (prices[sum(start >= kink for kink in kinks)] for start in starts)
        if not more:
            continue
        first, row = starts[1], len(target)
        parts.append((i, row, -1.0, first - low, -cost[i]))
        for start, stop, price in zip(starts[1:], [*starts[2:], high], more, strict=True):
            parts.append((i, row, 1.0, stop - start, price))
        cost[i] = 0.0
        target.append(first)
    s, target = len(parts), np.array(target)
    size = n + s
    cost = np.concatenate([cost, [price for *_, price in parts]])
    equality = sp.lil_array((len(target), size))
    equality[0, :n] = 1.0
    for column, (i, row, sign, _, _) in enumerate(parts):  # a_i - sum of its parts = first kink
        equality[row, i] = 1.0
        equality[row, n + column] = -sign
    smallest = np.concatenate([lower, np.zeros(s)])
    largest = np.concatenate([upper, [length for *_, length, _ in parts]])
    fixed = np.flatnonzero(smallest == largest)
    has_low = np.flatnonzero(np.isfinite(smallest) & (smallest < largest))
    has_high = np.flatnonzero(np.isfinite(largest) & (smallest < largest))
    identity = sp.eye_array(size, format="csr")
    A = sp.vstack(
        [equality.tocsr(), identity[fixed], -identity[has_low], identity[has_high]], format="csc"
    )
    b = np.concatenate([target, smallest[fixed], -smallest[has_low], largest[has_high]])
    cones = [clarabel.ZeroConeT(len(target) + len(fixed))]
    if len(has_low) + len(has_high):
        cones.append(clarabel.NonnegativeConeT(len(has_low) + len(has_high)))
    P = sp.block_diag(
        [sp.csc_array(np.triu(Q * (unit**2 / worth))), sp.csc_array((s, s))], format="csc"
    )
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.max_iter = 200
    settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = 1e-11
    solution = clarabel.DefaultSolver(
        sp.csc_matrix(P), cost, sp.csc_matrix(A), b, cones, settings
    ).solve()
    if str(solution.status) not in ("Solved", "AlmostSolved", "InsufficientProgress"):
        raise RuntimeError(f"the reference solver says {solution.status}")
    a = np.clip(np.array(solution.x)[:n], lower, upper) * unit
    return a, objective(Q, penalty, a)


def _largest(values):
    return float(np.abs(values[np.isfinite(values)]).max(initial=0.0))
