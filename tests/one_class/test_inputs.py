"""Every kind of rows that people pass."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from sklearn.base import clone

from fewlabels import PUSVM, S3VM, SVDD, OneClassSVM

MACHINES = [OneClassSVM(nu=0.2), SVDD(C=0.5), SVDD(slack="linear", nu=0.2)]
IDS = ["one-class", "squared", "linear"]


def fitted(machine, X, **changes):
    return type(machine)(**{**machine.get_params(), **changes}).fit(X)


@pytest.mark.filterwarnings("ignore:.*not positive semi-definite")
@pytest.mark.parametrize("machine", MACHINES, ids=IDS)
@pytest.mark.parametrize("kernel", ["rbf", "poly", "sigmoid", "linear"])
def test_float32_stays_float32(machine, kernel, blob):
    X = (blob + 1).astype(np.float32)
    ours = fitted(machine, X, kernel=kernel, tol=1e-5)
    assert ours.support_vectors_.dtype == np.float32
    wide = fitted(machine, X.astype(np.float64), kernel=kernel, tol=1e-5)
    assert wide.support_vectors_.dtype == np.float64
    size = np.abs(wide.score_samples(X.astype(np.float64))).max()
    np.testing.assert_allclose(
        ours.decision_function(X), wide.decision_function(X), atol=1e-4 * size
    )
    sparse = fitted(machine, sp.csr_array(X), kernel=kernel)
    assert sparse.support_vectors_.dtype == np.float32


@pytest.mark.parametrize("machine", MACHINES, ids=IDS)
def test_float32_far_from_the_origin(machine, blob):
    # The RBF kernel sees differences only: an offset must not cost precision.
    X = np.round(blob, 2)
    shifted = (X + 1000.0).astype(np.float32)
    ours = fitted(machine, shifted, tol=1e-6, gamma=0.5)
    exact = fitted(machine, X, tol=1e-6, gamma=0.5)
    size = np.abs(exact.score_samples(X)).max()
    np.testing.assert_allclose(
        ours.decision_function(shifted), exact.decision_function(X), atol=1e-3 * size
    )


@pytest.mark.parametrize("machine", MACHINES, ids=IDS)
@pytest.mark.parametrize("frame", [pd.DataFrame, lambda a, columns: pl.DataFrame(a, columns)])
def test_frames_and_feature_names(machine, frame, blob):
    names = ["width", "height", "depth", "mass"]
    X = frame(blob, columns=names) if frame is pd.DataFrame else frame(blob, names)
    ours = fitted(machine, X)
    np.testing.assert_array_equal(ours.feature_names_in_, names)
    assert ours.n_features_in_ == 4
    plain = fitted(machine, blob)
    np.testing.assert_allclose(
        ours.decision_function(X), plain.decision_function(blob), rtol=1e-12, atol=1e-12
    )
    turned = X[names[::-1]]
    with pytest.raises(ValueError, match="feature names"):
        ours.predict(turned)
    with pytest.warns(UserWarning, match="valid feature names"):
        ours.predict(blob)


@pytest.mark.parametrize("machine", MACHINES, ids=IDS)
def test_layouts_give_the_same_machine(machine, blob):
    expected = fitted(machine, blob).decision_function(blob)
    padded = np.empty((len(blob), 9))
    padded[:, ::2][:, :4] = blob
    for X in (np.asfortranarray(blob), padded[:, ::2][:, :4], blob.tolist(), blob[::-1][::-1]):
        ours = fitted(machine, X)
        np.testing.assert_allclose(ours.decision_function(X), expected, atol=1e-10)
    integers = np.round(blob * 100)
    for dtype in (np.int64, np.int8, np.uint16, np.float16):
        X = (integers if dtype == np.int64 else np.abs(np.round(blob))).astype(dtype)
        ours, wide = fitted(machine, X), fitted(machine, X.astype(float))
        size = np.abs(wide.score_samples(X.astype(float))).max()
        np.testing.assert_allclose(
            ours.decision_function(X), wide.decision_function(X), atol=2e-3 * size
        )


@pytest.mark.parametrize("machine", MACHINES, ids=IDS)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("kernel", ["rbf", "linear"])
def test_read_only_memory_map(machine, dtype, kernel, blob, tmp_path):
    np.save(tmp_path / "rows.npy", blob.astype(dtype))
    X = np.load(tmp_path / "rows.npy", mmap_mode="r")
    assert not X.flags.writeable
    ours = fitted(machine, X, kernel=kernel)
    in_memory = np.array(X)
    expected = fitted(machine, in_memory, kernel=kernel)
    np.testing.assert_array_equal(ours.decision_function(X), expected.decision_function(in_memory))
    K = np.array(blob @ blob.T)
    K.flags.writeable = False
    assert fitted(machine, K, kernel="precomputed").fit_status_ == 0


@pytest.mark.parametrize("machine", MACHINES, ids=IDS)
def test_the_rows_given_are_not_changed(machine, blob):
    for kernel in ("rbf", "poly", "linear"):
        X, S = blob.copy(), sp.csr_array(np.where(blob > 0, blob, 0))
        before = S.copy()
        weight = np.arange(len(X)) % 3.0
        weight_before = weight.copy()
        fitted(machine, X, kernel=kernel).fit(X, sample_weight=weight).predict(X)
        fitted(machine, S, kernel=kernel).predict(S)
        np.testing.assert_array_equal(X, blob)
        np.testing.assert_array_equal(S.toarray(), before.toarray())
        np.testing.assert_array_equal(weight, weight_before)


@pytest.mark.parametrize("machine", MACHINES, ids=IDS)
def test_unsorted_and_duplicated_sparse_entries(machine):
    rng = np.random.default_rng(0)
    n, d = 60, 8
    row = np.repeat(np.arange(n), 5)
    column = rng.integers(0, d, row.size)
    value = rng.normal(size=row.size)
    indptr = np.arange(0, row.size + 1, 5)
    messy = sp.csr_array((value, column, indptr), shape=(n, d))  # repeated and unsorted
    clean = sp.csr_array(messy.toarray())
    for kernel in ("rbf", "linear", "poly"):
        ours, expected = (
            fitted(machine, messy, kernel=kernel),
            fitted(machine, clean, kernel=kernel),
        )
        np.testing.assert_allclose(
            ours.decision_function(messy), expected.decision_function(clean), atol=1e-6
        )


@pytest.mark.parametrize("machine", MACHINES, ids=IDS)
@pytest.mark.parametrize("n", [1, 2, 3])
def test_few_rows(machine, n, blob):
    ours = fitted(machine, blob[:n]) if not isinstance(machine, SVDD) else None
    if ours is None:
        changes = {"C": 100.0} if machine.slack == "squared" else {"nu": 1.0 / n}
        import warnings

        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            ours = fitted(machine, blob[:n], **changes)
    assert ours.predict(blob[:n]).shape == (n,)
    assert np.isfinite(ours.decision_function(blob)).all()
    assert ours.fit_status_ == 0


@pytest.mark.parametrize("machine", MACHINES, ids=IDS)
def test_no_rows_to_predict(machine, blob):
    ours = fitted(machine, blob)
    with pytest.raises(ValueError, match="0 sample"):
        ours.predict(blob[:0])


def test_constant_columns_and_duplicates(blob):
    X = np.hstack([np.repeat(blob[:50], 4, axis=0), np.full((200, 2), 7.0)])
    for machine in (OneClassSVM(nu=0.15, tol=1e-7), SVDD(slack="linear", nu=0.15, tol=1e-7)):
        ours = machine.fit(X)
        assert ours.fit_status_ == 0
        assert np.mean(ours.predict(X) < 0) <= 0.15
        weighted = fitted(machine, X[::4]).fit(X[::4], sample_weight=np.full(50, 4.0))
        size = np.abs(ours.score_samples(X)).max()
        np.testing.assert_allclose(
            ours.decision_function(X) / size, weighted.decision_function(X) / size, atol=1e-5
        )


@pytest.mark.parametrize("machine", [SVDD(), OneClassSVM()])
def test_equal_names(machine, rng):
    frame = pd.DataFrame(rng.normal(size=(20, 2)), columns=["a", "b"])
    with pytest.raises(ValueError, match=r"^columns of X share a name; rename them"):
        machine.fit(pd.concat([frame, frame], axis=1))


@pytest.mark.parametrize(
    "machine",
    [
        PUSVM(prior=0.3, lam=np.float32(0.5)),
        S3VM(C=np.float32(0.5), C_star=np.float32(0.25), balance=np.float32(0.5)),
        SVDD(C=np.float32(0.5), cache_size=np.float32(100)),
        OneClassSVM(nu=np.float32(0.5), tol=np.float32(0.125), max_time=np.float32(9)),
    ],
    ids=lambda machine: type(machine).__name__,
)
def test_single_precision_parameters(machine, blob):
    # They warned of an overflow, in comparisons with bounds such as 1e300.
    label = np.where(np.arange(len(blob)) % 5, -1, np.arange(len(blob)) % 2)
    y = label if isinstance(machine, S3VM) else (label == 1).astype(int)
    plain = {
        name: value.item()
        for name, value in machine.get_params().items()
        if isinstance(value, np.float32)
    }
    expected = clone(machine).set_params(**plain).fit(blob, y).decision_function(blob)
    assert np.array_equal(machine.fit(blob, y).decision_function(blob), expected)
