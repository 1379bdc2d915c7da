"""Files that would fill memory are refused before they do, in one sentence."""

import gzip
import io
import json
import os
import subprocess
import sys
import tracemalloc
import zipfile

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from fewlabels.io import limits
from fewlabels.io.errors import UserError
from fewlabels.io.formats import blocks as tables
from fewlabels.io.models.files import load_model
from fewlabels.io.tables.read import column_names
from fewlabels.io.tables.training import read_training


@pytest.fixture
def allowed(monkeypatch):
    """Set what is allowed."""
    return lambda text: monkeypatch.setenv(limits.VARIABLE, text)


def _refused(path, match, peak=150e6, read=read_training):
    tracemalloc.start()
    try:
        with pytest.raises(UserError, match=match) as refusal:
            read(path)
        assert tracemalloc.get_traced_memory()[1] < peak
    finally:
        tracemalloc.stop()
    assert "\n" not in str(refusal.value)


@pytest.mark.parametrize("column", [2_000_000_000, 20_000_000])
def test_columns_of_svmlight_that_nobody_fills(tmp_path, column):
    path = tmp_path / "d.svm"
    path.write_text(f"1 1:1 {column}:2\n1 1:2 2:1\n")
    _refused(path, rf"{column} columns, and 1000000 are the most.*number those that are filled")


def test_svmlight_counts_as_before(tmp_path):
    path = tmp_path / "d.svm"
    path.write_text("1 1:1 3:2\n0 2:1\n")
    assert read_training(path).content.X.toarray().tolist() == [[1, 0, 2], [0, 1, 0]]
    path.write_text("1 0:1 3:2\n0 2:1\n")
    assert read_training(path).content.X.toarray().tolist() == [[1, 0, 0, 2], [0, 0, 1, 0]]


def test_what_is_packed_is_measured_unpacked(tmp_path, allowed):
    path = tmp_path / "d.npz"
    np.savez_compressed(path, X=np.zeros((100_000, 100)))
    allowed("20M")
    _refused(path, r"80 MB of memory \(unpacked\), and 20 MB are allowed.*FEWLABELS_MEMORY=1G")
    allowed("1G")
    assert read_training(path).n_rows == 100_000


@pytest.mark.parametrize("form", ["npz", "npy"])
def test_a_header_that_promises_too_much(tmp_path, form):
    buffer = io.BytesIO()
    header = {"descr": "<f8", "fortran_order": False, "shape": (10**11, 100)}
    np.lib.format.write_array_header_1_0(buffer, header)
    path = tmp_path / f"d.{form}"
    if form == "npy":
        path.write_bytes(buffer.getvalue())
    else:
        with zipfile.ZipFile(path, "w") as archive:
            archive.writestr("X.npy", buffer.getvalue())
    _refused(path, "damaged or cut")


def test_compressed_rows_are_counted_as_they_come(tmp_path, allowed, monkeypatch):
    path = tmp_path / "d.csv.gz"
    with gzip.open(path, "wb", 1) as file:
        file.write(b"a,b\n" + b"1,2\n" * 1_000_000)
    monkeypatch.setattr(tables, "BLOCK_BYTES", 1 << 18)
    allowed("10M")
    _refused(path, "read as a whole, with what learning needs beside it")


def test_a_row_without_an_end(tmp_path, monkeypatch):
    monkeypatch.setattr(tables, "BLOCK_BYTES", 1 << 18)
    monkeypatch.setattr(tables, "_LONGEST_ROW", 1 << 20)
    path = tmp_path / "d.csv.gz"
    with gzip.open(path, "wb", 1) as file:
        file.write(b'a,b\n1,"' + b"2,3\n" * 5_000_000)
    _refused(path, "a row of more than 1 MB; close the quote that was left open")


def test_repeated_cells_of_parquet(tmp_path, allowed):
    path = tmp_path / "d.parquet"
    zeros = pa.array(np.zeros(200_000))
    pq.write_table(pa.table({f"c{k}": zeros for k in range(20)}), path)
    allowed("20M")
    _refused(path, r"32 MB of memory \(its cells as numbers\)")


def test_columns_by_the_hundred_thousand(tmp_path, allowed):
    path = tmp_path / "d.csv"
    names = ",".join(f"c{k}" for k in range(100_000))
    path.write_text(f"{names}\n{names}\n")
    allowed("1G")
    _refused(path, r"100000 columns; a matrix as .npz or .svmlight takes less")
    path.write_text(f"{','.join(f'c{k}' for k in range(300_000))}\n")
    allowed("100G")
    assert len(column_names(path, "csv")) == 300_000


def test_a_dense_matrix_is_more_when_it_is_learnt_from(tmp_path, allowed):
    path = tmp_path / "d.npy"
    np.save(path, np.zeros((1000, 1000), dtype=np.int8))
    allowed("20M")
    from fewlabels.io.tables.target import every_row

    with pytest.raises(UserError, match="24 MB of memory"):
        read_training(path).choose(every_row(1000))


def test_a_model_that_unpacks_to_more_than_any_has(tmp_path, allowed):
    path = tmp_path / "m.fewlabels"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("fewlabels.json", json.dumps({"format": "fewlabels-model"}))
        archive.writestr("0.npy", bytes(60_000_000))
    allowed("50M")
    _refused(path, "The model file .* would fill 60 MB of memory", read=load_model)


def test_an_allowance_that_is_no_size(tmp_path, allowed):
    path = tmp_path / "d.csv"
    path.write_text("a,b\n1,2\n3,4\n")
    for text in ("500 M", "500mb", "0.5g"):
        allowed(text)
        assert read_training(path).n_rows == 2
    allowed("plenty")
    with pytest.raises(UserError, match="FEWLABELS_MEMORY=PLENTY is no size"):
        read_training(path)


@pytest.mark.skipif(not os.path.exists("/proc/self/statm"), reason="tells what is taken")
def test_the_limit_of_the_process_counts(tmp_path):
    path = tmp_path / "d.npz"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        with archive.open("X.npy", "w", force_zip64=True) as member:
            header = {"descr": "|i1", "fortran_order": False, "shape": (1 << 19, 1 << 10)}
            np.lib.format.write_array_header_1_0(member, header)
            for _ in range(32):
                member.write(bytes(1 << 24))
    code = (
        "import sys, resource, fewlabels.io.arrays as a\n"
        "from fewlabels.io.errors import UserError\n"
        "taken = int(open('/proc/self/statm').read().split()[0]) * resource.getpagesize()\n"
        "resource.setrlimit(resource.RLIMIT_AS, (taken + 500_000_000,) * 2)\n"
        "try: a.read_arrays(sys.argv[1], 'npz')\n"
        "except UserError as e: print(e)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, path], capture_output=True, text=True, check=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )  # fmt: skip
    assert "would fill 537 MB of memory" in done.stdout
