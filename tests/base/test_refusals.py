"""What the suite of hostile cases found: each is a sentence now, or right."""

import threading
import warnings
from datetime import datetime

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from sklearn.exceptions import NotFittedError

from fewlabels import PUSVM, S3VM, SVDD, OneClassSVM, PUEnsemble

pytestmark = pytest.mark.filterwarnings("error::RuntimeWarning")
PU = np.r_[np.ones(8), np.zeros(22)]
FEW = np.r_[0, 1, 0, 1, np.full(26, -1)]
MACHINES = {
    "svdd": (SVDD, {}, None),
    "one-class": (OneClassSVM, {"nu": 0.3}, None),
    "pusvm": (PUSVM, {"prior": 0.3}, PU),
    "pu-ensemble": (PUEnsemble, {"prior": 0.3, "n_bags": 2}, PU),
    "s3vm": (S3VM, {}, FEW),
}


@pytest.fixture(params=MACHINES)
def fitting(request):
    """A function that fits a machine of each kind to 30 rows."""
    kind, params, y = MACHINES[request.param]
    return lambda X, **more: kind(**{**params, **more}).fit(X, y)


@pytest.fixture
def X():
    return np.random.default_rng(0).normal(size=(30, 2))


def test_sparse_rows_that_point_outside(fitting, X):
    good = fitting(sp.csr_array(X))
    broken = sp.csr_array(X)
    broken.indices = broken.indices.copy()
    broken.indices[0] = 10**6
    for use in (fitting, good.predict):
        with pytest.raises(ValueError, match="sparse X is invalid"):
            use(broken)


@pytest.mark.parametrize("factor", [2.0**600, 2.0**900, 2.0**-600])
def test_rows_whose_squares_are_lost(fitting, X, factor):
    words = "X has numbers up to" if factor > 1.0 else "X has only numbers up to"
    with pytest.raises(ValueError, match=words):
        fitting(X * factor)
    one = X.copy()
    one[3, 1] = 1e160
    with pytest.raises(ValueError, match="X has numbers up to"):
        fitting(one)


@pytest.mark.parametrize("factor", [2.0**300, 2.0**-300])
def test_rows_whose_squares_are_numbers(fitting, X, factor):
    found = fitting(X * factor).decision_function(X * factor)
    np.testing.assert_allclose(found, fitting(X).decision_function(X), atol=1e-9)


def test_infinite_rows_are_refused_without_warnings(fitting, X):
    rows = X.copy()
    rows[0, 0], rows[1, 0] = np.inf, -np.inf
    for dtype in (np.float64, np.float32, np.float16):
        with pytest.raises(ValueError, match="infinity"):
            fitting(rows.astype(dtype))


@pytest.mark.parametrize("loss", ["double-hinge", "ramp"])
def test_lambda_so_large_that_twice_it_is_infinite(X, loss):
    y = MACHINES["pusvm"][2]
    assert PUSVM(prior=0.4, loss=loss, lam=1e300).fit(X, y).objective_ == pytest.approx(0.4)
    with pytest.raises(ValueError, match="'lam' parameter"):
        PUSVM(prior=0.4, loss=loss, lam=1.7e308).fit(X, y)


def test_costs_beyond_numbers(X):
    for name in ("C", "C_star"):
        with pytest.raises(ValueError, match="costs times weights reach"):
            S3VM(**{name: 1e300}).fit(X, FEW)
        with pytest.raises(ValueError, match=f"'{name}' parameter"):
            S3VM(**{name: 1.7e308}).fit(X, FEW)
    with pytest.raises(ValueError, match="'balance' parameter"):
        S3VM(balance=10**400).fit(X, FEW)
    OneClassSVM(nu=np.float32(0.5)).fit(X)


def test_rows_that_come_later(X):
    for kind, params, y in (MACHINES[name] for name in ("svdd", "one-class", "pusvm", "s3vm")):
        machine = kind(**params).fit(X, y)
        before = machine.decision_function(X)
        with pytest.raises(ValueError, match="X has numbers up to"):
            machine.partial_fit(X[:2] * 1e200, None if y is None else y[-2:])
        # A path may have begun, which ends nearer to the optimum than the fit.
        np.testing.assert_allclose(machine.decision_function(X), before, atol=1e-2)


def test_dates_are_no_numbers(fitting, X):
    frames = [
        X.astype("datetime64[s]"),
        pd.DataFrame({"a": X[:, 0], "b": pd.date_range("2020", periods=30, tz="UTC")}),
        pl.DataFrame({"a": X[:, 0], "b": [datetime(2020, 1, 1)] * 30}),
    ]
    for frame in frames:
        with pytest.raises(TypeError, match="dates or times"):
            fitting(frame)


@pytest.mark.parametrize(
    "kernel, message",
    [
        (lambda A, B: A @ B.T + 1j, "complex"),
        (lambda A, B: 1.0, "must return shape"),
        (lambda A, B: np.full((len(A), len(B)), np.nan), "NaN or infinite"),
        (len, "must take X and Z"),
    ],
)
def test_kernel_functions(X, kernel, message):
    for kind, params, y in (MACHINES[name] for name in ("svdd", "one-class", "pusvm", "s3vm")):
        with pytest.raises((TypeError, ValueError), match=message):
            kind(**params, kernel=kernel).fit(X, y)


