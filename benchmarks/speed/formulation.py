"""UniverSVM's problem, apart from our package: its objective, and CCCP on its doubled dual.

Collobert, Sinz, Weston & Bottou, "Large scale transductive SVMs", JMLR 7 (2006), eqs. (4)-(5):

    1/2 |w|^2 + C sum_L H_1(y f) + C* sum_U [R_s(f) + R_s(-f)],   R_s = H_1 - H_s,

H_s(z) = max(0, s - z), under the constraint that the mean of f over the unlabelled rows is that of
the labels. For s = 0 this is the symmetric hinge that S3VM minimises; every unlabelled row costs
C* (1 - s) more, which is left out here.
"""

from __future__ import annotations

import numpy as np


def objective(K, coef, bias, y, C, C_star, s):
    """Value of UniverSVM's objective without the constant ``C* (1 - s) n_U``.

    Parameters
    ----------
    K : ndarray of shape (n, n)
        Kernel matrix of the training rows.
    coef : ndarray of shape (n,)
        ``f = K coef + bias``.
    y : ndarray of shape (n,)
        -1, 1, and 0 for unlabelled rows.

    Returns
    -------
    value, imbalance : float
        The second is the mean of f over the unlabelled rows minus that of the labels.
    """
    smooth = K @ coef
    f = smooth + bias
    labeled = y != 0
    hinge = np.maximum(0.0, 1.0 - y[labeled] * f[labeled])
    g = f[~labeled]
    ramp = sum(np.maximum(0.0, 1.0 - z) - np.maximum(0.0, s - z) for z in (g, -g)) - (1.0 - s)
    value = 0.5 * coef @ smooth + C * hinge.sum() + C_star * ramp.sum()
    return float(value), float(g.mean() - y[labeled].mean())


def doubled_cccp(K, y, C, C_star, s, most=50):
    """CCCP on the doubled dual, every convex step by Clarabel to full accuracy.

    Unlabelled rows appear twice, as +1 and as -1; a virtual row, the mean of the unlabelled
    ones in feature space, carries the balancing constraint.

    Returns
    -------
    coef : ndarray of shape (n,)
    bias : float
    n_steps : int
    """
    n, labeled, unlabeled = len(y), np.flatnonzero(y), np.flatnonzero(y == 0)
    n_u = len(unlabeled)
    # Variables: labelled, unlabelled as +1, as -1, the virtual row; each a combination of rows.
    rows = np.concatenate([labeled, unlabeled, unlabeled])
    combine = np.zeros((n, len(rows) + 1))
    combine[rows, np.arange(len(rows))] = 1.0
    combine[unlabeled, -1] = 1.0 / n_u
    label = np.concatenate([y[labeled], np.ones(n_u), -np.ones(n_u)])
    linear = np.append(label, y[labeled].mean())
    P = combine.T @ K @ combine
    shift = np.zeros(len(rows))
    on = np.append(np.full(len(labeled), C), np.zeros(2 * n_u))  # first step: labels only
    for step in range(1, most + 1):
        low, high = -shift, on - shift
        # label * alpha lies between the bounds.
        alpha, bias = _solve(P, linear, np.where(label > 0, low, -high),
                             np.where(label > 0, high, -low))  # fmt: skip
        coef = combine @ alpha
        f = K @ coef + bias
        on[len(labeled) :] = C_star
        below = np.where(label * f[rows] < s, C_star, 0.0)
        below[: len(labeled)] = 0.0
        if step > 1 and np.array_equal(below, shift):
            break
        shift = below
    return coef, bias, step


def _solve(P, linear, low, high):
    """min 1/2 a'Pa - linear'a, sum(a) = 0, bounds on all but the last; a and the bias."""
    import clarabel
    from scipy import sparse

    m = len(linear)
    bounded = sparse.eye_array(m, format="csc")[: m - 1]
    A = sparse.vstack([sparse.csc_array(np.ones((1, m))), bounded, -bounded], format="csc")
    b = np.concatenate([[0.0], high, -low])
    cones = [clarabel.ZeroConeT(1), clarabel.NonnegativeConeT(2 * (m - 1))]
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    solver = clarabel.DefaultSolver(
        sparse.csc_matrix(np.triu(P)), -linear, sparse.csc_matrix(A), b, cones, settings
    )
    solution = solver.solve()
    if str(solution.status) not in ("Solved", "AlmostSolved"):
        raise RuntimeError(f"Clarabel: {solution.status}")
    # Stationarity on a free variable is P a - linear + z = 0, f = linear there, so b = z.
    return np.array(solution.x), float(solution.z[0])
