"""Several convex problems as one fit: kernel values of few rows are evaluated once."""

from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp

from fewlabels.kernels import RBF, Linear
from fewlabels.kernels.operators import make_gram
from fewlabels.semi_supervised.problem import SemiSupervised
from fewlabels.solvers import Settings, solve_decomposition
from fewlabels.solvers.cccp import Steps


def problems(rng, kernel, n=60):
    X = sp.random_array((n, 30), density=0.2, rng=rng, format="csr")
    label = np.where(np.arange(n) < 10, rng.choice([-1, 1], n), 0)
    sign = rng.choice([-1.0, 1.0], (4, n))
    gram = make_gram(kernel, X, dtype=np.float64)
    machine = SemiSupervised(C=2.0, C_star=0.3)
    return gram, [machine.step(gram, label, np.ones(n), one) for one in sign]


@pytest.mark.parametrize("kernel", [Linear(), RBF(0.8)])
@pytest.mark.parametrize("ridge", [0.0, 0.5])
def test_values_are_held_from_the_second_problem_on(kernel, ridge, rng):
    gram, several = problems(rng, kernel)
    several = [replace(one, ridge=ridge, scale=1.5) if ridge else one for one in several]
    alone = [solve_decomposition(replace(one, gram=gram.take(np.arange(gram.n))), tol=1e-10)
             for one in several]  # fmt: skip
    steps, before = Steps(Settings(tol=1e-10)), gram.n_values
    together = [steps.solve(one, None) for one in several]
    assert gram.n_values - before <= 2 * gram.n**2
    for one, other in zip(together, alone, strict=True):
        np.testing.assert_allclose(one.a, other.a, atol=1e-9)
        assert one.objective == pytest.approx(other.objective, rel=1e-12)
    held = gram.matrix.copy()
    steps.solve(several[0], None)
    np.testing.assert_array_equal(gram.matrix, held)


def test_many_rows_are_not_held(rng):
    gram, several = problems(rng, RBF(0.8))
    steps = Steps(Settings(cache_size=8.0 * gram.n**2))
    for one in several:
        steps.solve(one, None)
    assert gram.matrix is None
