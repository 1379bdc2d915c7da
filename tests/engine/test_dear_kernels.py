"""Kernel values that are dear: where a start uses many rows, each is evaluated once."""

import numpy as np
import pytest

from fewlabels.kernels import RBF
from fewlabels.kernels.operators import make_gram
from fewlabels.one_class.problem import one_class
from fewlabels.solvers import solve_decomposition


@pytest.mark.parametrize("n", [400, 1300])
@pytest.mark.parametrize("gamma", [0.5, 0.01])
def test_values_are_formed_once(n, gamma, rng):
    X = rng.normal(size=(n, 60)) / np.sqrt(60.0)
    gram = make_gram(RBF(gamma), X)
    formed = solve_decomposition(one_class(gram, 0.6), tol=1e-7)
    assert formed.converged and gram.n_values <= n**2
    assert formed.history[-1]["kernel_values"] == gram.n_values
    in_blocks = solve_decomposition(
        one_class(make_gram(RBF(gamma), X, dtype=np.float64), 0.6), tol=1e-7, block_size=64
    )
    assert formed.objective == pytest.approx(in_blocks.objective, rel=1e-9)
    assert formed.duality_gap <= 1e-6 * formed.objective


def test_a_large_matrix_is_not_formed(rng):
    X = rng.normal(size=(1300, 60)) / np.sqrt(60.0)
    gram = make_gram(RBF(0.5), X)
    result = solve_decomposition(one_class(gram, 0.6), tol=1e-4, cache_size=8e6)
    assert result.converged and gram.matrix is None


def test_cheap_values_are_not_formed(rng):
    gram = make_gram(RBF(0.5), rng.normal(size=(1300, 3)))
    assert solve_decomposition(one_class(gram, 0.6), tol=1e-4).converged
    assert gram.matrix is None
