"""Processes for tests that need one of their own, without importing everything anew for each.

A server process imports the package once and forks a child for every script (``forkserver``), so
a child starts in milliseconds. It has its own memory, signals and exit code.
"""

import functools
import multiprocessing
import os
import runpy
import sys
from pathlib import Path
from typing import NamedTuple

_IMPORTED = ["fewlabels.one_class.svdd_ensemble", "fewlabels.positive_unlabelled.pu_ensemble"]
_IMPORTED += ["fewlabels.model_selection", "sklearn.ensemble"]


class Done(NamedTuple):
    """What became of a script."""

    returncode: int
    stdout: str
    stderr: str


@functools.cache
def _server():
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(_IMPORTED)
    return context


def _child(script, out, err):
    for number, path in ((1, out), (2, err)):
        file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        os.dup2(file, number)
        os.close(file)
    sys.stdout = open(1, "w", closefd=False)
    sys.stderr = open(2, "w", closefd=False)
    runpy.run_path(script, run_name="__main__")


def run_script(code, folder, timeout=600):
    """Run Python code in a child of the server; its files lie in ``folder``."""
    script, out, err = (Path(folder) / name for name in ("script.py", "out.txt", "err.txt"))
    script.write_text(code, encoding="utf-8")
    process = _server().Process(target=_child, args=(str(script), str(out), str(err)))
    process.start()
    process.join(timeout)
    if process.exitcode is None:
        process.kill()
        process.join()
    texts = (path.read_text(encoding="utf-8") if path.exists() else "" for path in (out, err))
    return Done(process.exitcode, *texts)
