"""Rows that are equal, many times over: exact, and in a few steps for each."""

import numpy as np
import pytest
from reference import kernel_matrix, kkt_residual

from fewlabels import PUSVM, S3VM, SVDD, OneClassSVM
from fewlabels.kernels import RBF, Linear
from fewlabels.problem import Penalty
from fewlabels.solvers.path import PathFollower, RowPenalties

KERNELS = {"rbf": (RBF(0.3), ("rbf", 0.3)), "linear": (Linear(), ("linear",))}
# Rows, scale and total of a machine over rows X with squared norms d.
PATHS = {
    "one-class": lambda X, d: (Penalty.linear(0.0, 1.0, 0.0, len(X)), 0.0, 1.0, 0.3 * len(X)),
    "ball": lambda X, d: (Penalty.linear(0.0, 3.4 / len(X), -d, len(X)), 0.0, 2.0, 1.0),
    "squared": lambda X, d: (Penalty.linear(0.0, np.inf, -d, len(X)), 1.0, 2.0, 1.0),
    "hard": lambda X, d: (Penalty.linear(0.0, np.inf, -d, len(X)), 0.0, 2.0, 1.0),
    "pu": lambda X, d: (
        Penalty.kinked(0.0, 0.5, 1.0, np.sin(X[:, 0]) - 1, np.sin(X[:, 0]) + 1, len(X)),
        0.0, 1.0, 0.4 * len(X),
    ),
}  # fmt: skip


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("machine", PATHS)
def test_ten_rows_three_times_each(machine, kernel, rng):
    for copies in (3, 3, 3, 20):
        X = np.repeat(rng.normal(size=(10, 4)), copies, axis=0)
        K = kernel_matrix(KERNELS[kernel][1], X)
        penalty, ridge, scale, total = PATHS[machine](X, K.diagonal().copy())
        path = PathFollower(KERNELS[kernel][0], scale=scale)
        assert path.add(X, RowPenalties.convex(penalty, ridge), total=total)
        Q = scale * K + ridge * np.eye(len(X))
        assert kkt_residual(Q, penalty.arrays(), path.a) < 1e-9
        assert path.n_steps < 10 * len(X) + 50
        if machine not in ("squared", "pu"):  # no more than one copy of a row is between
            between = penalty.between(path.a).reshape(10, copies).sum(axis=1)
            assert between.max() <= 1


@pytest.mark.parametrize("balance", [None, "keep", "paper"])
def test_unlabelled_rows_three_times_each(balance, rng):
    for _ in range(4):
        X = np.repeat(rng.normal(size=(10, 4)), 3, axis=0)
        label = np.where(np.arange(30) < 3, 1.0, np.where(np.arange(30) < 6, -1.0, 0.0))
        path = PathFollower(RBF(0.3), balance=balance)
        rows = RowPenalties.semi_supervised(label, np.where(label == 0, 5.0, 10.0))
        assert path.add(X, rows, target=0.0 if balance else None)
        assert path.violation() < 1e-9 and path.n_steps < 350


@pytest.mark.parametrize(
    "machine",
    [SVDD(C=0.3), SVDD(slack="linear", nu=0.2), OneClassSVM(nu=0.3), PUSVM(prior=0.3), S3VM()],
    ids=["squared", "linear", "one-class", "pu", "s3vm"],
)
def test_hundreds_of_copies_come_and_go(machine, rng):
    Z = rng.normal(size=(10, 4))
    machine.set_params(gamma=0.3, n_jobs=1)
    first, truth = np.arange(60) % 10, np.arange(10) % 2
    mark = {PUSVM: 0, S3VM: -1}.get(type(machine))

    def labels(which):
        if mark is None:
            return None
        y = np.full(len(which), mark)
        told = rng.random(len(which)) < 0.1
        y[told] = truth[which[told]] if mark < 0 else 1
        return y

    y = labels(first)
    if y is not None:
        y[:2] = truth[:2]
    machine.fit(Z[first], y)
    for _ in range(12):
        which = rng.integers(0, 10, int(rng.choice([1, 30, 100])))
        machine.partial_fit(Z[which], labels(which))
        n = machine.shape_fit_[0]
        if n > 250:
            machine.forget(rng.choice(np.arange(2, n), n // 2, replace=False))
        if mark == -1:
            assert machine.kkt_violation_ < 1e-8
        else:
            assert abs(machine.duality_gap_) <= 1e-9 * max(1.0, abs(machine.objective_))
