"""Paths that the system doesn't open: one sentence with the reason, and no traceback."""

import builtins
import errno
import os
import sqlite3

import pytest

from fewlabels import fit_table
from fewlabels._util.messages import UserError
from fewlabels.tables.paths import check_output

_REASONS = {"a folder without permission": errno.EACCES, "a disk with errors": errno.EIO}


@pytest.fixture
def model(tmp_path, model_bytes):
    path = tmp_path / "m"
    path.write_bytes(model_bytes)
    return path


@pytest.fixture
def closed(tmp_path, monkeypatch):
    """A folder about whose files the system says no more than a reason."""
    real, folder = os.stat, tmp_path / "closed"
    folder.mkdir()

    def close(number):
        def stat(path, **options):
            if isinstance(path, str | os.PathLike) and "closed" in os.path.dirname(path):
                raise OSError(number, os.strerror(number), os.fspath(path))
            return real(path, **options)

        monkeypatch.setattr(os, "stat", stat)
        return folder

    return close


def _check_refused(result, reason):
    assert result.code == 2, result.err
    words = " ".join(result.err.split())
    assert words.startswith("Error: ") and reason in words, words
    assert len(words) < 500


def _check_commands(run, model, data, path, reason):
    out = model.with_name("o.csv")
    _check_refused(run("inspect", path), reason)
    _check_refused(run("predict", path, data, "-o", out), reason)
    _check_refused(run("predict", model, path.with_suffix(".csv"), "-o", out), reason)
    _check_refused(run("fit", path.with_suffix(".csv"), "-o", model), reason)
    _check_refused(run("fit", path.with_suffix(".csv::sheet"), "-o", model), reason)
    assert not out.exists()


@pytest.mark.parametrize("why", _REASONS)
def test_commands_say_why_a_path_is_closed(run, model, data, closed, why):
    number = _REASONS[why]
    _check_commands(run, model, data, closed(number) / "d", os.strerror(number))


def test_commands_refuse_a_name_that_is_too_long(run, model, data, tmp_path):
    _check_commands(run, model, data, tmp_path / ("d" * 300), os.strerror(errno.ENAMETOOLONG))


def test_outputs_in_a_closed_folder_are_refused(run, model, data, closed):
    path = closed(errno.EACCES) / "o.csv"
    _check_refused(run("predict", model, data, "-o", path), os.strerror(errno.EACCES))
    _check_refused(run("fit", data, "-o", path), os.strerror(errno.EACCES))


@pytest.mark.parametrize("name", ["a\0b.csv", "a\ud800b.csv"])
def test_a_character_that_no_path_can_have_is_refused(tmp_path, name):
    for refuse in (fit_table, check_output):
        with pytest.raises(UserError, match="has a character that no path can have"):
            refuse(tmp_path / name)


def test_a_read_error_in_a_signature_is_refused(run, tmp_path, monkeypatch):
    path = tmp_path / "d.db"
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE t (a DOUBLE)")
    real = builtins.open

    def open_file(file, *more, **options):
        if file == path or os.fspath(file) == os.fspath(path):
            raise OSError(errno.EIO, os.strerror(errno.EIO), os.fspath(path))
        return real(file, *more, **options)

    monkeypatch.setattr("fewlabels.tables.formats.registry.open", open_file, raising=False)
    _check_refused(run("fit", path, "-o", tmp_path / "m"), os.strerror(errno.EIO))


@pytest.mark.skipif(os.name != "posix" or os.geteuid() == 0, reason="root may read everything")
def test_a_closed_folder_of_parquet_files_is_refused(run, tmp_path):
    inner = tmp_path / "d" / "more"
    inner.mkdir(parents=True)
    inner.chmod(0)
    try:
        _check_refused(run("fit", tmp_path / "d", "-o", tmp_path / "m"), "ermission denied")
    finally:
        inner.chmod(0o700)
