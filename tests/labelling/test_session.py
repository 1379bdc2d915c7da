"""What is answered is kept, learnt from exactly, and taken back exactly."""

import os
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.svm import SVC

from fewlabels import fit_table, querying
from fewlabels._util.messages import UserError, as_arguments
from fewlabels.cli.label import _count_labels
from fewlabels.labelling import query_options
from fewlabels.labelling import session as sessions
from fewlabels.labelling.learner import warm_up
from fewlabels.labelling.model_fit import ModelFit, make_fit_arguments, write_labels
from fewlabels.labelling.models import make_classifier
from fewlabels.labelling.overview import overview
from fewlabels.labelling.session import Session
from fewlabels.querying import Central, Random, Strategy, Uncertain
from fewlabels.tables.answers.file import read_answers
from fewlabels.tables.answers.row_keys import cells_as_text
from fewlabels.tables.reading.options import ColumnOptions

from .conftest import Person


def test_rows_of_every_cluster_come_first_and_random_ones_count_later(session, person):
    person.answer(20)
    spread = {Central.why, Central.why_without_model}
    assert {one.asked for one in session.current_answers} == spread
    person.answer(20)
    asked = [one.asked for one in session.current_answers[20:]]
    assert asked.count(Random.why) == 5 and asked.count(Uncertain.why) == 15
    # Labels that were there before count: nothing is spread twice.
    again = Session(session.rows.source.path, labels=session.file.path.with_suffix(".copy"))
    again.learner.codes[:20] = 0
    assert again.card("me")["why"] not in spread
    again.close()


def test_columns_are_marked_from_the_first_label_on_and_never_all(session, person):
    session.catch_up()
    assert session.learner.decisions is not None  # there is a model, of unlabelled rows
    assert session.make_card(0)["drivers"] == []
    person.answer(6)
    columns = {cell["name"] for cell in session.make_card(0)["cells"]}
    marked = set(session.make_card(0)["drivers"])
    assert marked and marked < columns


class Latest(Strategy):
    """The last row of the table, whatever a model says."""

    why = "it is the last row"

    def utilities(self, question):
        return np.arange(len(question.y), dtype=float)


def test_a_strategy_that_needs_no_model_gets_every_pick(table, monkeypatch):
    monkeypatch.setattr(querying, "Latest", Latest, raising=False)
    monkeypatch.setitem(
        query_options.QUERY_OPTIONS,
        "latest",
        query_options.QueryOption(query_options.use_only("Latest")),
    )
    session = Session(table[0], classes=["ham", "spam"], ask="latest")
    try:
        truth, kinds = table[1].copy(), set()
        truth[-8:-4] = "ham"  # the first four answers are of one class
        person = Person(session, truth)
        for expected in range(119, 107, -1):
            session.catch_up(leave_out=False)
            kinds.add(session.learner.kind)
            assert person.answer() == [expected]
        assert kinds == {"svdd", "pusvm", "s3vm"}
        assert {one.asked for one in session.current_answers} == {Latest.why}
    finally:
        session.close()


@pytest.mark.parametrize(("kernel", "alone"), [("trees", True), ("rbf", False)])
def test_rows_are_uncertain_by_the_labels_alone(table, kernel, alone):
    session = Session(table[0], classes=["ham", "spam"], kernel=kernel, ask="uncertain")
    try:
        Person(session, table[1]).answer(24)
        learner, X = session.learner, session.rows.X
        assert np.array_equal(learner.doubts, learner.decisions) == alone
        if not alone:
            known, gamma = learner.codes >= 0, learner.model.gamma_
            svc = SVC(C=1.0, gamma=gamma, tol=1e-6).fit(X[known], learner.codes[known])
            assert np.allclose(learner.doubts, svc.decision_function(X), atol=1e-2)
        row = session.card("me")["row"]
        margin = np.where(learner.codes < 0, np.abs(learner.doubts), np.inf)
        assert margin[row] == margin.min()
    finally:
        session.close()


