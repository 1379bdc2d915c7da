"""A stream of 50 000 rows into an S3VM: memory, latency and optimality on the way.

    FEWLABELS_DATA=/path/to/data python benchmarks s3vm_stream
    python benchmarks s3vm_stream --data FOLDER --out FOLDER [--set ijcnn1] [--rows 20000] [--quick]

stream: real rows in random order, 200 labels at the start and one row in a hundred labelled later, with
        the balancing constraint; linear and Gaussian kernel. Milliseconds of every partial_fit (median,
        99th percentile and maximum of windows), resident memory, error on the unlabelled rows and,
        at checkpoints, the violation of the optimality conditions, computed in float64 from data and
        coefficients by code apart from the package, on a sample of the rows; at the end on all.
exact:  10 000 rows one by one, rounding never repaired (refresh_at infinite); then the same check on
        all rows, and by how much the f that was carried along is off.

--consolidate calls consolidate() whenever it is due. Each run has a process of its own. Writes
s3vm_stream.md, .csv, .json and .png.
"""  # noqa: E501

from __future__ import annotations

import json

from papers.incremental_s3vm import stream, stream_report
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

PARTS = ("stream", "exact")


def main():
    parser = options(__doc__)
    parser.add_argument("--parts", nargs="+", choices=PARTS, default=list(PARTS))
    parser.add_argument("--set", choices=["cod_rna", "ijcnn1"], default="cod_rna")
    parser.add_argument("--kernels", nargs="+", choices=["linear", "rbf"])
    parser.add_argument("--gamma", type=float, default=0.1, help="of the Gaussian kernel")
    parser.add_argument("--rows", type=int, default=50_000, help="of the stream (at most 49 000 "
                        "of ijcnn1)")  # fmt: skip
    parser.add_argument("--exact-rows", type=int, default=10_000)
    parser.add_argument("--consolidate", action="store_true", help="whenever it is due")
    parser.add_argument("--limit", type=float, default=3000.0, help="seconds per run")
    parser.add_argument("--threads", type=int, help="of the linear algebra library")
    parser.add_argument("--report-only", action="store_true", help="tables and picture again")
    args = parser.parse_args()
    if args.quick:
        args.rows, args.exact_rows = min(args.rows, 3000), min(args.exact_rows, 1000)
    stem = "s3vm_stream" + ("-quick" if args.quick else "")
    stored = args.out / f"{stem}.json"
    results = {}
    if stored.is_file() and (args.report_only or set(args.parts) != set(PARTS)):
        results = json.loads(stored.read_text(encoding="utf-8"))
    if not args.report_only:
        limit_threads(args.threads)
        folder = data_folder(args, [args.set])
        results.update(machine=machine(), quick=args.quick)
        for part in args.parts:
            results[part] = {"machine": results["machine"], "runs": []}
            for run in runs(part, args, folder):
                results[part]["runs"].append(run)
                write_json(stored, results)
    write_text(args.out / f"{stem}.csv", stream_report.as_csv(results))
    if results.get("stream", {}).get("runs"):
        stream_report.draw_picture(results["stream"]["runs"], args.out / f"{stem}.png")
    text = stream_report.report(results, stem)
    write_text(args.out / f"{stem}.md", text)
    print(text)
    print(f"Written to {args.out}: {stem}.md, {stem}.csv, {stem}.json, {stem}.png")


def runs(part, args, folder):
    """One run after another; what fails is left out with a line."""
    kernels = args.kernels or ["linear", "rbf"]
    if part == "stream":
        todo = [
            (stream.stream, (args.set, kernel, args.gamma, args.rows, args.consolidate))
            for kernel in kernels
        ]
    else:
        sets = ["cod_rna", "ijcnn1"]
        todo = [
            (stream.exact, (name, kernel, args.gamma, args.exact_rows, balance))
            for name in sets
            for kernel in kernels
            for balance in (None, "keep")
        ]
    for function, arguments in todo:
        try:
            run = in_child(function, folder, *arguments, limit=args.limit)
        except ChildFailed as failure:
            words = str(failure).strip().splitlines()[-1]
            run = {"set": arguments[0], "kernel": arguments[1], "failed": words}
        print(f"{part}: {stream_report.line(run)}", flush=True)
        yield run


if __name__ == "__main__":
    main()
