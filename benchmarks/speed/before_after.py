"""Two versions of the library on the same work, in turn: is anything slower than before?

    python benchmarks before_after --before OTHER/CHECKOUT/src [--after src] [--runs 7]
    python benchmarks before_after --before ... --only one-class-2k import --data FOLDER

Each measurement is a fresh process that imports `fewlabels` from one of the two folders; processes
of the two versions alternate (before, after, after, before, ...), so that a machine whose speed
drifts slows both alike. A process warms up on few rows, then repeats its work until --seconds have
passed (at least once) and tells the median; the table has the median over processes of the wall
seconds and of the CPU seconds of each version, and the median of the ratios pair by pair. `import`
and `first fit` are whole processes: the seconds of `from fewlabels import ...` after scikit-learn,
and of the first fit with a compilation cache that an earlier process left.

Results that fits arrive at (objective, number of support vectors) stand beside the seconds: a
version that is faster because it computes something else shows. Work that needs real data (MNIST)
is left out without --data.
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
from shared.common import machine, machine_line, markdown_table, options, write_json, write_text

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


def mnist():
    from speed.pu_family import mnist_draw

    from fewlabels import PUSVM

    draw = mnist_draw(os.environ["FEWLABELS_DATA"])
    model = PUSVM(prior=draw.prior)
    few = slice(0, draw.n_positive + _WARM)
    PUSVM(prior=draw.prior).fit(draw.X[few], draw.y[few])
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
    "pu-mnist-60k": (mnist,),
    "s3vm-50+5000": (s3vm_batch, 5_000),
    "s3vm-one-row-10k-linear": (stream, "linear", 10_000),
    "s3vm-one-row-10k-rbf": (stream, "rbf", 10_000),
    "one-class-one-row-5k": (forget_one_class, 5_000),
    "leave-one-out-1000": (leave_one_out, 1_000),
    "predict-20k-of-5k": (predict, 20_000),
}
_NEEDS_DATA = {"pu-mnist-60k"}
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


def measure(name, folder, seconds, cache):
    """One fresh process of one version; its figures."""
    environment = {**os.environ, "PYTHONPATH": str(folder), "NUMBA_CACHE_DIR": str(cache)}
    # NUMBA_CACHE_DIR is for versions from before the C++ core. As installed packages have it: what
    # a process compiles of Python is there for the next one.
    environment["PYTHONPYCACHEPREFIX"] = str(cache)
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    if name == "help":
        command = [sys.executable, "-m", "fewlabels.cli", "fit", "--help"]
        started, used = time.perf_counter(), resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run(command, env=environment, check=True, capture_output=True)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        cpu = after.ru_utime + after.ru_stime - used.ru_utime - used.ru_stime
        return {"wall": time.perf_counter() - started, "cpu": cpu}
    if name in WHOLE:
        program = WHOLE[name].format(
            start="import time, resource; w = time.perf_counter(); c = time.process_time()",
            stop="print(w2 := time.perf_counter() - w, time.process_time() - c)",
        )
        command = [sys.executable, "-c", program]
        done = subprocess.run(command, env=environment, check=True, capture_output=True, text=True)
        wall, cpu = map(float, done.stdout.split())
        return {"wall": wall, "cpu": cpu}
    command = [
        sys.executable,
        sys.argv[0],
        "before_after",
        "--measure",
        name,
        "--seconds",
        str(seconds),
    ]
    done = subprocess.run(command, env=environment, check=True, capture_output=True, text=True)
    return json.loads(done.stdout.splitlines()[-1])


def compare(name, args, caches):
    """Both versions in turn, after a process each that is thrown away."""
    folders = {"before": args.before, "after": args.after}
    for version in folders:
        measure(name, folders[version], 0.0, caches[version])
    runs = {"before": [], "after": []}
    for k in range(args.runs):
        for version in ("before", "after") if k % 2 == 0 else ("after", "before"):
            runs[version].append(measure(name, folders[version], args.seconds, caches[version]))
    return runs


def row(name, runs):
    """A line of the table."""

    def median(version, key):
        return statistics.median(run[key] for run in runs[version])

    def ratio(key):
        pairs = zip(runs["before"], runs["after"], strict=True)
        return statistics.median(b[key] / a[key] for a, b in pairs)

    facts = {version: runs[version][0] for version in runs}
    same = "-"
    if "objective" in facts["before"]:
        a, b = (facts[v]["objective"] for v in ("before", "after"))
        moved = (b - a) / max(abs(a), 1e-300)
        same = f"{moved:+.1e}, {facts['before']['sv']}/{facts['after']['sv']}"
    cells = [name]
    for key in ("wall", "cpu"):
        cells += [median("before", key), median("after", key), f"{ratio(key):.3f}"]
    return [*cells, same]


def main():
    parser = options(__doc__)
    here = Path(__file__).resolve().parents[2] / "src"
    parser.add_argument("--before", type=Path, help="the src folder of the other version")
    parser.add_argument("--after", type=Path, default=here, help="default: this checkout's src")
    parser.add_argument("--runs", type=int, default=7, help="processes of each version")
    parser.add_argument("--seconds", type=float, default=2.0, help="of repeated work in each")
    parser.add_argument("--only", nargs="*", choices=[*WORK, *WHOLE], help="some of the work")
    parser.add_argument("--measure", choices=list(WORK), help="used by the program itself")
    args = parser.parse_args()
    if args.measure:
        measure_here(args.measure, args.seconds)
        return
    if args.before is None or not (args.before / "fewlabels").is_dir():
        sys.exit(f"--before names the src folder of another checkout (given: {args.before}).")
    if args.data is not None:
        os.environ["FEWLABELS_DATA"] = str(Path(args.data).resolve())
    names = args.only or [n for n in [*WORK, *WHOLE] if args.data or n not in _NEEDS_DATA]
    if args.quick:
        args.runs, args.seconds, names = 1, 0.1, [*names[:1], "import"]
    columns = ["work", "before, s", "after, s", "ratio", "before, CPU s", "after, CPU s", "ratio",
               "objective (relative), SVs"]  # fmt: skip
    results, lines = {}, []
    stem = "before_after" + ("-quick" if args.quick else "")
    with tempfile.TemporaryDirectory() as caches:
        caches = {v: Path(caches) / v for v in ("before", "after")}
        for name in names:
            results[name] = compare(name, args, caches)
            lines.append(row(name, results[name]))
            print(*lines[-1], sep="  ", flush=True)
            text = f"{machine_line(machine())}\n\n{markdown_table(columns, lines)}\n"
            write_json(args.out / f"{stem}.json", results)
            write_text(args.out / f"{stem}.md", text)
    print(f"Written to {args.out}: {stem}.md, {stem}.json")


if __name__ == "__main__":
    main()