def test_texts_are_drawn_at_random_first(tmp_path):
    words = np.random.default_rng(0).choice(
        [f"word{k}" for k in range(200)] + ["ball"] * 40, (60, 30)
    )
    frame = pd.DataFrame({"text": [" ".join(row) for row in words]})
    columns = ColumnOptions(text=["text"])
    labels = tmp_path / "x.labels"
    session = Session(frame, labels=labels, classes=["a", "b"], columns=columns)
    try:
        assert session.learner.kernel == "linear"
        truth = np.where(np.sum(words == "ball", axis=1) > 4, "a", "b")
        Person(session, truth).answer(10)
        assert {one.asked for one in session.current_answers} == {Random.why}
        assert len(session.random_rows) == 10
    finally:
        session.close()


def test_the_machine_follows_the_labels(session, person):
    session.catch_up()
    assert session.learner.kind == "svdd"
    person.answer()
    assert session.learner.kind == "pusvm"
    person.answer(30)
    learner = session.learner
    assert learner.kind == "s3vm" and session.n_labels == 31
    assert np.mean(learner.predictions == (person.truth == "spam")) > 0.95
    # What it stands on are the labels given, and the conditions of its minimum hold.
    held = learner.model.training_rows_.label
    assert np.array_equal(np.where(held == 0, -1, held > 0), learner.codes)
    assert learner.model.kkt_violation_ < 1e-6
    assert np.allclose(learner.decisions, learner.model.decision_function(session.rows.X))


def test_a_file_without_answers_takes_another_column(table, tmp_path):
    Session(table[0]).close()
    session = Session(table[0], target="town")
    assert session.target == "town" and set(session.classes) == {"x", "y"}
    assert (
        _count_labels(session) == "0 rows labelled on the page, and 120 rows in the column 'town'"
    )
    session.close()
    assert read_answers(f"{table[0]}.labels").about["target"] == "town"


def test_the_second_class_is_looked_for(session, person):
    """Once rows of every cluster have labels, and all of these are of one class."""
    person.truth = np.full(120, "ham")
    first = person.answer(20)[0]
    assert session.learner.kind == "pusvm"
    for _ in range(3):  # at most every fourth one is random
        card = session.card("me")
        if "least like the only class" in card["why"]:
            decisions = session.learner.decisions
            assert card["row"] == np.argmin(np.where(session.learner.codes < 0, decisions, np.inf))
            assert decisions[card["row"]] < decisions[first]
            return
        session.answer(id=f"s{card['row']}", annotator="me", row=card["row"], kind="skip")
    raise AssertionError("the other class was not looked for")


@pytest.mark.parametrize(
    "ask", ["typical", "diverse", "positives", "anomalies", "random", "uncertain"]
)
def test_every_way_of_asking(table, ask):
    session = Session(table[0], classes=["spam", "ham"], ask=ask)
    try:
        asked = []
        for number in range(10):
            card = session.card("me")
            asked.append(card["row"])
            label = str(table[1][card["row"]])
            session.answer(
                id=f"{number}", annotator="me", row=asked[-1], kind="label", label=label
            )
            session.catch_up(leave_out=False)
        assert len(set(asked)) == 10
        if ask == "positives":
            assert np.mean(table[1][asked[4:]] == "spam") > 0.6
    finally:
        session.close()


def test_anomalies_are_hunted_with_a_ball_in_which_confirmed_ones_count(table):
    session = Session(table[0], classes=["spam", "ham"], ask="anomalies")
    learner, answers = session.learner, []
    spam, ham = (np.flatnonzero(table[1] == label)[:20].tolist() for label in ("spam", "ham"))
    try:
        for row in [row for pair in zip(ham, spam, strict=True) for row in pair]:
            session.catch_up(leave_out=False)
            assert learner.kind == "svdd"
            held = np.flatnonzero(learner.model.training_rows_.label == -1)
            assert held.tolist() == sorted(set(answers) & set(spam))
            answers.append(row)
            label = str(table[1][row])
            session.answer(id=f"{row}", annotator="me", row=row, kind="label", label=label)
        session.catch_up(leave_out=False)
        assert learner.kind == "s3vm"  # twenty are known
    finally:
        session.close()


