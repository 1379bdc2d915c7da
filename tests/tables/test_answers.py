"""The file of answers, the keys of rows, and labels as a column of their table."""

import sqlite3
from contextlib import closing

import pandas as pd
import pyarrow as pa
import pytest

from fewlabels._util.messages import UserError
from fewlabels.tables.answers.file import (
    AnswerEntry,
    AnswerFile,
    find_undoable_answer,
    read_answers,
)
from fewlabels.tables.answers.row_keys import LabelColumn, RowKeys, fingerprint

ABOUT = {"target": "kind", "classes": ["a", "b"], "seed": "1", "data": "t.csv"}


@pytest.fixture
def path(tmp_path):
    return tmp_path / "t.csv.labels"


def answer(number, label="a", kind="label", who="me", key="k", **more):
    return AnswerEntry(f"id{number}", who, kind, key, 0, label, **more)


def test_what_is_written_is_read(path):
    file = AnswerFile(path, ABOUT)
    first = file.add(answer(1))
    again = file.add(answer(1, label="b"))
    second = file.add(answer(2, None, "unknown", "you", "l", asked="why"))
    assert again == first and first.number == 1 and second.number == 2
    file.close()
    found = read_answers(path)
    assert found.about == ABOUT and found.answers == [first, second]
    assert found.labels() == {"k": "a"}


def test_an_undo_takes_back_and_keeps_history(path):
    file = AnswerFile(path, ABOUT)
    file.add(answer(1))
    second = file.add(answer(2, "b"))
    assert (
        find_undoable_answer(file.standing(), "me") == second
        and find_undoable_answer(file.standing(), "you") is None
    )
    file.add(answer(3, None, "undo", undoes=second.number))
    assert file.labels() == {"k": "a"} and len(file.answers) == 3
    with pytest.raises(sqlite3.IntegrityError):  # nothing is taken back twice
        file.add(answer(4, None, "undo", undoes=second.number))
    file.close()


def test_a_full_disk_keeps_what_is_there(path):
    file = AnswerFile(path, ABOUT)
    file.add(answer(1))
    (pages,) = file._db.execute("PRAGMA page_count").fetchone()
    file._db.execute(f"PRAGMA max_page_count = {pages}")
    with pytest.raises(OSError, match="could not be written"):
        for number in range(2, 400):
            file.add(answer(number, key="k" * 500))
    kept = len(file.answers)
    file._db.execute("PRAGMA max_page_count = 100000")
    file.add(answer(1000))
    file.close()
    assert len(read_answers(path).answers) == kept + 1


def test_one_server_at_a_time(path):
    file = AnswerFile(path, ABOUT)
    with pytest.raises(UserError, match="already open in another"):
        AnswerFile(path, ABOUT)
    assert read_answers(path).about == ABOUT  # reading goes on
    file.close()
    AnswerFile(path, ABOUT).close()
    assert [p.name for p in path.parent.iterdir()] == [path.name]


def test_what_is_no_file_of_labels_is_refused(path):
    with pytest.raises(UserError, match="doesn't exist"):
        read_answers(path)
    path.write_text("what else\n" * 100)
    with pytest.raises(UserError, match="not a label file"):
        AnswerFile(path, ABOUT)
    assert path.read_text().startswith("what else")
    path.unlink()
    with closing(sqlite3.connect(path)) as other:
        other.execute("CREATE TABLE shop (x)")
    with pytest.raises(UserError, match="not a label file"):
        AnswerFile(path, ABOUT)
    path.unlink()
    AnswerFile(path, ABOUT).close()
    for number, advice in ((9, "update fewlabels"), (0, "pass another one"), (-1, "pass another")):
        with closing(sqlite3.connect(path)) as other:
            other.execute(f"PRAGMA user_version = {number}")
        said = rf"format {number}, .* reads format 1 only; {advice}"
        for about in (ABOUT, None):
            with pytest.raises(UserError, match=said):
                AnswerFile(path, about)


def test_rows_are_known_by_their_cells():
    table = pa.table({"x": ["1", "2", "1", None], "y": ["a", "b", "a", ""], "kind": list("abcd")})
    keys = RowKeys("kind").make_keys(table)
    assert len(set(keys)) == 4 and keys[2] == f"{keys[0]}:2"
    turned = table.select(["y", "kind", "x"]).take([3, 1, 0, 2])
    assert RowKeys("kind").make_keys(turned) == [keys[3], keys[1], keys[0], keys[2]]
    assert fingerprint(keys) == fingerprint(keys[::-1]) != fingerprint(keys[1:])
    pieces = RowKeys("kind")
    assert pieces.make_keys(table[:2]) + pieces.make_keys(table[2:]) == keys
    assert RowKeys().make_keys(table) != keys


