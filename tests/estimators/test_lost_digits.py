"""Where rounding of kernel values can't be removed, the gap says so and a warning comes."""

import warnings

import numpy as np
import pytest
import scipy.sparse as sp

from fewlabels import PUSVM, S3VM, SVDD, OneClassSVM


def groups(rng, offset):
    """Two groups in columns of their own: wherever the centre is, one is far from it."""
    X = np.zeros((120, 6))
    X[:60, :3] = rng.normal(size=(60, 3)) + offset
    X[60:, 3:] = rng.normal(size=(60, 3)) + offset
    return np.round(X * 2.0**20) / 2.0**20


@pytest.mark.parametrize("storage", [np.asarray, sp.csr_array])
@pytest.mark.parametrize("machine", [OneClassSVM(nu=0.2, gamma=0.5), SVDD(gamma=0.5)], ids=str)
def test_the_gap_of_groups_that_are_far_apart(machine, storage, rng):
    near = groups(rng, 2.0**7)
    # Groups see nothing of each other: moved, they are the same problem.
    far = near + (2.0**23 - 2.0**7) * (near != 0)
    best = machine.fit(near).objective_
    with pytest.warns(UserWarning, match="lost precision"):
        machine.fit(storage(far))
    assert abs(machine.objective_ - best) > 1e-6 * abs(best)
    assert machine.duality_gap_ >= abs(machine.objective_ - best)


@pytest.mark.parametrize(
    "machine", [PUSVM(prior=0.4, gamma=0.5), S3VM(gamma=0.5, unlabeled=0)], ids=str
)
def test_machines_of_two_classes_warn(machine, rng):
    y = np.tile([1, 0, 0, 0], 30)
    if isinstance(machine, S3VM):
        y[1::12] = -1
    with pytest.warns(UserWarning, match="lost precision"):
        machine.fit(groups(rng, 2.0**23), y)


@pytest.mark.parametrize(
    "machine",
    [OneClassSVM(gamma=0.5), SVDD(gamma=0.5), PUSVM(prior=0.4, gamma=0.5), S3VM(gamma=0.5)],
    ids=str,
)
def test_updates_warn_as_fits_do(machine, rng):
    X, y = groups(rng, 2.0**23), np.tile([1, 0], 60)
    machine.fit(X[:60], y[:60])
    machine.partial_fit(X[60:], y[60:])
    with pytest.warns(UserWarning, match="lost precision"):
        machine.decision_function(X)


@pytest.mark.parametrize(
    "machine", [OneClassSVM(gamma=0.5), PUSVM(prior=0.4, gamma=0.5), S3VM(gamma=0.5)], ids=str
)
def test_many_copies_of_a_far_row_lose_nothing(machine, rng):
    X, y = rng.normal(size=(30, 2)), np.tile([1, 0, 0], 10)
    if isinstance(machine, S3VM):
        y[9:] = -1  # unlabelled
    far, of_far = np.full((60, 2), 1e30), np.full(60, y[-1])
    near = (X[:, None] - X[None]) ** 2
    K = np.pad(np.exp(-0.5 * near.sum(axis=2)), (0, 60))
    K[30:, 30:] = 1.0
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        machine.fit(np.vstack([X, far]), np.append(y, of_far))
        scores = machine.decision_function(X)
    coef = np.zeros(90)
    coef[machine.support_] = machine.dual_coef_[0]
    sums = K[:30] @ coef
    assert np.ptp(sums) > 0.1
    np.testing.assert_allclose(scores - scores.mean(), sums - sums.mean(), atol=1e-8)


@pytest.mark.parametrize("offset", [1e7, 1e9])
@pytest.mark.parametrize("storage", [np.asarray, sp.csr_array])
def test_one_group_and_a_far_row_lose_nothing(offset, storage, rng):
    X = rng.normal(size=(100, 3)) + offset
    X[5] += 1e9
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        machine = OneClassSVM(nu=0.2, gamma=0.5, tol=1e-6).fit(storage(X))
    assert machine.duality_gap_ < 1e-3 * machine.objective_
