"""`fewlabels predict` on a CSV file larger than memory would hold: peak memory, rows per second.

    python benchmarks/predict_at_size.py --gigabytes 5

A table of 20 columns of numbers (five decimals, correlated) and a column of names is generated, a
model of a few thousand support vectors is fitted to 20 000 rows of the same kind (an SVDD with a
rate of false alarms, so that there are p-values), and the command runs in a process of its own.

* Memory is the operating system's high-water mark of that process, with interpreter, libraries
  and model.
* Checked: as many rows as went in; every line is the line that went in with scores behind it (on
  three stretches of the file, the last included); these scores are those that the model gives
  in this process.
* Floor: the stages by themselves on a stretch of the file, in CPU seconds per million rows:
  Arrow parses the numbers; the encoder; the kernel values; the text of the scores, joined and
  written. Beside them CPU seconds of the whole command, less those of the command on ten rows.

The file is written to `--folder` (default: a temporary one) and deleted.
"""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv as pacsv
from common import machine, machine_line, markdown_table, options, timed, write_json, write_text

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


def floors(data, model, folder, n_bytes=150_000_000):
    """CPU seconds per million rows of every stage by itself."""
    from fewlabels.pipeline.scoring.layout import FileLayout
    from fewlabels.pipeline.scoring.scorer import Scorer
    from fewlabels.tables.columns.tally import Tally
    from fewlabels.tables.formats.registry import table_writer
    from fewlabels.tables.reading.chunks import iterate_chunks

    with open(data, "rb") as file:
        part = file.read(n_bytes).rsplit(b"\n", 1)[0] + b"\n"
    path = folder / "part.csv"
    path.write_bytes(part)
    scorer = Scorer(model)
    encoder, decide = scorer.pipeline[:-1], scorer.pipeline[-1].decision_function
    layout = FileLayout(["id", *NAMES], "csv")

    def parse():
        return pacsv.read_csv(
            pa.py_buffer(part),
            read_options=pacsv.ReadOptions(block_size=1 << 24, use_threads=False),
            convert_options=pacsv.ConvertOptions(include_columns=NAMES),
        )

    def read():
        return list(iterate_chunks(path, scorer.schema, Tally(path), lines=True))

    table = parse()
    chunks = read()
    encoded = [encoder.transform(chunk.rows) for chunk in chunks]
    found = [scorer.score_complete(chunk.rows) for chunk in chunks]

    def write():
        with table_writer(folder / "part-out.csv", "csv") as append:
            for chunk, scored in zip(chunks, found, strict=True):
                append(*layout.assemble(chunk, scored, scorer.schema))

    stages = {
        "Arrow alone: numbers of 16 MiB blocks": parse,
        "read: cut into lines, parse, check": read,
        "encode": lambda: [encoder.transform(chunk.rows) for chunk in chunks],
        "kernel values (decision_function)": lambda: [decide(X) for X in encoded],
        "encode, score and p-values": lambda: [
            scorer.score_complete(chunk.rows) for chunk in chunks
        ],
        "text of the scores, join, write": write,
    }
    millions = table.num_rows / 1e6
    return {name: min(_cpu(stage) for _ in range(2)) / millions for name, stage in stages.items()}


def _cpu(function):
    before = resource.getrusage(resource.RUSAGE_SELF)
    function()
    after = resource.getrusage(resource.RUSAGE_SELF)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def measure(folder, gigabytes, out_form, block):
    """Generate, fit, predict, check."""
    data, model = folder / "rows.csv", folder / "model.fewlabels"
    out = folder / f"scores.{out_form}"
    train = folder / "train.csv"
    pacsv.write_csv(make_table(min(20_000, block), 0, np.random.default_rng(1)), train)
    fitted = command(
        "fit", train, "--drop", "id", "-o", model, "--nu", 0.15, "--gamma", 0.1,
        "--target-fpr", 0.05, "--time-budget", 0, "--no-report", "--quiet", "--json",
    )  # fmt: skip
    print(f"model: {fitted['summary']['training']['support_vectors']} support vectors", flush=True)
    seconds, rows = timed(write_rows, data, gigabytes * 1e9, block)
    size = data.stat().st_size
    print(f"{rows:,} rows, {size / 1e9:.2f} GB, generated in {seconds:.0f} s", flush=True)
    few = folder / "few.csv"
    with open(data, "rb") as file:
        few.write_bytes(b"".join(file.readline() for _ in range(11)))
    start = command("predict", model, few, "-o", folder / "few-scores.csv", "--json", "--quiet")
    run = command("predict", model, data, "-o", out, "--json", "--quiet")
    assert run["summary"]["rows"] == rows, (run["summary"]["rows"], rows)
    print(
        f"{run['seconds']:.1f} s, {run['cpu_seconds']:.1f} CPU s, peak "
        f"{run['peak_bytes'] / 1e6:.0f} MB (start alone {start['peak_bytes'] / 1e6:.0f} MB)",
        flush=True,
    )
    compared, deviation = (0, None) if out_form != "csv" else check(data, out, model)
    out.unlink()
    return {
        "rows": rows, "bytes": size, "support_vectors":
        fitted["summary"]["training"]["support_vectors"],
        "start": start, "run": run, "rows_compared": compared, "deviation": deviation,
        "stages": floors(data, model, folder),
    }  # fmt: skip


def write_report(report, stem, out):
    """Markdown and JSON."""
    run, start, rows = report["run"], report["start"], report["rows"]
    cpu = (run["cpu_seconds"] - start["cpu_seconds"]) / rows * 1e6
    columns = ", ".join(run["summary"]["columns"])
    lines = [
        ["rows", f"{rows:,}"],
        ["GB", report["bytes"] / 1e9],
        ["support vectors", str(report["support_vectors"])],
        ["columns added", columns],
        ["seconds", run["seconds"]],
        ["rows per second", f"{rows / run['seconds']:,.0f}"],
        ["MB per second", report["bytes"] / 1e6 / run["seconds"]],
        ["peak memory, MB", run["peak_bytes"] / 1e6],
        ["of that before the first row, MB", start["peak_bytes"] / 1e6],
        ["CPU seconds per million rows", cpu],
        ["rows compared with the model in memory", f"{report['rows_compared']:,}"],
        ["largest deviation of a score", report["deviation"]],
    ]
    stages = [[name, value, value / cpu] for name, value in report["stages"].items()]
    text = [
        "# predict at size",
        machine_line(report["machine"]),
        __doc__.split("\n\n", 2)[2].strip(),
        markdown_table(["", "measured"], lines),
        "## Stages, each by itself",
        markdown_table(["stage", "CPU s per million rows", "share of the command"], stages),
    ]
    write_json(out / f"{stem}.json", report)
    write_text(out / f"{stem}.md", "\n\n".join(text) + "\n")
    print(f"wrote {out / stem}.md, .json")


def main():
    parser = options(__doc__)
    parser.add_argument("--gigabytes", type=float, help="size of the CSV file (default 5)")
    parser.add_argument("--folder", type=Path, help="where the files lie meanwhile")
    parser.add_argument("--form", default="csv", help="output: csv (default), csv.gz or parquet")
    args = parser.parse_args()
    gigabytes = args.gigabytes or (0.02 if args.quick else 5.0)
    if args.folder is not None:
        args.folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=args.folder) as folder:
        report = {
            "machine": machine(),
            **measure(Path(folder), gigabytes, args.form, 20_000 if args.quick else BLOCK),
        }
    write_report(report, "predict-at-size" + ("-quick" if args.quick else ""), Path(args.out))


if __name__ == "__main__":
    main()
