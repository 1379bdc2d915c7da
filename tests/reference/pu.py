"""Positive-unlabelled learning as Sansone et al. (2019) define it, in plain matrices.

A problem is given by the kernel matrix K of all rows, which of them are labelled positive,
the prior, lambda and weights. A function is f = K coef + bias.
"""

import clarabel
import numpy as np
import scipy.sparse as sp


def double_hinge(z):
    return np.maximum(-z, np.maximum(0.0, 0.5 - 0.5 * z))


def ramp(z):
    return np.minimum(1.0, np.maximum(0.0, 0.5 - 0.5 * z))


def shares(positive, weight=None):
    """Share of every positive row among the positives, and of the others among these."""
    weight = np.ones(len(positive)) if weight is None else np.asarray(weight, float)
    ours, others = np.where(positive, weight, 0.0), np.where(positive, 0.0, weight)
    return ours / ours.sum(), others / others.sum()


def regularised_risk(K, positive, coef, bias, prior, lam, weight=None, loss=double_hinge):
    """(4)."""
    in_p, in_u = shares(positive, weight)
    margin = K @ coef
    f = margin + bias
    composite = loss(f) - loss(-f)
    return float(lam * coef @ margin + prior * in_p @ composite + in_u @ loss(-f))


def smallest_risk(K, positive, prior, lam, weight=None):
    """Value of (5), the primal problem with slacks, by an interior-point solver."""
    n = len(positive)
    in_p, in_u = shares(positive, weight)
    unlabeled = np.flatnonzero(~positive)
    m = len(unlabeled)
    # f = L z + b with K = L L', which keeps the quadratic part well conditioned.
    values, vectors = np.linalg.eigh(K)
    used = values > 1e-12 * values.max()
    L = vectors[:, used] * np.sqrt(values[used])
    r = L.shape[1]
    cost = np.concatenate([-prior * in_p @ L, [-prior], in_u[unlabeled]])
    F = np.hstack([L[unlabeled], np.ones((m, 1))])
    eye = np.eye(m)
    A = np.vstack(
        [np.hstack([np.zeros((m, r + 1)), -eye]), np.hstack([F, -eye]), np.hstack([F / 2, -eye])]
    )
    b = np.concatenate([np.zeros(2 * m), np.full(m, -0.5)])
    P = np.zeros((r + 1 + m,) * 2)
    P[np.arange(r), np.arange(r)] = 2.0 * lam
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = 1e-11
    solution = clarabel.DefaultSolver(
        sp.csc_matrix(P), cost, sp.csc_matrix(A), b, [clarabel.NonnegativeConeT(len(b))], settings
    ).solve()
    assert str(solution.status) in ("Solved", "AlmostSolved", "InsufficientProgress")
    assert n == K.shape[0]
    x = np.array(solution.x)
    f = L @ x[:r] + x[r]
    composite = double_hinge(f) - double_hinge(-f)
    return float(lam * x[:r] @ x[:r] + prior * in_p @ composite + in_u @ double_hinge(-f))


def bounded_risk(K, positive, coef, bias, prior, lam, bound, weight=None):
    """(4) where each positive row has its worst weight within a factor of ``bound``."""
    in_p, in_u = shares(positive, weight)
    margin = K @ coef
    f = margin + bias
    worst = np.maximum(-f / bound, -f * bound)
    return float(lam * coef @ margin + prior * in_p @ worst + in_u @ double_hinge(-f))


def smallest_bounded_risk(K, positive, prior, lam, bound, weight=None):
    """The smallest value of ``bounded_risk``, by an interior-point solver."""
    in_p, in_u = shares(positive, weight)
    ours, others = np.flatnonzero(positive), np.flatnonzero(~positive)
    p, m = len(ours), len(others)
    values, vectors = np.linalg.eigh(K)
    used = values > 1e-12 * values.max()
    L = vectors[:, used] * np.sqrt(values[used])
    r = L.shape[1]
    # Variables z, b, a slack per unlabelled and per positive row.
    cost = np.concatenate([np.zeros(r + 1), in_u[others], prior * in_p[ours]])
    F = np.hstack([L, np.ones((len(L), 1))])
    at_u = np.hstack([-np.eye(m), np.zeros((m, p))])
    at_p = np.hstack([np.zeros((p, m)), -np.eye(p)])
    A = np.vstack(
        [
            np.hstack([np.zeros((m, r + 1)), at_u]),
            np.hstack([F[others], at_u]),
            np.hstack([F[others] / 2, at_u]),
            np.hstack([-F[ours] / bound, at_p]),
            np.hstack([-F[ours] * bound, at_p]),
        ]
    )
    b = np.concatenate([np.zeros(2 * m), np.full(m, -0.5), np.zeros(2 * p)])
    P = np.zeros((r + 1 + m + p,) * 2)
    P[np.arange(r), np.arange(r)] = 2.0 * lam
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = 1e-11
    solution = clarabel.DefaultSolver(
        sp.csc_matrix(P), cost, sp.csc_matrix(A), b, [clarabel.NonnegativeConeT(len(b))], settings
    ).solve()
    assert str(solution.status) in ("Solved", "AlmostSolved", "InsufficientProgress")
    z, intercept = np.array(solution.x)[:r], float(solution.x[r])
    f = L @ z + intercept
    worst = np.maximum(-f / bound, -f * bound)
    return float(lam * z @ z + prior * in_p @ worst + in_u @ double_hinge(-f))


def dual_value(K, positive, sigma, prior, lam, weight=None):
    """What (6) says of (4): a number below its optimum for every feasible sigma, delta.

    ``sigma`` has an entry per row, 0 for positive ones; delta is the best for it.
    """
    in_p, in_u = shares(positive, weight)
    c2 = in_u / (2.0 * lam)
    alpha = prior / (2.0 * lam) * in_p - sigma
    delta = np.minimum(2.0 * sigma, 2.0 * (c2 - sigma))
    assert abs(alpha.sum()) <= 1e-9 * np.abs(alpha).sum()
    assert np.all(sigma >= 0.0) and np.all(sigma <= c2 * (1 + 1e-9))
    return float(-lam * alpha @ K @ alpha + lam * delta.sum())


def kkt_excess(f, sigma, c2):
    """By how much f at the unlabelled rows misses (11): sigma says where f has to be.

    0: f <= -1.  In (0, c2/2): f = -1.  c2/2: -1 <= f <= 1.  In (c2/2, c2): f = 1.  c2: f >= 1.
    """
    tau = sigma / c2
    at = [np.abs(tau - v) <= 1e-9 for v in (0.0, 0.5, 1.0)]
    low = np.where(at[0], -np.inf, np.where(at[2] | ((tau > 0.5) & ~at[1]), 1.0, -1.0))
    high = np.where(at[2], np.inf, np.where(at[0] | ((tau < 0.5) & ~at[1]), -1.0, 1.0))
    return float(np.maximum(np.maximum(low - f, f - high), 0.0).max())


def clouds(rng, n=120, p=40, d=3, prior=0.4, distance=2.0):
    """Rows (labelled positives first) and labels 1 and 0 of two Gaussian clouds."""
    hidden = np.arange(n) < round(prior * n)
    unlabeled = rng.normal(size=(n, d)) + distance * hidden[:, None]
    X = np.vstack([rng.normal(size=(p, d)) + distance, unlabeled])
    return X, np.repeat([1.0, 0.0], [p, n])
