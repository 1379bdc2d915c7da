"""Files that are replaced while they are read: the answer is of one version, or is refused."""

import os
import shutil

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from typer.testing import CliRunner

from fewlabels import SVDD, fit_table, load, stored_rows
from fewlabels.cli import app
from fewlabels.io import sources
from fewlabels.io.answers.file import AnswerEntry, AnswerFile
from fewlabels.io.answers.rows import RowKeys
from fewlabels.io.models import files
from fewlabels.io.steady import FirstLook, identity_of, read_whole
from fewlabels.jobs import updating
from fewlabels.jobs.watching.state import State
from fewlabels.options.words import UserError
from fewlabels.rows import files as row_files


@pytest.fixture(scope="module")
def models(tmp_path_factory):
    """Two model files and a table that both take."""
    folder, rng = tmp_path_factory.mktemp("models"), np.random.default_rng(0)
    for name, n, shift in (("a", 40, 0.0), ("b", 50, 9.0)):
        rows = pd.DataFrame(rng.normal(size=(n, 2)) + shift, columns=["x", "y"])
        fit_table(rows, machine="svdd", rows=True, time_budget=0, n_jobs=1).save(folder / name)
    rows.head(5).to_csv(folder / "rows.csv", index=False)
    return folder


@pytest.fixture
def folder(models, tmp_path):
    for path in models.iterdir():
        shutil.copy(path, tmp_path / path.name)
    shutil.copy(tmp_path / "a", tmp_path / "it")
    return tmp_path


def replacing_once(monkeypatch, where, name, path, other):
    """Let a function replace a file by another when it has been called for the first time."""
    function, done = getattr(where, name), []

    def then(*args, **kwargs):
        found = function(*args, **kwargs)
        if not done:
            done.append(True)
            shutil.copy(other, f"{path}.new")
            os.replace(f"{path}.new", path)
        return found

    monkeypatch.setattr(where, name, then)
    return done


def seen(model):
    return model.metadata["training"]["rows"], model.model[-1].decision_function([[0.0, 0.0]])[0]


def run(*arguments):
    result = CliRunner().invoke(app, [str(argument) for argument in arguments])
    return result.exit_code, " ".join(result.stderr.replace("\u2502", " ").split())


@pytest.mark.parametrize("step", ["existing_file", "check_room", "_digest"])
def test_a_model_is_one_of_both(folder, monkeypatch, step):
    both = [seen(load(folder / name)) for name in "ab"]
    done = replacing_once(monkeypatch, files, step, folder / "it", folder / "b")
    assert seen(load(folder / "it")) in both
    assert done and seen(load(folder / "it")) == both[1]


def test_a_model_that_is_written_in_place_is_refused(folder, monkeypatch):
    def write(*_):
        content = (folder / "b").read_bytes()
        with open(folder / "it", "r+b") as file:
            file.write(content)
            file.truncate()

    monkeypatch.setattr(files, "check_room", write)
    with pytest.raises(UserError, match=r"was changed or replaced|is damaged"):
        files.read_header(folder / "it")
    monkeypatch.undo()
    assert files.read_header(folder / "it") == files.read_header(folder / "b")
    assert files.read_header(folder / "b")[1] == (folder / "b").stat().st_size


def test_bytes_are_of_one_version(tmp_path, monkeypatch):
    path = tmp_path / "it"
    path.write_bytes(b"abc")
    content, identity = read_whole(path)
    assert content == b"abc" and identity == identity_of(path)
    first = iter([identity, identity._replace(modified=1)])
    monkeypatch.setattr("fewlabels.io.steady.identity_of", lambda _: next(first))
    with pytest.raises(UserError, match="was changed or replaced while it was read"):
        read_whole(path)


def test_update_replaces_no_other_model(folder, monkeypatch):
    model, other = folder / "it", folder / "b"
    replacing_once(monkeypatch, updating, "describe", model, other)
    code, words = run("update", model, folder / "rows.csv")
    assert code == 2 and "changed" in words and words.endswith("run the command again.")
    assert model.read_bytes() == other.read_bytes()
    assert sorted(path.name for path in folder.iterdir()) == ["a", "b", "it", "rows.csv"]


def test_update_to_another_file_is_of_the_model_that_was_read(folder, monkeypatch):
    replacing_once(monkeypatch, updating, "describe", folder / "it", folder / "b")
    code, words = run("update", folder / "it", folder / "rows.csv", "-o", folder / "out")
    assert code == 0, words
    updated = load(folder / "out")
    assert updated.metadata["training"]["rows"] == updated.model[-1].shape_fit_[0] == 45


