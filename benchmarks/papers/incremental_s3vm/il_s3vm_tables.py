"""Steps of path following per added row: Tables 2 and 3 of Gu et al. (2018), Table 2 of Yu et al. (2019).

    FEWLABELS_DATA=/path/to/data python benchmarks il_s3vm_tables
    python benchmarks il_s3vm_tables --data FOLDER --out FOLDER [--full] [--jobs 2] [--quick]

For every set, size and kernel: a local minimum on that many rows, then 20 rows, each added to a copy
of it, once labelled and once unlabelled; without the balancing constraint (IL-S3VM), with it
kept in the problem, and with it taken out and put back as in Yu et al. Steps and sign changes, mean
and standard deviation, beside the papers' figures. w8a stands in for w6a; papers/incremental_s3vm/data.py says what
else is assumed. Only counts are reported, so that several problems run at once (--jobs).

By default the papers' sizes up to 10 000 rows; --full takes all. Problems out of time (--limit) are
reported with the rows that were added until then. Writes il_s3vm_tables.md, .csv, .json and .png.
"""  # noqa: E501

from __future__ import annotations

import json
import time
from concurrent.futures import ThreadPoolExecutor
from itertools import product

from papers.incremental_s3vm import data, published, steps, tables_report
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

QUICK = ["madelon", "text", "usps"]


def main():
    parser = options(__doc__)
    parser.add_argument("--sets", nargs="+", choices=list(data.SETS), help="sets to run")
    parser.add_argument("--kernels", nargs="+", choices=list(data.KERNELS))
    parser.add_argument("--largest", type=int, default=10_000, help="largest size (rows)")
    parser.add_argument("--full", action="store_true", help="all sizes of the papers")
    parser.add_argument("--trials", type=int, default=20, help="rows added per problem")
    parser.add_argument(
        "--paper-trials", type=int, default=5, help="of these with the balancing of Yu et al."
    )
    parser.add_argument("--seed", type=int, default=0, help="of the choice and order of rows")
    parser.add_argument(
        "--limit", type=float, help="seconds per problem (default: 40; with --full 600)"
    )
    parser.add_argument("--jobs", type=int, default=2, help="problems at a time")
    parser.add_argument("--resume", action="store_true", help="keep the problems done before")
    parser.add_argument("--report-only", action="store_true", help="tables and picture again")
    args = parser.parse_args()
    if args.quick:
        args.sets, args.largest = args.sets or QUICK, 400
        args.trials, args.paper_trials = min(args.trials, 4), 1
    stem = "il_s3vm_tables" + ("-quick" if args.quick else "")
    stored = args.out / f"{stem}.json"
    results = None
    if (args.report_only or args.resume) and stored.is_file():
        results = json.loads(stored.read_text(encoding="utf-8"))
    if not args.report_only:
        results = run(args, results, stored)
    write_text(args.out / f"{stem}.csv", tables_report.as_csv(results["records"]))
    tables_report.draw_picture(results, args.out / f"{stem}.png")
    text = tables_report.report(results, stem)
    write_text(args.out / f"{stem}.md", text)
    print(text)
    print(f"Written to {args.out}: {stem}.md, {stem}.csv, {stem}.json, {stem}.png")


def problems(args, folder):
    """All problems as (set, size, kernel, balanced), the short ones first."""
    found = []
    for balanced, table in ((False, published.ADDED_LABELLED), (True, published.BALANCED)):
        for name in table:
            if (args.sets and name not in args.sets) or not data.is_present(folder, name):
                continue
            for size, kernel in product(table[name], args.kernels or data.KERNELS):
                if args.full or size <= args.largest:
                    found.append((name, size, kernel, balanced))
    return sorted(found, key=lambda p: (p[1], list(data.SETS).index(p[0])))


def run(args, results, stored):
    """Every problem in a process of its own; results are kept after each."""
    folder = data_folder(args)
    limit_threads(1)
    limit = args.limit or (600.0 if args.full else 40.0)
    results = results or {"machine": machine(), "quick": args.quick, "problems": [], "records": []}
    results["trials"] = args.trials
    done = {tuple(p["problem"]) for p in results["problems"]}
    waiting = [p for p in problems(args, folder) if p not in done]

    def one(problem):
        started = time.perf_counter()
        try:
            rows = args.trials, args.paper_trials
            arguments = (folder, *problem, *rows, args.seed, limit)
            # The limit is kept between rows; a solution or a row that takes longer is ended.
            records, error = in_child(steps.count, *arguments, limit=2.0 * limit), None
        except ChildFailed as failure:
            records, error = [], str(failure)
        return problem, records, error, time.perf_counter() - started

    with ThreadPoolExecutor(args.jobs) as pool:
        for k, (problem, records, error, seconds) in enumerate(pool.map(one, waiting)):
            results["problems"].append({"problem": problem, "seconds": seconds, "error": error})
            results["records"] += records
            write_json(stored, results)
            print(f"{k + 1} of {len(waiting)}: {tables_report.line(problem, records, error)}, "
                  f"{seconds:.0f} s", flush=True)  # fmt: skip
    return results


if __name__ == "__main__":
    main()
