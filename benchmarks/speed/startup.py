"""Start-up: what an import and the first fit of a process cost.

    python benchmarks startup
    python benchmarks startup --before OTHER/CHECKOUT/src

Every figure comes from fresh processes, several of them, after one that is thrown away (it writes
Python's bytecode); the median and the fastest are given, in CPU seconds of all threads.

* Import: `from fewlabels import SVDD, OneClassSVM` (`import fewlabels` alone loads nothing), after
  `import sklearn` alone and after `from sklearn.svm import OneClassSVM`.
* First fit: the first and the second fit of a process, and the first `partial_fit`.
* Command: `fewlabels fit` on a small table, in a process of its own, with a time budget of 0.
* Memory: the process after its fits, beyond the imports.

With `--before`, the same for another version. Its processes find an empty compilation cache the
first time (`NUMBA_CACHE_DIR`, which versions before the C++ core needed).
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

from shared.common import machine, machine_line, markdown_table, options, write_json, write_text

SOURCE = Path(__file__).resolve().parents[2] / "src"

_IMPORT = """
import json, time
{first}
between = time.process_time()
from fewlabels import SVDD, OneClassSVM
print(json.dumps(time.process_time() - between))
"""

_FIT = """
import json, resource, time
import numpy as np
from fewlabels import OneClassSVM, PUEnsemble, PUSVM, S3VM, SVDD, SVDDEnsemble
rng = np.random.default_rng(0)
X = rng.normal(size=({n}, 10))
positive = X[:, 0] > 1.0
known = positive & (rng.random({n}) < 0.5)
labels = np.where(rng.random({n}) < 0.1, positive, -1).astype(int)
memory = lambda: resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
before = memory()
seconds = []
for _ in range(2):
    started = time.process_time()
    model = {call}
    seconds.append(time.process_time() - started)
print(json.dumps({{"first": seconds[0], "second": seconds[1], "memory": memory() - before}}))
"""

_CALLS = {
    "SVDD().fit": "SVDD().fit(X)",
    "OneClassSVM(nu=.1).fit": "OneClassSVM(nu=.1).fit(X)",
    "SVDDEnsemble().fit": "SVDDEnsemble().fit(X)",
    "PUSVM(prior=.2).fit": "PUSVM(prior=.2).fit(X, known)",
    "PUEnsemble(prior=.2).fit": "PUEnsemble(prior=.2).fit(X, known)",
    "S3VM().fit": "S3VM().fit(X, labels)",
    "SVDD: fit, partial_fit": "SVDD().fit(X).partial_fit(X[:1])",
    "PUSVM: fit, partial_fit": "PUSVM(prior=.2).fit(X, known).partial_fit(X[:1])",
    "S3VM: fit, partial_fit": "S3VM().fit(X, labels).partial_fit(X[:1])",
}

_COMMAND = """
import json, sys, time
from fewlabels.cli import main
sys.argv = ["fewlabels", "fit", "rows.csv", "-o", "m.fewlabels", "--time-budget", "0"]
try:
    main()
except SystemExit as ended:
    assert not ended.code, ended.code
print(json.dumps(time.process_time()))
"""


def python(program, source, cache, folder=None):
    """Run a program in a fresh interpreter; its last line of output, decoded."""
    environment = {**os.environ, "PYTHONPATH": str(source), "NUMBA_CACHE_DIR": str(cache)}
    done = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True, text=True, env=environment, cwd=folder,
    )  # fmt: skip
    if done.returncode:
        raise RuntimeError(done.stderr)
    return json.loads(done.stdout.splitlines()[-1])


def median_and_least(values):
    return {"median": statistics.median(values), "fastest": min(values)}


def measure_imports(source, repeats):
    """CPU seconds of importing fewlabels beyond scikit-learn."""
    rows = {}
    with tempfile.TemporaryDirectory() as cache:
        for first in ("import sklearn", "from sklearn.svm import OneClassSVM"):
            program = _IMPORT.format(first=first)
            python(program, source, cache)
            rows[first] = median_and_least(
                [python(program, source, cache) for _ in range(repeats)]
            )
    return rows


def measure_fit(name, n, source, repeats):
    """The first fit where nothing has run before, and first and second fits of later processes."""
    program = _FIT.format(call=_CALLS[name], n=n)
    with tempfile.TemporaryDirectory() as cache:
        fresh = python(program, source, cache)
        runs = [python(program, source, cache) for _ in range(repeats)]
    later = {key: median_and_least([run[key] for run in runs]) for key in runs[0]}
    print(
        f"{name}, {n} rows: fresh {fresh['first']:.2f} s, first {later['first']['median']:.3f} s, "
        f"second {later['second']['median']:.3f} s",
        flush=True,
    )
    return {"name": name, "n": n, "fresh": fresh, "later": later}


def measure_command(source, repeats):
    """CPU seconds of ``fewlabels fit`` on a table of 200 rows."""
    with tempfile.TemporaryDirectory() as folder:
        table = "\n".join(f"{i % 7},{(i * i) % 11},{i % 3}" for i in range(200))
        Path(folder, "rows.csv").write_text(f"a,b,c\n{table}\n", encoding="utf-8")
        cache = Path(folder, "cache")
        fresh = python(_COMMAND, source, cache, folder)
        runs = [python(_COMMAND, source, cache, folder) for _ in range(repeats)]
    return {"fresh": fresh, **median_and_least(runs)}


def measure(source, repeats, n):
    return {
        "import": measure_imports(source, repeats),
        "fits": [measure_fit(name, n, source, repeats) for name in _CALLS],
        "command": measure_command(source, repeats),
    }


def write_report(report, stem, out):
    """Markdown and JSON."""
    text = ["# Start-up", machine_line(report["machine"]), __doc__.split("\n\n", 2)[2].strip()]
    for version, measured in report["versions"].items():
        imports = [[f"`{k}`", v["median"], v["fastest"]] for k, v in measured["import"].items()]
        fits = [
            [f["name"], f["n"], f["fresh"]["first"], f["later"]["first"]["median"],
             f["later"]["second"]["median"],
             f["later"]["first"]["median"] - f["later"]["second"]["median"],
             f["later"]["memory"]["median"]]
            for f in measured["fits"]
        ]  # fmt: skip
        command = measured["command"]
        fits.append(
            [
                "`fewlabels fit`, whole process",
                200,
                command["fresh"],
                command["median"],
                "",
                "",
                "",
            ]
        )
        columns = ["call", "rows", "nothing has run before, s", "first in a process, s",
                   "second, s", "first - second, s", "MB"]  # fmt: skip
        text += [
            f"## {version}",
            markdown_table(["imported first", "then ours, median s", "fastest s"], imports),
            markdown_table(columns, fits),
        ]
    write_json(out / f"{stem}.json", report)
    write_text(out / f"{stem}.md", "\n\n".join(text) + "\n")
    print(f"wrote {out / stem}.md, .json")


def main():
    parser = options(__doc__)
    parser.add_argument("--repeats", type=int, help="fresh processes per figure (default 5)")
    parser.add_argument("--before", type=Path, help="the src folder of another version")
    args = parser.parse_args()
    repeats = args.repeats or (2 if args.quick else 5)
    n = 500
    versions = {"this version": SOURCE, **({"before": args.before} if args.before else {})}
    report = {
        "machine": machine(),
        "versions": {name: measure(path, repeats, n) for name, path in versions.items()},
    }
    write_report(report, "startup-quick" if args.quick else "startup", Path(args.out))


if __name__ == "__main__":
    main()
