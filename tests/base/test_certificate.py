"""A duality gap is shown where it bounds something: the kernel matrix is checked."""

import warnings

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics.pairwise import rbf_kernel

from fewlabels import PUSVM, S3VM, SVDD, OneClassSVM, PUEnsemble
from fewlabels.kernels.operators import PrecomputedGram
from fewlabels.one_class.problem import one_class
from fewlabels.problem.dual import find_missing_curvature

STATIONARY = "stationary point.*not positive semi-definite"
WAVES = {"kernel": "sigmoid", "gamma": 1.0, "coef0": -2.0}  # far from an inner product


def rows_and_labels(rng, n=60):
    return 3.0 * rng.normal(size=(n, 4)), (np.arange(n) < n // 3).astype(int)


def minus_inner_product(X, Z):
    return -(X @ Z.T)


@pytest.mark.parametrize("n", [60, 1500])
def test_a_concave_problem_has_no_gap(n, rng):
    """The case that was once said to be solved to 8e-13, with a better point in sight."""
    X = rng.normal(size=(n, 4))
    K = -X @ X.T
    with pytest.warns(ConvergenceWarning, match=STATIONARY):
        machine = OneClassSVM(kernel="precomputed", nu=0.5).fit(K)
    assert np.isnan(machine.duality_gap_)

    assert machine.fit_status_ == 0


@pytest.mark.parametrize(
    "fit",
    [
        lambda X, y: OneClassSVM(**WAVES).fit(X),
        lambda X, y: SVDD(**WAVES).fit(X),
        lambda X, y: SVDD(kernel=minus_inner_product, slack="linear", nu=0.2).fit(X),
        lambda X, y: SVDD(kernel="poly", degree=2, coef0=-1.0).fit(X),
        lambda X, y: PUSVM(prior=0.3, **WAVES).fit(X, y),
        lambda X, y: PUSVM(prior=0.3, loss="ramp", **WAVES).fit(X, y),
        lambda X, y: S3VM(**WAVES).fit(X, np.where(np.arange(len(y)) % 9 == 0, y, -1)),
        lambda X, y: PUEnsemble(prior=0.3, n_bags=2, kernel="precomputed").fit(-X @ X.T, y),
    ],
)
def test_every_machine_says_stationary_point(fit, rng):
    X, y = rows_and_labels(rng)
    with pytest.warns(ConvergenceWarning, match=STATIONARY):
        machine = fit(X, y)
    if isinstance(machine, SVDD | OneClassSVM | PUSVM):
        assert np.isnan(machine.duality_gap_)


@pytest.mark.parametrize("n", [80, 1300])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_matrices_of_kernels_keep_their_gap(n, dtype, rng):
    """Rounded, and of low rank: no eigenvalue that is negative means anything."""
    X = rng.normal(size=(n, 3))
    flat = [X @ X.T] if dtype is np.float64 else []
    for K in (rbf_kernel(X, gamma=0.05), rbf_kernel(X, gamma=5.0), *flat):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            machine = OneClassSVM(kernel="precomputed", nu=0.2, tol=1e-6).fit(K.astype(dtype))
        size = max(1.0, machine.objective_)
        assert 0.0 <= machine.duality_gap_ <= (1e-3 if dtype is np.float32 else 1e-6) * size


def test_functions_and_distances_keep_their_gap(rng):
    """Minus squared distances are positive semi-definite where it matters: sums are fixed."""
    X, y = rows_and_labels(rng)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        gaps = [
            SVDD(kernel=lambda a, b: rbf_kernel(a, b, 0.1)).fit(X).duality_gap_,
            PUSVM(prior=0.3, kernel=lambda a, b: rbf_kernel(a, b, 0.1)).fit(X, y).duality_gap_,
            SVDD(kernel="precomputed", slack="linear", nu=0.2)
            .fit(-np.square(X[:, None] - X[None]).sum(axis=-1))
            .duality_gap_,
        ]
    assert all(0.0 <= gap <= 1e-6 for gap in gaps)


def test_known_kernels_are_not_checked(rng, monkeypatch):
    monkeypatch.setattr("fewlabels.problem.dual.dpotrf", None)
    X = rng.normal(size=(50, 2))
    for kernel in ("rbf", "linear", "poly"):
        assert np.isfinite(OneClassSVM(kernel=kernel).fit(X).duality_gap_)


def test_what_rounding_hides_is_in_the_gap(rng):
    """With an error in its entries, the gap still bounds what the true optimum could gain."""
    K = rbf_kernel(rng.normal(size=(40, 2)), gamma=0.1)
    noise = rng.normal(size=K.shape) * 1e-8
    gram = PrecomputedGram(K + noise + noise.T)
    missing = find_missing_curvature(gram, one_class(gram, 0.2).feasible_start())
    centred = np.eye(40) - 1.0 / 40
    lowest = np.linalg.eigvalsh(centred @ gram.K @ centred)[0]
    assert -lowest <= missing <= 1e-4