def test_a_poor_minimum_is_left(table, monkeypatch):
    """With these random rows the first fit splits the rows by town, and updates keep it there."""
    drawn = SimpleNamespace(token_hex=lambda n: f"{20 * 2654435761:016x}")
    monkeypatch.setattr(sessions, "secrets", drawn)
    test_every_way_of_asking(table, "positives")


def test_curves_go_back_with_an_undo(session, person):
    person.answer(10)
    person.undo()
    answers = [point["answers"] for point in session.curve]
    assert answers == sorted(set(answers)) and answers[-1] == 9


@pytest.mark.parametrize("steps", [1, 3, 7])
def test_undo_is_exact(session, person, steps):
    person.answer(24)
    before, labels = session.learner.decisions.copy(), dict(session.labels)
    fits = session.learner.n_fits
    rows = person.answer(steps, wrong=True)
    assert np.abs(session.learner.decisions - before).max() > 1e-3
    for row in reversed(rows):
        assert session._row_of_key[person.undo().row_key] == row
        assert session.card("me")["row"] == row  # it comes again
    assert session.labels == labels
    if session.learner.n_fits == fits:  # else the machine is what a fit of the labels gives
        assert np.abs(session.learner.decisions - before).max() < 1e-9
    else:
        assert session.learner.model.kkt_violation_ < 1e-6


def test_answers_after_an_undo_are_followed_from_where_it_leads(session, person, table):
    person.answer(24)
    learner = session.learner
    row = session.card("me")["row"]
    session.answer(id="wrong", annotator="me", row=row, kind="label", label="spam")
    session.undo(id="back", annotator="me")
    assert learner.is_busy
    session.answer(id="right", annotator="me", row=row, kind="label", label=str(table[1][row]))
    session.catch_up(leave_out=False)
    held = learner.model.training_rows_.label
    assert np.array_equal(np.where(held == 0, -1, held > 0), learner.codes)
    assert not learner.is_busy and learner.model.kkt_violation_ < 1e-6


def test_a_fit_that_saw_a_label_taken_back_is_dropped(session, person):
    person.answer(12)
    session.learner._due = "fit"
    plan, fits = session.learner.plan_heavy_work(), session.learner.n_fits
    session.undo(id="back", annotator="me")
    session.run(plan)
    assert session.learner.n_fits == fits and session.learner.is_busy
    session.catch_up(leave_out=False)
    assert session.learner.n_fits == fits + 1


def test_a_fit_that_is_overtaken_is_better_than_none(session, table):
    """Whoever answers faster than machines learn gets one all the same, and a better one after."""
    plan = session.learner.plan_heavy_work()
    session.answer(id="1", annotator="me", row=0, kind="label", label=str(table[1][0]))
    session.run(plan)
    assert session.learner.kind == "svdd" and session.learner.is_busy
    plan = session.learner.plan_heavy_work()
    session.answer(id="2", annotator="me", row=70, kind="label", label=str(table[1][70]))
    session.run(plan)
    assert session.learner.kind == "pusvm" and session.learner.is_busy
    plan = session.learner.plan_heavy_work()
    for number, row in ((3, 71), (4, 1)):
        session.answer(id=f"{number}", annotator="me", row=row, kind="label",
                       label=str(table[1][row]))  # fmt: skip
    session.undo(id="u", annotator="me")
    session.run(plan)
    held = session.learner.model.training_rows_.label
    assert np.array_equal(np.where(held == 0, -1, held > 0), session.learner.codes)
    assert session.card("me")["row"] == 1


def test_undo_back_to_nothing(session, person):
    person.answer(9)
    for _ in range(9):
        assert person.undo() is not None
    assert person.undo() is None
    assert session.labels == {} and session.learner.kind == "svdd"
    assert len(session.file.answers) == 18  # history stays


def test_what_is_answered_while_a_fit_runs_counts(session, person, table):
    person.answer(12)
    session.learner._due = "fit"
    plan = session.learner.plan_heavy_work()
    rows = []
    for k in range(3):
        row = session.card("me")["row"]
        session.answer(id=f"late{k}", annotator="me", row=row, kind="label", label=table[1][row])
        rows.append(row)
    session.run(plan)
    held = session.learner.model.training_rows_.label
    assert np.array_equal(np.where(held == 0, -1, held > 0), session.learner.codes)
    assert all(session.learner.codes[row] >= 0 for row in rows)


