"""What only a process of its own can show: exit codes, Ctrl-C and what gets imported."""

import os
import signal
import subprocess
import sys
from importlib.metadata import version

import numpy as np
import pytest

from fewlabels.pipeline.scoring.scorer import Scorer


def _python(*arguments):
    return subprocess.run(
        [sys.executable, *map(str, arguments)], capture_output=True, text=True, timeout=600
    )


@pytest.mark.parametrize("name", ["fewlabels", "fewlabels.cli"])
def test_exit_code_and_streams(name, tmp_path):
    done = _python("-m", name, "inspect", tmp_path / "none")
    assert done.returncode == 2
    assert done.stdout == ""
    assert done.stderr.startswith("Error: The model file")
    assert "Traceback" not in done.stderr


def test_version(run):
    assert run("--version").out == f"fewlabels {version('fewlabels')}\n"


def test_commands_import_nothing_heavy():
    # A stand-in for the package itself, so that only what the command line imports counts.
    code = """
import importlib.util, sys, types
package = types.ModuleType("fewlabels")
package.__path__ = importlib.util.find_spec("fewlabels").submodule_search_locations
sys.modules["fewlabels"] = package
from typer.testing import CliRunner
from fewlabels.cli import app
for command in ["", "fit", "predict", "explain", "update", "inspect", "export", "prior", "demo"]:
    result = CliRunner().invoke(app, [*command.split(), "--help"])
    assert result.exit_code == 0, result.output
heavy = {"numpy", "scipy", "sklearn", "pandas", "pyarrow", "matplotlib", "skops"}
print(sorted(heavy & set(sys.modules)))
"""
    done = _python("-c", code)
    assert done.stdout.strip() == "[]", done.stderr


def test_ctrl_c_while_fitting(tmp_path, model_bytes):
    model = tmp_path / "model.skops"
    model.write_bytes(model_bytes)
    np.save(tmp_path / "d.npy", np.random.default_rng(0).normal(size=(300, 5)))
    # Holds the fit in its first round until the signal comes.
    code = """
import sys, time
from fewlabels.cli import main
from fewlabels.cli import progress
def describe(entry):
    print("in the fit", file=sys.stderr, flush=True)
    time.sleep(1000)
progress.describe = describe
sys.argv = ["fewlabels", "fit", sys.argv[1], "-o", *sys.argv[2:], "--verbose"]
main()
"""
    process = subprocess.Popen(
        [
            sys.executable,
            "-c",
            code,
            str(tmp_path / "d.npy"),
            str(model),
            "--time-budget",
            "0",
            "--no-report",
        ],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        # A shell that started the tests in the background has made them deaf to it.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    try:
        assert process.stderr.readline() == "reading\n"
        assert process.stderr.readline() == "in the fit\n"
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=600)
    finally:
        process.kill()
    assert process.returncode == 130
    assert out == ""
    assert f"no model was written, and {model} is unchanged" in err
    assert "Traceback" not in err
    assert model.read_bytes() == model_bytes
    assert sorted(path.name for path in tmp_path.iterdir()) == ["d.npy", "model.skops"]


@pytest.mark.parametrize("exists", [True, False])
def test_ctrl_c_while_predicting(run, tmp_path, data, model, monkeypatch, exists):
    def interrupted(self, chunk, data, done):
        raise KeyboardInterrupt

    monkeypatch.setattr(Scorer, "score", interrupted)
    out = tmp_path / "o.csv"
    if exists:
        out.write_text("old")
    result = run("predict", model, data, "-o", out)
    assert result.code == 130
    assert "no scores were written" in result.err
    assert (out.read_text() == "old") if exists else not out.exists()


