"""An S3VM on rows, labels and parameters as they come, and the width it chooses."""

import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.spatial.distance import pdist
from sklearn.exceptions import ConvergenceWarning

from fewlabels import S3VM
from fewlabels.kernels.parameters import distance_gamma

_RNG = np.random.default_rng(0)
_TRUTH = np.arange(60) % 2
_ROWS = _RNG.normal(size=(60, 3)) + 1.2 * (2 * _TRUTH[:, None] - 1)


def _labels():
    y = np.full(60, np.nan)
    y[:6] = _TRUTH[:6]
    return y


@pytest.mark.parametrize("value", [0.1, 1e8 / 3, 1e-160])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("make", [np.asarray, sp.csr_array])
def test_equal_rows_have_no_width(value, dtype, make):
    rows = make(np.full((11, 4), value, dtype=dtype))
    assert distance_gamma(rows) == 1.0
    assert distance_gamma(rows, _RNG.random(11) + 0.1) == 1.0


@pytest.mark.parametrize("offset", [0.0, 1e4, 1e8])
def test_width_of_sparse_rows_far_from_zero_is_that_of_dense_ones(offset):
    rows = _ROWS + offset
    weight = _RNG.random(60) + 0.1
    total = np.sum(np.average((rows - np.average(rows, 0, weight)) ** 2, 0, weight))
    assert distance_gamma(sp.csr_array(rows)) == pytest.approx(distance_gamma(rows), rel=1e-2)
    found = distance_gamma(sp.csr_array(rows), weight) * 2 * total
    assert found == pytest.approx(1.4, rel=1e-6)  # few dimensions


def test_sparse_rows_may_name_an_entry_twice():
    rows = sp.csr_array(np.where(_ROWS > 0, _ROWS, 0.0))
    twice = sp.csr_array(
        (np.repeat(rows.data / 2, 2), np.repeat(rows.indices, 2), 2 * rows.indptr), rows.shape
    )
    assert distance_gamma(twice) == pytest.approx(distance_gamma(rows.toarray()), rel=1e-12)
    assert twice.nnz == 2 * rows.nnz


@pytest.mark.parametrize("kind", ["cloud", "signs", "two"])
@pytest.mark.parametrize("d", [1, 2, 35, 36, 70, 200])
def test_the_width_is_that_of_the_definition(d, kind):
    """Also where few columns say in advance that the number of dimensions won't matter."""
    rng = np.random.default_rng(d)
    rows = {
        "cloud": lambda: rng.normal(size=(80, d)),
        "signs": lambda: rng.choice([-1.0, 1.0], (80, d)),
        "two": lambda: np.repeat([[0.0], [1.0]], [79, 1], axis=0) * np.ones(d),
    }[kind]()
    squared = pdist(rows, "sqeuclidean")
    dimensions = min(2.0 * d, 2.0 * squared.mean() ** 2 / squared.var()) if np.ptp(squared) else 1
    expected = min(1.4, 100 / dimensions) / (2 * rows.var(axis=0).sum())
    assert distance_gamma(rows) == pytest.approx(expected, rel=1e-12)


def test_rows_at_equal_distances_keep_a_width():
    rows = 0.1 * np.eye(60)
    assert distance_gamma(rows) == pytest.approx(100 / 120 / (0.02 * 59 / 60))
    labels = _labels()
    machine = S3VM().fit(rows, labels)
    assert np.array_equal(machine.predict(rows[:6]), labels[:6])


@pytest.mark.parametrize("solver", ["cccp", "path"])
@pytest.mark.parametrize("balance", [True, False])
def test_balance_from_a_numpy_grid(balance, solver):
    machines = [
        S3VM(balance=value, solver=solver).fit(_ROWS, np.append(_labels()[:-1], 1.0))
        for value in (balance, np.bool_(balance))
    ]
    a, b = [m.partial_fit(_ROWS[:2]).decision_function(_ROWS) for m in machines]
    assert np.array_equal(a, b)


def test_texts_with_a_number_as_mark():
    y = np.array([-1] * 60, dtype=object)
    y[:6] = np.array(["no", "yes"])[_TRUTH[:6]]
    machine = S3VM().fit(_ROWS, y)
    assert list(machine.classes_) == ["no", "yes"]
    y[0] = 3.5
    with pytest.raises(ValueError, match=r"several types \(float, str\)"):
        S3VM().fit(_ROWS, y)


def test_rounding_that_hides_the_minimum_is_said():
    machine = S3VM(kernel="linear").fit(_ROWS, _labels())
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        machine.partial_fit(_ROWS[:2])
    with (
        pytest.warns(ConvergenceWarning, match="exact path following failed during partial_fit"),
        pytest.warns(ConvergenceWarning, match="rounding prevents further progress.*violation of"),
    ):
        machine.partial_fit([[1e12, 0.0, 0.0]])
    assert machine.kkt_violation_ > machine.tol
    assert machine.fit_status_ == 1


@pytest.mark.parametrize("n_features", [2, 3.5, "4", None])
def test_widen_takes_a_number_of_features(n_features):
    machine = S3VM().fit(_ROWS, _labels())
    with pytest.raises(ValueError, match="features"):
        machine.widen(n_features)
    assert machine.widen(np.int64(4)).n_features_in_ == 4