@pytest.mark.parametrize("kernel", ["trees", "rbf"])
def test_leaving_out_is_that_of_a_machine_without_the_row(table, kernel):
    session = Session(table[0], classes=["ham", "spam"], kernel=kernel)
    Person(session, table[1]).answer(30)
    session.learner._is_left_out_due = True
    session.catch_up()
    learner = session.learner
    assert set(learner.left_out_predictions) == set(np.flatnonzero(learner.codes >= 0).tolist())
    rows = learner._choose_left_out()
    for k in range(5):
        fold, codes = rows[k::5], learner.codes.copy()
        codes[fold] = -1
        machine = make_classifier(learner.kernel, np.array([0, 1]), learner._shares)
        kept = np.ones(len(codes), dtype=bool)
        kept[fold] = kernel == "trees"  # which takes its width from all rows
        machine.fit(session.rows.X[kept], codes[kept])
        decisions = machine.decision_function(session.rows.X[fold])
        assert np.allclose(
            decisions, [learner.left_out_predictions[row][1] for row in fold], atol=1e-6
        )
    session.close()


def test_the_error_is_no_flattery(session, person):
    """Labels of chance cannot be predicted, and the error has to say so."""
    rng = np.random.default_rng(0)
    person.truth = rng.choice(["ham", "spam"], 120)
    person.answer(60)
    session.learner._is_left_out_due = True
    session.catch_up()
    codes, found = session.learner.codes, session.learner.left_out_predictions
    wrong = np.mean([found[row][0] != codes[row] for row in found])
    assert 0.3 < wrong < 0.7


def test_random_rows_are_the_first_of_the_random_order(session, person):
    person.answer(60)
    sample = session.random_rows
    assert len(sample) >= 10
    assert sample == [row for row in session.rows.order if row in set(sample)]
    last = session.rows.order.tolist().index(sample[-1])
    assert sample == session.rows.order[: last + 1].tolist()


def test_it_goes_on_where_it_ended(session, person, table):
    person.answer(12)
    person.answer(1, kind="unknown")
    skipped = person.answer(1, kind="skip")
    person.undo()
    labels, sample, card = session.labels, session.random_rows, session.card("me")["row"]
    assert card == skipped[0]
    session.close()
    again = Session(table[0])
    try:
        assert again.classes == ["ham", "spam"] and again.labels == labels
        assert again.random_rows == sample
        again.catch_up()
        assert again.learner.kind == "s3vm"
    finally:
        again.close()


def test_rows_that_moved_are_found_again(session, person, table):
    path, _ = table
    rows = person.answer(10)
    session.close()
    frame = pd.read_csv(path, dtype=str)
    keys = {tuple(frame.iloc[row]): session.labels[row] for row in rows}
    frame.drop(rows[0]).sample(frac=1.0, random_state=0).to_csv(path, index=False)
    again = Session(path)
    try:
        now = pd.read_csv(path, dtype=str)
        assert {tuple(now.iloc[row]): label for row, label in again.labels.items()} == {
            key: label for key, label in keys.items() if key != tuple(frame.iloc[rows[0]])
        }
        assert any("1 of 10 labels" in note for note in again.notes)
        assert any("have changed" in note for note in again.notes)
    finally:
        again.close()


def test_two_people(session, people):
    ann, bob = people
    shown = [session.card("ann")["row"], session.card("bob")["row"]]
    assert shown[0] != shown[1]
    assert session.card("ann")["row"] == shown[0]  # a reload shows the same row
    both = [row for _ in range(10) for row in ann.answer() + bob.answer()]
    assert len(set(both)) == 20  # no row asked twice
    row = both[0]
    other = {"ham": "spam", "spam": "ham"}[session.labels[row]]
    session.answer(id="again", annotator="bob", row=row, kind="label", label=other)
    (one,) = overview(session)["differing"]
    assert one["row"] == row and one["labels"] == {"ann": ann.truth[row], "bob": other}
    assert session.labels[row] == other and len(read_answers(session.file.path).answers) == 21
    assert bob.undo().row == row and session.labels[row] == ann.truth[row]


