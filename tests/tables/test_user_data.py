"""Data frames with names and cells that no table can hold."""

import pandas as pd
import pytest

from fewlabels._util.messages import UserError
from fewlabels.tables.reading.read import read_table
from fewlabels.tables.user_data import make_source

HALF = "x\ud800"


def _texts(values):
    return pd.Series(values, dtype=object)


def test_half_of_a_character_in_a_cell_is_refused():
    frame = pd.DataFrame({"a": [1.0, 2.0], "town": _texts(["x", HALF])})
    with pytest.raises(UserError, match=r"A cell of column 'town' contains half of a character"):
        make_source(frame)


def test_half_of_a_character_in_a_name_is_refused():
    frame = pd.DataFrame([[1.0, 2.0]], columns=pd.Index(["a", HALF], dtype=object))
    with pytest.raises(UserError, match=r"A column name contains half of a character"):
        make_source(frame)


@pytest.mark.parametrize("line", ['{"a": "x\\ud800"}', '{"a\\ud800": 1}'])
def test_half_of_a_character_in_json_is_refused(tmp_path, line):
    path = tmp_path / "d.jsonl"
    path.write_text(f"{line}\n")
    with pytest.raises(UserError, match=r"ends with half of a character"):
        read_table(path)


def test_integers_beyond_64_bits_are_read_as_in_a_file():
    found = make_source(pd.DataFrame({"a": _texts([2**70, 3, None])})).content
    assert found.column("a").to_pylist() == [str(2**70), "3", None]


def test_nul_in_a_name_is_refused():
    polars = pytest.importorskip("polars")
    with pytest.raises(UserError, match=r"column name 'a\\x00b' contains NUL; rename the column"):
        make_source(polars.DataFrame({"a\0b": [1.0]}))
