"""S3VM on real sets with few labels: ours beside scikit-learn, UniverSVM and LAMDA-SSL.

    python benchmarks/s3vm_peers.py --data FOLDER

Real semi-supervised sets with their official label splits (text and ssl-text: sparse; usps,
coil2, ssl-text and secstr: from Chapelle, Schoelkopf & Zien's book; g50c, text and uspst: from
Chapelle & Zien 2005), scikit-learn's digits (even against odd) and a family of Gaussian clusters,
both with random labels. Every method gets the same rows as they are stored (secstr: a column per
position and letter, 1000 unlabelled rows drawn at random per split; digits divided by 16), the
same labels, and must name the classes of all unlabelled rows. Errors are counted on those.

S3VM, and all others but the tuned ones, run at their defaults; where they have none that could
be meant (the base of a self-training), the table of settings says what they got. On sparse rows
the SVCs of a self-training get the kernel matrix, computed once (its time counts): LIBSVM would
take a minute. Tuned methods choose from a small grid by cross-validation over the labelled rows
(at most five folds), unlabelled rows and hidden labels taking part as unlabelled; with one label
in a class there is nothing to cross-validate and the first entry is taken. uspst has ten classes:
S3VM and UniverSVM are run for one class against the rest, the greatest score decides.

Seconds are those of one fit with its prediction of the unlabelled rows (and its
cross-validation), after a fit on some of the rows has loaded and compiled what there is; for
outside programs, which are run on the first two or three splits of a set, those of their process
(LAMDA-SSL: of its fit). Memory is the high-water mark of the process during the fit minus what it
held before; for outside programs theirs. "SVM, all labels" predicts every unlabelled row from the
true labels of four fifths of all rows: a bound, not a peer. A rank is the mean over sets of the
rank by mean error; "ahead" and "behind" are differences outside the 95 % interval of a paired
t-test over the splits of a set, "level" is the rest. Splits share their rows, so this is a rule to
sort by, not a test; with two or three splits it rarely says anything but "level".
"""

from __future__ import annotations

import json
import os
import sys
import time
import warnings
from fnmatch import fnmatch
from pathlib import Path

import numpy as np
from common import (
    ChildFailed,
    PeakMemory,
    data_folder,
    in_child,
    machine,
    options,
    timed,
    write_json,
)
from s3vm_bench import report as reporting
from s3vm_bench.data import SETS, files, n_splits, splits
from s3vm_bench.methods import METHODS, Outcome, Task

_QUICK = ["g50c, 50 labels", "usps, 10 labels", "family, 50 labels"]


# -- measuring ---------------------------------------------------------------------------------


def measure(folder, name, numbers, done, methods, programs, path):
    """All methods on the splits of one set; a line per result is appended to the file."""
    warm = set()
    for number, split in splits(folder, name, numbers):
        task = Task(split.X, split.y, split.truth, number, programs)
        for method in methods:
            gives, most = METHODS[method].gives or (method,), METHODS[method].most_splits
            if most is not None and number >= most:
                continue
            if all((number, given) in done for given in gives):
                continue
            if method not in warm:
                _warm_up(method, task)
                warm.add(method)
            with open(path, "a", encoding="utf-8") as file:
                for given, result in _run(method, gives, task).items():
                    line = {"set": name, "split": number, "method": given, **result}
                    file.write(json.dumps(line, default=float) + "\n")
                    print(f"    {name}, {number}: {given:<28} {sentence(result)}", flush=True)


def _warm_up(method, task):
    """A fit on some rows; outside programs need none."""
    if METHODS[method].group in ("outside", "bound"):
        return
    n_labeled = len(task.y) - len(task.unlabeled)
    # Above 1024 rows our kernel columns have another precision, compiled apart.
    rows = slice(0, n_labeled + (1100 if METHODS[method].group.startswith("ours") else 200))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            METHODS[method].run(Task(task.X[rows], task.y[rows], task.truth[rows], task.seed))
        except Exception:
            return  # what is wrong is reported by the fit itself


def _run(method, gives, task):
    """Figures per name; a refusal must not lose the others' figures."""
    try:
        with warnings.catch_warnings(record=True) as caught, PeakMemory() as memory:
            warnings.simplefilter("always")
            seconds, found = timed(METHODS[method].run, task)
    except ImportError as error:
        return {given: {"absent": str(error)} for given in gives}
    except Exception as error:
        return {given: {"failed": f"{type(error).__name__}: {error}"[:300]} for given in gives}
    if isinstance(found, Outcome):
        found = {method: found}
    truth = task.truth[task.unlabeled]
    kinds = sorted({f"{w.category.__name__}: {w.message}"[:200] for w in caught})
    return {
        given: {
            "error": float(np.mean(outcome.predicted != truth)),
            "seconds": outcome.seconds if outcome.seconds is not None else seconds,
            "extra_mb": outcome.extra_mb if outcome.extra_mb is not None else memory.extra / 1e6,
            "warnings": kinds,
        } | outcome.figures
        for given, outcome in found.items()
    }  # fmt: skip