def test_an_answer_sent_twice_counts_once(session):
    row = session.card("me")["row"]
    for _ in range(2):
        session.answer(id="x", annotator="me", row=row, kind="label", label="ham")
    assert session.n_labels == 1 and session.learner.n_answers == 1


def test_the_last_row(table):
    path, truth = table
    frame = pd.read_csv(path)
    frame["label"] = truth
    frame.loc[[3, 70], "label"] = None
    frame.to_csv(path, index=False)
    session = Session(path)
    try:
        assert session.classes == ["ham", "spam"] and len(session.labels) == 118
        assert {session.card("me")["row"], session.card("you")["row"]} == {3, 70}
        session.answer(id="1", annotator="me", row=3, kind="skip")
        session.answer(id="2", annotator="you", row=70, kind="unknown")
        assert session.card("you")["row"] == 3  # skipped, and nothing else is left
        session.answer(id="3", annotator="you", row=3, kind="label", label="ham")
        assert session.card("you") is None
    finally:
        session.close()


def test_one_class_gets_its_opposite(table):
    session = Session(table[0], classes=["fraud"])
    assert session.classes == ["fraud", "not fraud"]
    session.close()


def test_the_table_with_its_labels(session, person, tmp_path):
    person.answer(8)
    assert write_labels(session, tmp_path / "out.csv") == 8
    out = pd.read_csv(tmp_path / "out.csv")
    found = {row: label for row, label in enumerate(out["label"]) if isinstance(label, str)}
    assert found == session.labels and len(out) == 120
    with pytest.raises(UserError, match="is an input"):
        write_labels(session, session.rows.source.path)


def test_pictures_lie_below_the_data(session, tmp_path):
    (tmp_path / "in.png").write_bytes(b"x")
    (tmp_path.parent / "out.png").write_bytes(b"x")
    rows = session.rows
    assert rows.find_picture("in.png") == (tmp_path / "in.png").resolve()
    for text in ("../out.png", str(tmp_path.parent / "out.png"), "t.csv", "none.png", "a\0.png"):
        assert rows.find_picture(text) is None
    (tmp_path / "link.png").symlink_to(tmp_path.parent / "out.png")
    assert rows.find_picture("link.png") is None


def test_cells_of_a_card_are_those_of_their_columns(tmp_path):
    """Columns of one type are written together: each cell has to come out as it would alone."""
    frame = pd.DataFrame({
        "whole": [1, 2, 30], "text": ["a", "TRUE", "é"], "real": [0.5, 2.0, np.nan],
        "yes": [True, False, True], "kind": pd.Categorical(["u", "v", "u"]),
        "other kind": pd.Categorical(["x", "y", "z"]),
        "more": ["", None, "b"], "big": [1e20, 0, 1],
        "day": pd.to_datetime(["2020-01-01", "2021-02-03", None]),
    })  # fmt: skip
    frame.to_parquet(tmp_path / "t.parquet", row_group_size=2)
    session = Session(tmp_path / "t.parquet")
    table = session.rows.table
    for row in range(3):
        alone = {name: str(cells_as_text(table.column(name))[row]) for name in table.column_names}
        assert {c["name"]: c["text"] for c in session.rows.card(row)} == alone
    session.close()


def test_loading_the_code_beforehand_never_fails():
    warm_up(np.zeros((2, 1)), "rbf", np.array(["a"]))
    warm_up(np.zeros((9, 2)), "rbf", np.array(["a", "b"]))
    warm_up(sp.csr_array(np.eye(6)), "linear", np.array(list("abcdef")))


