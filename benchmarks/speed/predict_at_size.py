"""`fewlabels predict` on a CSV file larger than memory would hold: peak memory, rows per second.

A table of 20 columns of numbers (five decimals, correlated) and a column of names is generated, a
model of a few thousand support vectors is fitted to 20 000 rows of the same kind (an SVDD with a
rate of false alarms, so that there are p-values), and the command runs in a process of its own.

* Memory is the operating system's high-water mark of that process, with interpreter, libraries
  and model.
* Checked: as many rows as went in; every line is the line that went in with scores behind it (on
  three stretches of the file, the last included); these scores are those that the model gives
  in this process.

The file is written to `--folder` (default: a temporary one) and deleted.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv as pacsv
from shared.common import markdown_table, timed
from study import Case, Setting, Study

COLUMNS = 20
BLOCK = 200_000
NAMES = [f"x{j:02d}" for j in range(COLUMNS)]


def make_table(n, first, rng):
    """Rows numbered from ``first``."""
    mix = np.random.default_rng(5).normal(size=(COLUMNS, COLUMNS)) / 4
    X = np.round(rng.normal(size=(n, COLUMNS)) @ mix, 5)
    names = pa.array([f"r{first + i:09d}" for i in range(n)])
    return pa.table([names, *X.T], names=["id", *NAMES])


def write_rows(path, n_bytes, block=BLOCK):
    """A CSV file of at least so many bytes; gives its number of rows."""
    rng = np.random.default_rng(0)
    rows = 0
    with open(path, "wb") as file:
        while file.tell() < n_bytes:
            form = pacsv.WriteOptions(include_header=rows == 0, quoting_style="none")
            pacsv.write_csv(make_table(block, rows, rng), file, form)
            rows += block
    return rows


def command(*arguments):
    """Run a command in a process of its own: seconds, CPU seconds, peak bytes, output."""
    started = time.perf_counter()
    process = subprocess.Popen(
        [sys.executable, "-m", "fewlabels.cli", *map(str, arguments)], stdout=subprocess.PIPE
    )
    out = process.stdout.read()
    _, status, used = os.wait4(process.pid, 0)
    if status:
        sys.exit(f"fewlabels {arguments[0]} ended with {os.waitstatus_to_exitcode(status)}.")
    unit = 1 if sys.platform == "darwin" else 1024
    return {
        "seconds": time.perf_counter() - started,
        "cpu_seconds": used.ru_utime + used.ru_stime,
        "peak_bytes": unit * used.ru_maxrss,
        "summary": json.loads(out),
    }


def check(data, out, model, stretch=2_000_000):
    """Compare stretches of both files; gives the rows compared and the largest deviation."""
    from fewlabels.tables.models.files import load_model

    pipeline, _, _ = load_model(model)
    size_in, size_out = data.stat().st_size, out.stat().st_size
    compared, deviation = 0, 0.0
    with open(data, "rb") as before, open(out, "rb") as after:
        header = before.readline()
        names = after.readline().decode().rstrip().split(",")
        assert names[: COLUMNS + 3] == ["id", *NAMES, "score", "label"], names
        for share in (0.0, 0.5, 1.0):
            before.seek(int(share * max(0, size_in - stretch)))
            after.seek(int(share * max(0, size_out - 2 * stretch)))
            before.readline(), after.readline()
            lines = before.read(stretch).rsplit(b"\n", 1)[0].split(b"\n")
            scored = dict(
                (line.split(b",", 1)[0], line)
                for line in after.read(2 * stretch).rsplit(b"\n", 1)[0].split(b"\n")
            )
            found = [line for line in lines if line.split(b",", 1)[0] in scored]
            assert len(found) > 1000 or share not in (0.0, 1.0), len(found)
            rows = pacsv.read_csv(pa.py_buffer(header + b"\n".join(found) + b"\n")).to_pandas()
            expected = pipeline.decision_function(rows[NAMES])
            for line, score in zip(found, expected, strict=True):
                whole = scored[line.split(b",", 1)[0]]
                assert whole.startswith(line + b","), (line, whole)
                given = float(whole[len(line) + 1 :].split(b",")[0])
                deviation = max(deviation, abs(given - score))
            compared += len(found)
    return compared, deviation


def measure(gigabytes, form, folder):
    """Generate, fit, predict, check."""
    with tempfile.TemporaryDirectory(dir=folder) as temporary:
        return measure_in(Path(temporary), gigabytes, form)


def measure_in(folder, gigabytes, form):
    data, model = folder / "rows.csv", folder / "model.fewlabels"
    out, train = folder / f"scores.{form}", folder / "train.csv"
    block = min(BLOCK, max(20_000, int(gigabytes * 1e6)))
    pacsv.write_csv(make_table(20_000, 0, np.random.default_rng(1)), train)
    fitted = command(
        "fit", train, "--drop", "id", "-o", model, "--nu", 0.15, "--gamma", 0.1,
        "--target-fpr", 0.05, "--time-budget", 0, "--no-report", "--quiet", "--json",
    )  # fmt: skip
    seconds, rows = timed(write_rows, data, gigabytes * 1e9, block)
    size = data.stat().st_size
    print(f"{rows:,} rows, {size / 1e9:.2f} GB, generated in {seconds:.0f} s", flush=True)
    few = folder / "few.csv"
    with open(data, "rb") as file:
        few.write_bytes(b"".join(file.readline() for _ in range(11)))
    start = command("predict", model, few, "-o", folder / "few-scores.csv", "--json", "--quiet")
    run = command("predict", model, data, "-o", out, "--json", "--quiet")
    assert run["summary"]["rows"] == rows, (run["summary"]["rows"], rows)
    compared, deviation = (0, None) if form != "csv" else check(data, out, model)
    return {
        "rows": rows, "GB": size / 1e9, "seconds": run["seconds"],
        "rows per second": rows / run["seconds"],
        "peak memory, MB": run["peak_bytes"] / 1e6,
        "of that before the first row, MB": start["peak_bytes"] / 1e6,
        "CPU seconds per million rows": 1e6 * (run["cpu_seconds"] - start["cpu_seconds"]) / rows,
        "support vectors": fitted["summary"]["training"]["support_vectors"],
        "rows compared with the model in memory": compared,
        "largest deviation of a score": deviation,
    }  # fmt: skip


def cases(options):
    given = (options.gigabytes, options.form, options.folder)
    yield Case({"gigabytes": options.gigabytes, "form": options.form}, measure, given)


def report(results):
    for one in results.records:
        yield markdown_table(["", "measured"], list(one.items()))


STUDY = Study(
    __doc__, cases, report,
    settings={
        "gigabytes": Setting(5.0, "size of the CSV file"),
        "folder": Setting(None, "where the files are meanwhile", Path),
        "form": Setting("csv", "output: csv, csv.gz or parquet"),
    },
    quick={"gigabytes": 0.02},
)  # fmt: skip
