"""Files that are replaced while they are read: the answer is of one version, or is refused."""

import os
import shutil

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
import scipy.sparse as sp
from sklearn.exceptions import NotFittedError
from typer.testing import CliRunner

from fewlabels import SVDD, fit_table, load, stored_rows
from fewlabels._util.messages import UserError
from fewlabels.cli import app
from fewlabels.pipeline import updating
from fewlabels.pipeline.watching.state import State
from fewlabels.rows import files as row_files
from fewlabels.tables import sources
from fewlabels.tables.answers.file import AnswerEntry, AnswerFile
from fewlabels.tables.answers.row_keys import RowKeys
from fewlabels.tables.file_identity import FirstLook, identity_of, read_whole
from fewlabels.tables.models import files


@pytest.fixture(scope="module")
def models(tmp_path_factory):
    """Two model files and a table that both take."""
    folder, rng = tmp_path_factory.mktemp("models"), np.random.default_rng(0)
    for name, n, shift in (("a", 40, 0.0), ("b", 50, 9.0)):
        rows = pd.DataFrame(rng.normal(size=(n, 2)) + shift, columns=["x", "y"])
        fit_table(rows, method="svdd", rows=True, time_budget=0, n_jobs=1).save(folder / name)
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
    machine = model.model[-1]
    score = machine.decision_function(np.zeros((1, machine.n_features_in_)))[0]
    return model.metadata["training"]["rows"], score


def run(*arguments):
    result = CliRunner().invoke(app, [str(argument) for argument in arguments])
    return result.exit_code, " ".join(result.stderr.replace("\u2502", " ").split())


@pytest.mark.parametrize("step", ["existing_file", "check_memory", "members_digest"])
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

    monkeypatch.setattr(files, "check_memory", write)
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
    monkeypatch.setattr("fewlabels.tables.file_identity.identity_of", lambda _: next(first))
    with pytest.raises(UserError, match="was changed or replaced while it was read"):
        read_whole(path)


def test_update_replaces_no_other_model(folder, monkeypatch):
    model, other = folder / "it", folder / "b"
    replacing_once(monkeypatch, updating, "describe_model", model, other)
    code, words = run("update", model, folder / "rows.csv")
    assert code == 2 and "changed" in words and words.endswith("run the command again.")
    assert model.read_bytes() == other.read_bytes()
    assert sorted(path.name for path in folder.iterdir()) == ["a", "b", "it", "rows.csv"]


def test_update_to_another_file_is_of_the_model_that_was_read(folder, monkeypatch):
    replacing_once(monkeypatch, updating, "describe_model", folder / "it", folder / "b")
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
    done = replacing_once(monkeypatch, sources.Source, "_find_format", path, other)
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
        assert done and row_files.find_row_file(X) is None  # the name is another file's now
        SVDD().fit(X)
    with stored_rows(tmp_path / "it.npy") as (X, _):
        np.testing.assert_array_equal(X, B)
        assert row_files.find_row_file(X) is not None


def answers(path, target, label, rows):
    about = {"target": target, "classes": ["good", "bad"], "seed": "0" * 16, "data": "d"}
    file = AnswerFile(path, about)
    keys = RowKeys(target).make_keys(pa.table({n: rows[n].astype(str) for n in rows}))
    for row in range(10):
        name = ["good", "bad"][row % 2] if label is None else label
        file.add(AnswerEntry(f"{row}", "me", "label", keys[row], row, name, at="now"))
    file.close()


def test_all_steps_of_a_fit_take_the_same_answers(tmp_path, monkeypatch, rng):
    from fewlabels.pipeline.training import fit

    rows = pd.DataFrame({"x": np.arange(30) % 2 * 4.0, "y": np.arange(30.0)})
    rows.to_csv(tmp_path / "d.csv", index=False)
    text = pd.read_csv(tmp_path / "d.csv", dtype=str)
    answers(tmp_path / "it", "kind", None, text)
    answers(tmp_path / "other", "sort", "good", text)
    done = replacing_once(monkeypatch, fit, "make_source", tmp_path / "it", tmp_path / "other")
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
                state.store("x", value)
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


# -- mapped files that are written in place -----------------------------------------------------


def write_in_place(path, rows):
    """Write other rows of the same shape into the same file, at another time by its clock."""
    before = os.stat(path)
    with open(path, "r+b") as file:
        np.save(file, rows)
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns + 1_000_000_000))
    assert identity_of(path).device_and_inode == (before.st_dev, before.st_ino)


@pytest.fixture
def versions(tmp_path, rng):
    """A file, and the rows that it has and that others write into it."""
    A, B = rng.normal(size=(60, 2)), rng.normal(size=(60, 2)) + 9.0
    np.save(tmp_path / "it.npy", A)
    return tmp_path / "it.npy", A, B


@pytest.mark.parametrize("fails", [False, True])
def test_stored_rows_that_are_written_in_place_are_refused(versions, fails):
    path, _, B = versions
    with pytest.raises(UserError, match="was changed or replaced while it was read"):
        with stored_rows(path) as (X, _):
            write_in_place(path, B)
            np.testing.assert_array_equal(X, B)  # which a model would learn from
            if fails:
                raise ValueError("rows that make no sense")
    with stored_rows(path) as (X, _):
        np.testing.assert_array_equal(X, B)


