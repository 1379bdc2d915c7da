"""Standard input and output in place of files."""

import gzip
import io
import json
import os
import subprocess
import sys

import pandas as pd
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

from fewlabels.cli import app


@pytest.fixture
def scored(run, data, model, tmp_path):
    """What a file of scores holds."""
    assert run("predict", model, data, "-o", tmp_path / "o.csv").code == 0
    return (tmp_path / "o.csv").read_text()


def piped(model, content, *options):
    command = ["predict", str(model), "-", *options]
    result = CliRunner().invoke(app, command, input=content)
    assert result.exit_code == 0, result.stderr
    return result


@pytest.mark.parametrize("options", [(), ("-o", "-")])
def test_rows_through_a_pipe(data, model, scored, options):
    content = data.read_bytes()
    assert piped(model, content, *options).stdout == scored
    assert piped(model, gzip.compress(content), *options).stdout == scored
    as_tsv = pd.read_csv(data, dtype=str, keep_default_na=False).to_csv(index=False, sep="\t")
    back = piped(model, as_tsv.encode(), "--format", "tsv", *options).stdout
    assert back.splitlines()[0] == scored.splitlines()[0].replace(",", "\t")


def test_json_lines_through_a_pipe(data, model, scored):
    rows = pd.read_csv(data, keep_default_na=False).to_dict("records")
    rows[0]["name"] = "Zoë"
    lines = "\n".join(json.dumps(row, ensure_ascii=False) for row in rows)
    result = piped(model, lines.encode(), "--json")
    back = [json.loads(line) for line in result.stdout.splitlines()]
    expected = pd.read_csv(io.StringIO(scored))
    assert back[0]["name"] == "Zoë" and list(back[0]) == list(expected.columns)
    assert [row["score"] for row in back] == pytest.approx(expected["score"].tolist())
    assert [row["label"] for row in back] == expected["label"].tolist()
    summary = json.loads(result.stderr)
    assert summary["rows"] == len(rows) and summary["data"] == summary["output"] == "-"


def test_a_file_to_standard_output(run, data, model, scored):
    assert run("predict", model, data).out == scored
    first = json.loads(run("predict", model, data, "--format", "jsonl").out.splitlines()[0])
    assert {"width", "score", "label"} <= first.keys()


@pytest.mark.parametrize(
    "command", [["predict"], ["inspect", "--json"], ["predict", "--help"], ["--help"]]
)
def test_a_reader_that_leaves_ends_the_command_quietly(command, data, model):
    """As ``head`` does; the pipe is closed before anything is written."""
    files = {"predict": [model, data], "inspect": [model]}
    given = [] if "--help" in command else files[command[0]]
    reading, writing = os.pipe()
    os.close(reading)
    try:
        done = subprocess.run(
            [sys.executable, "-m", "fewlabels", *command, *given],
            stdout=writing, stderr=subprocess.PIPE, text=True,
        )  # fmt: skip
    finally:
        os.close(writing)
    assert done.returncode == 141 and not done.stderr


@pytest.mark.parametrize("form", ["csv", "tsv", "jsonl", "parquet"])
def test_a_table_without_rows_gives_its_header(run, data, model, scored, tmp_path, form):
    header = scored.splitlines()[0]
    names = data.read_text().splitlines()[0]
    (tmp_path / "new.csv").write_text(names + "\n")
    out = tmp_path / f"o.{form}"
    result = run("predict", model, tmp_path / "new.csv", "-o", out, "--json")
    assert result.code == 0 and json.loads(result.out)["rows"] == 0
    if form == "parquet":
        assert pq.read_table(out).column_names == header.split(",")
        assert run("predict", model, out, "--prefix", "z_", "-o", tmp_path / "p.csv").code == 0
    else:
        expected = {"csv": header, "tsv": header.replace(",", "\t"), "jsonl": ""}[form]
        assert out.read_text().strip() == expected
    assert piped(model, names.encode()).stdout.strip() == header


@pytest.mark.parametrize("form", ["csv", "jsonl", "parquet"])
def test_intervals_of_a_database_are_passed_on(run, data, model, tmp_path, form):
    duckdb = pytest.importorskip("duckdb")
    with duckdb.connect(tmp_path / "d.duckdb") as connection:
        values = "INTERVAL 3 DAY AS age, [INTERVAL 1 HOUR] AS list, {'a': INTERVAL 1 DAY} AS two"
        connection.execute(f"CREATE TABLE t AS SELECT *, {values} FROM '{data}'")
    out = tmp_path / f"o.{form}"
    result = run("predict", model, tmp_path / "d.duckdb", "-o", out)
    assert result.code == 0, result.err
    if form == "jsonl":
        table = pd.DataFrame([json.loads(line) for line in out.read_text().splitlines()])
    else:
        table = {"csv": pd.read_csv, "parquet": pd.read_parquet}[form](out)
    assert table["age"].tolist() == ["3 days"] * len(table)
    assert set(table["list"]) == {"['01:00:00']"} and table["score"].notna().all()


def test_nothing_is_read_that_is_not_there(model):
    result = CliRunner().invoke(app, ["predict", str(model), "-"], input="")
    assert result.exit_code == 2 and "is empty" in result.stderr and not result.stdout


def test_a_terminal_is_not_filled(data, model, monkeypatch, run):
    from fewlabels.cli import streams

    class Terminal:
        def isatty(self):
            return True

    monkeypatch.setattr(streams, "sys", type("sys", (), {"stdout": Terminal()}))
    result = run("predict", model, data)
    assert result.code == 2 and "-o FILE" in result.err


@pytest.mark.parametrize("content", [b"", b"a,b\n1,2\n"])
def test_errors_name_standard_input(model, content):
    result = CliRunner().invoke(app, ["predict", str(model), "-"], input=content)
    assert result.exit_code == 2
    assert "tandard input" in result.stderr and "standard-input" not in result.stderr
