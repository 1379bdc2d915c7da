"""Shapley values of products against their definition."""

from itertools import combinations
from math import factorial

import numpy as np
import pytest

from fewlabels._core import games


def slow_values(P, Q, coef):
    """Marginal contributions over all coalitions."""
    n = len(P)
    values = np.zeros(n)
    for i in range(n):
        others = [k for k in range(n) if k != i]
        for size in range(n):
            weight = factorial(size) * factorial(n - size - 1) / factorial(n)
            for chosen in combinations(others, size):
                mask = np.isin(np.arange(n), chosen)[:, None]
                rest = np.delete(np.where(mask, P, Q), i, axis=0).prod(axis=0)
                values[i] += weight * (coef * (P[i] - Q[i]) * rest).sum()
    return values


@pytest.mark.parametrize("n_players", [1, 2, 5])
@pytest.mark.parametrize("n_terms", [1, 7, 8, 33])
def test_values_are_shapley_values(n_players, n_terms, rng):
    n_most = (n_players + 1) // 2
    nodes, weights = np.zeros((2, n_most + 1, n_most))
    for n in range(1, n_most + 1):
        x, w = np.polynomial.legendre.leggauss(n)
        nodes[n, :n], weights[n, :n] = (x + 1.0) / 2.0, w / 2.0
    P, Q = rng.random((n_players, n_terms)), rng.random((3, n_players, n_terms))
    Q[1, 0] = P[0]
    coef, out = rng.normal(size=n_terms), np.zeros(n_players)
    differs = (P != Q).any(axis=2)
    games.product_values(P, Q, differs, coef, games.Quadrature(nodes, weights, 1, 0.0), 0.0, out)
    np.testing.assert_allclose(out, sum(slow_values(P, q, coef) for q in Q), atol=1e-12)
