"""Commands in this process, and what must hold of every one of them."""

import contextlib
import gc
import hashlib
import os
import shutil
import tempfile
import unicodedata
from pathlib import Path

import numpy as np
import pandas as pd
from typer.testing import CliRunner

from fewlabels.cli import app

from .verdict import Verdict, Wrong, refusal, require

_CODES = (0, 2, 3)
# What numpy, pandas and Python say, which an error must not be made of.
_FROM_INSIDE = (
    "operands could not", "wrong length", "setting an array element", "ufunc", "out of bounds",
    "could not broadcast", "zip() argument", "has no attribute", "unsupported operand",
    "not subscriptable", "NoneType", "unexpected keyword", "positional argument", "object is not",
)  # fmt: skip


@contextlib.contextmanager
def folder():
    """A new folder that goes afterwards, whatever was done to its permissions."""
    path = Path(tempfile.mkdtemp(prefix="hostile-"))
    try:
        yield path
    finally:
        for inner, names, _ in os.walk(path):
            for name in names:
                with contextlib.suppress(OSError):
                    os.chmod(os.path.join(inner, name), 0o700)
        shutil.rmtree(path, ignore_errors=True)


def snapshot(path):
    """Every file under a folder with a digest of its bytes."""
    found = {}
    for inner, folders, files in os.walk(path):
        for name in folders + files:
            place = Path(inner) / name
            if place.is_symlink():
                found[str(place)] = "link"
            elif place.is_file():
                found[str(place)] = hashlib.sha256(place.read_bytes()).hexdigest()
            else:
                found[str(place)] = "folder"
    return found


def is_clean(text):
    """Whether nothing in a text steers a terminal."""
    return not any(
        unicodedata.category(one) in ("Cc", "Cs", "Zl", "Zp") or one in "\u202e\u2066"
        for one in text
        if one != "\n"
    )


class Answer:
    """Code and words of a command, and the verdict that it stands for."""

    def __init__(self, result):
        self.code, self.out, self.err = result.exit_code, result.stdout, result.stderr
        noted = "Note:" in self.err or self.code == 3
        kind = "refused" if self.code == 2 else ("warned" if noted else "right")
        self.verdict = Verdict(kind, " ".join(self.err.split())[:400])


def run(*arguments, within, writes=()):
    """Run a command in a folder and check what every command promises.

    ``writes`` are the only files that may be new or other afterwards.
    """
    before = snapshot(within)
    temporary = set(os.listdir(tempfile.gettempdir()))
    result = CliRunner().invoke(app, [str(argument) for argument in arguments])
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        found = refusal(result.exception)
        raise Wrong(f"traceback: {found.text}") from result.exception
    answer = Answer(result)
    del result
    gc.collect()  # a file that was left open is told now
    words = " ".join(answer.err.replace("│", " ").split())
    require(answer.code in _CODES, f"exit code {answer.code}: {words[:200]}")
    require("Traceback" not in answer.err + answer.out, f"traceback: {words[-300:]}")
    require(is_clean(answer.out + answer.err), "control characters on the terminal")
    after = snapshot(within)
    changed = {
        name for name in before.keys() | after.keys() if before.get(name) != after.get(name)
    }
    # Leftovers of killed processes may go.
    changed -= {name for name in before if name.endswith(".tmp") and name not in after}
    if answer.code == 2:
        require(not changed, f"refused, but changed {sorted(changed)}")
        require(len(words) > 15, "refused without a word")
        require(not answer.out, f"refused, but printed {answer.out[:100]}")
        if words.startswith("Error: "):
            require(words.endswith("."), f"no sentence: {words[-200:]}")
            require(len(words) < 1500, f"{len(words)} letters of an error")
            inside = [text for text in _FROM_INSIDE if text in words]
            require(not inside, f"no sentence of ours: {words[:300]}")
    else:
        allowed = {str(Path(name)) for name in writes}
        others = {name for name in changed if name not in allowed}
        require(not others, f"writes besides its output: {sorted(others)}")
    left = {
        name
        for name in set(os.listdir(tempfile.gettempdir())) - temporary
        if not name.startswith(("hostile-", "G_")) and "fewlabels" in name
    }
    require(not left, f"leaves temporary files: {sorted(left)}")
    return answer


def invoke(*arguments):
    """Run a command beside others that write; only its answer is checked."""
    result = CliRunner().invoke(app, [str(argument) for argument in arguments])
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        found = refusal(result.exception)
        raise Wrong(f"traceback: {found.text}") from result.exception
    return Answer(result)


def table(rng, n=60, d=3):
    """A small table of numbers and a category, with all kinds of targets."""
    side = rng.integers(0, 2, n)
    frame = pd.DataFrame(
        np.round(rng.normal(size=(n, d)) + 1.5 * side[:, None], 4),
        columns=["width", "height", "depth"][:d],
    )
    frame["colour"] = rng.choice(["red", "green"], n)
    known = rng.random(n) < 0.5
    known[:6], side[:6] = True, [0, 1, 0, 1, 0, 1]
    frame["pu"] = np.where(known & (side == 1), "good", "")
    frame["two"] = np.where(known, np.where(side == 1, "good", "bad"), "")
    return frame


# What a target makes of ``fit``.
TARGETS = {
    "svdd": ["--drop", "pu", "--drop", "two"],
    "one-class": ["--method", "one-class", "--drop", "pu", "--drop", "two"],
    "pusvm": ["--target", "pu", "--drop", "two", "--prior", "0.3"],
    "s3vm": ["--target", "two", "--drop", "pu"],
}
QUICK = ["--time-budget", "0", "--no-report", "--n-jobs", "1"]


def fit_model(place, rows, kind, *more):
    """A model of a table or a matrix, written as ``place``."""
    if isinstance(rows, np.ndarray):
        data = place.with_suffix(".npy")
        np.save(data, rows)
    else:
        data = place.with_suffix(".csv")
        rows.to_csv(data, index=False)
        more = [*TARGETS[kind], *more]
    result = CliRunner().invoke(app, [str(v) for v in ("fit", data, "-o", place, *QUICK, *more)])
    if result.exit_code != 0:
        raise RuntimeError(result.stderr)
    data.unlink()
