"""Time and error when 20 rows are added: Figures 3 and 4 of Gu et al. (2018), 2 and 3 of Yu et al. (2019).

    FEWLABELS_DATA=/path/to/data python benchmarks il_s3vm_times
    python benchmarks il_s3vm_times --data FOLDER --out FOLDER [--parts grow boxes single]

grow:   seconds to add 10 labelled and 10 unlabelled rows at growing sizes: the path (virtual row
        kept, row by row and as one batch; IL-S3VM and IL-BCS3VM as printed, one batch), batch CCCP
        from scratch, at the default tolerance and with optimality conditions to 1e-6, warm-started
        CCCP, annealed CCCP (the default) and NN-BB.
boxes:  errors on the unlabelled rows after that over several draws, Gaussian kernel.
single: one added row against batch CCCP from scratch to 1e-6 on as many rows, in one process;
        seconds of each of the rows (median, mean, largest).

Writes il_s3vm_times.md, .csv, .json, and -grow.png, -boxes.png, -single.png. Each problem runs in a
process of its own; a method that takes longer than --limit is reported as such (ten times as long
for batch training in part single). NN-BB shares its time among the rows; a search cut short makes
it "> ". --full adds sets, sizes and draws. A new method is a function and a line in METHODS of papers/incremental_s3vm/methods.py.
"""  # noqa: E501

from __future__ import annotations

import json
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from papers.incremental_s3vm import data, methods, times, times_report
from shared.common import (
    ChildFailed,
    data_folder,
    in_child,
    machine,
    options,
    write_json,
    write_text,
)
from shared.threads import limit_threads

PARTS = ("grow", "boxes", "single")
GROW = {"usps": [400, 800, 1600], "mushrooms": [1500, 6000], "cod_rna": [2500, 5000, 10000]}
GROW_FULL = {
    "madelon": [400, 800, 1200, 1600], "text": [400, 800, 1200, 1600],
    "usps": [400, 800, 1200, 1600], "mushrooms": [1500, 3000, 4500, 6000],
    "phishing": [1500, 3000, 4500, 6000], "w6a": [4000, 8000, 12000, 16000],
    "a9a": [3000, 6000, 9000, 12000], "ijcnn1": [5000, 10000, 20000, 40000],
    "cod_rna": [5000, 10000, 20000, 40000],
}  # fmt: skip
BOXES = {
    "madelon": 600, "text": 800, "usps": 800, "mushrooms": 1500, "phishing": 1500, "w6a": 2000,
    "cod_rna": 2000, "ijcnn1": 1500, "a9a": 1000,
}  # fmt: skip
BOX_METHODS = [
    "path", "path-block", "path-off", "path-paper", "cccp", "cccp-off", "annealed", "nn-bb",
]  # fmt: skip


def main():
    parser = options(__doc__)
    parser.add_argument(
        "--parts", nargs="+", choices=PARTS, default=list(PARTS),
        help="those left out keep the results of the last run",
    )  # fmt: skip
    parser.add_argument("--sets", nargs="+", choices=list(data.SETS), help="sets to run")
    parser.add_argument("--methods", nargs="+", choices=list(methods.METHODS))
    parser.add_argument("--kernels", nargs="+", choices=list(data.KERNELS), help="grow, single")
    parser.add_argument("--draws", type=int, help="boxes (default: 4; with --full 10)")
    parser.add_argument("--size", type=int, default=10_000, help="rows of the part single")
    parser.add_argument("--full", action="store_true", help="more sets, kernels, sizes, draws")
    parser.add_argument(
        "--limit", type=float, help="seconds per method (default: 6; with --full 300)"
    )
    parser.add_argument("--threads", type=int, help="of the linear algebra library")
    parser.add_argument("--report-only", action="store_true", help="tables and pictures again")
    args = parser.parse_args()
    stem = "il_s3vm_times" + ("-quick" if args.quick else "")
    stored = args.out / f"{stem}.json"
    results = {}
    if stored.is_file() and (args.report_only or set(args.parts) != set(PARTS)):
        results = json.loads(stored.read_text(encoding="utf-8"))
    if not args.report_only:
        limit_threads(args.threads)
        folder = data_folder(args)
        results.update(machine=machine(), quick=args.quick)
        for part in args.parts:
            results[part] = {"machine": results["machine"], "records": []}
            for records in {"grow": grow, "boxes": boxes, "single": single}[part](args, folder):
                results[part]["records"] += records
                write_json(stored, results)
    write_text(args.out / f"{stem}.csv", times_report.as_csv(results))
    written = times_report.draw_pictures(results, args.out, stem)
    text = times_report.report(results, stem)
    write_text(args.out / f"{stem}.md", text)
    print(text)
    print(f"Written to {args.out}: {stem}.md, {stem}.csv, {stem}.json, {', '.join(written)}")


