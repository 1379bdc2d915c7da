"""Numbers as people write them: decimal commas, thousands, units."""

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fewlabels.tables.columns.notation import (
    Notation,
    count_formatted_numbers,
    describe_notations,
    find_notations,
    is_formatted_number,
)
from fewlabels.tables.columns.values import ColumnValues
from fewlabels.tables.reading.training import read_training
from fewlabels.tables.user_data import make_source


def found_in(*cells, **options):
    column = ColumnValues(pa.array(cells, pa.string()))
    found = find_notations({"a": column}, **options).get("a")
    return found, (column if found is None else column.as_numbers(found)).cells.to_pylist()


@pytest.mark.parametrize(
    ("cells", "notation", "values"),
    [
        (["1,5", "2"], (",", ""), [1.5, 2]),
        (["0,123", "0,500"], (",", ""), [0.123, 0.5]),
        ([",5", "-1,25"], (",", ""), [0.5, -1.25]),
        (["1.234.567", "12"], (",", ""), [1234567, 12]),
        (["1.234,5", None, "NA"], (",", ""), [1234.5, None, None]),
        (["1,234.5", "2"], (".", ""), [1234.5, 2]),
        (["1,234", "12,345"], (".", ""), [1234, 12345]),
        (["1 234,5", "1\u00a0234\u202f567"], (",", ""), [1234.5, 1234567]),
        (["1'234.5", "7"], (".", ""), [1234.5, 7]),
        (["12.3 kg", "4kg", " 5 kg "], (".", "kg"), [12.3, 4, 5]),
        (["45 %", "-3%", "−3 %"], (".", "%"), [45, -3, -3]),
        (["€ 12", "€ -3", "-€ 4"], (".", "€"), [12, -3, -4]),
        (["EUR 1.234,50", "EUR 3"], (",", "EUR"), [1234.5, 3]),
        (["5 m²", "6.5 m²"], (".", "m²"), [5, 6.5]),
        (["(12.30)", "5", "1,200.00"], (".", ""), [-12.3, 5, 1200]),
        (["$(12)", "($ 3.50)", "$4"], (".", "$"), [-12, -3.5, 4]),
        (["(1.234,5 kg)", "(2) kg", "3 kg"], (",", "kg"), [-1234.5, -2, 3]),
        (["−5", "7"], (".", ""), [-5, 7]),
        (["60 km/h", "1e2 km/h"], (".", "km/h"), [60, 100]),
    ],
)
def test_consistent_columns_are_numbers(cells, notation, values):
    found = found_in(*cells)
    assert found == (Notation(*notation), values)
    # The same cells one by one, as they are read in pieces.
    for cell, value in zip(cells, values, strict=True):
        one, wrong = ColumnValues(pa.array([cell], pa.string())).numbers(found[0])
        assert not wrong.size
        assert one[0] == value or (value is None and np.isnan(one[0]))


@pytest.mark.parametrize(
    "cells",
    [
        ["1", "2.5"],  # plain
        ["1,5", "1.5"],
        ["1 kg", "2 g"],
        ["1 kg", "2"],
        ["12 €", "$ 12"],
        ["007", "008"],
        ["007 kg", "1 kg"],
        ["A 1", "A 2"],
        ["12:30", "13:40"],
        ["2026-01-02", "2026-02-01"],
        ["02.01.2026", "12.11.2026"],
        ["10-20", "1-2"],
        ["1.2.3", "2.3.4"],
        ["1,23,456", "1"],
        ["030 123 456", "171 123 456"],
        ["+49 171 2", "+49 172 5"],
        ["--5", "1,5"],
        ["kg", "%"],
        ["(1)", "(2)"],  # they number something
        ["(-5)", "5"],
        ["5 (m)", "6 (m)"],
        ["(030) 123", "(171) 456"],
        ["1/2", "3/4"],
        [None, ""],
    ],
)
def test_everything_else_stays_as_it_is(cells):
    assert found_in(*cells) == (None, [cell for cell in cells])


