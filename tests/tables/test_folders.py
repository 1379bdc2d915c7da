"""Links in folders that are read as one table."""

import os

import pandas as pd
import pytest

from fewlabels import stored_rows
from fewlabels._util.messages import UserError
from fewlabels.tables.folders import files_of_pattern, parquet_files
from fewlabels.tables.reading.read import read_table


@pytest.fixture
def folder(tmp_path):
    """A folder of two files, and one beside it."""
    place = tmp_path / "d"
    (place / "more").mkdir(parents=True)
    for path in (place / "1.parquet", place / "more" / "2.parquet", tmp_path / "own.parquet"):
        pd.DataFrame({"a": [1.0, 2.0]}).to_parquet(path)
    return place


OUT = "links to .*own.parquet, which is outside the folder; move the file into the fold"


def test_a_link_that_leads_out_of_a_folder_is_refused(folder):
    os.symlink(folder.parent / "own.parquet", folder / "more" / "3.parquet")
    with pytest.raises(UserError, match=OUT):
        read_table(folder)
    with pytest.raises(UserError, match=OUT), stored_rows(folder):
        pass
    for pattern in ("**/*.parquet", "more/*.parquet", "*/3.parquet"):
        with pytest.raises(UserError, match=OUT):
            files_of_pattern(folder / pattern)
    (folder / "more" / "3.parquet").unlink()
    os.symlink(folder.parent, folder / "out")  # by a folder, which only patterns enter
    assert len(parquet_files(folder)) == 2
    with pytest.raises(UserError, match=OUT.replace("own", "(own|1|2)")):
        files_of_pattern(folder / "**" / "*.parquet")


def test_links_within_a_folder_and_to_it_are_followed(folder):
    (folder / "1.parquet").rename(folder / ".1.data")
    os.symlink(".1.data", folder / "1.parquet")
    os.symlink(folder, folder.parent / "link")
    os.symlink("nowhere", folder / "gone.parquet")
    assert read_table(folder.parent / "link").num_rows == 4
    assert len(files_of_pattern(folder.parent / "link" / "*" / "*.parquet")) == 1
    with stored_rows(folder) as (X, _):
        assert X.shape == (4, 1)
