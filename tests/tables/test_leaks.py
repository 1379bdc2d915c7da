"""Columns that came with the labels are left out, and columns that follow the class stay."""

import json

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from fewlabels import TableEncoder, fit_table
from fewlabels.labelling.rows import SessionRows
from fewlabels.pipeline.priors import prior
from fewlabels.tables.columns.leaks import LabelledRows, find_matrix_leaks
from fewlabels.tables.columns.target import (
    choose_class_rows,
    choose_normal_rows,
    choose_positive_rows,
)
from fewlabels.tables.columns.values import ColumnValues
from fewlabels.tables.reading.options import ColumnOptions
from fewlabels.tables.reading.training import read_training
from fewlabels.tables.user_data import make_source

N, LABELS = 600, 24
WHY = "seems to come with the label"


def classes(rng):
    return np.arange(N) % 2, rng.permutation(N) < LABELS


def codes(side, known, task):
    """Labels of the classes, or of one of them."""
    if task == "positives":
        return np.where(known & (side == 1), 0, -1)
    if task == "anomalies":  # most labelled rows are of one class
        return np.where(known & ((side == 0) | (np.arange(N) < 60)), side, -1)
    return np.where(known, side, -1)


def why(cells, labels):
    return LabelledRows(labels).explain_leak(ColumnValues(pa.array(list(cells))))


def filled(known, values, mark):
    return np.where(known, np.asarray(values, object), mark)


LATE = {
    "blank": lambda rng, side, known: filled(known, rng.choice(["anna", "bob"], N), ""),
    "null": lambda rng, side, known: filled(known, rng.choice(["anna", "bob"], N), None),
    "placeholder": lambda rng, side, known: filled(
        known, np.array(["ok", "bad"])[side], "Pending "
    ),
    "number": lambda rng, side, known: np.where(known, rng.gamma(3, 9, N) + 1, 0.0),
    "missing number": lambda rng, side, known: np.where(known, rng.gamma(3, 9, N), np.nan),
    "two placeholders": lambda rng, side, known: np.where(
        known, rng.integers(1, 99, N).astype(str), rng.choice(["", "open"], N)
    ),
    "other values": lambda rng, side, known: np.where(
        known, rng.choice(["closed", "shut"], N), [f"queue {k}" for k in rng.integers(9, size=N)]
    ),
    "gone": lambda rng, side, known: np.where(
        known, "", [f"{k}" for k in rng.integers(9, size=N)]
    ),
    "stray": lambda rng, side, known: filled(known & (np.arange(N) % 15 > 0), "x", ""),
}


@pytest.mark.parametrize("task", ["classes", "positives", "anomalies"])
@pytest.mark.parametrize("kind", LATE)
def test_columns_that_came_with_labels(kind, task, rng):
    side, known = classes(rng)
    labels = codes(side, known, task)
    assert why(LATE[kind](rng, side, labels >= 0), labels)


def test_a_column_of_one_class_alone(rng):
    """A fraud code: rows of the other class are blank as well."""
    side, known = classes(rng)
    cells = np.where(known & (side == 1), "F7", "")
    assert "rows of a class" in why(cells, codes(side, known, "classes"))
    # Unlabelled rows of the class have it, too.
    assert not why(np.where(side == 1, "F7", ""), codes(side, known, "classes"))


@pytest.mark.parametrize("share", [0.0, 0.4, 0.9])
def test_partly_blank(share, rng):
    """Few blanks say little, and beside positives any share of them may be that of negatives."""
    side, known = np.arange(N) % 2, rng.permutation(N) < 60
    cells = np.where(known | (rng.random(N) > share), rng.integers(9, size=N).astype(str), "")
    assert bool(why(cells, codes(side, known, "classes"))) is (share == 0.9)
    assert not why(cells, codes(side, known, "positives")) or share == 0.9
    cells = np.where(known | (rng.random(N) > 0.6), "x", "y")  # values are no blanks
    assert not why(cells, codes(side, known, "classes"))


STAYS = {
    "follows the class": lambda rng, side: np.where(side == 1, "yes", ""),
    "rare": lambda rng, side: np.where(rng.random(N) < 0.02, "rare", "usual"),
    "rare in one class": lambda rng, side: np.where((rng.random(N) < 0.1) & (side == 1), 1.0, 0.0),
    "blank at random": lambda rng, side: np.where(rng.random(N) < 0.9, "", "x"),
    "blank by class": lambda rng, side: np.where(rng.random(N) < 0.05 + 0.9 * side, "", "x"),
    "measured": lambda rng, side: rng.normal(size=N) + 3.0 * side,
    "categories": lambda rng, side: [f"k{k}" for k in rng.integers(40, size=N) + 40 * side],
    "constant": lambda rng, side: np.full(N, "x"),
    "blank": lambda rng, side: np.full(N, ""),
}


@pytest.mark.parametrize("kind", STAYS)
def test_columns_that_follow_the_class_stay(kind, rng):
    for _ in range(5):
        side, known = classes(rng)
        cells = STAYS[kind](rng, side)
        for task in ("classes", "positives", "anomalies"):
            assert not why(cells, codes(side, known, task))
        few = np.zeros(N, bool)  # as many of either class, one of which is rare
        few[np.flatnonzero(side == 1)[:LABELS]] = few[np.flatnonzero(side == 0)[:8]] = True
        assert not why(cells, codes(side, few, "classes"))


