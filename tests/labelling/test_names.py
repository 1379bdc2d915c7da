"""Names of classes: those that a fit would lose or refuse are refused where they are given."""

import json
import sqlite3
import unicodedata
from contextlib import closing

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from fewlabels import fit_table
from fewlabels._util.messages import UserError
from fewlabels.cli import app
from fewlabels.data.labels.blanks import MISSING
from fewlabels.labelling.session import Session
from fewlabels.tables.reading.options import ColumnOptions
from fewlabels.tables.reading.training import read_training
from fewlabels.tables.user_data import make_source

BLANKS = [*MISSING, " ", " NA ", "+nan", "nAn"]
ALIKE = [
    ("good", "GOOD"), ("good", "Good"), ("x y", "x  y"), ("Straße", "STRASSE"), ("K", "\u212a"),
    ("café", unicodedata.normalize("NFD", "café")), ("good", "ｇｏｏｄ"), ("1", "1.0"),
    ("1", "１"), ("007", "7"), ("inf", "Infinity"), ("True", "tRUE"), ("ﬁn", "fin"),
]  # fmt: skip


def read(path, n):
    """Labels by row as a fit reads them from the answers next to a table."""
    labels = read_training(
        make_source(path, labels=f"{path}.labels"), ColumnOptions(target="label", merge_case=False)
    ).labels
    names = np.array([*labels.names, ""], dtype=object)[labels.index]
    assert len(names) == n
    return {row: name for row, name in enumerate(names) if name}


def answer(session, names, each=3):
    """Label the first rows, with every name in turn."""
    for row in range(each * len(names)):
        name = names[row % len(names)]
        session.answer(id=f"{row}", annotator="me", row=row, kind="label", label=name)


@pytest.mark.parametrize("name", BLANKS)
def test_a_name_that_reads_as_a_blank_is_refused(table, name):
    with pytest.raises(UserError, match=r"blank cell; choose|not a valid class name"):
        Session(table[0], classes=["ham", name])
    assert not table[0].with_name("t.csv.labels").exists()
    if not name.strip():
        return
    found = CliRunner().invoke(app, ["label", str(table[0]), "--classes", f"ham,{name}"])
    assert found.exit_code == 2 and "blank cell; choose" in " ".join(found.stderr.split())


@pytest.fixture
def page(table):
    """A session over three rows of numbers, which takes little time."""
    path = table[0].with_name("few.csv")
    pd.DataFrame({"a": np.arange(40.0) % 7, "b": np.arange(40.0) % 3}).to_csv(path, index=False)
    session = Session(path, classes=["ham"], kernel="linear")
    yield session
    session.close()


def test_the_page_refuses_such_names(page):
    for name in BLANKS:
        with pytest.raises(UserError, match=r"blank cell|not a valid class name"):
            page.add_class(name)
        with pytest.raises(UserError, match=r"is not one of the classes"):
            page.answer(id="1", annotator="me", row=0, kind="label", label=name)
    for one, other in ALIKE:
        page.add_class(one)
        page.add_class(one)
        with pytest.raises(UserError, match="use one spelling"):
            page.add_class(other)
    with pytest.raises(UserError, match="'NOT HAM' and the class 'not ham'"):
        page.add_class("NOT HAM")


@pytest.mark.parametrize(("one", "other"), ALIKE)
def test_names_that_are_nearly_one_are_refused(table, one, other):
    with pytest.raises(UserError, match="use one spelling"):
        Session(table[0], classes=[one, other])
    path = table[0].with_name("known.csv")
    pd.DataFrame({"a": range(6), "label": [one, other, "", "", "", ""]}).to_csv(path, index=False)
    known = path.with_name("one.csv")
    pd.DataFrame({"a": range(6), "label": [other, *[""] * 5]}).to_csv(known, index=False)
    with pytest.raises(UserError, match="use one spelling"):
        Session(known, classes=[one])
    assert not known.with_name("one.csv.labels").exists()
    if one == "1" or one in ("007", "inf"):
        return  # one value, which the column may spell in two ways
    with pytest.raises(UserError, match=r"can't be labelled further: .* use one spelling"):
        Session(path)
    with pytest.raises(UserError, match="differ only in case, spaces or Unicode form"):
        fit_table(path, target="label", time_budget=0)


