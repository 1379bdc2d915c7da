"""SVDD with squared slack on one million rows x 10 columns.

    python benchmarks million

Two data sets, both float64 and standardised column by column: `gaussian` (standard normal)
and `mixture` (ten Gaussian clusters, centres N(0, 2^2), deviation 1). SVDD(slack="squared")
with everything else at its default (C = 2, gamma = "scale", tol = 1e-3). Each fit runs in a
fresh process that warms up with a fit on 3000 of the rows; one fit, no repeats. Memory is the
high-water mark of resident memory during the fit minus resident memory before it (the data,
80 MB, are there before).
"""

from __future__ import annotations

import warnings
from pathlib import Path

import numpy as np
from shared.common import (
    ChildFailed,
    PeakMemory,
    in_child,
    machine,
    machine_line,
    markdown_table,
    options,
    timed,
    write_json,
    write_text,
)


def make_rows(name, n, columns=10):
    """Standardised rows."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, columns))
    if name == "mixture":
        X += rng.normal(scale=2.0, size=(10, columns))[rng.integers(10, size=n)]
    X -= X.mean(axis=0)
    X /= X.std(axis=0)
    return X


def measure(name, n, tol, C):
    """One fit, in a process of its own."""
    from fewlabels import SVDD

    X = make_rows(name, n)
    SVDD(C=C, tol=tol).fit(X[:3000]).predict(X[:500])
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        with PeakMemory() as memory:
            seconds, model = timed(SVDD(C=C, tol=tol).fit, X)
    predict_seconds, predicted = timed(model.predict, X[:100_000])
    evaluated = model.history_[-1]["kernel_values"] if model.history_ else 0
    return {
        "data": name, "n": n, "d": X.shape[1], "C": C, "tol": tol, "seconds": seconds,
        "extra_mb": memory.extra / 1e6, "objective": model.objective_,
        "gap": model.duality_gap_, "n_sv": len(model.support_), "radius": model.radius_,
        "rounds": len(model.history_), "values_over_floor": evaluated / (n * len(model.support_)),
        "violation": model.history_[-1]["violation"] if model.history_ else None,
        "predict_100k_s": predict_seconds, "outside": float(np.mean(predicted < 0)),
        "warnings": sorted({str(w.message)[:300] for w in caught}),
    }  # fmt: skip


def write_report(report, stem, out):
    """Markdown and JSON."""
    columns = ["data", "rows", "seconds", "extra MB", "objective", "gap", "SVs", "radius",
               "outside", "rounds", "values / floor", "predict 100k s"]  # fmt: skip
    keys = ["data", "n", "seconds", "extra_mb", None, "gap", "n_sv", "radius", "outside",
            "rounds", "values_over_floor", "predict_100k_s"]  # fmt: skip
    rows, promises = [], []
    for name, r in report["fits"].items():
        if "failed" in r:
            rows.append([name, None, r["failed"].strip().splitlines()[-1]] + [None] * 9)
            continue
        rows.append([r[key] if key else f"{r['objective']:.8g}" for key in keys])
        if r["n"] >= 1_000_000:
            promises.append([name, "under 30 s", r["seconds"], r["seconds"] < 30])
            promises.append([name, "under 2000 MB extra", r["extra_mb"], r["extra_mb"] < 2000])
    text = [
        "# SVDD, squared slack, one million rows x 10 columns",
        machine_line(report["machine"]),
        __doc__.split("\n\n", 2)[2].strip(),
        markdown_table(columns, rows),
        "Values / floor: kernel values evaluated over rows x support vectors.",
    ]
    if promises:
        text.append(markdown_table(["data", "promise", "measured", "kept"], promises))
    text += [f"* {name}: {w}" for name, r in report["fits"].items() for w in r.get("warnings", [])]
    write_json(out / f"{stem}.json", report)
    write_text(out / f"{stem}.md", "\n\n".join(text) + "\n")


def main():
    parser = options(__doc__)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--tol", type=float, default=1e-3)
    parser.add_argument("--C", type=float, default=2.0)
    parser.add_argument("--limit", type=float, default=1200.0, help="seconds until given up")
    args = parser.parse_args()
    n = 20_000 if args.quick else args.rows
    stem = "million-quick" if args.quick else "million"
    out = Path(args.out)
    report = {"machine": machine(), "fits": {}}
    for name in ("gaussian", "mixture"):
        try:
            r = in_child(measure, name, n, args.tol, args.C, limit=args.limit)
            print(
                f"{name}: {r['seconds']:.2f} s, +{r['extra_mb']:.0f} MB, gap {r['gap']:.2g}, "
                f"{r['n_sv']} SVs, {r['rounds']} rounds",
                *r["warnings"], sep="\n    ", flush=True,
            )  # fmt: skip
        except ChildFailed as failure:
            r = {"failed": str(failure)}
            print(f"{name}: {failure}", flush=True)
        report["fits"][name] = r
        write_report(report, stem, out)
    print(f"wrote {out / stem}.md, .json")


if __name__ == "__main__":
    main()