@pytest.mark.skipif(sys.platform != "linux", reason="names of files are bytes on Linux only")
def test_a_name_that_is_no_text(tmp_path, model_bytes):
    (tmp_path / "m").write_bytes(model_bytes)
    (tmp_path / "d.csv").write_text("width,height,colour,ok\n9,0,red,True\n")
    out = tmp_path / os.fsdecode(b"o\xff.csv")
    done = _python("-m", "fewlabels.cli", "predict", tmp_path / "m", tmp_path / "d.csv", "-o", out)
    assert done.returncode == 0, done.stderr
    assert out.exists() and "scores written to" in done.stdout


_TWICE = """
import os, signal, sys, time
from fewlabels.cli import main
import fewlabels.model_selection
tune = sys.modules["fewlabels.model_selection.tune"]
def press():
    os.kill(os.getpid(), signal.SIGINT)
    time.sleep(1000)
def goes_on(*arguments, **options):
    try:
        press()
    except KeyboardInterrupt:
        press()
tune.tune_within = goes_on
sys.argv = ["fewlabels", "fit", "d.csv", "-o", "m", "--method", "svdd", "--time-budget", "60"]
main()
"""


def test_ctrl_c_twice(tmp_path):
    (tmp_path / "d.csv").write_text("a,b\n" + "1,2\n3,5\n4,1\n" * 20)
    done = subprocess.run(
        [sys.executable, "-c", _TWICE], capture_output=True, text=True, timeout=600, cwd=tmp_path,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )  # fmt: skip
    assert done.returncode == 130, done.stderr
    first, second = done.stderr.splitlines()[-2:]
    assert first == (
        "Ctrl-C: continuing with the best result so far, if any. "
        "Press it again to end the command."
    )
    assert second.startswith("Interrupted by a second Ctrl-C")
    assert sorted(os.listdir(tmp_path)) == ["d.csv"]


def test_ctrl_c_before_the_model_is_there(run, tmp_path, monkeypatch):
    from fewlabels.pipeline.training import comparison, fit

    def interrupted(*arguments, **options):
        raise KeyboardInterrupt

    (tmp_path / "d.csv").write_text("a,b\n" + "1,2\n3,5\n4,1\n" * 20)
    arguments = ["fit", tmp_path / "d.csv", "-o", tmp_path / "m", "--time-budget", 0]
    with monkeypatch.context() as patch:
        patch.setattr(fit, "read_training", interrupted)
        told = run(*arguments)
        assert told.code == 130 and "no model was written" in told.err
    monkeypatch.setattr(comparison, "_compare", interrupted)
    told = run(*arguments[:-1], 5, "--baselines", "--method", "svdd")
    assert told.code == 130 and f"{tmp_path / 'm'} is written" in told.err


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no device that is always full")
@pytest.mark.parametrize(
    "words", [("inspect", "m"), ("inspect", "m", "--json"), (), ("--help",), ("fit", "--help")]
)
def test_standard_output_that_takes_nothing(tmp_path, model_bytes, words):
    (tmp_path / "m").write_bytes(model_bytes)
    with open("/dev/full", "w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "fewlabels", *words],
            stdout=full, stderr=subprocess.PIPE, text=True, timeout=600, cwd=tmp_path,
        )  # fmt: skip
    assert done.returncode == 2
    assert done.stderr.startswith("Error: can't write to standard output: No space left")
    assert done.stderr.count("\n") == 1


_WHILE_IMPORTING = """
import importlib.abc, os, signal, sys
class Press(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path, target=None):
        if name == MODULE:
            os.kill(os.getpid(), signal.SIGINT)
sys.meta_path.insert(0, Press())
from fewlabels.__main__ import main
sys.argv = ["fewlabels", "inspect", "none"]
main()
"""


@pytest.mark.parametrize("module", ["typer", "fewlabels.cli.fit", "fewlabels.tables.models.files"])
def test_ctrl_c_while_modules_are_imported(module):
    done = subprocess.run(
        [sys.executable, "-c", _WHILE_IMPORTING.replace("MODULE", repr(module))],
        capture_output=True, text=True, timeout=600,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )  # fmt: skip
    assert done.returncode == 130
    assert done.stderr.startswith("Interrupted") and done.stderr.count("\n") == 1
