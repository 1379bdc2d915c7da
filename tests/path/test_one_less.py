"""Solutions without one row each, judged by the optimality conditions of the other rows."""

import numpy as np
import pytest
from reference import kernel_matrix, kkt_residual

from fewlabels.kernels import RBF
from fewlabels.problem import Penalty
from fewlabels.solvers.path import PathFollower, RowPenalties
from fewlabels.solvers.path.left_out import LeftOutSolver

MACHINES = {
    "one-class": lambda n, y: (Penalty.linear(0.0, 1.0, 0.0, n), 0.0, 1.0, 0.31 * n),
    "svdd-linear": lambda n, y: (Penalty.linear(0.0, 3.0 / n, -1.0, n), 0.0, 2.0, 1.0),
    "svdd-squared": lambda n, y: (Penalty.linear(0.0, np.inf, -1.0, n), 3.0, 2.0, 1.0),
    "svm": lambda n, y: (
        Penalty.linear(np.minimum(y, 0.0), np.maximum(y, 0.0), -y, n), 0.0, 1.0, 0.0
    ),
}  # fmt: skip


def solved(X, y, machine, gamma):
    """Q, penalty, the path's solution and its ``LeftOutSolver``."""
    penalty, ridge, scale, total = MACHINES[machine](len(X), y)
    path = PathFollower(RBF(gamma), scale=scale)
    path.add(X, RowPenalties.convex(penalty, ridge), total=total)
    Q = scale * kernel_matrix(("rbf", gamma), X) + ridge * np.eye(len(X))
    near = 1e-12 * np.abs(path.a).max()
    a = np.where(np.abs(path.a) < near, 0.0, path.a)
    a = np.where(np.abs(a - penalty.upper) < near, penalty.upper, a)
    unit = 1.0 + np.abs(path.h).max() + abs(path.multiplier)
    return Q, penalty, path, a, path.one_less(a, path.h, penalty, unit)


@pytest.mark.parametrize("machine", MACHINES)
@pytest.mark.parametrize("gamma", [0.05, 0.5, 20.0])
def test_what_is_answered_is_optimal_for_the_others(machine, gamma, rng):
    n = 80
    y = rng.choice([-1.0, 1.0], n)
    X = rng.normal(size=(n, 6)) + 0.5 * y[:, None]
    Q, penalty, path, a, machine_of = solved(X, y, machine, gamma)
    rows, answered, changed = np.flatnonzero(a), [], 0
    for some, others, gradient, shift, inner in machine_of.solve(rows):
        for k, i in enumerate(some.tolist()):
            left = np.arange(n) != i
            b = others[k]
            assert b[i] == 0.0 and b.sum() == pytest.approx(a.sum(), abs=1e-12 * n)
            arrays = [v[left] for v in penalty.arrays()]
            assert np.all((b >= penalty.lower)[left] & (b <= penalty.upper)[left])
            assert kkt_residual(Q[np.ix_(left, left)], arrays, b[left]) < 1e-9
            multiplier = path.multiplier + shift[k]
            expected = Q @ b + penalty.slopes[-1] - multiplier
            np.testing.assert_allclose(gradient[k], expected, atol=1e-9)
            assert inner[k] == pytest.approx(Q[i] @ b, rel=1e-9, abs=1e-13)
            sides = [(v > penalty.lower) & (v < penalty.upper) for v in (a, b)]
            changed += np.any(sides[0][left] != sides[1][left])
        answered.extend(some.tolist())
    assert len(set(answered)) == len(answered) and set(answered) <= set(rows.tolist())
    # With a wide kernel and no ridge the turns may go round in circles.
    assert len(answered) >= 0.8 * len(rows)
    if gamma == 0.05:
        assert changed > 0


def test_what_has_no_inverse_is_not_answered(rng):
    def without_one(n, a, gradient, upper):
        def ones(indices):
            return np.ones((len(indices), n))

        return LeftOutSolver(ones, np.zeros(n), a, gradient, np.zeros(n), np.full(n, upper), 1.0)

    # Equal rows: any of them may take the place of another.
    equal = without_one(6, np.full(6, 0.5), np.zeros(6), 1.0)
    assert not equal.possible and list(equal.solve(np.arange(6))) == []
    # All variables on bounds: the multiplier of the others is not determined.
    bound = without_one(6, np.ones(6), -np.ones(6), 1.0)
    assert not bound.possible and list(bound.solve(np.arange(6))) == []
    # The only free row: nobody takes its place.
    one = without_one(3, np.array([0.5, 0.0, 1.0]), np.array([0.0, 1.0, -1.0]), 1.0)
    assert one.possible and list(one.solve(np.array([0]))) == []
