"""A batch of 20 rows at a time: the papers' procedures as printed, ours, and batch training.

    FEWLABELS_DATA=/path/to/data python benchmarks il_s3vm_batches
    python benchmarks il_s3vm_batches --data FOLDER [--draws 3] [--limit 120] [--kernel rbf]

Five sets, 10 labelled and 10 unlabelled rows added to a solved problem by one call of partial_fit,
C = 10, C* = 5 (Gu et al. 2018 and Yu et al. 2019, section 5.1). IL-S3VM moves one sample at a time
without the balancing constraint. IL-BCS3VM takes the constraint out once, adds the samples one at a
time, and puts it back once. Ours is S3VM's default: a block, with the constraint kept. Batch training
starts from scratch with all rows: as the papers do (BL-S3VM, BCS3VM), and with annealing, the default
of fit. Seconds, steps of the path, error on the unlabelled rows in %, value of (1), means over draws.
How often ours and IL-BCS3VM end in different local minima is printed. Needs the computer for itself.

Writes il_s3vm_batches.json, with an entry of results.json; problems done are kept (--resume).
"""  # noqa: E501

from __future__ import annotations

import json

import numpy as np
from papers.incremental_s3vm import data
from papers.incremental_s3vm.il_s3vm_times import _cell
from results import entry, write
from shared.common import data_folder, machine, options, write_json

SIZES = {"usps": 800, "text": 800, "mushrooms": 1500, "phishing": 1500, "cod_rna": 2000}
METHODS = {
    "path-off": "IL-S3VM as printed",
    "path-paper": "IL-BCS3VM as printed",
    "path-block": "S3VM, the default",
    "cccp-off": "batch training, no balancing (BL-S3VM)",
    "cccp": "batch training, balanced (BCS3VM)",
    "annealed": "batch training, annealed",
}
# Objectives that differ by more than this share belong to different local minima.
_SAME = 1e-6


def main():
    parser = options(__doc__)
    parser.add_argument("--draws", type=int, default=3)
    parser.add_argument("--limit", type=float, default=120.0, help="seconds per method")
    parser.add_argument("--kernel", choices=list(data.KERNELS), default="rbf")
    parser.add_argument("--sets", nargs="+", choices=list(SIZES), default=list(SIZES))
    parser.add_argument("--resume", action="store_true", help="keep the problems done before")
    args = parser.parse_args()
    folder = data_folder(args)
    sizes = {name: 200 if args.quick else SIZES[name] for name in args.sets}
    sizes = {name: size for name, size in sizes.items() if data.is_present(folder, name)}
    stored = args.out / f"il_s3vm_batches_records{'-quick' * args.quick}.json"
    records = json.loads(stored.read_text()) if args.resume and stored.is_file() else []
    done = {(r["set"], r["size"], r["kernel"], r["draw"]) for r in records}
    for draw in range(1 if args.quick else args.draws):
        for name, size in sizes.items():
            if (name, size, args.kernel, draw) not in done:
                records += _cell(
                    folder, name, size, args.kernel, draw, list(METHODS), args.limit, None
                )
                write_json(stored, records)
    records = [r for r in records if r["kernel"] == args.kernel and r["set"] in sizes]
    print(minima(records))
    info = machine()
    one = entry(
        "il-s3vm-batches", [f"{s}, {n} rows: {w}" for s, n in sizes.items() for w in FIGURES],
        table(records, sizes), label="20 rows in one batch", unit="seconds; steps; error in %",
        formats=list(FIGURES.values()) * len(sizes),
        program="python benchmarks il_s3vm_batches",
        hardware=f"{info['cores']} cores, {info['processor']}", note=minima(records),
    )  # fmt: skip
    write([one], args.out, "il_s3vm_batches", quick=args.quick)


FIGURES = {"s": "3g", "steps": ".0f", "error": ".1f"}


def table(records, sizes):
    """A row per method: means over draws, None where a draw wasn't finished."""
    rows = []
    for method, title in METHODS.items():
        row = [title]
        for name in sizes:
            found = [r for r in records if r["set"] == name and r["method"] == method]
            whole = bool(found) and all(r.get("finished") for r in found)
            for key in ("seconds", "steps", "error"):
                values = [r[key] for r in found if key in r]
                mean = float(np.mean(values)) if whole and values else None
                row.append(100 * mean if key == "error" and mean is not None else mean)
        rows.append(row)
    return rows


def minima(records):
    """In how many problems ours and IL-BCS3VM end in different local minima."""
    values = {(r["set"], r["draw"], r["method"]): r.get("objective") for r in records}
    pairs = [
        (ours, values.get((name, draw, "path-paper")))
        for (name, draw, method), ours in values.items()
        if method == "path-block"
    ]
    pairs = [(a, b) for a, b in pairs if a is not None and b is not None]
    other = [(a, b) for a, b in pairs if abs(a - b) > _SAME * abs(b)]
    lower = sum(a < b for a, b in other)
    return (
        f"S3VM's default and IL-BCS3VM end in different local minima in {len(other)} of "
        f"{len(pairs)} problems, the default's lower in {lower} of these."
    )


if __name__ == "__main__":
    main()
