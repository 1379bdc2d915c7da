"""Start-up: what `import fewlabels` and the first fit of a process cost.

    python benchmarks/startup.py

Every figure comes from fresh processes, several of them, after one that is thrown away (it
warms the disk cache); median and fastest are given.

* Import: seconds of `from fewlabels import SVDD, OneClassSVM` (`import fewlabels` alone loads
  nothing) after scikit-learn is imported in the same process;
  once after `import sklearn` alone, once after `from sklearn.svm import OneClassSVM`, which
  is what a user of scikit-learn's class has paid already.
* Compiled at import: Numba's own compile events, and signatures of all compiled functions.
* First fit: a fresh process with an empty compilation cache (NUMBA_CACHE_DIR is a new
  folder), fresh processes with the cache that it left, and the second fit in each process.
"""

from __future__ import annotations

import json
import os
import re
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

from common import machine, machine_line, markdown_table, options, write_json, write_text

_IMPORT = """
import json, sys, time
started = time.perf_counter()
{first}
between = time.perf_counter()
from fewlabels import SVDD, OneClassSVM
ended = time.perf_counter()
print(json.dumps({{"first": between - started, "fewlabels": ended - between}}))
"""

_COMPILED = """
import json, sys
from numba.core import dispatcher, event
with event.install_recorder("numba:compile") as recorder:
    from fewlabels import SVDD, OneClassSVM
found = {}
for name, module in list(sys.modules.items()):
    if name.split(".")[0] == "fewlabels":
        for value in vars(module).values():
            if isinstance(value, dispatcher.Dispatcher):
                found[id(value)] = len(value.signatures)
print(json.dumps({"events": len(recorder.buffer), "functions": len(found),
                  "signatures": sum(found.values())}))
"""

_FIT = """
import json, time
import numpy as np
from numba.core import event
from fewlabels import SVDD, OneClassSVM
make = {make}
X = np.random.default_rng(0).normal(size=({n}, 10))
seconds = []
with event.install_recorder("numba:compile") as recorder:
    for _ in range(2):
        started = time.perf_counter()
        model = make().fit(X)
        seconds.append(time.perf_counter() - started)
    started = time.perf_counter()
    model.predict(X[:1000])
    seconds.append(time.perf_counter() - started)
print(json.dumps({{"first": seconds[0], "second": seconds[1], "predict": seconds[2],
                  "compiled": sum(1 for _, e in recorder.buffer if e.is_start)}}))
"""


def python(program, *flags, **environment):
    """Run a program in a fresh interpreter; its last line of output, decoded, and its errors."""
    done = subprocess.run(
        [sys.executable, *flags, "-c", program],
        capture_output=True, text=True, env={**os.environ, **environment},
    )  # fmt: skip
    if done.returncode:
        sys.exit(f"a fresh process failed:\n{done.stderr}")
    return json.loads(done.stdout.splitlines()[-1]), done.stderr


def median_and_least(values):
    return {"median": statistics.median(values), "fastest": min(values)}


def measure_import(repeats):
    """Seconds of importing fewlabels beyond scikit-learn."""
    rows = {}
    for first in ("import sklearn", "from sklearn.svm import OneClassSVM"):
        program = _IMPORT.format(first=first)
        python(program)
        runs = [python(program)[0] for _ in range(repeats)]
        rows[first] = {key: median_and_least([r[key] for r in runs]) for key in runs[0]}
        print(f"after {first!r}: {rows[first]['fewlabels']['median']:.3f} s", flush=True)
    return rows


def slowest_imports(count=12):
    """Packages by the time spent in their own modules, from ``python -X importtime``."""
    _, log = python("import sklearn, fewlabels; print('{}')", "-X", "importtime")
    own = {}
    for microseconds, module in re.findall(r"import time:\s+(\d+) \|\s+\d+ \|\s+(\S+)", log):
        package = module.split(".")[0]
        own[package] = own.get(package, 0) + int(microseconds) / 1e6
    return sorted(own.items(), key=lambda item: -item[1])[:count]


