"""Problem (6) of Sansone et al. (2019) written for general QP solvers, apart from the package."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp


class DoubleHinge:
    """Positive-unlabelled learning with the double hinge loss on the full kernel matrix.

    ``minimise 1/2 s'Ks - c1 s'K_UP 1 - sum(s) + 2 sum(t)`` over s and t, subject to ``sum(s) =
    c1 p``, ``0 <= s <= c2``, ``t >= s - c2 / 2``, ``t >= 0``; with c1 = prior / (2 lam p), c2 =
    1 / (2 lam n_U). This is (6) with ``delta = 2 s - 4 t`` at the best t.
    """

    def __init__(self, X, n_positive, prior, gamma, lam):
        self.p, self.n = n_positive, len(X) - n_positive
        self.prior, self.lam = prior, lam
        self.c1, self.c2 = prior / (2 * lam * self.p), 1 / (2 * lam * self.n)
        self.K = rbf(X, gamma)

    def programme(self):
        """P, q, G, h, A, b, lb, ub as qpsolvers names them: x = (s, t)."""
        n, p = self.n, self.p
        K_UU, K_UP = self.K[p:, p:], self.K[p:, :p]
        P = np.zeros((2 * n, 2 * n))
        P[:n, :n] = K_UU
        q = np.concatenate([-self.c1 * K_UP.sum(axis=1) - 1.0, np.full(n, 2.0)])
        one = sp.identity(n, format="csc")
        G = sp.hstack([one, -one], format="csc")
        A = sp.csc_matrix(np.concatenate([np.ones(n), np.zeros(n)])[None, :])
        lower = np.zeros(2 * n)
        upper = np.concatenate([np.full(n, self.c2), np.full(n, self.c2)])
        return P, q, G, np.full(n, 0.5 * self.c2), A, np.array([self.c1 * p]), lower, upper

    def primal(self, s):
        """The regularised risk (4) of the function with coefficients s, at its best bias."""
        coef = np.concatenate([np.full(self.p, self.c1), -s])
        f = self.K @ coef
        f_positive, f_unlabeled = f[: self.p], f[self.p :]
        # Slopes of the risk in b: -prior, then 1/(2 n) more at each -1 - f_u and each 1 - f_u.
        breaks = np.sort(np.concatenate([-1.0 - f_unlabeled, 1.0 - f_unlabeled]))
        b = breaks[int(np.ceil(2 * self.n * self.prior - 1e-9)) - 1]
        z = f_unlabeled + b
        loss = np.maximum(z, np.maximum(0.0, 0.5 * (1.0 + z)))
        risk = -self.prior * float(np.mean(f_positive + b)) + float(loss.mean())
        return self.lam * float(coef @ f) + risk


def rbf(X, gamma):
    """The kernel matrix in float64."""
    squares = np.einsum("ij,ij->i", X, X)
    K = X @ X.T
    K *= 2.0
    K -= squares[:, None]
    K -= squares
    np.minimum(K, 0.0, out=K)
    K *= gamma
    return np.exp(K, out=K)


SOLVERS = ["clarabel", "piqp"]


def solve(problem, solver):
    """s, by one of the general solvers that qpsolvers knows."""
    import qpsolvers

    if solver not in qpsolvers.available_solvers:
        raise ImportError(f"{solver} is not installed", name=solver)
    P, q, G, h, A, b, lower, upper = problem.programme()
    if solver == "clarabel":
        P = sp.csc_matrix(P)
    else:
        G, A = G.toarray(), A.toarray()
    x = qpsolvers.solve_qp(P, q, G, h, A, b, lower, upper, solver=solver)
    if x is None:
        raise RuntimeError(f"{solver} found no solution")
    return np.clip(x[: problem.n], 0.0, problem.c2)