def test_a_table_of_pictures(tmp_path):
    """Numbers that describe pictures are learnt from, and are neither on cards nor exported."""
    rng, truth = np.random.default_rng(0), np.repeat([0, 1], 20)
    for k in range(40):
        (tmp_path / f"{k}.png").write_bytes(b"x")
    frame = pd.DataFrame({"picture": [f"{k}.png" for k in range(40)]})
    frame.to_csv(tmp_path / "p.csv", index=False)
    with pytest.raises(UserError, match="doesn't use the pictures in 'picture'; pass features"):
        Session(tmp_path / "p.csv")
    frame.assign(size=rng.normal(size=40)).to_csv(tmp_path / "q.csv", index=False)
    session = Session(tmp_path / "q.csv")
    assert any("pass features" in as_arguments(note) for note in session.notes)
    session.close()
    np.save(tmp_path / "e.npy", rng.normal(size=(40, 3)) + 5.0 * truth[:, None])
    given = {"features": tmp_path / "e.npy"}
    session = Session(tmp_path / "p.csv", classes=["a", "b"], reading=given)
    try:
        assert not any("features" in as_arguments(note) for note in session.notes)
        (cell,) = session.card("me")["cells"]
        assert cell["picture"] and session.rows.X.shape == (40, 3)
        for k in (0, 1, 30, 31):
            session.answer(id=f"{k}", annotator="me", row=k, kind="label", label="ab"[truth[k]])
        session.catch_up(leave_out=False)
        assert np.mean(session.learner.predictions == truth) > 0.9
        write_labels(session, tmp_path / "out.csv")
        assert pd.read_csv(tmp_path / "out.csv").columns.tolist() == ["picture", "label"]
    finally:
        session.close()
    found = fit_table(tmp_path / "p.csv", labels=tmp_path / "p.csv.labels", time_budget=0, **given)
    assert found.metadata["training"]["rows"] == 40


def test_a_fit_is_told_what_the_session_was(table, tmp_path):
    session = Session(
        table[0],
        columns=ColumnOptions(drop=["town"]),
        reading={"sep": ",", "header": True, "decimal": None},
    )
    assert make_fit_arguments(session, "m") == [
        "fit", str(table[0]), "--labels", f"{table[0]}.labels", "-o", "m", "--sep", ",",
        "--header", "--drop", "town",
    ]  # fmt: skip
    session.close()
    framed = Session(pd.read_csv(table[0]), labels=tmp_path / "f.labels")
    with pytest.raises(UserError, match="call fewlabels"):
        ModelFit(framed).start()
    framed.close()


def test_a_folder_that_cannot_be_written_to(table, monkeypatch):
    if os.path.isdir("/proc"):  # nobody can write there, not even an administrator
        with pytest.raises(UserError, match=r"can't be (written to|used).*labels"):
            Session(table[0], labels="/proc/t.labels")
    before = sorted(table[0].parent.iterdir())
    monkeypatch.setattr(os, "access", lambda path, mode: mode != os.W_OK)
    with pytest.raises(UserError, match=r"can't be written to .*as labels"):
        Session(table[0])
    assert sorted(table[0].parent.iterdir()) == before


def test_bad_input_is_refused(table, tmp_path):
    path, _ = table
    with pytest.raises(UserError, match="Unknown ask='best'"):
        Session(path, ask="best")
    with pytest.raises(UserError, match="is not a valid class name"):
        Session(path, classes=["x" * 200])
    with pytest.raises(UserError, match="does not exist; create it"):
        Session(path, labels=tmp_path / "none" / "x.labels")
    with pytest.raises(UserError, match="needs a file for its labels"):
        Session(pd.read_csv(path))
    (tmp_path / "none.csv").write_text("a,b\n")
    with pytest.raises(UserError, match="no rows"):
        Session(tmp_path / "none.csv")
    np.save(tmp_path / "m.npy", np.eye(4))
    with pytest.raises(UserError, match="matrix of numbers"):
        Session(tmp_path / "m.npy")
    labels = {"labels": tmp_path / "kind.labels"}
    session = Session(path, target="kind", classes=["ham"], **labels)
    session.answer(id="1", annotator="me", row=0, kind="label", label="ham")
    session.close()
    with pytest.raises(UserError, match="labels of the column 'kind'"):
        Session(path, target="other", **labels)
    session = Session(path)
    for bad in (
        dict(row=120), dict(row=-1), dict(row="1"), dict(row=True), dict(kind="undo"),
        dict(label="eggs"), dict(label=None), dict(kind="skip"), dict(id=""), dict(annotator=3),
    ):  # fmt: skip
        given = dict(id="1", annotator="me", row=1, kind="label", label="ham")
        with pytest.raises(UserError):
            session.answer(**{**given, **bad})
    assert session.file.answers == []
    session.close()