def measure_fit(name, make, n, repeats):
    """First and second fit with a cold and with a warm compilation cache."""
    program = _FIT.format(make=make, n=n)
    with tempfile.TemporaryDirectory() as cache:
        cold, _ = python(program, NUMBA_CACHE_DIR=cache)
        files = [f for f in Path(cache).rglob("*") if f.is_file()]
        size = sum(f.stat().st_size for f in files)
        warm = [python(program, NUMBA_CACHE_DIR=cache)[0] for _ in range(repeats)]
    row = {
        "name": name, "n": n, "cold": cold, "cache_files": len(files), "cache_mb": size / 1e6,
        "warm": {key: median_and_least([r[key] for r in warm]) for key in warm[0]},
    }  # fmt: skip
    print(
        f"{name}, {n} rows: cold {cold['first']:.2f} s, warm {row['warm']['first']['median']:.3f}"
        f" s, second fit {row['warm']['second']['median']:.3f} s",
        flush=True,
    )
    return row


def write_report(report, stem, out):
    """Markdown and JSON."""
    imports, compiled, fits = report["import"], report["compiled"], report["fits"]
    beyond = imports["import sklearn"]["fewlabels"]["median"]
    first = max(fit["warm"]["first"]["median"] for fit in fits)
    promises = [
        ["functions compiled by the import", compiled["events"] + compiled["signatures"], "0",
         compiled["events"] + compiled["signatures"] == 0],
        ["import beyond `import sklearn`, s", beyond, "< 1", beyond < 1],
        ["first fit, warm cache, worst case, s", first, "< 1", first < 1],
    ]  # fmt: skip
    import_rows = [
        [f"`{name}`", r["first"]["median"], r["fewlabels"]["median"], r["fewlabels"]["fastest"]]
        for name, r in imports.items()
    ]
    fit_rows = [
        [f["name"], f["n"], f["cold"]["first"], f["cold"]["compiled"],
         f["warm"]["first"]["median"], f["warm"]["first"]["fastest"],
         f["warm"]["compiled"]["median"], f["warm"]["second"]["median"],
         f["warm"]["predict"]["median"], f["cache_mb"]]
        for f in fits
    ]  # fmt: skip
    text = [
        "# Start-up",
        machine_line(report["machine"]),
        __doc__.split("\n\n", 2)[2].strip(),
        markdown_table(["promise", "measured", "bound", "kept"], promises),
        "## Import",
        markdown_table(
            ["imported first", "its seconds", "then ours, median s", "fastest s"],
            import_rows,
        ),
        f"Compiled functions in the package: {compiled['functions']} at module level; compiled "
        f"by the import: {compiled['events']} compile events, {compiled['signatures']} "
        "signatures.",
        "Own time of the slowest packages (`python -X importtime`, which itself slows imports):",
        markdown_table(["package", "s"], report["packages"]),
        "## First fit (10 columns)",
        markdown_table(
            ["machine", "rows", "cold cache s", "compiled", "warm cache s", "fastest s",
             "compiled", "second fit s", "predict 1000 s", "cache MB"],
            fit_rows,
        ),
    ]  # fmt: skip
    write_json(out / f"{stem}.json", report)
    write_text(out / f"{stem}.md", "\n\n".join(text) + "\n")
    print(f"wrote {out / stem}.md, .json")


def main():
    parser = options(__doc__)
    parser.add_argument("--repeats", type=int, help="fresh processes per figure (default 7)")
    args = parser.parse_args()
    repeats = args.repeats or (2 if args.quick else 7)
    sizes = [2_000] if args.quick else [500, 2_000, 10_000]
    report = {"machine": machine(), "import": measure_import(repeats)}
    report["compiled"], _ = python(_COMPILED)
    report["packages"] = slowest_imports()
    machines = {"OneClassSVM()": "OneClassSVM", "SVDD()": "SVDD"}
    report["fits"] = [
        measure_fit(name, make, n, repeats) for name, make in machines.items() for n in sizes
    ]
    write_report(report, "startup-quick" if args.quick else "startup", Path(args.out))


if __name__ == "__main__":
    main()
