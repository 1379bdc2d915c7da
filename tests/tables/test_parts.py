"""Parts of a file, put together, are the file."""

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from fewlabels._util.messages import UserError
from fewlabels.tables.formats import blocks, delimited, parquet
from fewlabels.tables.reading.read import cut_into_parts, iterate_tables
from fewlabels.tables.sources import Reading, Source


def together(files, rows=None):
    tables = [table for file in files for table, _, _ in iterate_tables(file, rows)]
    return pa.concat_tables(tables)


def shares(file, rows):
    return [share for _, _, share in iterate_tables(file, rows)]


TEXTS = {
    "plain": "a,b\n" + "".join(f"{k},x{k}\n" for k in range(200)),
    "returns": "a,b\r\n" + "".join(f"{k},x{k}\r\n" for k in range(200)),
    "quotes": "a,b\n" + "".join(f'{k},"x\n""{k}"",\n\n"\n' for k in range(200)),
    "blank lines": "\n\na,b\n" + "".join(f"{k},x\n\n \n" for k in range(200)) + "\n" * 300,
    "a mark, no end": "\ufeffa,b\n" + "\n".join(f"{k},é{k}" for k in range(200)),
    "one long row": "a,b\n1," + "x" * 3000 + "\n2,y\n3,z\n",
}


@pytest.mark.parametrize("name", TEXTS)
@pytest.mark.parametrize("header", [None, False])
def test_text(tmp_path, name, header, monkeypatch):
    file = Source(tmp_path / "table.csv", "", Reading(header=header))
    file.path.write_text(TEXTS[name], encoding="utf-8", newline="")
    whole = together([file])
    for n_bytes in (1, 64, 300):
        for block in (1 << 24, 500):
            monkeypatch.setattr(blocks, "BLOCK_BYTES", block)
            ends = delimited.parts(file, n_bytes)
            parts = [Source(file.path, "", file.reading, part) for part in ends]
            assert ends[0][0] == 0 and ends[-1][1] == file.path.stat().st_size
            assert len(parts) > 1 or name == "one long row"
            assert together(parts).equals(whole)
    assert delimited.parts(file, 1 << 20) == [None]


def test_text_that_is_not_cut(tmp_path):
    for name, encoding in (("a.csv", "cp1252"), ("b.csv", "utf-16"), ("c.csv.gz", "utf-8")):
        file = Source(tmp_path / name, "", Reading(encoding=encoding))
        pd.DataFrame({"a": ["é"] * 500}).to_csv(file.path, index=False, encoding=encoding)
        assert delimited.parts(file, 20) == [None]


@pytest.mark.parametrize("group", [1, 7, 64, 1000])
def test_parquet(tmp_path, group):
    file = Source(tmp_path / "table.parquet")
    frame = pd.DataFrame({"a": np.arange(500), "b": [f"x{k % 7}" for k in range(500)]})
    frame.to_parquet(file.path, row_group_size=group)
    whole = together([file], 1000)
    for n_rows in (1, 10, 63, 64, 130, 499):
        ends = parquet.parts(file, n_rows)
        assert max(b - a for a, b in ends) <= n_rows
        assert [a for a, _ in ends] == [0, *(b for _, b in ends[:-1])] and ends[-1][1] == 500
        if n_rows > 20:
            parts = [Source(file.path, part=part) for part in ends]
            for rows in (1000, 11):
                assert together(parts, rows).equals(whole)
            assert shares(parts[-1], 11)[-1] == 1.0
    # Groups are not taken apart where that can be avoided.
    if group == 64:
        assert all(a % 64 == 0 for a, _ in parquet.parts(file, 130))
    assert parquet.parts(file, 500) == [None]


def test_as_many_as_asked_for_within_bounds(tmp_path, monkeypatch):
    files = [Source(tmp_path / f"{k}.parquet") for k in range(2)]
    for file, n in zip(files, (900, 100), strict=True):
        pq.write_table(pa.table({"a": np.arange(n)}), file.path)
    monkeypatch.setattr(parquet, "PART", (10, 300))
    sizes = [
        [f.part and f.part[1] - f.part[0] for f in cut_into_parts(files, n)] for n in (1, 10, 1000)
    ]
    assert sizes[0] == [300, 300, 300, None] and sizes[1] == [100] * 9 + [None]
    assert set(sizes[2]) == {10} and len(sizes[2]) == 100
    files[1].path.write_bytes(b"PAR1 and no more")
    with pytest.raises(UserError, match=r"1\.parquet can't be read: it isn't a Parquet file"):
        cut_into_parts(files, 4)