def test_what_a_column_leaves_open_others_decide():
    open_, comma, point = ["1.234", "2.345"], ["1,5", "2,25"], ["0.25", "1.5"]
    assert found_in(*open_)[0] is None
    for columns, wanted in (
        ({"a": open_, "b": comma}, {"a": ",", "b": ","}),
        ({"a": open_, "b": comma, "c": point}, {"b": ","}),
        ({"a": open_, "c": point}, {}),
        ({"a": ["1,234"], "b": ["1,5"]}, {"a": ",", "b": ","}),
        ({"a": ["1,234"], "b": ["1,234.5"]}, {"a": ".", "b": "."}),
    ):
        n = max(map(len, columns.values()))
        found = find_notations(
            {name: ColumnValues(pa.array((cells * n)[:n])) for name, cells in columns.items()}
        )
        assert {name: one.decimal for name, one in found.items()} == wanted


def test_what_the_user_says_comes_first_and_then_the_model():
    assert found_in("1.234", "5", decimal=",") == (Notation(","), [1234, 5])
    assert found_in("1,234", "5", decimal=",") == (Notation(","), [1.234, 5])
    assert found_in("1,5", "5", decimal=".")[0] is None
    assert found_in("3 kg", "5 kg", decimal=",")[0] == Notation(".", "kg")  # no mark at all
    fitted = {"a": Notation(",", "kg")}
    assert found_in("1,234 kg", known=fitted) == (Notation(",", "kg"), [1.234])
    assert found_in("1.5 kg", known=fitted) == (Notation(".", "kg"), [1.5])  # clear by itself
    assert found_in("1,234", known=fitted, likely=".")[0] == Notation(",")
    assert found_in("1,234", likely=",") == (Notation(","), [1.234])
    assert found_in("1.234", likely=",")[0] is None
    # Cells that are written in several ways are named: the column is read as the model's.
    assert found_in("1 kg", "2 g", known=fitted)[0] == Notation(",", "kg")


NUMBERS = st.floats(-1e9, 1e9).map(lambda value: round(value, 3))


@settings(max_examples=60, deadline=None)
@given(
    st.lists(NUMBERS, min_size=2, max_size=12),
    st.sampled_from([(",", "."), (".", ","), (" ", ","), ("'", "."), ("", ",")]),
    st.sampled_from(["{} kg", "{}%", "€ {}", "{} km/h", "{}"]),
    st.sampled_from(["-{}", "−{}", "({})"]),
)
def test_written_numbers_come_back(values, marks, form, negative):
    values = [0.5, 1234567.25, *values]  # clear which mark is which
    thousands, decimal = marks
    texts = []
    for v in values:
        text = f"{abs(v):,.3f}".replace(",", "T").replace(".", decimal).replace("T", thousands)
        texts.append((negative if v < 0 else "{}").format(form.format(text)))
    notation, read = found_in(*texts)
    assert read == values
    assert notation.decimal == decimal
    assert notation.unit == form.replace("{}", "").strip()
    alone = [text for text in texts if "(" not in text]  # which may number something
    assert all(is_formatted_number(text) for text in alone if decimal == "," or notation.unit)


@settings(max_examples=100, deadline=None)
@given(st.lists(st.text(alphabet="0123456789.,-+ eE'%€kg", max_size=8), min_size=1, max_size=4))
def test_any_text_is_read_or_left_alone(cells):
    notation, values = found_in(*cells)
    if notation is None:
        assert values == cells
    else:
        assert all(v is None or np.isfinite(v) or "e" in c.lower()
                   for v, c in zip(values, cells, strict=True))  # fmt: skip


def test_many_texts_are_counted_as_one_by_one():
    texts = ["1,5", "12 kg", "c12", "7", "", "1.234,5", "-3 %", "two", "NA", "1,234"]
    assert count_formatted_numbers(texts) == sum(map(is_formatted_number, texts)) == 5
    assert count_formatted_numbers([]) == 0


def test_columns_keep_their_order():
    table = pa.table({"b": ["1,5", ""], "x": ["u", "v"], "a": ["2 kg", "3 kg"]})
    file = read_training(make_source(table))
    assert file.content.to_pydict() == {"b": [1.5, None], "x": ["u", "v"], "a": [2.0, 3.0]}
    assert file.columns["a"].notation == Notation(unit="kg")
    assert file.columns["x"].notation is None


def test_words():
    assert describe_notations({}) == ""
    notations = {"a": Notation(",", "kg"), "b": Notation(), "c": Notation(",")}
    assert describe_notations(notations) == (
        "read as numbers: 'a' (in kg, with decimal commas), 'b' (with marks between thousands, "
        "'−' or parentheses), 'c' (with decimal commas)"
    )
