"""USMO by rows and by memory: PUSVM(solver="usmo") with cache_size=1 and 200 MB.

    python benchmarks usmo_memory [--sizes 1000 2000 ...] [--caches 1 200] [--limit 900] [--quick]

100 labelled positives and n unlabelled rows of ten columns, a third of them positive; both classes
are Gaussian and overlap, so that many rows lie between breakpoints ("hard"). lambda = 0.01, Gaussian
kernel, the risk's threshold. Every fit runs in a fresh process that has fitted 400 rows before.
Memory is the high-water mark of resident memory during the fit minus what there was before. Kernel
evaluations are in units of n^2, of which a run that holds all rows needs one.

Writes usmo_memory.json, with an entry of results.json.
"""  # noqa: E501

from __future__ import annotations

import numpy as np
from results import entry, write
from shared.common import ChildFailed, PeakMemory, in_child, machine, options, timed

SIZES, CACHES = [1000, 2000, 4000, 8000, 16_000], [1.0, 200.0]
_N_POSITIVE = 100


def rows(n):
    """Labelled positives and n unlabelled rows."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(_N_POSITIVE + n, 10))
    X[: _N_POSITIVE + n // 3] += 0.7
    return X, np.r_[np.ones(_N_POSITIVE), np.zeros(n)]


def measure(n, cache, limit):
    """Seconds, megabytes, kernel evaluations per n^2, whole scans, the objective and its gap."""
    from fewlabels import PUSVM

    def model(cache):
        return PUSVM(
            1 / 3, lam=0.01, gamma=0.1, threshold="risk", solver="usmo", cache_size=cache,
            max_time=limit,
        )  # fmt: skip

    model(cache).fit(*rows(400))
    X, y = rows(n)
    with PeakMemory() as memory:
        seconds, fitted = timed(model(cache).fit, X, y)
    history = fitted.history_
    return {
        "seconds": seconds, "mb": memory.extra / 1e6,
        "evaluations": history[-1]["kernel_values"] / n**2,
        "scans": sum(one["scan"] == "whole" for one in history),
        "objective": fitted.objective_, "gap": fitted.duality_gap_,
        "finished": fitted.fit_status_ == 0,
    }  # fmt: skip


def main():
    parser = options(__doc__)
    parser.add_argument("--sizes", nargs="+", type=int)
    parser.add_argument("--caches", nargs="+", type=float, default=CACHES, help="MB")
    parser.add_argument("--limit", type=float, default=900.0, help="seconds of a fit")
    args = parser.parse_args()
    table = []
    for n in args.sizes or (SIZES[:1] if args.quick else SIZES):
        for cache in args.caches:
            try:
                found = in_child(measure, n, cache, args.limit, limit=2 * args.limit + 60)
            except ChildFailed as failure:
                print(f"{n} rows, {cache:g} MB: {str(failure).strip().splitlines()[-1]}")
                continue
            label = f"{n:,} rows, {cache:g} MB" + ("" if found["finished"] else ", out of time")
            values = [found[k] for k in ("seconds", "mb", "evaluations", "scans", "objective")]
            table.append([label, *values, found["gap"]])
            print(label, ", ".join(f"{k} {v:.4g}" for k, v in found.items()), flush=True)
    info = machine()
    columns = ["seconds", "MB", "kernel evaluations / n²", "whole scans", "objective", "gap"]
    one = entry(
        "usmo-memory", columns, table, label="USMO, cache_size", unit="as the columns say",
        formats=["3g", ".1f", ".1f", "", ".6f", ".1e"], program="python benchmarks usmo_memory",
        hardware=f"{info['cores']} cores, {info['processor']}",
    )  # fmt: skip
    write([one], args.out, "usmo_memory", quick=args.quick)


if __name__ == "__main__":
    main()
