"""Rows that are equal, many times over: exact, and in a few steps for each."""

import time

import numpy as np
import pytest
from reference import kernel_matrix, kkt_residual

from fewlabels import PUSVM, S3VM, SVDD, OneClassSVM
from fewlabels.kernels import RBF, Linear
from fewlabels.kernels.operators.growing.matrices import make_growing
from fewlabels.kernels.operators.growing.stores import RepeatedStore
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


def test_rows_that_are_mostly_copies_are_stored_once(rng):
    distinct = rng.normal(size=(6, 3))
    X = distinct[rng.integers(0, 6, 400)]
    growing = make_growing(RBF(0.4), X)
    assert isinstance(growing.store, RepeatedStore)
    more = np.vstack(
        [distinct[:2], rng.normal(size=(3, 3)), -0.0 * distinct[:1], distinct[:1] * 0]
    )
    for part in (X, more, more[3:4]):
        diagonal = growing.append(part)
        np.testing.assert_allclose(diagonal, 1.0)
    rows = np.vstack([X, more, more[3:4]])
    assert growing.store.store.n == len(np.unique(rows + 0.0, axis=0)) == 10
    for kept in (np.arange(len(rows)), np.r_[3:90, 400:408], np.r_[1, 5, 88:95]):
        growing.keep(kept)
        rows = rows[kept]
        K = kernel_matrix(("rbf", 0.4), rows)
        some, others = rng.integers(0, len(rows), (2, 7))
        coef = rng.normal(size=7)
        for limit in (growing.cache, None):  # columns that are held, and none
            if limit is None:
                growing = make_growing(RBF(0.4), X, cache_size=0)
                growing.append(rows)
            np.testing.assert_allclose(
                growing.block(some, others), K[np.ix_(some, others)], atol=1e-12
            )
            out = np.ones(len(rows))
            growing.apply(others, coef, out)
            np.testing.assert_allclose(out, 1.0 + K[:, others] @ coef, atol=1e-12)
            product = growing.product_at(some, others, coef)
            np.testing.assert_allclose(product, K[np.ix_(some, others)] @ coef, atol=1e-12)


def test_streams_that_begin_with_many_copies(rng):
    distinct = rng.normal(size=(125, 4))
    X = distinct[rng.integers(0, 125, 20_000)]
    y = np.where(np.arange(len(X)) < 60, X[:, 0] > 0, -1)
    started = time.process_time()
    machine = S3VM().fit(X, y)
    machine.partial_fit(distinct[:3]).partial_fit(rng.normal(size=(3, 4))).forget([5, 9000])
    assert machine.kkt_violation_ < 1e-9
    for one in (SVDD(slack="linear", nu=0.1), OneClassSVM(nu=0.1)):
        one.fit(X).partial_fit(distinct[:3])
        left_out = one.leave_one_out_decisions()
        assert len(left_out) == len(X) + 3 and len(np.unique(left_out.round(6))) <= 130
    assert time.process_time() - started < 30.0  # many times what it takes
