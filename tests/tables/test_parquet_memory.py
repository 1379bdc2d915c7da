"""Parquet files are read in pieces, whatever they are divided into."""

import subprocess
import sys

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

# In a process of its own: the most that Arrow has held counts from its start.
CODE = """
import sys, pathlib
import pyarrow as pa
from fewlabels import stored_rows
from fewlabels.tables.sources import as_source
from fewlabels.tables.reading.read import iterate_tables
path, form = pathlib.Path(sys.argv[1]), sys.argv[2]
if form == "stored":
    with stored_rows(path, folder=path.parent) as (X, y):
        n = len(X)
else:
    n = sum(table.num_rows for table, _, _ in iterate_tables(as_source(path), 65_536))
print(n, pa.default_memory_pool().max_memory())
"""


@pytest.mark.parametrize(
    ("form", "n_groups"), [("parquet", 1), ("parquet", 10), ("folder", 10), ("stored", 10)]
)
def test_memory_does_not_grow_with_the_file(form, n_groups, tmp_path, rng):
    n = 3_000_000  # beside what is read ahead, some 60 MB
    columns = {f"c{k}": rng.random(n) for k in range(10)}
    folder = tmp_path / "rows"
    folder.mkdir()
    pq.write_table(pa.table(columns), folder / "rows.parquet", row_group_size=n // n_groups,
                   use_dictionary=False, compression="none")  # fmt: skip
    path = folder if form == "folder" else folder / "rows.parquet"
    done = subprocess.run(
        [sys.executable, "-c", CODE, str(path), form], capture_output=True, text=True, check=True
    )
    n_rows, most = map(int, done.stdout.split())
    assert n_rows == n
    assert most < 0.75 * sum(np.asarray(values).nbytes for values in columns.values())
