"""Cells as numbers and as text."""

import numpy as np
import pyarrow as pa
import pytest

from fewlabels.tables.columns.column import are_blank, are_codes, numbers, text, without


def test_texts_parse_as_numbers_and_missing_as_nan():
    cells = pa.array(["1", " 2.5 ", "-1e3", "", "NA", "nan", "?", "+4", None])
    values, bad = numbers(cells)
    assert bad.size == 0
    np.testing.assert_array_equal(values, [1, 2.5, -1000, *[np.nan] * 4, 4, np.nan])


def test_texts_that_are_no_numbers_are_located():
    values, bad = numbers(pa.array(["1", "abc", "3", "1_0", "0x1", "7"]))
    np.testing.assert_array_equal(bad, [1, 3, 4])
    np.testing.assert_array_equal(values[[0, 2, 5]], [1, 3, 7])


@pytest.mark.parametrize(
    "kind", [pa.int8(), pa.uint64(), pa.float32(), pa.float64(), pa.decimal128(5, 2), pa.bool_()]
)
def test_typed_numbers(kind):
    cells = pa.array([0, 1, None]).cast(pa.float64())
    cells = pa.array([False, True, None]) if pa.types.is_boolean(kind) else cells.cast(kind)
    values, bad = numbers(cells)
    np.testing.assert_array_equal(values, [0, 1, np.nan])
    assert values.dtype == np.float64
    assert bad.size == 0


def test_chunked_dictionary_and_null_columns():
    column = pa.chunked_array([pa.array(["1", "2"]), pa.array(["3"])]).dictionary_encode()
    np.testing.assert_array_equal(numbers(column)[0], [1, 2, 3])
    assert list(text(column)) == ["1", "2", "3"]
    assert np.isnan(numbers(pa.nulls(2))[0]).all()
    assert list(text(pa.nulls(2))) == ["", ""]


@pytest.mark.parametrize(
    ("cells", "expected"),
    [
        (pa.array([1, 2, None]), ["1", "2", ""]),
        (pa.array([1.0, 2.5, None]), ["1", "2.5", ""]),
        (pa.array([True, False, None]), ["True", "False", ""]),
        (pa.array(["007", " x", None]), ["007", " x", ""]),
        (pa.array(["true", "FALSE", "True", "truest"]), ["True", "False", "True", "truest"]),
    ],
)
def test_text_is_the_same_from_every_format(cells, expected):
    assert list(text(cells)) == expected


def test_codes_and_blanks():
    assert are_codes(pa.array(["1", "007", None])).tolist() == [False, True, False]
    assert not are_codes(pa.array(["0", "0.5", "10", "-0"])).any()
    assert are_blank(np.array(["", " ", "NA", "a"], dtype=object)).tolist() == [
        True,
        True,
        True,
        False,
    ]


def test_without_some_columns():
    table = pa.table({"a": [1], "b": [2], "c": [3]})
    assert without(table, ["b", "none"]).to_pydict() == {"a": [1], "c": [3]}
    assert without(table, []).column_names == ["a", "b", "c"]
    assert without(table, ["a", "b", "c"]).num_columns == 0
