"""Reading matrices."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import dump_svmlight_file

from fewlabels._util.messages import UserError
from fewlabels.tables.arrays import iterate_arrays, read_arrays
from fewlabels.tables.columns.schema import Schema
from fewlabels.tables.sources import as_source

X = np.array([[0.0, 1.5, 0.0], [2.0, 0.0, 0.0], [0.0, 0.0, 3.0]])
Y = np.array([1, -1, 1])


def test_npz_and_npy(tmp_path):
    np.savez(tmp_path / "a.npz", X=X, y=Y, shape=np.zeros(2))
    np.savez(tmp_path / "b.npz", rows=X)
    np.save(tmp_path / "c.npy", X.astype(np.float32))
    data = read_arrays(tmp_path / "a.npz")
    np.testing.assert_array_equal(data.X, X)
    assert list(data.labels) == ["y"]
    np.testing.assert_array_equal(read_arrays(tmp_path / "b.npz").X, X)
    assert read_arrays(tmp_path / "c.npy").X.dtype == np.float32


def test_sparse_npz(tmp_path):
    sp.save_npz(tmp_path / "a.npz", sp.csc_array(X))
    data = read_arrays(tmp_path / "a.npz")
    assert data.is_sparse
    np.testing.assert_array_equal(data.X.toarray(), X)


@pytest.mark.parametrize("form", ["csr", "csc"])
def test_a_sparse_npz_that_points_outside_is_not_used(tmp_path, form):
    """Compiled code would write there, and the process end some time later."""
    path, ends = tmp_path / "a.npz", [0, 1, 1, 1, 1]
    parts = {"data": [1.0], "indices": [9], "indptr": ends}
    np.savez(path, format=form.encode(), shape=[4, 4], **parts)
    with pytest.raises(UserError, match=r"sparse matrix in .* is invalid .*save_npz"):
        read_arrays(path)


@pytest.mark.parametrize("zero_based", [True, False])
def test_svmlight_counts_columns_as_in_training(tmp_path, zero_based):
    path, later = tmp_path / "a.svmlight", tmp_path / "b.svmlight"
    first = X[:, [1, 0, 2]] if zero_based else X
    dump_svmlight_file(first, Y, str(path), zero_based=zero_based)
    data = read_arrays(path)
    assert data.zero_based is zero_based
    np.testing.assert_array_equal(data.X.toarray(), first)
    np.testing.assert_array_equal(data.labels["y"], Y)
    # A later file that happens to use neither the first nor the last column.
    dump_svmlight_file(np.array([[0.0, 7.0, 0.0]]), [1], str(later), zero_based=zero_based)
    schema = Schema("sparse", 3, zero_based=zero_based)
    ((data, share),) = iterate_arrays(as_source(later), 10, schema)
    assert share == 1.0
    np.testing.assert_array_equal(data.X.toarray(), [[0, 7, 0]])


@pytest.mark.parametrize(
    ("name", "write", "message"),
    [
        ("a.npy", lambda f: np.save(f, np.zeros(3)), "1 dimension; it needs 2"),
        ("a.npy", lambda f: np.save(f, np.zeros((0, 3))), "no rows"),
        ("a.npy", lambda f: np.save(f, np.zeros((3, 0))), "no columns"),
        ("a.npy", lambda f: np.save(f, np.array([["a"]])), "it needs numbers"),
        (
            "a.npy",
            lambda f: np.save(f, np.array([[None]]), allow_pickle=True),
            "holds Python objects",
        ),
        ("a.npy", lambda f: f.write_bytes(b"nothing"), "can't be read as npy"),
        ("a.npz", lambda f: f.write_bytes(b"PK nothing"), "can't be read as npz"),
        ("a.npz", lambda f: np.savez(f, A=X, B=X), "no array named 'X', only 'A', 'B'"),
        ("a.svm", lambda f: f.write_text("a,b\n1,2\n"), "can't be read as svmlight"),
    ],
)
def test_unusable_files(tmp_path, name, write, message):
    path = tmp_path / name
    write(path)
    with pytest.raises(UserError, match=message):
        read_arrays(path)