@pytest.mark.parametrize("cache_size", [200, 1e-4])
@pytest.mark.parametrize("form", ["dense", "sparse"])
def test_a_fit_to_mapped_rows_is_of_one_version(versions, cache_size, form):
    path, A, B = versions
    X = np.load(path, mmap_mode="r")
    if form == "sparse":
        X = sp.csr_array(A)
        np.save(path, X.data)
        X.data = np.load(path, mmap_mode="r")
        B = B.ravel()
    machine = SVDD(gamma=0.5, cache_size=cache_size, n_jobs=1)
    written = []

    def callback(entry):
        if not written:
            written.append(write_in_place(path, B))

    with pytest.raises(OSError, match="has changed while its rows were used"):
        machine.fit(X, callback=callback)
    with pytest.raises(NotFittedError):
        machine.decision_function(A)
    assert machine.fit(X).decision_function(A[:3]).shape == (3,)


def test_an_update_with_mapped_rows_is_refused_before_it_adds_any(versions, monkeypatch):
    path, A, B = versions
    machine = SVDD(gamma=0.5, n_jobs=1).fit(A[:20])
    before = machine.decision_function(A)

    def held(rows):
        found = row_files.copy_mapped(rows)
        write_in_place(path, B) if rows is X else None
        return found

    X = np.load(path, mmap_mode="r")
    monkeypatch.setattr("fewlabels.base.locking.copy_mapped", held)
    with pytest.raises(OSError, match="has changed while its rows were used"):
        machine.partial_fit(X)
    np.testing.assert_array_equal(machine.decision_function(A), before)


@pytest.mark.parametrize("cache_size", [200, 1e-4])
def test_scores_of_mapped_rows_are_of_one_version(versions, monkeypatch, cache_size):
    path, A, B = versions
    machine = SVDD(gamma=0.5, cache_size=cache_size, n_jobs=1).fit(A)
    evaluate = SVDD._evaluate

    def then(*arguments):
        found = evaluate(*arguments)
        write_in_place(path, B)
        return found

    X = np.load(path, mmap_mode="r")
    monkeypatch.setattr(SVDD, "_evaluate", then)
    if cache_size == 200:
        with pytest.raises(OSError, match="has changed while its rows were used"):
            machine.decision_function(X)
    else:  # all rows had been read
        assert len(machine.decision_function(X)) == 60


def test_a_partition_of_mapped_rows_is_of_one_version(versions, monkeypatch):
    pytest.importorskip("distributed")
    from fewlabels.dask import reading

    path, A, B = versions
    X = np.load(path, mmap_mode="r")
    piece = reading.read_piece(X, None, None)
    write_in_place(path, B)
    np.testing.assert_array_equal(piece.X, A)
    copied = reading.copy_mapped
    then = lambda rows: (copied(rows), write_in_place(path, A))[0]  # noqa: E731
    monkeypatch.setattr(reading, "copy_mapped", then)
    with pytest.raises(OSError, match="has changed while its rows were used"):
        reading.read_piece(X, None, None)


def test_a_piece_of_a_file_is_of_the_version_of_its_stamp(versions):
    path, A, B = versions
    file = row_files.find_row_file(np.load(path, mmap_mode="r"))
    read, opened = file.reader()
    np.testing.assert_array_equal(read(0, 5), A[:5])
    write_in_place(path, B)
    with pytest.raises(OSError, match="has changed while its rows were used"):
        read(0, 5)
    opened[0].close()


def test_a_fit_to_a_matrix_learns_from_rows_of_one_version(versions, monkeypatch):
    from fewlabels.pipeline.training import fit

    path, A, B = versions
    alone = fit_table(path, method="svdd", time_budget=0, n_jobs=1)
    read = fit.read_training

    def then(*arguments, **options):
        found = read(*arguments, **options)
        write_in_place(path, B)  # after it was read, so that it does no harm
        return found

    monkeypatch.setattr(fit, "read_training", then)
    later = fit_table(path, method="svdd", time_budget=0, n_jobs=1)
    np.testing.assert_array_equal(
        alone.model.decision_function(A), later.model.decision_function(A)
    )


@pytest.mark.parametrize("kind", ["file", "mapped"])
def test_a_matrix_that_is_written_in_place_while_it_is_read_is_refused(
    versions, monkeypatch, kind
):
    path, _, B = versions
    held = row_files.copy_mapped

    def then(rows):
        found = held(rows)
        write_in_place(path, B)
        return found

    monkeypatch.setattr(row_files, "copy_mapped", then)
    data = path if kind == "file" else np.load(path, mmap_mode="r")
    with pytest.raises(UserError, match="was changed or replaced while it was read"):
        fit_table(data, method="svdd", time_budget=0, n_jobs=1)


def test_scores_of_a_matrix_are_refused_if_it_is_written_in_place(versions, tmp_path, monkeypatch):
    path, _, B = versions
    fit_table(path, method="svdd", time_budget=0, n_jobs=1).save(tmp_path / "m")
    held = row_files.copy_mapped

    def then(rows):
        write_in_place(path, B)
        return held(rows)

    monkeypatch.setattr(row_files, "copy_mapped", then)
    code, words = run("predict", tmp_path / "m", path, "-o", tmp_path / "out.csv")
    assert code == 2 and "was changed or replaced while it was read" in words
    assert not (tmp_path / "out.csv").exists()


def test_numbers_beside_a_table_are_of_one_version(versions, tmp_path, monkeypatch):
    from fewlabels.tables.reading.sidecar import SidecarColumns

    path, _, B = versions
    beside = SidecarColumns(path, "the table")
    table = pa.table({"k": np.arange(30)})
    assert beside.add(table).num_columns == 3
    write_in_place(path, B)
    with pytest.raises(UserError, match="was changed or replaced while it was read"):
        beside.add(table)
