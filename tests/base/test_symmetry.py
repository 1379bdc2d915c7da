"""Kernel matrices that aren't symmetric are refused; rounding is allowed."""

import numpy as np
import pytest
from sklearn.metrics.pairwise import rbf_kernel

from fewlabels import PUSVM, S3VM, SVDD, OneClassSVM, PUEnsemble, SVDDEnsemble

MACHINES = [
    SVDD(), OneClassSVM(nu=0.2), SVDDEnsemble(n_bags=2), PUSVM(prior=0.4),
    PUSVM(prior=0.4, loss="ramp"), PUEnsemble(prior=0.4, n_bags=2), S3VM(),
]  # fmt: skip


@pytest.fixture
def task(rng):
    X = rng.normal(size=(60, 2)) + np.repeat([[1.5], [-1.5]], 30, axis=0)
    return rbf_kernel(X, gamma=0.5), np.r_[np.ones(12), np.full(36, -1.0), np.zeros(12)]


def labels(machine, y):
    return y if isinstance(machine, S3VM) else (y == 1).astype(int)


@pytest.mark.parametrize("machine", MACHINES, ids=str)
@pytest.mark.filterwarnings("ignore")
def test_an_asymmetric_matrix_is_refused(machine, task):
    K, y = task
    K[3, 40] += 0.01
    with pytest.raises(ValueError, match=r"isn't symmetric: .* by up to 0\.01"):
        machine.set_params(kernel="precomputed").fit(K, labels(machine, y))


@pytest.mark.parametrize("machine", MACHINES, ids=str)
@pytest.mark.filterwarnings("ignore")
def test_rounding_is_allowed(machine, task, rng):
    K, y = task
    near = K + 1e-7 * rng.uniform(-1, 1, K.shape)
    np.fill_diagonal(near, 1.0)
    machine.set_params(kernel="precomputed")
    f, g = (machine.fit(one, labels(machine, y)).decision_function(K) for one in (K, near))
    assert np.corrcoef(f, g)[0, 1] > 0.999


def lopsided(A, B):
    return rbf_kernel(A, B) * (1 + 0.1 * (A[:, :1] > 0))


TAKING_FUNCTIONS = [machine for machine in MACHINES if not isinstance(machine, PUEnsemble)]


@pytest.mark.parametrize("machine", TAKING_FUNCTIONS, ids=str)
@pytest.mark.filterwarnings("ignore")
def test_an_asymmetric_function_is_refused(machine, rng):
    X, y = rng.normal(size=(60, 2)), np.r_[np.ones(12), np.full(36, -1.0), np.zeros(12)]
    with pytest.raises(ValueError, match=r"the kernel function isn't symmetric: .* by up to 0"):
        machine.set_params(kernel=lopsided).fit(X, labels(machine, y))


def test_no_gap_is_shown_for_an_asymmetric_function(rng):
    X = rng.normal(size=(900, 2))
    X[:, 0] = -np.abs(X[:, 0])
    X[2, 0] = 1.0  # not among the rows that fit compares
    machine = OneClassSVM(nu=0.2, kernel=lopsided)
    with pytest.warns(UserWarning, match="no duality gap"):
        machine.fit(X)
    assert np.isnan(machine.duality_gap_)