def sentence(result):
    for key in ("failed", "absent"):
        if key in result:
            return result[key]
    text = (
        f"{100 * result['error']:.1f} %, {result['seconds']:.2f} s, +{result['extra_mb']:.0f} MB"
    )
    if "objective" in result:
        text += f", objective {result['objective']:.6g}"
    return text + (f" ({result['chosen']})" if "chosen" in result else "")


def run(names, methods, args, folder, path):
    """Measure every set in a process of its own."""
    if not args.resume:
        path.unlink(missing_ok=True)
    programs = {"universvm": args.universvm, "lamda": args.lamda_python, "limit": args.limit}
    for place, name in enumerate(names, 1):
        wanted = args.splits or (2 if args.quick else SETS[name].splits)
        numbers = list(range(int(min(wanted, n_splits(name, folder)))))
        # What was not there may be there now.
        done = {(r["split"], r["method"]) for r in read_results(path)
                if r["set"] == name and "absent" not in r}  # fmt: skip
        print(f"[{place}/{len(names)}] {name}, {len(numbers)} splits", flush=True)
        try:
            in_child(measure, folder, name, numbers, done, methods, programs, path,
                     limit=args.set_limit)  # fmt: skip
        except ChildFailed as failure:
            print(f"    {failure}", flush=True)


def read_results(path):
    """Results, the newest of each set, split and method."""
    if not path.exists():
        return []
    newest = {}
    for line in path.read_text(encoding="utf-8").splitlines():
        r = json.loads(line)
        newest[r["set"], r["split"], r["method"]] = r
    return list(newest.values())


def main():
    parser = options(__doc__)
    parser.add_argument("--sets", nargs="*", default=["*"], help="names or patterns")
    parser.add_argument("--methods", nargs="*", default=["*"], help="names or patterns")
    parser.add_argument("--splits", type=int, help="splits per set (default: see --list)")
    parser.add_argument(
        "--universvm", default=os.environ.get("UNIVERSVM"),
        help="UniverSVM's program, if there is one (default: environment variable UNIVERSVM)",
    )  # fmt: skip
    parser.add_argument(
        "--lamda-python", default=os.environ.get("LAMDA_PYTHON"),
        help="a Python with LAMDA-SSL, scikit-learn 1.2 and NumPy 1.23 (default: LAMDA_PYTHON)",
    )  # fmt: skip
    parser.add_argument("--limit", type=float, default=60.0, help="seconds for an outside program")
    parser.add_argument("--set-limit", type=float, default=3600.0, help="seconds for one set")
    parser.add_argument("--resume", action="store_true", help="keep what the file has already")
    parser.add_argument("--report-only", action="store_true", help="tables and pictures again")
    parser.add_argument("--list", action="store_true", help="print the names")
    args = parser.parse_args()
    chosen = lambda names, patterns: [  # noqa: E731
        name for name in names if any(fnmatch(name, pattern) for pattern in patterns)
    ]
    names, methods = chosen(SETS, args.sets), chosen(METHODS, args.methods)
    if args.list:
        print("\n".join(["sets:", *(f"{k} ({s.splits} splits)" for k, s in SETS.items()), "",
                         "methods:", *METHODS]))  # fmt: skip
        return
    if not names or not methods:
        sys.exit("no set or no method is called that; see --list.")
    if args.quick and args.sets == ["*"]:
        names = _QUICK
    stem = "s3vm-peers-quick" if args.quick else "s3vm-peers"
    out = Path(args.out).resolve()
    path, about = out / f"{stem}.jsonl", out / f"{stem}.json"
    if args.report_only:
        info = json.loads(about.read_text())
    else:
        needed = files(names)
        folder = data_folder(args, needed) if needed else None
        started, info = time.perf_counter(), {"machine": machine()}
        out.mkdir(parents=True, exist_ok=True)
        write_json(about, info)  # an interrupted run can be reported
        run(names, methods, args, folder, path)
        info["minutes"] = (time.perf_counter() - started) / 60
        write_json(about, info)
    results = read_results(path)
    if not any("error" in r for r in results):
        sys.exit("nothing was measured.")
    reporting.write_report(results, info, __doc__, stem, out)


if __name__ == "__main__":
    main()