@pytest.mark.parametrize("name", ["it.csv", "it.jsonl", "it.parquet", "it.xlsx", "it.sqlite"])
def test_a_table_that_is_replaced_after_a_look_is_refused(folder, monkeypatch, name):
    rows, path, other = pd.read_csv(folder / "rows.csv"), folder / name, folder / f"other-{name}"
    for place, table in ((path, rows), (other, rows[["y", "x"]].tail(3))):
        if name.endswith("sqlite"):
            import sqlite3

            with sqlite3.connect(place) as base:
                table.to_sql("t", base, index=False)
            base.close()
        elif name.endswith("csv"):
            table.to_csv(place, index=False)
        elif name.endswith("jsonl"):
            table.to_json(place, orient="records", lines=True)
        elif name.endswith("xlsx"):
            pytest.importorskip("openpyxl")
            table.to_excel(place, index=False)
        else:
            table.to_parquet(place)
    done = replacing_once(monkeypatch, sources.Source, "_format", path, other)
    code, words = run("predict", folder / "a", path, "-o", folder / "out.csv")
    assert code == 2 and done and not (folder / "out.csv").exists()
    assert words == (
        f"Error: {path} was changed or replaced while it was read; run the command again when "
        "nothing writes to it."
    )


def test_header_and_numbers_of_a_matrix_are_of_one_file(tmp_path, monkeypatch):
    A, B = np.arange(12.0).reshape(6, 2), np.arange(100.0, 124.0).reshape(4, 6)
    np.save(tmp_path / "it.npy", A)
    np.save(tmp_path / "other.npy", B)
    done = replacing_once(
        monkeypatch, np.lib.format, "read_magic", tmp_path / "it.npy", tmp_path / "other.npy"
    )
    with stored_rows(tmp_path / "it.npy") as (X, _):
        np.testing.assert_array_equal(X, A)
        assert done and row_files.file_of(X) is None  # the name is another file's now
        SVDD().fit(X)
    with stored_rows(tmp_path / "it.npy") as (X, _):
        np.testing.assert_array_equal(X, B)
        assert row_files.file_of(X) is not None


def answers(path, target, label, rows):
    about = {"target": target, "classes": ["good", "bad"], "seed": "0" * 16, "data": "d"}
    file = AnswerFile(path, about)
    keys = RowKeys(target).of(pa.table({n: rows[n].astype(str) for n in rows}))
    for row in range(10):
        name = ["good", "bad"][row % 2] if label is None else label
        file.add(AnswerEntry(f"{row}", "me", "label", keys[row], row, name, at="now"))
    file.close()


def test_all_steps_of_a_fit_take_the_same_answers(tmp_path, monkeypatch, rng):
    from fewlabels.jobs.training import train

    rows = pd.DataFrame({"x": np.arange(30) % 2 * 4.0, "y": np.arange(30.0)})
    rows.to_csv(tmp_path / "d.csv", index=False)
    text = pd.read_csv(tmp_path / "d.csv", dtype=str)
    answers(tmp_path / "it", "kind", None, text)
    answers(tmp_path / "other", "sort", "good", text)
    done = replacing_once(monkeypatch, train, "source_of", tmp_path / "it", tmp_path / "other")
    code, words = run(
        "fit", tmp_path / "d.csv", "--labels", tmp_path / "it", "-o", tmp_path / "m",
        "--time-budget", 0, "--no-report", "--n-jobs", 1,
    )  # fmt: skip
    assert code == 0 and done, words
    training = load(tmp_path / "m").metadata["training"]
    assert training["target"] == "kind" and training["rows_labeled"] == {"bad": 5, "good": 5}


def test_a_state_that_another_program_changes_is_refused(tmp_path):
    path = tmp_path / "state"
    for _ in range(2):  # new, and found
        state = State(path)
        for value in range(2):
            with state:
                state.keep("x", value)
        state.close()
    shutil.copy(path, tmp_path / "copy")
    for change in (lambda: os.replace(tmp_path / "copy", path), lambda: os.utime(path, (1, 1))):
        state = State(path)
        change()
        with pytest.raises(UserError, match="changed or replaced by another program"), state:
            pass
        state.close()


def test_a_file_that_is_watched_may_grow(tmp_path):
    path = tmp_path / "it"
    path.write_text("a\n")
    look = FirstLook()
    look.grows = True
    look.check(path)
    path.write_text("a\nb\n")
    look.check(path)
    path.write_text("")
    with pytest.raises(UserError, match="was changed or replaced"):
        look.check(path)
