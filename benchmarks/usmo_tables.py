"""USMO: the paper's Tables 3 and 4 on its twelve sets, and the objectives behind them.

    FEWLABELS_DATA=/path/to/data python benchmarks/usmo_tables.py
    python benchmarks/usmo_tables.py --data FOLDER --out FOLDER [--draws 10] [--quick]

Writes usmo_tables.md, usmo_tables.csv, usmo_tables.json and usmo_tables.png (usmo_tables-quick.*
with --quick). The data folder holds the authors' matrices, usmo_NAME.npz. Every column is
computed: Init*, the ramp loss [6], the convex problem by a QP solver [7], USMO, and ours; see
usmo_paper/protocol.py for what is measured and where the protocol comes from. Half an hour on one
core with the default 10 draws, most of it the QP solver; --quick a minute.
"""

from __future__ import annotations

import json

from common import data_folder, machine, options, write_json, write_text
from usmo_paper import protocol, report, runs

QUICK = ["heart", "ionosphere"]


def main():
    parser = options(__doc__)
    parser.add_argument("--draws", type=int, default=10, help="choices of labelled positives")
    parser.add_argument("--sets", nargs="+", choices=list(protocol.PRIORS), help="sets to run")
    parser.add_argument(
        "--largest-qp",
        type=int,
        default=1000,
        help="no QP solver on sets with more rows (krvskp, 3196 rows: a minute or more per fit)",
    )
    parser.add_argument(
        "--report-only", action="store_true", help="draw tables and picture of the last run again"
    )
    args = parser.parse_args()
    stem = "usmo_tables" + ("-quick" if args.quick else "")
    stored = args.out / f"{stem}.json"
    if args.report_only:
        results = json.loads(stored.read_text(encoding="utf-8"))
    else:
        results = run(args)
        write_json(stored, results)
    write_text(args.out / f"{stem}.csv", report.as_csv(results["f_measures"]))
    report.draw_picture(results, args.out / f"{stem}.png")
    text = report.report(results, stem)
    write_text(args.out / f"{stem}.md", text)
    print(text)
    print(f"Written to {args.out}: {stem}.md, {stem}.csv, {stem}.json, {stem}.png")


def run(args):
    """Every fit, as plain records."""
    sets = args.sets or (QUICK if args.quick else list(protocol.PRIORS))
    draws = 1 if args.quick else args.draws
    folder = data_folder(args, [f"usmo_{name}" for name in sets])
    return {
        "machine": machine(),
        "quick": args.quick,
        "draws": draws,
        "objectives": runs.objective_runs(folder, sets, args.largest_qp),
        "f_measures": runs.f_measure_runs(folder, sets, draws, args.largest_qp),
    }


if __name__ == "__main__":
    main()
