"""Kill ``fewlabels watch`` at random moments, resume it, and count its rows.

A watch of a table with numbers, categories and texts is killed (SIGKILL) at a random moment and
started again with the same command, until its rows are done; then a new one begins. Every fifth
kill comes at any moment of the start, the others within half a second of the first new output.
After each kill, the state and the output must agree on a number of rows that never decreases. In
the end the output must have every row exactly once, and equal the output of a run that nobody
killed.
"""

from __future__ import annotations

import json
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
from contextlib import closing
from pathlib import Path

import numpy as np
import pandas as pd
from study import Case, Setting, Study

from fewlabels import fit_table

ROWS = 3000


def table(n, seed, hotter=0.0):
    rng = np.random.default_rng(seed)
    words = ["pump", "valve", "motor", "is", "running", "fine"]
    return pd.DataFrame({
        "temperature": rng.normal(60.0 + hotter, 3.0, n),
        "vibration": rng.normal(0.5, 0.1, n),
        "kind": rng.choice(["A", "B"], n),
        "note": [" ".join(rng.choice(words, 5)) for _ in range(n)],
    })  # fmt: skip


def command(*arguments):
    return [sys.executable, "-m", "fewlabels.cli", "watch", *map(str, arguments)]


def counted(state):
    """Rows that a state has counted."""
    if not state.exists():
        return 0
    with closing(sqlite3.connect(state)) as base:
        if not base.execute("SELECT 1 FROM sqlite_master WHERE name = 'facts'").fetchone():
            return 0
        row = base.execute("SELECT value FROM facts WHERE name = 'figures'").fetchone()
    return 0 if row is None else json.loads(row[0])["rows"]


def killed(arguments, out, at_start, rng):
    """Start a watch and kill it; whether it was still running."""
    process = subprocess.Popen(command(*arguments), stderr=subprocess.DEVNULL)
    before = out.stat().st_size if out.exists() else 0
    if at_start:
        time.sleep(rng.uniform(0.0, 2.5))
    else:
        while process.poll() is None and (not out.exists() or out.stat().st_size == before):
            time.sleep(0.005)
        time.sleep(rng.uniform(0.0, 0.5))
    running = process.poll() is None
    process.send_signal(signal.SIGKILL)
    process.wait()
    return running


def measure(kills):
    """Kill watches until there were so many kills; fails if a row is lost, repeated or changed."""
    rng, done, watches, moments = np.random.default_rng(0), 0, 0, []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        fixed, expected = prepare(folder)
        while done < kills:
            state, out = folder / f"{watches}.db", folder / f"{watches}.jsonl"
            arguments = (*fixed, "--state", state, "-o", out, "--every", 10)
            last = 0
            while done < kills and last < ROWS:
                if not killed(arguments, out, done % 5 == 0, rng):
                    break
                done += 1
                now = counted(state)
                assert now >= last, (now, last)
                last = now
                moments.append(now)
            subprocess.run(command(*arguments), stderr=subprocess.DEVNULL)
            found = [json.loads(line) for line in out.read_text("utf-8").splitlines()]
            assert found == expected, f"watch {watches}: rows were lost, repeated or changed"
            watches += 1
    return {"kills": done, "watches": watches, "rows": ROWS, "at": moments}


def prepare(folder):
    """A model and tables in a folder: arguments of a watch, and its output without kills."""
    table(200, 3).to_csv(folder / "before.csv", index=False)
    long = folder / "long.csv"
    pd.concat([table(ROWS - 500, 7), table(500, 8, 1.5)]).to_csv(long, index=False)
    model = fit_table(table(150, 0), method="svdd", time_budget=0, report=False, baselines=False)
    model.save(folder / "model")
    fixed = (folder / "model", long, "--calibration", folder / "before.csv")
    whole = subprocess.run(
        command(*fixed), stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    )
    expected = [json.loads(line) for line in whole.stdout.splitlines()]
    assert [record["row"] for record in expected] == list(range(1, ROWS + 1))
    return fixed, expected


def cases(options):
    yield Case({"kills": options.kills}, measure, (options.kills,))


def report(results):
    for one in results.records:
        yield (f"{one['kills']} kills at rows {', '.join(map(str, one['at']))}: all rows of "
               f"{one['watches']} watches of {one['rows']} rows are there once.")  # fmt: skip


STUDY = Study(__doc__, cases, report, settings={"kills": Setting(50, "kills")}, quick={"kills": 3})