def test_labels_come_as_a_column(path):
    table = pa.table({"x": ["1", "2", "3"]})
    keys = RowKeys("kind").make_keys(table)
    file = AnswerFile(path, ABOUT)
    file.add(answer(1, "b", key=keys[2]))
    file.close()
    column = LabelColumn(path, "t.csv")
    assert column.add(table).to_pydict()["kind"] == [None, None, "b"]
    column.check()
    held = table.append_column("kind", pa.array(["a", "", "a"]))
    assert LabelColumn(path, "t.csv").add(held).to_pydict()["kind"] == ["a", None, "b"]
    other = LabelColumn(path, "t.csv")
    other.add(pa.table({"x": ["7"]}))
    with pytest.raises(UserError, match="No label of"):
        other.check()


def test_fit_reads_them(path, tmp_path):
    from fewlabels import fit_table

    frame = pd.DataFrame({"x": [k / 7 for k in range(40)], "y": [k % 5 / 3 for k in range(40)]})
    frame.to_csv(tmp_path / "t.csv", index=False)
    keys = RowKeys("kind").make_keys(pa.table({n: frame[n].astype(str) for n in frame}))
    file = AnswerFile(path, ABOUT)
    for row in (0, 3, 30, 35):
        file.add(answer(row, "ab"[row > 20], key=keys[row]))
    file.close()
    found = fit_table(tmp_path / "t.csv", labels=path, time_budget=0, report=False)
    assert found.choice.method == "s3vm" and found.metadata["training"]["target"] == "kind"
    assert list(found.predict(frame)["label"][[1, 38]]) == ["a", "b"]
    with pytest.raises(UserError, match="omit target"):
        fit_table(tmp_path / "t.csv", "x", labels=path)


@pytest.mark.parametrize(
    "statement",
    [
        "CREATE VIEW answers AS WITH RECURSIVE q(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM q) "
        "SELECT x AS number FROM q",
        "CREATE TRIGGER t AFTER INSERT ON about BEGIN SELECT 1; END",
    ],
)
def test_a_file_with_programs_is_refused(tmp_path, statement):
    path = tmp_path / "t.labels"
    AnswerFile(path, {"target": "label", "classes": [], "seed": "x"}).close()
    with sqlite3.connect(path) as other:
        if "VIEW" in statement:
            other.execute("DROP TABLE answers")
        other.execute(statement)
    other.close()
    with pytest.raises(UserError, match="is not a label file; pass another one as labels"):
        read_answers(path)


def test_what_is_refused_is_closed(path, tmp_path, monkeypatch):
    # Python 3.13 warns of what is left open, and Windows can't remove it.
    from fewlabels.labelling import session
    from fewlabels.pipeline.watching.state import State

    def refusing(*args, **kwargs):
        raise UserError("no.")

    kept, connect = [], sqlite3.connect

    def recorded(*args, **kwargs):
        kept.append(connect(*args, **kwargs))
        return kept[-1]

    pd.DataFrame({"x": [1.0, 2.0, 3.0], "kind": ["a", "b", ""]}).to_csv(tmp_path / "t.csv")
    AnswerFile(path, ABOUT).close()
    text, newer = tmp_path / "text.labels", tmp_path / "newer.db"
    text.write_text("what else\n" * 100)
    with closing(State(newer)) as state:
        state.store("format", 99)
    (tmp_path / "lock.labels.lock").write_text("what else\n" * 100)
    monkeypatch.setattr(sqlite3, "connect", recorded)
    monkeypatch.setattr(session, "Learner", refusing)
    for attempt in (
        lambda: AnswerFile(text, ABOUT),
        lambda: read_answers(text),
        lambda: AnswerFile(tmp_path / "lock.labels", ABOUT),
        lambda: State(text),
        lambda: State(newer),
        lambda: session.Session(tmp_path / "t.csv", labels=path),
    ):
        kept.clear()
        with pytest.raises(UserError):
            attempt()
        assert kept
        for connection in kept:
            with pytest.raises(sqlite3.ProgrammingError, match="closed database"):
                connection.execute("SELECT 1")