def test_labels_of_the_column_are_those_that_a_fit_reads(tmp_path):
    cells = ["ham", "NA", "", "1.0", "1", " ham ", "nan", "None", "true", "?"]
    frame = pd.DataFrame({"a": np.arange(10.0), "label": cells})
    frame.to_csv(tmp_path / "t.csv", index=False)
    with closing(Session(tmp_path / "t.csv", classes=["spam"], kernel="linear")) as session:
        assert session.classes == ["spam", "1.0", "True", "ham"]
        assert session.labels == {0: "ham", 3: "1.0", 4: "1.0", 5: "ham", 8: "True"}
        source, options = make_source(tmp_path / "t.csv"), ColumnOptions(target="label")
        expected = read_training(source, options).labels
    named = np.array([*expected.names, ""], dtype=object)[expected.index]
    assert {row: name for row, name in enumerate(named) if name} == session.labels


def test_every_accepted_name_comes_back(page):
    names = [
        "a,b",
        "'",
        "x;y",
        "=1+1",
        "-",
        "true",
        "007",
        "inf",
        "yes",
        "日本",
        "cafe\u0301",
        "u",
    ]
    names += ['it\'s "so"', "1_0", "#", "\\n", "NAN1", "nil", "x" * 80]
    for name in names:
        page.add_class(name)
    answer(page, names, each=2)
    assert len(set(page.labels.values())) == len(names)
    path = page.rows.source.path
    page.close()
    assert read(path, 40) == page.labels
    again = Session(path, kernel="linear")
    with closing(again):
        assert again.labels == page.labels


def test_the_names_of_answers_are_those_of_predictions(table):
    names = ["true", "007"]
    with closing(Session(table[0], classes=names, kernel="linear")) as session:
        answer(session, names, each=6)
        labels = session.labels
    assert set(labels.values()) == {"True", "007"}
    fitted = fit_table(table[0], labels=f"{table[0]}.labels", time_budget=0)
    assert set(fitted.predict(table[0])["label"]) == {"True", "007"}
    assert fitted.model.classes_.tolist() == [0, 1]


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("NA", "2 labels of the class 'NA', which tables read as blanks"),
        ("nan", "read as blanks"),
        (" None", "read as blanks"),
        ("ham ", "read as labels of the class 'ham'"),
    ],
)
def test_answers_that_a_table_would_lose_are_refused_and_can_be_rescued(page, name, message):
    answer(page, ["ham", "not ham"], each=2)
    path = page.rows.source.path
    page.close()
    with sqlite3.connect(f"{path}.labels") as db:  # as another program might have
        db.execute("UPDATE answers SET label = ? WHERE label = 'not ham'", (name,))
        classes = json.dumps(["ham", name])
        db.execute("UPDATE about SET value = ? WHERE name = 'classes'", (classes,))
    db.close()
    with pytest.raises(UserError, match=message) as found:
        fit_table(path, labels=f"{path}.labels", time_budget=0)
    assert "--export" in str(found.value)
    saved = path.with_name("saved.csv")
    command = ["label", str(path), "--export", str(saved)]
    assert CliRunner().invoke(app, command).exit_code == 0
    cells = pd.read_csv(saved, keep_default_na=False)["label"].tolist()
    assert cells[:4] == ["ham", name, "ham", name] and set(cells[4:]) == {""}
    with closing(Session(path, kernel="linear")) as session:
        assert any("as blanks" in note for note in session.notes) == ("blank" in message)
        if "blank" in message:
            with pytest.raises(UserError, match="blank cell"):
                session.answer(id="9", annotator="me", row=9, kind="label", label=name)
