"""Two versions of the library on the same work, in turn: is anything slower than before?

    python benchmarks before_after --before OTHER/CHECKOUT/src

Each measurement is a fresh process that imports `fewlabels` from one of the two folders; processes
of the two versions alternate (before, after, after, before, ...), so that a machine whose speed
drifts slows both alike. A process warms up on few rows, then repeats its work until --seconds have
passed (at least once) and prints the median; the table has the median over processes of the wall
seconds and of the CPU seconds of each version, and the median of the ratios pair by pair. `import`
and `first fit` are whole processes: the seconds of `from fewlabels import ...` after scikit-learn,
and of the first fit.

Results of the fits (objective, number of support vectors) are in the table too: a version that is
faster because it computes something else shows.
"""

from __future__ import annotations

import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
import warnings
from pathlib import Path

import numpy as np
from shared.common import markdown_table
from study import Case, Setting, Study

BENCHMARKS = Path(__file__).resolve().parents[1]
HERE = BENCHMARKS.parent / "src"
_WARM = 1200


def cpu_seconds():
    """Of this process, all threads."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


# -- the work: every function returns (once, describe) ------------------------------------------


def one_class(n):
    from fewlabels import OneClassSVM

    rng = np.random.default_rng(0)
    centres = rng.normal(scale=2.0, size=(5, 20))
    X = centres[rng.integers(5, size=n)] + rng.normal(size=(n, 20))
    model = OneClassSVM(nu=0.05)
    OneClassSVM(nu=0.05).fit(X[:_WARM])
    return lambda: model.fit(X), lambda: found(model)


def small(n):
    from fewlabels import OneClassSVM

    X = np.random.default_rng(0).normal(size=(n, 5))
    model = OneClassSVM(nu=0.1)
    return lambda: model.fit(X), lambda: found(model)


def svdd(n):
    from fewlabels import SVDD

    X = np.random.default_rng(0).normal(size=(n, 10))
    model = SVDD()
    SVDD().fit(X[:3500])
    return lambda: model.fit(X), lambda: found(model)


def pu(n):
    from shared.pu_data import make_family

    from fewlabels import PUSVM

    draw = make_family(n)
    model = PUSVM(prior=draw.prior, lam=1e-3, gamma=0.1)
    PUSVM(prior=draw.prior, lam=1e-3, gamma=0.1).fit(
        draw.X[: draw.n_positive + _WARM], draw.y[: draw.n_positive + _WARM]
    )
    return lambda: model.fit(draw.X, draw.y), lambda: found(model)


def s3vm_batch(n):
    from shared.few_label_data import make_family

    from fewlabels import S3VM

    split, _, _ = make_family(n)
    model = S3VM(C=1.0, C_star=0.1, gamma=1 / 50)
    S3VM(C=1.0, C_star=0.1, gamma=1 / 50).fit(split.X[:_WARM], split.y[:_WARM])
    return lambda: model.fit(split.X, split.y), lambda: found(model)


def stream(kernel, n):
    """One row arrives and goes again; what both take, over many rows."""
    from shared.few_label_data import make_family

    from fewlabels import S3VM

    split, new, classes = make_family(n)
    model = S3VM(C=1.0, C_star=0.1, kernel=kernel, gamma=1 / 50).fit(split.X, split.y)
    rows = iter(range(10**9))

    def once():
        k = next(rows) % len(new)
        model.partial_fit(new[[k]], [classes[k]] if k % 10 == 0 else None)
        model.forget([len(split.X)])

    for _ in range(20):
        once()
    return once, lambda: {"objective": model.objective_, "sv": len(model.support_)}


def forget_one_class(n):
    from fewlabels import OneClassSVM

    X = np.random.default_rng(0).normal(size=(n + 500, 5))
    model = OneClassSVM(nu=0.05).fit(X[:n])
    rows = iter(range(10**9))

    def once():
        k = n + next(rows) % 500
        model.partial_fit(X[[k]])
        model.forget([n])

    for _ in range(10):
        once()
    return once, lambda: found(model)


def predict(n):
    from fewlabels import SVDD

    rng = np.random.default_rng(0)
    X = rng.normal(size=(5000, 20))
    model = SVDD().fit(X)
    new = rng.normal(size=(n, 20))
    model.decision_function(new[:100])
    return lambda: model.decision_function(new), lambda: found(model)


def leave_one_out(n):
    from fewlabels import SVDD

    X = np.random.default_rng(0).normal(size=(n, 10))
    model = SVDD(target_fpr=0.05)
    SVDD(target_fpr=0.05).fit(X[:100])
    return lambda: model.fit(X), lambda: found(model)


def found(model):
    return {"objective": float(model.objective_), "sv": len(model.support_)}


WORK = {
    "small-100": (small, 100),
    "small-1000": (small, 1000),
    "one-class-2k": (one_class, 2_000),
    "one-class-10k": (one_class, 10_000),
    "one-class-50k": (one_class, 50_000),
    "svdd-5k": (svdd, 5_000),
    "svdd-million": (svdd, 1_000_000),
    "pu-10k": (pu, 10_000),
    "s3vm-50+5000": (s3vm_batch, 5_000),
    "s3vm-one-row-10k-linear": (stream, "linear", 10_000),
    "s3vm-one-row-10k-rbf": (stream, "rbf", 10_000),
    "one-class-one-row-5k": (forget_one_class, 5_000),
    "leave-one-out-1000": (leave_one_out, 1_000),
    "predict-20k-of-5k": (predict, 20_000),
}
_IMPORT = "import sklearn.svm; {start}; from fewlabels import SVDD, PUSVM, S3VM; {stop}"
_FIRST_FIT = """
import numpy as np; from fewlabels import SVDD; X = np.random.default_rng(0).normal(size=(500, 5))
{start}; SVDD().fit(X).predict(X); {stop}
"""
WHOLE = {"import": _IMPORT, "first-fit": _FIRST_FIT, "help": None}


def measure_here(name, seconds):
    """The work of one process, printed as JSON."""
    make, *args = WORK[name]
    walls, cpus = [], []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        once, describe = make(*args)
        until = time.perf_counter() + seconds
        while not walls or time.perf_counter() < until:
            wall, cpu = time.perf_counter(), cpu_seconds()
            once()
            walls.append(time.perf_counter() - wall)
            cpus.append(cpu_seconds() - cpu)
        facts = describe()
    # A mean for the CPU: its clock is coarse beside a millisecond.
    print(json.dumps({"wall": statistics.median(walls), "cpu": statistics.mean(cpus), **facts}))


def run_once(name, folder, seconds, cache):
    """One fresh process of one version; its figures."""
    environment = {**os.environ, "PYTHONPATH": f"{folder}{os.pathsep}{BENCHMARKS}"}
    # As installed packages have it: what a process compiles of Python is there for the next one.
    environment["PYTHONPYCACHEPREFIX"] = str(cache)
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    if name == "help":
        command = [sys.executable, "-m", "fewlabels.cli", "fit", "--help"]
        started, used = time.perf_counter(), resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run(command, env=environment, check=True, capture_output=True)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        cpu = after.ru_utime + after.ru_stime - used.ru_utime - used.ru_stime
        return {"wall": time.perf_counter() - started, "cpu": cpu}
    program = f"from speed.before_after import measure_here; measure_here({name!r}, {seconds})"
    if name in WHOLE:
        program = WHOLE[name].format(
            start="import time, resource; w = time.perf_counter(); c = time.process_time()",
            stop="print(w2 := time.perf_counter() - w, time.process_time() - c)",
        )
    command = [sys.executable, "-c", program]
    done = subprocess.run(command, env=environment, check=True, capture_output=True, text=True)
    if name in WHOLE:
        wall, cpu = map(float, done.stdout.split())
        return {"wall": wall, "cpu": cpu}
    return json.loads(done.stdout.splitlines()[-1])


def compare(name, before, after, runs, seconds):
    """Both versions in turn, after a process each that is thrown away."""
    folders, found = {"before": before, "after": after}, {"before": [], "after": []}
    with tempfile.TemporaryDirectory() as caches:
        for version in folders:
            run_once(name, folders[version], 0.0, Path(caches) / version)
        for k in range(runs):
            for version in ("before", "after") if k % 2 == 0 else ("after", "before"):
                cache = Path(caches) / version
                found[version].append(run_once(name, folders[version], seconds, cache))
    figures = {}
    for key in ("wall", "cpu"):
        pairs = zip(found["before"], found["after"], strict=True)
        figures[f"ratio_{key}"] = statistics.median(b[key] / a[key] for a, b in pairs)
        for version, one in found.items():
            figures[f"{version}_{key}"] = statistics.median(run[key] for run in one)
    first, second = (found[version][0] for version in folders)
    if "objective" in first:
        moved = (second["objective"] - first["objective"]) / max(abs(first["objective"]), 1e-300)
        figures |= {"objective": moved, "sv": f"{first['sv']}/{second['sv']}"}
    return figures


def cases(options):
    before = options.before
    if not options.list and (before is None or not (before / "fewlabels").is_dir()):
        sys.exit(f"Pass --before with the src folder of another checkout (given: {before}).")
    for name in options.work:
        given = (name, options.before, options.after, options.runs, options.seconds)
        yield Case({"work": name}, compare, given)


COLUMNS = {
    "work": "work", "before_wall": "before, s", "after_wall": "after, s", "ratio_wall": "ratio",
    "before_cpu": "before, CPU s", "after_cpu": "after, CPU s", "ratio_cpu": "ratio of CPU",
    "objective": "objective (relative)", "sv": "SVs",
}  # fmt: skip


def report(results):
    rows = [[r.get(key) for key in COLUMNS] for r in results.records]
    yield markdown_table([*COLUMNS.values()], rows)


STUDY = Study(
    __doc__,
    cases,
    report,
    choices={"work": [*WORK, *WHOLE]},
    settings={
        "before": Setting(None, "the src folder of the other version", Path),
        "after": Setting(HERE, "the src folder of this version", Path),
        "runs": Setting(7, "processes of each version"),
        "seconds": Setting(2.0, "of repeated work in each process"),
    },
    quick={"before": HERE, "work": ["import"], "runs": 1, "seconds": 0.1},
)
