"""Files that become rows in a mapped file."""

import os
import subprocess
import sys

import numpy as np
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet as pq
import pytest
from sklearn.datasets import dump_svmlight_file

from fewlabels import OneClassSVM, stored_rows
from fewlabels._util.messages import UserError
from fewlabels.tables import stored, temporary_folders
from fewlabels.tables.formats import blocks


@pytest.fixture
def table(rng):
    columns = {
        "a": rng.normal(size=500), "b": rng.integers(0, 9, 500), "c": rng.random(500) < 0.5,
        "kind": np.where(rng.random(500) < 0.1, "odd", "usual"),
    }  # fmt: skip
    return pa.table(columns)


def numbers(table):
    return np.column_stack([table.column(k).to_numpy(zero_copy_only=False) for k in range(3)])


@pytest.mark.parametrize("form", ["parquet", "arrow", "feather", "folder"])
def test_tables(form, table, tmp_path, monkeypatch):
    monkeypatch.setattr(stored, "_ROWS", 64)
    path = tmp_path / f"rows.{form}"
    if form == "parquet":
        pq.write_table(table, path)
    elif form == "folder":
        path.mkdir()
        pq.write_table(table[:200], path / "1.parquet")
        pq.write_table(table[200:], path / "2.parquet")
    else:
        pyarrow.feather.write_feather(table, path)
    with stored_rows(path, columns=["a", "b", "c"], target="kind", folder=tmp_path) as (X, y):
        assert isinstance(X, np.memmap) and X.dtype == np.float64
        assert np.array_equal(X, numbers(table)) and np.array_equal(y, table["kind"].to_numpy())
        with stored_rows(path, ["b", "a"], folder=tmp_path) as (other, none):
            assert np.array_equal(other, X[:, [1, 0]]) and none is None
    assert sorted(tmp_path.glob(f"{temporary_folders._FOLDER}*")) == []


def test_float32_where_it_is_exact(tmp_path):
    small = pa.table({"a": pa.array([1.5, None], pa.float32()), "b": pa.array([1, 2], pa.int16())})
    pq.write_table(small, tmp_path / "rows.parquet")
    with stored_rows(tmp_path / "rows.parquet") as (X, _):
        assert X.dtype == np.float32 and X[0].tolist() == [1.5, 1.0] and np.isnan(X[1, 0])


@pytest.mark.parametrize("first", [0, 1])
def test_svmlight(first, tmp_path, rng, monkeypatch):
    monkeypatch.setattr(blocks, "BLOCK_BYTES", 1000)
    X = rng.normal(size=(300, 20)) * (rng.random((300, 20)) < 0.2)
    X[5, 0], X[6, 19] = 1.0, 2.0
    y = rng.integers(0, 2, 300)
    path = tmp_path / "rows.svmlight"
    dump_svmlight_file(X, y, str(path), zero_based=first == 0)
    with stored_rows(path) as (rows, labels):
        assert rows.shape == X.shape and np.allclose(rows.toarray(), X, rtol=1e-14)
        assert np.array_equal(labels, y)
        machine = OneClassSVM(kernel="linear", nu=0.1, cache_size=0.01)
        assert not machine.fit(rows).holds_rows_


def test_numpy_files_are_mapped_as_they_are(tmp_path, rng):
    np.save(tmp_path / "rows.npy", rng.normal(size=(5, 2)))
    with stored_rows(tmp_path / "rows.npy") as (X, y):
        assert X.filename == str(tmp_path / "rows.npy") and y is None


def test_what_is_refused(table, tmp_path):
    path = tmp_path / "rows.parquet"
    pq.write_table(table, path)
    (tmp_path / "rows.csv").write_text("a\n1\n")
    np.save(tmp_path / "rows.npy", np.zeros((2, 2)))
    cases = [
        ({"path": path}, "column 'kind' holds string, not numbers"),
        ({"path": path, "columns": ["z"]}, "there is no column 'z'"),
        ({"path": tmp_path / "none.parquet"}, "does not exist"),
        ({"path": tmp_path / "rows.csv"}, "can't be read in pieces"),
        ({"path": tmp_path / "rows.npy", "target": "a"}, "has no column names"),
    ]
    for given, message in cases:
        with pytest.raises(UserError, match=message), stored_rows(**given):
            pass


def test_what_a_killed_process_left_is_removed(table, tmp_path):
    pq.write_table(table.select(["a"]), tmp_path / "rows.parquet")
    code = (
        "import os, sys; from fewlabels import stored_rows\n"
        "with stored_rows(sys.argv[1], folder=sys.argv[2]): os.kill(os.getpid(), 9)"
    )
    arguments = [str(tmp_path / "rows.parquet"), str(tmp_path)]
    subprocess.run([sys.executable, "-c", code, *arguments], check=False)
    left = list(tmp_path.glob(f"{temporary_folders._FOLDER}*"))
    assert len(left) == 1 and str(os.getpid()) not in left[0].name
    with stored_rows(tmp_path / "rows.parquet", folder=tmp_path):
        assert not left[0].exists()
