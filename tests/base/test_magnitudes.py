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
        sentence = r"X has numbers up to .*e\+\d+, and beyond 1e\+150 .* scale the columns"
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


@pytest.mark.parametrize("far", [1e9, 1e30, 1e120])
def test_a_row_far_away_takes_no_digits_from_the_others(X, far):
    # It is like itself and like no other, whatever the order in which squares are summed.
    rows = np.vstack([X, far * X[:2], far * X[:1]])
    for machine, y in problems(gamma=0.3)[:4]:
        y = None if y is None else np.r_[y, [0, 0, 0] if y.min() == 0 else [-1, -1, -1]]
        machine.fit(rows, y)
        for way in ("fit", "partial_fit"):
            if way == "partial_fit":
                machine.fit(X, None if y is None else y[:N])
                machine.partial_fit(rows[N:], None if y is None else y[N:])
            function = machine.function_
            vectors = np.vstack([function.vectors, X])
            square = ((vectors[:, None] - vectors[None, : len(function.vectors)]) ** 2).sum(2)
            expected = np.exp(-0.3 * square) @ function.coef.sum(axis=0) + function.bias
            np.testing.assert_allclose(function(vectors), expected, atol=1e-5)


def test_whole_numbers_that_are_no_floats(X):
    with pytest.raises(ValueError, match="C is too large for double precision"):
        SVDD(slack="linear", C=10**400).fit(X)
    assert SVDD(max_time=10**400).fit(X).fit_status_ == 0


def test_infinite_labels_between_texts(X):
    y = np.array(["a", "b", *[None] * (N - 3), np.inf], dtype=object)
    with pytest.raises(ValueError, match="y contains infinity, which isn't a class"):
        S3VM().fit(X, y)