def test_a_rare_class_that_is_labelled_completely(rng):
    """Ten anomalies far from all other rows, and every one of them has a label."""
    side = (np.arange(N) < 10).astype(int)
    labels = np.where((side == 1) | (np.arange(N) > N - 20), side, -1)
    cells = np.where(side == 1, rng.integers(90, 92, N), rng.integers(0, 20, N)).astype(float)
    assert not why(cells, labels)
    assert not why(cells, np.where(side == 1, 0, -1))


def test_without_rows_to_compare(rng):
    side, known = classes(rng)
    for labels in (np.full(N, -1), side):
        assert not why(np.where(known, "x", ""), labels)


def late_table(rng, task="classes"):
    side, known = classes(rng)
    labels = codes(side, known, task)
    frame = pd.DataFrame(rng.normal(size=(N, 3)) + side[:, None], columns=["a", "b", "c"])
    frame["reviewer"] = np.where(labels >= 0, rng.choice(["anna", "bob"], N), "")
    names = np.array(["good", "bad", ""]) if task != "positives" else np.array(["bad", ""])
    frame["class"] = names[labels]
    return frame


def blamed(notes):
    return [note for note in notes if "'reviewer'" in note and WHY in note]


def test_every_command_leaves_them_out(rng):
    frame = late_table(rng)
    fit = fit_table(frame, "class", time_budget=0, report=False)
    assert blamed(fit.notes)
    column = fit.profile.set_index("name").loc["reviewer"]
    assert column["kind"] == "left out" and WHY in column["note"]
    assert len(fit.predict(frame[["a", "b", "c"]])) == N  # which need not be there
    kept = fit_table(frame, "class", time_budget=0, report=False, keep="reviewer")
    assert not blamed(kept.notes) and "reviewer" in {c.name for c in kept.schema.columns}
    rows = SessionRows(make_source(frame), "class", "0")
    assert blamed(rows.notes) and "reviewer" not in rows.columns
    encoder = TableEncoder().fit(frame.drop(columns="class"), frame["class"].to_numpy())
    assert blamed(encoder.notes_)
    assert not blamed(TableEncoder().fit(frame.drop(columns="class")).notes_)
    estimated = prior(late_table(rng, "positives"), "class", method="dedpul")
    assert blamed(estimated["notes"])


@pytest.mark.parametrize("asked", ["categorical", "text"])
def test_a_kind_keeps_no_column(asked, rng):
    """To say what a column holds is not to say that it is known in time."""
    options = ColumnOptions(target="class", **{asked: ["reviewer"]})
    file = read_training(make_source(late_table(rng)), options)
    assert blamed(file.choose(choose_class_rows(file.labels)).notes)


def test_dates(rng):
    frame = late_table(rng).drop(columns="reviewer")
    day = pd.Timestamp("2026-01-05") + pd.to_timedelta(rng.integers(0, 300, N), unit="D")
    frame["closed"] = np.where(frame["class"] != "", day.strftime("%Y-%m-%d"), "")

    def used(**options):
        columns = ColumnOptions(target="class", dates=["closed"], **options)
        file = read_training(make_source(frame), columns)
        return [c.name for c in file.choose(choose_class_rows(file.labels)).schema.columns]

    assert used() == ["a", "b", "c"]
    assert used(keep=["closed"]) == ["a", "b", "c", *(f"closed: {part}" for part in PARTS)]


PARTS = ("days", "weekday", "month", "hour")


def test_rows_of_one_class(rng):
    """Only labelled normal rows are learned from, and the reviewer is known for these alone."""
    frame = late_table(rng, "anomalies")
    frame["reviewer"] = np.where(frame["class"] == "good", frame["reviewer"], "")
    file = read_training(make_source(frame), ColumnOptions(target="class"))
    assert blamed(file.choose(choose_normal_rows(file.labels, "good")).notes)


def test_a_value_that_marks_unlabelled_rows(rng):
    frame = late_table(rng, "positives")
    frame["class"] = frame["class"].replace("", "unknown")
    file = read_training(make_source(frame), ColumnOptions(target="class"))
    assert blamed(file.choose(choose_positive_rows(file.labels, "bad")).notes)


def test_a_matrix_reports_them(rng, tmp_path):
    side, known = classes(rng)
    labels = codes(side, known, "classes")
    X = np.c_[rng.normal(size=(N, 2)), np.where(known, rng.gamma(3, 9, N), 0.0)]
    assert list(find_matrix_leaks(X, labels)) == [2]
    np.savez(tmp_path / "m.npz", X=X, y=labels.astype(float))
    file = read_training(tmp_path / "m.npz", ColumnOptions(target="y", unlabeled="-1"))
    (note,) = (n for n in file.choose(choose_class_rows(file.labels)).notes if WHY in n)
    assert note.startswith("column 2 of the matrix")


def test_the_command_line_says_so(rng, tmp_path):
    runner = pytest.importorskip("typer.testing").CliRunner()
    from fewlabels.cli import app

    late_table(rng)[: N // 2].to_csv(tmp_path / "t.csv", index=False)
    usual = ["fit", str(tmp_path / "t.csv"), "--target", "class", "--time-budget", "0"]
    usual += ["--no-report", "--json", "-o", str(tmp_path / "m")]
    for more, is_kept in (([], False), (["--keep", "reviewer"], True)):
        result = runner.invoke(app, [*usual, *more])
        assert result.exit_code == 0, result.output
        facts = json.loads(result.stdout)
        assert bool(blamed(facts["training"]["notes"])) is not is_kept
        names = [column["name"] for column in facts["schema"]["columns"]]
        assert ("reviewer" in names) is is_kept
        (tmp_path / "m").unlink()
