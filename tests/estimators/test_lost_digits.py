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
    with pytest.warns(UserWarning, match="lost digits"):
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
    with pytest.warns(UserWarning, match="lost digits"):
        machine.fit(groups(rng, 2.0**23), y)


@pytest.mark.parametrize("offset", [1e7, 1e9])
@pytest.mark.parametrize("storage", [np.asarray, sp.csr_array])
def test_one_group_and_a_far_row_lose_nothing(offset, storage, rng):
    X = rng.normal(size=(100, 3)) + offset
    X[5] += 1e9
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        machine = OneClassSVM(nu=0.2, gamma=0.5, tol=1e-6).fit(storage(X))
    assert machine.duality_gap_ < 1e-3 * machine.objective_
