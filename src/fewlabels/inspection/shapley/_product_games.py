"""Compiled Shapley values of sums of products.

A game ``v(S) = sum_j c_j prod_{i in S} p_ij prod_{i not in S} q_ij`` has the value

    phi_i = integral over t in [0, 1] of
            sum_j c_j (p_ij - q_ij) prod_{k != i} (q_kj + t (p_kj - q_kj))

(Owen's multilinear extension along its diagonal), a polynomial in t of a degree below the number
of players: Gauss and Legendre's rule gives it exactly with half as many nodes as players.
"""

import numpy as np

from ..._jit import SUM_MATH, jit


@jit(fastmath=SUM_MATH)
def _add_values(p, q, coef, n_players, m, nodes, weights, n_nodes, before, after, values):
    """Add the values of players 0..n_players-1 over m terms to ``values``."""
    for k in range(n_nodes):
        t = nodes[n_nodes, k]
        for j in range(m):
            before[0, j] = coef[j]
            after[j] = weights[n_nodes, k]
        for i in range(n_players - 1):
            for j in range(m):
                before[i + 1, j] = before[i, j] * (q[i, j] + t * (p[i, j] - q[i, j]))
        for i in range(n_players - 1, -1, -1):
            total = 0.0
            for j in range(m):
                difference = p[i, j] - q[i, j]
                total += difference * before[i, j] * after[j]
                after[j] *= q[i, j] + t * difference
            values[i] += total


@jit(fastmath=SUM_MATH)
def product_values(P, Q, differs, coef, nodes, weights, first_nodes, tiny, tol, out):
    """Add Shapley values, summed over backgrounds, to ``out``, one per player.

    ``P`` are factors of the row, shape (n_players, n_terms), ``Q`` those of the background rows,
    one more axis first; ``differs`` tells where these are not the same. Row n of ``nodes`` and
    ``weights`` holds the rule with n nodes on [0, 1]: ``first_nodes`` are taken to begin with, and
    twice as many until values change by ``tol`` at most or are exact. More than there are rows are
    not taken: far beyond, values are accurate to rounding without being exact. Terms that stay
    below ``tiny`` are left out.
    """
    n_players, n_terms = P.shape
    p = np.empty((n_players, n_terms))
    q = np.empty((n_players, n_terms))
    before = np.empty((n_players + 1, n_terms))
    after = np.empty(n_terms)
    scaled = np.empty(n_terms)
    bound = np.empty(n_terms)
    players = np.empty(n_players, np.int64)
    kept = np.empty(n_terms, np.int64)
    values = np.empty(n_players)
    finer = np.empty(n_players)
    for b in range(Q.shape[0]):
        n = 0
        for j in range(n_terms):
            scaled[j] = coef[j]
        for i in range(n_players):
            if differs[b, i]:
                players[n] = i
                n += 1
            else:
                for j in range(n_terms):
                    scaled[j] *= P[i, j]
        if n == 0:
            continue
        for j in range(n_terms):
            bound[j] = abs(scaled[j])
        for i in range(n):
            for j in range(n_terms):
                bound[j] *= max(P[players[i], j], Q[b, players[i], j])
        m = 0
        for j in range(n_terms):
            if bound[j] > tiny:
                kept[m] = j
                m += 1
        if m == 0:
            continue
        for i in range(n):
            for j in range(m):
                p[i, j] = P[players[i], kept[j]]
                q[i, j] = Q[b, players[i], kept[j]]
        for j in range(m):
            bound[j] = scaled[kept[j]]
        exact = min((n + 1) // 2, nodes.shape[1])
        n_nodes = min(first_nodes, exact)
        values[:n] = 0.0
        _add_values(p, q, bound, n, m, nodes, weights, n_nodes, before, after, values)
        while n_nodes < exact:
            n_nodes = min(2 * n_nodes, exact)
            finer[:n] = 0.0
            _add_values(p, q, bound, n, m, nodes, weights, n_nodes, before, after, finer)
            change = 0.0
            for i in range(n):
                change = max(change, abs(finer[i] - values[i]))
                values[i] = finer[i]
            if change <= tol:
                break
        for i in range(n):
            out[players[i]] += values[i]
