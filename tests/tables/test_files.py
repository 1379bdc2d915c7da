"""Links, pipes, files without names of columns, files left by killed processes."""

import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from fewlabels._util.messages import UserError
from fewlabels._util.paths import resolve_path
from fewlabels.tables.atomic import replacing
from fewlabels.tables.columns.target import choose_all_rows
from fewlabels.tables.formats.registry import table_writer
from fewlabels.tables.paths import check_output
from fewlabels.tables.reading.training import read_training
from fewlabels.tables.user_data import make_source


@pytest.fixture
def rings(tmp_path):
    """Links that lead to themselves: alone, over another, and as the folder of a path."""
    (tmp_path / "own.csv").symlink_to("own.csv")
    (tmp_path / "a.csv").symlink_to(tmp_path / "b.csv")
    (tmp_path / "b.csv").symlink_to(tmp_path / "a.csv")
    (tmp_path / "ring").symlink_to("ring")
    return [tmp_path / "own.csv", tmp_path / "a.csv", tmp_path / "ring" / "a.csv"]


def test_a_link_that_leads_to_itself(rings, tmp_path):
    from fewlabels.labelling.session import check_folder
    from fewlabels.pipeline.watching.outputs import JsonLines
    from fewlabels.tables.folders import files_of_pattern

    for path in rings:
        message = rf"^{re.escape(str(path))} is a link to itself; pass another file\.$"
        for meet in (resolve_path, check_output, check_folder, lambda path: JsonLines(path, None)):
            with pytest.raises(UserError, match=message):
                meet(path)
    with pytest.raises(UserError, match=r"(a|b|own)\.csv is a link to itself"):
        files_of_pattern(tmp_path / "*.csv")


def test_links_are_followed_to_the_end(tmp_path):
    folder = tmp_path / "folder"
    folder.mkdir()
    (tmp_path / "link").symlink_to("folder")
    (folder / "one.csv").symlink_to("two.csv")
    assert resolve_path(tmp_path / "link" / ".." / "link" / "one.csv") == folder / "two.csv"
    (folder / "two.csv").touch()
    assert resolve_path(tmp_path / "link" / "one.csv") == folder / "two.csv"


