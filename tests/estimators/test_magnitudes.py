"""Numbers beyond what can be squared: one sentence from every class, or the right answer."""

import numpy as np
import pytest

from fewlabels import PUSVM, S3VM, SVDD, OneClassSVM, PUEnsemble

pytestmark = pytest.mark.filterwarnings("error::RuntimeWarning")
N = 60


def problems(**parameters):
    y = (np.arange(N) < 10).astype(int)
    few = np.r_[[1] * 3, [-1] * (N - 6), [0] * 3]
    return [
        (SVDD(**parameters), None),
        (OneClassSVM(**parameters), None),
        (PUSVM(0.3, **parameters), y),
        (S3VM(**parameters), few),
        (PUEnsemble(0.3, n_bags=2, **parameters), y),
    ]


@pytest.fixture
def X(rng):
    X = rng.normal(size=(N, 3))
    X[:20] += 3.0
    return X


def cell(X):
    X = X.copy()
    X[5, 1] = 1e160
    return X


@pytest.mark.parametrize("kernel", ["rbf", "linear", "poly"])
@pytest.mark.parametrize("huge", [lambda X: X * 1e200, cell])
def test_one_sentence_from_fit_partial_fit_and_predict(kernel, huge, X):
    for machine, y in problems(kernel=kernel):
        sentence = r"X has numbers of .*e\+\d+, and beyond 1e\+150 .* scale the columns"
        with pytest.raises(ValueError, match=sentence):
            machine.fit(huge(X), y)
        before = machine.fit(X, y).decision_function(X)
        with pytest.raises(ValueError, match=sentence):
            machine.predict(huge(X))
        if hasattr(machine, "partial_fit"):
            with pytest.raises(ValueError, match=sentence):
                machine.partial_fit(huge(X), y)
        np.testing.assert_allclose(machine.decision_function(X), before, atol=1e-5)


def test_as_large_as_squares_allow(X):
    for machine, y in problems():
        expected = machine.fit(X, y).decision_function(X)
        found = machine.fit(X * 2.0**480, y).decision_function(X * 2.0**480)
        np.testing.assert_allclose(found, expected, rtol=0.01, atol=0.02)


def test_float32_whose_squares_end(X):
    for machine, y in problems():
        expected = machine.fit(X.astype(np.float32), y).decision_function(X)
        rows = (X.astype(np.float32) * np.float32(2.0**120)).astype(np.float32)
        found = machine.fit(rows, y).decision_function(rows)
        np.testing.assert_allclose(found, expected, rtol=0.01, atol=0.02)


def test_powers_that_end(X):
    for machine, y in problems(kernel="poly", degree=3):
        with pytest.raises(ValueError, match=r"kernel values reach .*scale the columns"):
            machine.fit(X, y).predict(X * 1e60)
        with pytest.raises(ValueError, match=r"kernel values reach .*lower degree or gamma"):
            machine.set_params(gamma=1e300).fit(X, y)


def test_kernels_without_a_right_digit(X):
    for machine, y in problems(gamma=1e300):
        with pytest.raises(ValueError, match=r"gamma=1e\+300 is so large.*pass a smaller gamma"):
            machine.fit(X, y)
    # One odd row does not refuse the others.
    X[0, 0] = 1e9
    SVDD(gamma=1.0).fit(X)
