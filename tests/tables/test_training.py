"""Which rows and columns are learnt from."""

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from fewlabels._util.messages import UserError, as_arguments
from fewlabels.tables.columns.features import infer_schema, select_table_features
from fewlabels.tables.columns.tally import Tally
from fewlabels.tables.columns.target import (
    choose_all_rows,
    choose_normal_rows,
    choose_positive_rows,
)
from fewlabels.tables.columns.values import table_columns
from fewlabels.tables.encoding.fit import fit_encoder
from fewlabels.tables.reading.options import ColumnOptions
from fewlabels.tables.reading.training import read_training


def _normal_rows(path, normal=None, missing="refuse", **options):
    """What a machine of one class learns from."""
    file = read_training(path, ColumnOptions(**options))
    if file.labels is None:
        return file.choose(choose_all_rows(file.n_rows), missing)
    return file.choose(choose_normal_rows(file.labels, normal), missing)


def _schema(**columns):
    table = pa.table(columns)
    rows = np.arange(1, table.num_rows + 1)
    return infer_schema(table_columns(table), "f", rows, {}), table, rows


def test_kinds():
    schema, _, _ = _schema(
        number=["1", "2.5", ""], text=["a", "b", "b"], flag=[True, False, None], typed=[1, 2, 3]
    )
    kinds = {column.name: column.kind for column in schema.columns}
    assert kinds == {
        "number": "number",
        "text": "category",
        "flag": "boolean",
        "typed": "number",
    }


@pytest.mark.parametrize(
    ("cells", "message"),
    [
        (["1", "2", "x", "3"], "mixes numbers and text: 3 numbers, but row 3 has 'x'"),
        (["1", "2", "1,500 €", "3"], r"correct the cells \(numbers with units are read where all"),
        ([f"n{i}" for i in range(60)], "60 different texts in 60 rows"),
        ([f"{i:04d}" for i in range(60)], "60 different texts in 60 rows"),
        (["", "NA"], "is blank"),
        (pa.nulls(2), "is blank"),
        (pa.array([1, 2], pa.date32()), r"holds date32.* values"),
    ],
)
def test_columns_of_no_kind(cells, message):
    with pytest.raises(UserError, match=message):
        _schema(a=cells)


def test_order_and_other_columns_do_not_matter():
    schema, table, rows = _schema(a=["1", "2"], b=["x", "y"], c=["3", "4"])
    other = table.select(["c", "b", "a"]).append_column("d", pa.array(["?", "?"]))
    frames = [
        select_table_features(table_columns(t), schema, tally=Tally("f"), row_numbers=rows)[0]
        for t in (table, other)
    ]
    pd.testing.assert_frame_equal(*frames)
    assert list(frames[0].columns) == ["a", "b", "c"]


def test_encoder_scales_numbers_and_ignores_unknown_categories():
    schema, table, rows = _schema(a=["1", "3"], b=["x", "y"])
    columns = table_columns(table)
    frame, *_ = select_table_features(columns, schema, tally=Tally("f"), row_numbers=rows)
    encoder, X, schema = fit_encoder(schema, frame, "f")
    np.testing.assert_allclose(X, [[-1, 1, 0], [1, 0, 1]])
    assert schema.columns[1].categories == 2
    new = pd.DataFrame({"a": [2.0], "b": ["z"]})
    np.testing.assert_allclose(encoder.transform(new), [[0, 0, 0]])


def test_missing_numbers_are_counted_or_skipped(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("a,b,c\n1,2,x\n,NA,y\n3,4,x\n5,,x\n")
    with pytest.raises(UserError, match=r"3 values in 2 columns .* \('a': 1, 'b': 2; .* row 2\)"):
        _normal_rows(path)
    found = _normal_rows(path, missing="skip")
    assert found.rows["a"].tolist() == [1, 3]
    assert found.notes == ["2 rows with missing numbers not used"]


def test_row_numbers_are_those_of_the_file(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("a,t\n1,bad\n2,good\ninf,good\n3,good\n")
    with pytest.raises(UserError, match=r"infinite or too large .'a': 1; first in row 3"):
        _normal_rows(path, "good", target="t")


def test_drop_categorical_and_row_counters(tmp_path):
    path = tmp_path / "t.csv"
    pd.DataFrame({"id": range(20), "a": [1, 2] * 10, "b": [1.0, 5.0] * 10}).to_csv(
        path, index=False
    )
    found = _normal_rows(path, categorical=["a"])
    assert found.schema.names() == ["a", "b"]
    assert found.schema.names("category") == ["a"]
    left = "column left out: 'id' (counts the rows); keep=[COLUMN] keeps one"
    assert [*map(as_arguments, found.notes)] == [left]
    assert _normal_rows(path, keep=["id"]).schema.names() == ["id", "a", "b"]
    assert _normal_rows(path, drop=["id"]).schema.names() == ["a", "b"]
    with pytest.raises(UserError, match="no column 'x'; it has 'id', 'a', 'b'"):
        read_training(path, ColumnOptions(drop=["x"]))


def test_nameless_column(tmp_path):
    path = tmp_path / "t.csv"
    pd.DataFrame({"a": [1, 2, 3]}).to_csv(path)
    found = _normal_rows(path)
    assert found.schema.names() == ["a"]
    assert "'' (no name; row numbers that pandas wrote?)" in found.notes[0]
    with pytest.raises(UserError, match="has no name"):
        _normal_rows(path, keep=[""])
    assert _normal_rows(path, drop=[""]).notes == []


@pytest.mark.parametrize("labels", [np.array([1, 0, 1]), np.array(["1", "0", "1"])])
def test_npz_target(tmp_path, labels):
    path = tmp_path / "t.npz"
    np.savez(path, X=np.arange(6.0).reshape(3, 2), y=labels)
    found = _normal_rows(path, "1", target="y")
    np.testing.assert_array_equal(found.rows, [[0, 1], [4, 5]])
    assert "not used" in _normal_rows(path).notes[0]
    with pytest.raises(UserError, match="no target 'z'"):
        read_training(path, ColumnOptions(target="z"))


def test_labels_stay_with_their_rows(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("a,t\n1,x\n,x\n3,\n4,x\n,\n6,\n")
    file = read_training(path, ColumnOptions(target="t"))
    roles = choose_positive_rows(file.labels)
    with pytest.raises(UserError, match="2 values in 1 column"):
        file.choose(roles, "refuse")
    found = file.choose(roles, missing="skip")
    assert found.rows["a"].tolist() == [1, 3, 4, 6]
    assert found.y.tolist() == [1, 0, 1, 0]
    assert found.notes == ["2 rows with missing numbers not used"]


@pytest.mark.parametrize(
    ("text", "what"), [("1,x\n2,x\n,\n", "unlabelled"), (",x\n2,\n3,\n", "positive")]
)
def test_missing_numbers_may_leave_one_kind_of_rows(tmp_path, text, what):
    path = tmp_path / "t.csv"
    path.write_text("a,t\n" + text)
    file = read_training(path, ColumnOptions(target="t"))
    with pytest.raises(UserError, match=f"No row .* missing numbers is {what}; fill in the"):
        file.choose(choose_positive_rows(file.labels), missing="skip")