def test_a_link_to_nowhere(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    os.symlink(tmp_path / "gone" / "x.csv", "a.csv")
    with pytest.raises(
        UserError, match=r"^a.csv is a link to .*gone/x.csv, and the folder .*gone"
    ):
        check_output("a.csv")
    os.symlink(tmp_path / "x.csv", "b.csv")
    check_output("b.csv")  # will be made


def test_names_longer_than_a_file_system_takes(tmp_path):
    with pytest.raises(
        UserError, match=r"^The name x{20}\.\.\. of an output has 300 letters; use a"
    ):
        check_output(tmp_path / ("x" * 300))
    with pytest.raises(UserError, match="path of m is longer"):
        check_output(tmp_path / "/".join(["d" * 100] * 50) / "m")
    with replacing(tmp_path / ("x" * 200)) as file:  # the longest that is taken can be written
        file.write_text("1")


def test_a_pipe(tmp_path):
    os.mkfifo(tmp_path / "d.csv")
    with pytest.raises(UserError, match="is a pipe or a device; save its content to a data"):
        read_training(tmp_path / "d.csv")


def _first_row(tmp_path, header, note=True):
    path = tmp_path / "d.csv"
    rows = np.random.default_rng(0).normal(size=(5, header.count(",") + 1))
    path.write_text(f"{header}\n" + "\n".join(",".join(map(str, row)) for row in rows))
    found = read_training(path).choose(choose_all_rows(5))
    said = [text for text in found.notes if "first row" in text]
    assert len(said) == note, found.notes
    return said


@pytest.mark.parametrize("header", ["5.1,3.5,1.4", "85,66,29", "-1,0,1", "1e3,2.5,red"])
def test_a_first_row_of_data(tmp_path, header):
    assert _first_row(tmp_path, header)[0].startswith("the first row ('")


@pytest.mark.parametrize("header", ["a,b,c", "0,1,2", "2019,2020,2021", "a,0.5,b", "q1,2,x"])
def test_a_first_row_of_names(tmp_path, header):
    _first_row(tmp_path, header, note=False)


def test_a_header_as_csv_has_it(tmp_path):
    path = tmp_path / "d.csv"
    path.write_bytes(b'\xef\xbb\xbf"a ""x""","b\nc",d\r\n1,2,3\r\n4,5,6\r\n')
    assert read_training(path).content.column_names == ['a "x"', "b\nc", "d"]


@pytest.mark.parametrize("n_labels", [8, 12])
def test_labels_of_another_length(tmp_path, n_labels):
    path = tmp_path / "d.npz"
    np.savez(path, X=np.zeros((10, 3)), y=np.zeros(n_labels), names=np.array(list("abc")))
    with pytest.raises(UserError, match=rf"10 rows but {n_labels} labels in 'y'"):
        read_training(path)


_KILLED = """
import sys, time
from fewlabels.tables.atomic import replacing
with replacing(sys.argv[1]) as temporary:
    temporary.write_text("half")
    print("ready", flush=True)
    time.sleep(1000)
"""


@pytest.fixture
def writer(tmp_path):
    """Start a process that is writing a file."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    command = [sys.executable, "-c", _KILLED, str(tmp_path / "out.csv")]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, env=environment)
    assert process.stdout.readline() == b"ready\n"
    yield process
    process.kill()
    process.wait()
    process.stdout.close()


def _aged(folder):
    for path in folder.glob(".*.tmp"):
        os.utime(path, (time.time() - 60, time.time() - 60))


def test_files_of_killed_processes_go(tmp_path, writer):
    os.kill(writer.pid, signal.SIGKILL)
    writer.wait()
    (tmp_path / ".other.csv.0123.tmp").touch()  # of another output
    _aged(tmp_path)
    assert len(os.listdir(tmp_path)) == 2
    with replacing(tmp_path / "out.csv") as temporary:
        temporary.write_text("new")
    assert sorted(os.listdir(tmp_path)) == [".other.csv.0123.tmp", "out.csv"]


def test_files_of_living_processes_stay(tmp_path, writer):
    _aged(tmp_path)
    with replacing(tmp_path / "out.csv") as temporary:
        temporary.write_text("new")
    assert len(os.listdir(tmp_path)) == 2 and writer.poll() is None


_FORMULAS = ["=HYPERLINK(1)", "-2+cmd|' /C calc'!A0", "+A1", "@x", "\ty"]
_HARMLESS = ["+1-800", "-1.5", "+3e5", "a=b", ""]


@pytest.mark.parametrize("safe", [False, True])
def test_cells_that_are_formulas(tmp_path, safe):
    path = tmp_path / "d.csv"
    values = (-np.arange(10.0)).tolist()
    with table_writer(path, "csv", safe=safe) as append:
        append(pa.table({"=name": _FORMULAS + _HARMLESS, "number": values}))
    back = pd.read_csv(path, keep_default_na=False)
    mark = "'" if safe else ""
    assert back[f"{mark}=name"].tolist() == [mark + cell for cell in _FORMULAS] + _HARMLESS
    assert back["number"].tolist() == values


def test_frames_of_other_libraries():
    polars = pytest.importorskip("polars")
    column = polars.Series("c", ["x", "y", None])
    for kind in (polars.String, polars.Categorical, polars.Enum(["x", "y"])):
        table = make_source(polars.DataFrame({"c": column.cast(kind)})).content
        taken = table.filter(pa.array([True, False, True])).column("c")
        assert taken.combine_chunks().cast(pa.string()).to_pylist() == ["x", None]
    for frame in (column, polars.DataFrame({"i": polars.Series([1], dtype=polars.Int128)})):
        with pytest.raises(UserError, match=r"can't be used as a table .*; pass a data frame"):
            make_source(frame)


@pytest.mark.skipif(not Path("/sys/kernel").is_dir(), reason="needs a file system like /sys")
def test_folders_that_take_no_file(tmp_path):
    # The permissions of /sys let root write, but no file can be made there.
    with pytest.raises(UserError, match="folder /sys is not writable"):
        check_output("/sys/report.html")
    check_output(tmp_path / "report.html")
    assert not any(tmp_path.iterdir())
