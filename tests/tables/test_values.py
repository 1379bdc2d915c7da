"""What a column holds is found once for each different text, and holds for rows taken from it."""

import datetime
from collections import Counter

import numpy as np
import pyarrow as pa
import pytest

from fewlabels.tables.columns.column import numbers, text
from fewlabels.tables.columns.values import ColumnValues, table_columns

TEXTS = [
    "1.5",
    "-2",
    "3e2",
    " 4 ",
    "4",
    "4.0",
    "",
    "NA",
    "007",
    "x",
    "12 %",
    "+1",
    "inf",
    ".",
    None,
]
DAY = datetime.date(2024, 2, 3)
KINDS = {
    "number": (["4", " 4.5", "-1e3", "", None], [-1000, 4, 4.5]),
    "text": (["b", "a", "b", "007", " "], ["b", "a", "007"]),
    "mixed": (["1", "2", "x", "NA"], ["1", "2", "x"]),
    "date": (["2024-02-03", "4.2.2024", ""], ["2024-02-03", "4.2.2024"]),
    "boolean": ([True, None, False], ["true", "false"]),
    "other": ([[1, 2], None, [3]], [0, 1]),
}


def _assert_equal(one, other):
    assert (one.kind, one.missing, one.filled) == (other.kind, other.missing, other.filled)
    assert one.values.tolist() == other.values.tolist()
    assert one.counts.tolist() == other.counts.tolist()


@pytest.mark.parametrize("kind", KINDS)
def test_kinds(kind):
    cells, values = KINDS[kind]
    column = ColumnValues(pa.array(cells))
    assert (column.kind, column.values.tolist()) == (kind, values)
    assert column.filled == column.counts.sum() == len(cells) - column.missing


def test_typed_numbers_and_dates():
    of_numbers = ColumnValues(pa.array([3, 1, None, 3]))
    assert (of_numbers.kind, of_numbers.missing) == ("number", 1)
    assert of_numbers.values.tolist() == [1, 3] and of_numbers.counts.tolist() == [1, 2]
    of_dates = ColumnValues(pa.array([DAY, None, DAY]))
    assert (of_dates.kind, of_dates.missing) == ("date", 1)
    assert of_dates.values.tolist() == of_dates.days()[:1].tolist() == [19_756]
    assert ColumnValues(pa.nulls(3)).missing == 3


def test_rows_taken_hold_what_a_column_of_them_holds():
    rng = np.random.default_rng(3)
    for _ in range(200):
        some = rng.choice(np.array(TEXTS, dtype=object), int(rng.integers(1, 6)), replace=False)
        cells = pa.array(rng.choice(some, 20), pa.string())
        rows = np.sort(rng.choice(20, 9, replace=False))
        column, other = ColumnValues(cells), ColumnValues(cells.take(pa.array(rows)))
        _ = column.kind  # what is known already doesn't matter
        taken = column.take(rows)
        _assert_equal(taken, other)
        for found, of_cells in (
            (column, cells),
            (ColumnValues(cells, counted=False), cells),
            (taken, cells.take(pa.array(rows))),
        ):
            assert found.texts().tolist() == text(of_cells).tolist()
            for ours, theirs in zip(found.numbers(), numbers(of_cells), strict=True):
                np.testing.assert_array_equal(ours, theirs)


def test_positions_of_values():
    columns = {
        "text": pa.array(["b", "a", "", "b", None, "a "]),
        "numbers as text": pa.array(["7", "1", "NA", "7", None, "1.0"]),
        "numbers": pa.array([7, 1, None, 7, None, 1]),
        "dates": pa.array([DAY, DAY, None, DAY, None, DAY]),
    }
    rows = np.array([5, 0, 2, 3])
    for name, column in table_columns(pa.table(columns)).items():
        positions = column.positions(rows)
        assert positions[2] == -1 and (positions[[0, 1, 3]] >= 0).all(), name
        everywhere = column.positions(np.arange(6))
        counted = Counter(everywhere[everywhere >= 0].tolist())
        assert [counted[k] for k in range(len(column.values))] == column.counts.tolist()


def test_texts_in_the_spelling_of_a_model():
    column = ColumnValues(pa.array(["DE", "de ", "fr", None]))
    assert column.texts({"de": "DE"}).tolist() == ["DE", "DE", "fr", ""]
