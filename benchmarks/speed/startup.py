"""Start-up: what an import and the first fit of a process cost.

Every figure comes from fresh processes, several of them, after one that is thrown away (it writes
Python's bytecode); the median is given, in CPU seconds of all threads.

* Import: `from fewlabels import SVDD, OneClassSVM` (`import fewlabels` alone loads nothing), after
  `import sklearn` alone and after `from sklearn.svm import OneClassSVM`.
* First fit: the first and the second fit of a process, and the first `partial_fit`.
* Command: `fewlabels fit` on a small table, in a process of its own, with a time budget of 0.
* Memory: the process after its fits, beyond the imports.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

from shared.common import markdown_table
from study import Case, Setting, Study

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
IMPORTS = ("import sklearn", "from sklearn.svm import OneClassSVM")
N_ROWS = 500


def python(program, folder=None):
    """Run a program in a fresh interpreter; its last line of output, decoded."""
    environment = {**os.environ, "PYTHONPATH": str(SOURCE)}
    done = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True, text=True, env=environment, cwd=folder, check=True,
    )  # fmt: skip
    return json.loads(done.stdout.splitlines()[-1])


def measure(what, repeats):
    """Medians of what a program prints, over fresh processes."""
    with tempfile.TemporaryDirectory() as folder:
        table = "\n".join(f"{i % 7},{(i * i) % 11},{i % 3}" for i in range(200))
        Path(folder, "rows.csv").write_text(f"a,b,c\n{table}\n", encoding="utf-8")
        program = _COMMAND
        if what in _CALLS:
            program = _FIT.format(call=_CALLS[what], n=N_ROWS)
        elif what in IMPORTS:
            program = _IMPORT.format(first=what)
        python(program, folder)
        runs = [python(program, folder) for _ in range(repeats)]
    if not isinstance(runs[0], dict):
        runs = [{"first": run} for run in runs]
    return {key: statistics.median(run[key] for run in runs) for key in runs[0]}


COMMAND = "`fewlabels fit` on 200 rows, budget 0, whole process"


def cases(options):
    for what in [*IMPORTS, *_CALLS, COMMAND][:: 4 if options.quick else 1]:
        yield Case({"what": what}, measure, (what, options.repeats))


def rows_of(records):
    return [
        [r["what"] if r["what"] == COMMAND else f"`{r['what']}`", r["first"], r.get("second")]
        for r in records
        if r["what"] not in IMPORTS
    ]


def report(results):
    imports = [[r["what"], r["first"]] for r in results.records if r["what"] in IMPORTS]
    yield markdown_table(["imported first", "then ours, CPU s"], imports)
    memory = [[r["what"], r["memory"]] for r in results.records if "memory" in r]
    yield markdown_table(["call", "MB"], memory)


def entries(results):
    return [results.entry("startup", ["first in a process", "second"], rows_of(results.records),
                          label="call", unit="CPU seconds", formats=["3g", "3g"])]  # fmt: skip


STUDY = Study(
    __doc__,
    cases,
    report,
    entries,
    settings={"repeats": Setting(5, "fresh processes per figure")},
    quick={"repeats": 1},
)