@pytest.mark.parametrize("kind", [PUSVM, S3VM])
def test_labels_that_are_none(kind, X):
    with pytest.raises(ValueError, match="lists or objects"):
        kind().fit(X, [[1], 0] + [-1] * 28)
    with pytest.raises(ValueError, match="infinity"):
        kind().fit(X, np.where(PU == 1, np.inf, 0.0))


def test_what_is_no_callback(X):
    for kind, params, y in (MACHINES[name] for name in ("svdd", "one-class", "pusvm", "s3vm")):
        with pytest.raises(TypeError, match="callback is 3"):
            kind(**params).fit(X, y, callback=3)


@pytest.mark.parametrize("weight", [np.full(30, 5e-324), np.geomspace(1e-100, 1e100, 30)])
def test_weights_that_nothing_can_carry(weight, X):
    for kind, params, y in MACHINES.values():
        with pytest.raises(ValueError, match="sample_weight goes from"):
            kind(**params).fit(X, y, sample_weight=weight)


def test_a_refused_fit_leaves_no_machine(X):
    machines = [
        (SVDD(target_fpr=0.1), None, np.eye(30)[0], "no training row"),
        (S3VM(solver="path", kernel=lambda A, B: np.full((len(A), len(B)), np.inf)), FEW, None,
         "infinite"),
        (S3VM(solver="path"), FEW, np.r_[np.ones(29), 1e15], "equal weights"),
    ]  # fmt: skip
    for machine, y, weight, message in machines:
        with pytest.raises(ValueError, match=message):
            machine.fit(X, y, sample_weight=weight)
        with pytest.raises(NotFittedError):
            machine.predict(X)


def test_a_small_nu_is_solved_to_the_same_accuracy(X):
    # Two rows lie on the boundary, however small the sum of the variables is.
    machine = OneClassSVM(nu=1e-9).fit(X)
    full = OneClassSVM(nu=1 / 30).fit(X)
    np.testing.assert_allclose(
        machine.dual_coef_ / machine.dual_coef_.sum(), full.dual_coef_ / full.dual_coef_.sum(),
        atol=1e-6,
    )  # fmt: skip


def test_the_width_of_a_stream_stays(X):
    machine = S3VM().fit(X, FEW).set_params(gamma=77.0)
    with pytest.raises(ValueError, match="gamma was 'distance'"):
        machine.partial_fit(X[:1], [-1])


@pytest.mark.parametrize("name", ["svdd", "one-class", "pusvm", "s3vm"])
def test_threads_wait_for_each_other(name, X):
    kind, params, y = MACHINES[name]
    machine, errors = kind(**params).fit(X, y), []
    fixed = kind(**params, gamma=machine.gamma_)
    rng = np.random.default_rng(1)
    blocks = [rng.normal(size=(4, 2)) for _ in range(4)]
    mark = {} if y is None else {"y": np.full(4, y[-1])}

    def add(block):
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                machine.partial_fit(block, **mark)
                machine.decision_function(X)
        except Exception as error:
            errors.append(error)

    threads = [threading.Thread(target=add, args=(block,)) for block in blocks]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not errors and machine.shape_fit_[0] == 46
    if name != "s3vm":
        rows = machine.training_rows_.X
        again = fixed.fit(rows, None if y is None else np.r_[y, np.zeros(16)])
        np.testing.assert_allclose(
            machine.decision_function(X), again.decision_function(X), atol=2e-2
        )
    else:
        assert machine.kkt_violation_ < 1e-6


@pytest.mark.parametrize("model", [SVDD, OneClassSVM])
def test_a_cache_of_any_size_is_taken(X, model):
    assert model(cache_size=10**400).fit(X).objective_ == model().fit(X).objective_


class COO:
    """Stands for an array of the library sparse, which needs no installation this way."""

    __module__ = "sparse.numba_backend._coo.core"
    shape, ndim = (30, 2), 2

    def __array__(self, *args, **kwargs):
        raise RuntimeError("Cannot convert a sparse array to dense automatically.")


LONG_ERRORS = {
    "missing numbers": (lambda X: X * np.nan, ValueError, "X contains NaN; drop rows"),
    "complex numbers": (lambda X: X + 1j, ValueError, "X holds complex numbers"),
    "mixed names": (
        lambda X: pd.DataFrame(X, columns=["a", 1]), TypeError, r"several types \(int, str\)",
    ),
    "one row": (lambda X: X[0], ValueError, r"X of shape \(2,\): Reshape"),
    "ragged rows": (lambda X: [[1.0, 2.0], [3.0]], ValueError, "rows of different lengths"),
    "pydata sparse": (lambda X: COO(), TypeError, r"COO of the library sparse; pass .*SciPy"),
}  # fmt: skip


@pytest.mark.parametrize("name", LONG_ERRORS)
def test_long_errors_of_scikit_learn_are_one_sentence(fitting, X, name):
    make, kind, words = LONG_ERRORS[name]
    for use in (fitting, fitting(X).predict):
        with pytest.raises(kind, match=words) as caught:
            use(make(X))
        text = str(caught.value)
        assert "\n" not in text and ". " not in text and text.endswith(".")


def test_complex_weights_and_labels_are_one_sentence(X):
    with pytest.raises(ValueError, match="sample_weight holds complex numbers; pass real ones"):
        SVDD().fit(X, sample_weight=np.ones(30) + 1j)
    with pytest.raises(ValueError, match="y holds complex numbers; pass one number"):
        S3VM().fit(X, FEW + 0j)
