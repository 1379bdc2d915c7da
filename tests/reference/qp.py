"""Problem (P) by an interior-point solver (Clarabel)."""

import clarabel
import numpy as np
import scipy.sparse as sp


def solve_qp(Q, penalty, total):
    """Solve (P); each variable with a kink is split into its two pieces.

    With a finite kink k: a = k + p - m, 0 <= p <= upper - k, 0 <= m <= k - lower, at the
    price right * p - left * m; otherwise a itself with its one slope.

    Returns
    -------
    a : ndarray
    value : float
        Objective of (P) with the constant of the penalty (``phi(0) = 0``).
    """
    lower, kink, upper, left, right = (np.asarray(v, float) for v in penalty)
    Q = np.asarray(Q, float)
    n = len(lower)
    # In units in which the variables and the objective are about one.
    sizes = np.concatenate([v[np.isfinite(v)] for v in (lower, kink, upper)] + [[total]])
    unit = np.abs(sizes).max(initial=0.0) or 1.0
    worth = max(np.abs(Q).max(initial=0.0) * unit**2, unit * _largest(left, right), 1e-300)
    lower, kink, upper, total_ = lower / unit, kink / unit, upper / unit, total / unit
    left, right = left * unit / worth, right * unit / worth

    split = np.flatnonzero((kink > lower) & (kink < upper))
    s = len(split)
    # Columns: a (n), p (s), m (s).
    size = n + 2 * s
    cost = np.zeros(size)
    one_piece = np.setdiff1d(np.arange(n), split)
    at_top = kink[one_piece] >= upper[one_piece]
    at_top &= kink[one_piece] > lower[one_piece]
    cost[one_piece] = np.where(at_top, left[one_piece], right[one_piece])
    cost[n : n + s] = right[split]
    cost[n + s :] = -left[split]

    equality = sp.lil_array((1 + s, size))
    equality[0, :n] = 1.0
    target = np.zeros(1 + s)
    target[0] = total_
    for row, i in enumerate(split):  # a_i - p + m = kink
        equality[1 + row, i] = 1.0
        equality[1 + row, n + row] = -1.0
        equality[1 + row, n + s + row] = 1.0
        target[1 + row] = kink[i]
    smallest = np.concatenate([lower, np.zeros(2 * s)])
    largest = np.concatenate([upper, upper[split] - kink[split], kink[split] - lower[split]])
    fixed = np.flatnonzero(smallest == largest)
    has_low = np.flatnonzero(np.isfinite(smallest) & (smallest < largest))
    has_high = np.flatnonzero(np.isfinite(largest) & (smallest < largest))
    identity = sp.eye_array(size, format="csr")
    A = sp.vstack(
        [equality.tocsr(), identity[fixed], -identity[has_low], identity[has_high]], format="csc"
    )
    b = np.concatenate([target, smallest[fixed], -smallest[has_low], largest[has_high]])
    cones = [clarabel.ZeroConeT(1 + s + len(fixed))]
    if len(has_low) + len(has_high):
        cones.append(clarabel.NonnegativeConeT(len(has_low) + len(has_high)))
    P = sp.block_diag(
        [sp.csc_array(np.triu(Q * (unit**2 / worth))), sp.csc_array((2 * s, 2 * s))], format="csc"
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
    from .certificates import objective

    penalty = tuple(np.asarray(v, float) for v in penalty)
    return a, objective(Q, penalty, a)


def _largest(*arrays):
    return max(float(np.abs(v[np.isfinite(v)]).max(initial=0.0)) for v in arrays)
