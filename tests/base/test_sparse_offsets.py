"""Sparse rows far from the origin give what dense rows give."""

import pickle

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone

from fewlabels import PUSVM, S3VM, SVDD, OneClassSVM, PUEnsemble, SVDDEnsemble
from fewlabels.kernels import RBF, center_of, centered
from fewlabels.kernels.operators import RowMap
from fewlabels.kernels.parameters import resolve_gamma

TWO = {"prior": 0.4, "lam": 0.01}
MACHINES = {
    "ball": SVDD(gamma=0.5),
    "distance": S3VM(gamma="distance"),
    "linear ball": SVDD(kernel="linear"),
    "linear slack": SVDD(gamma=0.5, slack="linear", nu=0.2),
    "one class": OneClassSVM(nu=0.2, gamma=0.5),
    "leave-one-out": OneClassSVM(gamma=0.5, target_fpr=0.1),
    "scale": OneClassSVM(nu=0.2, gamma="scale"),
    "linear PU": PUSVM(kernel="linear", **TWO),
    "PU": PUSVM(gamma=0.5, **TWO),
    "PU of a graph": PUSVM(kernel="manifold", gamma=0.5, **TWO),
    "linear S3VM": S3VM(kernel="linear"),
    "S3VM": S3VM(gamma=0.5),
    "S3VM path": S3VM(kernel="linear", solver="path"),
    "linear bags": PUEnsemble(kernel="linear", prior=0.4, n_bags=3),
    "balls": SVDDEnsemble(n_bags=3),
}
UPDATED = ["ball", "linear ball", "one class", "linear PU", "PU", "linear S3VM", "S3VM"]
OFFSETS = {"near": 30.0, "far": 1e5, "farther": 1e7, "one column": [1.7e5, 0.0, 0.0]}


@pytest.fixture
def task(rng):
    side = rng.random(160) < 0.4
    X = rng.normal(size=(160, 3)) + np.where(side, 1.5, -1.5)[:, None]
    return X, np.where(side & (rng.random(160) < 0.4), 1, 0), np.where(side, 1, -1)


def labels(machine, known, side):
    if isinstance(machine, S3VM):
        return np.where(np.arange(len(side)) < 25, side, 0)
    return known if isinstance(machine, PUSVM | PUEnsemble) else None


def assert_equal(dense, sparse, X, at):
    f, g = dense.decision_function(X), sparse.decision_function(sp.csr_array(X))
    np.testing.assert_allclose(f, g, rtol=0, atol=at * np.ptp(f))
    if not isinstance(dense, PUEnsemble | SVDDEnsemble):
        assert sparse.objective_ == pytest.approx(dense.objective_, rel=at)


@pytest.mark.parametrize("offset", OFFSETS)
@pytest.mark.parametrize("name", MACHINES)
@pytest.mark.filterwarnings("ignore")
def test_as_dense_rows(name, offset, task):
    X, known, side = task
    # Rows and what is asked for lie where float64 leaves them, dense or not.
    X = np.round((X + OFFSETS[offset]) * 2.0**20) / 2.0**20
    machine, y = MACHINES[name], None
    if not isinstance(machine, S3VM):
        machine = clone(machine).set_params(**({"tol": 1e-6} if name != "balls" else {}))
    y = labels(machine, known, side)
    unlabeled = {"unlabeled": 0} if isinstance(machine, S3VM) else {}
    machine = clone(machine).set_params(**unlabeled)
    dense, sparse = clone(machine).fit(X, y), clone(machine).fit(sp.csr_array(X), y)
    assert_equal(dense, sparse, X, 1e-5)
    assert sp.issparse(pickle.loads(pickle.dumps(sparse)).support_vectors_)
    if name in UPDATED:
        rows = slice(None, None, 20)
        for one, kind in ((dense, np.asarray), (sparse, sp.csr_array)):
            one.partial_fit(kind(X[rows] + 0.25), None if y is None else y[rows]).forget([3, 5])
        assert_equal(dense, sparse, X, 1e-5)


def test_which_columns_are_far(rng):
    X = np.zeros((400, 5))
    X[:, 0] = rng.normal(size=400) + 1e6
    X[:360, 1] = rng.normal(size=360) - 1e6  # some zeros
    X[:100, 2] = 1e6  # mostly zeros: they stay
    X[:, 3] = rng.normal(size=400)
    X[:, 4] = 1.0  # nothing that costs digits
    X = X[rng.permutation(400)]
    center = center_of(sp.csr_array(X))
    np.testing.assert_array_equal(np.flatnonzero(center), [0, 1])
    moved = centered(sp.csr_array(X), center)
    np.testing.assert_array_equal(moved.toarray(), X - center)
    assert moved.nnz <= 2 * sp.csr_array(X).nnz
    assert center_of(sp.random_array((300, 50), density=0.1, rng=rng, format="csr")) is None
    assert center_of(sp.csr_array((np.arange(30) % 3 > 0.0)[:, None] * np.ones(4))) is not None
    assert center_of(sp.csr_array((5, 3))) is None
    assert center_of(sp.csr_array(np.ones((1, 3)))) is not None


def test_the_centre_is_a_sample_of_many_rows(rng):
    X = rng.normal(size=(5000, 2)) + np.array([1e7, 0.0])
    X[7] = 1e40  # no one row decides
    center = center_of(sp.csr_array(X))
    assert abs(center[0] - 1e7) < 1.0 and center[1] == 0.0


@pytest.mark.parametrize("rule", ["scale", "distance"])
@pytest.mark.parametrize("weighted", [False, True])
def test_the_width_of_far_rows(rule, weighted, rng):
    X = np.round(rng.normal(size=(200, 3)) * 2.0**20) / 2.0**20
    weight = rng.integers(1, 4, 200).astype(float) if weighted else None
    near = resolve_gamma(rule, X, weight)
    for rows in (X + 2.0**24, sp.csr_array(X + 2.0**24)):
        assert resolve_gamma(rule, rows, weight) == pytest.approx(near, rel=1e-6)


def test_rows_of_kernel_values(rng):
    X = rng.normal(size=(50, 4)) * (rng.random((50, 4)) < 0.9) + [1e7, 0.0, 0.0, 1e3]
    dense, sparse = RowMap(RBF(0.5), X), RowMap(RBF(0.5), sp.csr_array(X))
    # float32 will do once rows are centred.
    assert dense.dtype == sparse.dtype == np.float32
    np.testing.assert_allclose(RBF(0.5).values(sp.csr_array(X), sp.csr_array(X)),
                               RBF(0.5).values(X, X), atol=1e-9)  # fmt: skip
