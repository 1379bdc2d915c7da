"""Which minimum a stream ends in: objective and error of streamed, consolidated and batch S3VMs.

    FEWLABELS_DATA=/path/to/data python benchmarks/s3vm_quality.py
    python benchmarks/s3vm_quality.py --data FOLDER --out FOLDER [--draws 3] [--rows 500] [--quick]

Real sets, linear and Gaussian kernel (the width of gamma = "scale" on the first rows), defaults
otherwise. batch: fit on all rows. streamed: fit on the labelled rows and a tenth of the others,
then the rest row by row in random order. consolidated: the same after consolidate(). A case is
one choice of rows and labels, the same for all three. No worse: an objective at most 1e-6 above
that of batch, relative.

Writes s3vm_quality.md, .csv, .json and .png. Only objectives, errors and steps count, so that
several cases run at once (--jobs).
"""

from __future__ import annotations

import json
import time
from concurrent.futures import ThreadPoolExecutor

from common import ChildFailed, data_folder, in_child, machine, options, write_json, write_text
from s3vm_paper import quality, quality_report
from s3vm_paper.threads import limit_threads


def main():
    parser = options(__doc__)
    parser.add_argument("--sets", nargs="+", choices=list(quality.SETS))
    parser.add_argument("--kernels", nargs="+", choices=list(quality.KERNELS))
    parser.add_argument("--draws", type=int, default=2, help="choices of rows and labels")
    parser.add_argument("--rows", type=int, default=1000, help="at most so many of a set")
    parser.add_argument("--limit", type=float, default=150.0, help="seconds per case")
    parser.add_argument("--jobs", type=int, default=2, help="cases at a time")
    parser.add_argument("--report-only", action="store_true", help="tables and picture again")
    args = parser.parse_args()
    if args.quick:
        args.draws, args.rows = 1, min(args.rows, 300)
        args.sets = args.sets or ["g50c", "coil2", "mushrooms"]
    stem = "s3vm_quality" + ("-quick" if args.quick else "")
    stored = args.out / f"{stem}.json"
    if args.report_only:
        results = json.loads(stored.read_text(encoding="utf-8"))
    else:
        results = run(args, stored)
    write_text(args.out / f"{stem}.csv", quality_report.as_csv(results["records"]))
    quality_report.draw_picture(results["records"], args.out / f"{stem}.png")
    text = quality_report.report(results, stem)
    write_text(args.out / f"{stem}.md", text)
    print(text)
    print(f"Written to {args.out}: {stem}.md, {stem}.csv, {stem}.json, {stem}.png")


def run(args, stored):
    """Every case in a process of its own."""
    folder = data_folder(args)
    limit_threads(1)
    results = {"machine": machine(), "quick": args.quick, "rows": args.rows, "records": []}
    cases = [
        (name, kernel, seed)
        for seed in range(args.draws)
        for name in args.sets or quality.SETS
        if quality.is_present(folder, name)
        for kernel in args.kernels or quality.KERNELS
    ]

    def one(case):
        started = time.perf_counter()
        at = dict(zip(("set", "kernel", "draw"), case, strict=True))
        try:
            found = in_child(quality.case, folder, *case, args.rows, limit=args.limit)
        except ChildFailed as failure:
            found = {"failed": str(failure).strip().splitlines()[-1]}
        return {**at, **found, "seconds": time.perf_counter() - started}

    with ThreadPoolExecutor(args.jobs) as pool:
        for k, record in enumerate(pool.map(one, cases)):
            results["records"].append(record)
            write_json(stored, results)
            print(f"{k + 1} of {len(cases)}: {quality_report.line(record)}", flush=True)
    return results


if __name__ == "__main__":
    main()