def grow(args, folder):
    """Records of one problem after another, on the machine alone."""
    sizes = GROW_FULL if args.full else {"usps": [300, 600]} if args.quick else GROW
    kernels = args.kernels or (list(data.KERNELS) if args.full else ["linear", "rbf"])
    names = args.methods or list(methods.METHODS)
    limit = args.limit or (300.0 if args.full else 6.0)
    for name, at in _chosen(args, folder, sizes):
        for kernel in kernels:
            for size in at:
                yield _cell(folder, name, size, kernel, 0, names, limit, None)


def boxes(args, folder):
    """Records of one draw after another; two at a time, since only errors count."""
    sizes = {"usps": 300, "text": 400} if args.quick else BOXES
    draws = args.draws or (10 if args.full else 2 if args.quick else 4)
    names = args.methods or BOX_METHODS
    limit = args.limit or (300.0 if args.full else 6.0)
    cells = [
        (folder, name, size, "rbf", seed, names, limit, 1)
        for name, size in _chosen(args, folder, sizes)
        for seed in range(draws)
    ]
    with ThreadPoolExecutor(2) as pool:
        yield from pool.map(lambda cell: _cell(*cell), cells)


def single(args, folder):
    """Records of the settings of part single."""
    size, rows = (1000, 20) if args.quick else (args.size, 200)
    for name, setting in times.SINGLE.items():
        unwanted = (args.sets and setting["set"] not in args.sets) or (
            args.kernels and setting["kernel"] not in args.kernels
        )
        if unwanted or not data.is_present(folder, setting["set"]):
            continue
        limit = 10.0 * (args.limit or (60.0 if args.full else 6.0))
        try:
            record = in_child(
                times.single, folder, name, size, rows, limit, limit=600.0 + 3.0 * limit
            )
        except ChildFailed as failure:
            record = {"case": name, "failed": str(failure).strip().splitlines()[-1]}
        print(f"single, {name}: {times_report.single_line(record)}", flush=True)
        yield [record]


def _chosen(args, folder, sizes):
    return [
        (name, at)
        for name, at in sizes.items()
        if (not args.sets or name in args.sets) and data.is_present(folder, name)
    ]


def _cell(folder, name, size, kernel, seed, names, limit, n_jobs):
    """All methods on one problem in a child that writes what it has as it goes."""
    started = time.perf_counter()
    with tempfile.TemporaryDirectory() as scratch:
        path = Path(scratch) / "records"
        try:
            in_child(
                times.cell, folder, name, size, kernel, seed, names, limit, n_jobs, path,
                limit=60.0 + 3.0 * limit * len(names),
            )  # fmt: skip
            failed = None
        except ChildFailed as failure:
            failed = str(failure).strip().splitlines()[-1]
        lines = path.read_text().splitlines() if path.is_file() else []
    records = [json.loads(line) for line in lines]
    if failed:
        records.append({"set": name, "size": size, "kernel": kernel, "draw": seed,
                        "method": names[len(records)], "failed": failed})  # fmt: skip
    print(f"{name} {size} {kernel} draw {seed}: {times_report.line(records)} "
          f"({time.perf_counter() - started:.0f} s)", flush=True)  # fmt: skip
    return records


if __name__ == "__main__":
    main()
