"""Compare what a fit reports with a truth that is hidden from it, from no signal to a strong one.

    python benchmarks hidden_truth [--part prior positives classes unlike one-class]
        [--draws 5] [--half chosen shown] [--processes 2] [--load 0] [--budget 5]
        [--report-only] [--out results]

prior      ``estimate_prior`` alone: the class prior's interval.
positives  Positives and unlabelled rows: prior, number of positives, precision and recall of the
           rows predicted positive, the verdict on signal, probabilities, rank of the model.
classes    A few labels of two classes: accuracy, the verdict, rank of the model. Labels are drawn
           at random, in equal numbers per class, or 60 and 5, and rows may be repeated.
unlike     The same with a batch and a day as columns, of which one decided who was labelled, or
           neither: whether the report names the column.
one-class  Normal rows with or without a few anomalies among them: the false alarm rate.

Tables are Gaussian, with two classes that a linear score separates with a known ROC AUC.
Everything about a case follows from its name, so that a study can be stopped and goes on where it
was: each case is one line of hidden-truth.jsonl. The two halves of the settings differ in every
number: columns, ROC AUCs, shares, labels. Rules are chosen on one half and reported on the other.
Five draws of a half take 40 minutes on two cores. ``--load`` starts programs that keep the machine
busy, to see what that does to time budgets.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from contextlib import contextmanager
from pathlib import Path

from accuracy.hidden_truth.cases import HALVES, cases
from accuracy.hidden_truth.runs import RUNS, run
from accuracy.hidden_truth.summary import print_summary


@contextmanager
def busy(programs: int) -> Iterator[None]:
    """Keep so many programs counting in a block."""
    running = [
        subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(programs)
    ]
    try:
        yield
    finally:
        for one in running:
            one.kill()
            one.wait()


def main() -> None:
    """Run what is missing, and report."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--part", nargs="+", choices=list(RUNS), default=list(RUNS))
    parser.add_argument("--half", nargs="+", choices=list(HALVES), default=list(HALVES))
    parser.add_argument("--draws", type=int, default=5)
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--load", type=int, default=0, help="programs that keep the machine busy")
    parser.add_argument("--budget", type=float, default=5.0, help="seconds of a fit")
    parser.add_argument("--report-only", action="store_true", help="of the cases that have run")
    parser.add_argument("--out", type=Path, default=Path("results"))
    args = parser.parse_args()
    args.out.mkdir(parents=True, exist_ok=True)
    path = args.out / "hidden-truth.jsonl"
    done = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
    found = {one["name"]: one for one in map(json.loads, done)}
    todo = [c for c in cases(args.part, args.half, args.draws) if c.name not in found]
    if todo and not args.report_only:
        for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):  # processes share the cores
            os.environ.setdefault(name, "1")
        spawn = multiprocessing.get_context("spawn")
        with (
            busy(args.load),
            ProcessPoolExecutor(args.processes, mp_context=spawn) as pool,
            path.open("a", encoding="utf-8") as file,
        ):
            futures = [pool.submit(run, case, args.budget) for case in todo]
            for k, future in enumerate(as_completed(futures), 1):
                one = future.result()
                found[one["name"]] = one
                file.write(json.dumps(one, default=float) + "\n")
                file.flush()
                print(f"{k} of {len(todo)}: {one['name']}", flush=True)
    print_summary([one for one in found.values() if one["half"] in args.half], args.out)


if __name__ == "__main__":
    main()
