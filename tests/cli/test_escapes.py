"""Control characters in names, cells and files reach neither the terminal nor a message."""

import ast
import os
import pty
import subprocess
import sys
import unicodedata
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import fewlabels.cli
from fewlabels import fit_table
from fewlabels._util.messages import UserError, printable
from fewlabels.cli.show import install_output_hooks

ESCAPE = "\x1b]0;owned\x07\x1b[31m"
NAMES = [f"wi{ESCAPE}dth", "he\u202eight", "a\r\nError: b", "c\x9b2J"]


def is_clean(text):
    return not any(
        unicodedata.category(one) in ("Cc", "Cs", "Zl", "Zp") or one in "\u202e\u2066"
        for one in text.replace("\n", "")
    )


@pytest.fixture
def files(tmp_path):
    """A table whose names and cells are hostile, in a file whose name is."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(60, 4)), columns=NAMES)
    frame["kind"] = rng.choice([f"red{ESCAPE}", "gr\u202een"], 60)
    frame["class"] = np.where(np.arange(60) % 3, "", f"good{ESCAPE}")
    path = tmp_path / f"d{ESCAPE.replace('/', '')}.csv"
    frame.to_csv(path, index=False)
    return frame, path


def test_printable():
    assert (
        printable("a b\xa0ü 漢 \u200d\N{GRINNING FACE}") == "a b\xa0ü 漢 \u200d\N{GRINNING FACE}"
    )
    assert printable("\x1b[1m\n\x7f\x9b\u202e\u2028\udcff") == (
        r"\x1b[1m\n\x7f\x9b\u202e\u2028\udcff"
    )


@pytest.mark.parametrize("target", [["--drop", "class"], ["--target", "class", "--prior", "0.3"]])
def test_no_command_prints_them(files, tmp_path, run, target):
    frame, path = files
    model, out = tmp_path / f"m{ESCAPE}", tmp_path / "o.csv"
    page = tmp_path / "page.html"
    answers = [run("fit", path, "-o", model, *target, "--report", page)]
    assert answers[0].code == 0, answers[0].err
    other = tmp_path / f"e{ESCAPE}.csv"
    frame.drop(columns=NAMES[:2]).to_csv(other, index=False)
    bad = tmp_path / "bad.csv"
    frame.astype(object).replace({frame.iloc[3, 0]: f"no{ESCAPE}"}).to_csv(bad, index=False)
    answers += [
        run("inspect", model), run("inspect", model, "--json"),
        run("predict", model, path, "-o", out), run("predict", model, path, "-o", out, "--json"),
        run("explain", model, path, "--row", 1), run("explain", model, path, "--row", "999"),
        run("predict", model, other, "-o", out), run("predict", model, bad, "-o", out),
        run("--debug", "predict", model, other, "-o", out),
        run("fit", path, "-o", model, "--target", f"no{ESCAPE}"),
        run("fit", path, "-o", model, "--target", "kind"), run("update", model, path),
        run("prior", path, "--target", "class"), run("inspect", path),
        run("fit", tmp_path / f"none{ESCAPE}.csv", "-o", model),
    ]  # fmt: skip
    assert len({answer.code for answer in answers} | {0, 2}) == 2
    for answer in answers:
        assert is_clean(answer.out) and is_clean(answer.err)
    assert "\\x1b" in answers[1].out + answers[1].err
    assert is_clean(page.read_text().replace("\t", "").replace("\u202e", ""))


def test_no_message_of_the_library_holds_them(files):
    frame, _ = files
    with pytest.raises(UserError) as error:
        fit_table(frame, target=f"no{ESCAPE}")
    assert is_clean(str(error.value)) and "wi" + r"\x1b" in str(error.value)


def test_warnings_and_bugs_take_the_same_way(capsys):
    before, hook = warnings.formatwarning, sys.excepthook
    try:
        install_output_hooks(), install_output_hooks()
        text = warnings.formatwarning(f"a{ESCAPE}\nb", UserWarning, "x.py", 3, "")
        assert is_clean(text) and text.endswith("\nb\n")
        sys.excepthook(ValueError, ValueError(f"a{ESCAPE}"), None)
    finally:
        warnings.formatwarning, sys.excepthook = before, hook
    assert is_clean(capsys.readouterr().err)


def test_a_progress_line_shows_names_as_they_are(files, tmp_path):
    """Neither control characters nor what looks like markup, on a terminal of its own."""
    ours, theirs = pty.openpty()
    code = (
        "from fewlabels.cli.progress import observe_progress\n"
        "with observe_progress('reading [bold]a\\x1b]0;owned\\x07') as observer:\n"
        "    observer.report_stage('[red]b\\x1b]0;owned\\x07')\n"
        "    observer.rows(5, 0.5, what='of \\x1b]0;owned\\x07')\n"
        "    import time; time.sleep(0.5)\n"
    )
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "TERM": "xterm"}
    with subprocess.Popen([sys.executable, "-c", code], stderr=theirs, env=env) as process:
        os.close(theirs)
        shown = b""
        try:
            while part := os.read(ours, 1 << 16):
                shown += part
        except OSError:  # the other end is closed
            pass
    os.close(ours)
    assert process.returncode == 0 and b"owned" in shown
    assert b"\x1b]0;" not in shown and b"\x07" not in shown


def test_commands_print_in_one_way():
    """``say`` is the only caller of what writes to a terminal."""
    for path in Path(fewlabels.cli.__file__).parent.rglob("*.py"):
        if path.name == "interrupts.py":
            continue
        tree = ast.parse(path.read_text(encoding="utf-8"))
        if path.name == "show.py":
            tree.body = [node for node in tree.body if getattr(node, "name", "") != "say"]
        for node in ast.walk(tree):
            name = ast.unparse(node.func) if isinstance(node, ast.Call) else ""
            assert name not in ("print", "typer.echo", "typer.secho", "click.echo"), path
