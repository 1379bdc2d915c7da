"""Rows that compute where they are: torch's beside NumPy's, the same machines.

    python benchmarks array_api                                     # seconds: small, on the CPU
    python benchmarks array_api --rows 10000 100000 1000000
    python benchmarks array_api --device cuda --rows 100000 1000000 10000000

Of every fit: seconds, rounds, support vectors, kernel values, passes over all rows, bytes that
went to the device or came from it in a round, and bytes that the passes read and wrote there, by
count: rows once a pass, and 32 bytes a kernel value (product, map, float64, sum). A difference of
objectives is relative to that of NumPy's rows, the gap to the objective.
"""

import argparse
import json
import os
import time
from pathlib import Path

os.environ["SCIPY_ARRAY_API"] = "1"  # before SciPy is imported

import numpy as np
import sklearn
from results import entry

from fewlabels import SVDD, OneClassSVM

# Bytes that a kernel value takes on its way.
VALUE = 32


def rows_of(n, d, dtype):
    """Nine in ten rows of one broad cloud, one in ten of a narrow one."""
    rng = np.random.default_rng(n)
    X = rng.standard_normal((n, d), dtype)
    narrow = rng.random(n) < 0.1
    X[narrow] = dtype(0.3) * X[narrow] + dtype(2.0)
    return X


def machines(n, n_jobs):
    """About as many support vectors for any number of rows."""
    return {
        "ball": SVDD(C=0.02, n_jobs=n_jobs),
        "one-class": OneClassSVM(nu=min(0.05, 1000.0 / n), n_jobs=n_jobs),
    }


def fitted(machine, X, wait):
    """The machine, and what its fit has cost."""
    cpu, started = time.process_time(), time.perf_counter()
    machine.fit(X)
    wait()
    seconds, cpu = time.perf_counter() - started, time.process_time() - cpu
    last = machine.history_[-1]
    return machine, {
        "seconds": seconds,
        "cpu_seconds": cpu,
        "rounds": len(machine.history_),
        "support_vectors": len(machine.support_),
        "kernel_values": last["kernel_values"],
        "objective": float(machine.objective_),
        "gap": float(machine.duality_gap_ / abs(machine.objective_)),
        **{name: last[name] for name in ("passes", "bytes_moved") if name in last},
    }


def compare(name, n, args, torch):
    """Both fits of a machine as a dict."""
    X = rows_of(n, args.columns, np.dtype(args.dtype).type)
    there = torch.from_numpy(X).to(args.device)
    is_cuda = args.device.startswith("cuda")
    wait = torch.cuda.synchronize if is_cuda else lambda: None
    if is_cuda:  # the first product starts the library
        (there[:8] @ there[:8].T).sum().item()
    found = {"machine": name, "rows": n}
    _, found["numpy"] = fitted(machines(n, args.threads)[name], X, lambda: None)
    with sklearn.config_context(array_api_dispatch=True):
        machine, own = fitted(machines(n, args.threads)[name], there, wait)
        started = time.perf_counter()
        machine.decision_function(there)
        wait()
        own["seconds_to_score"] = time.perf_counter() - started
    per_row = (args.columns + 2) * X.itemsize
    own["bytes_passed"] = own["passes"] * n * per_row + VALUE * own["kernel_values"]
    found["torch"] = own
    here = found["numpy"]["objective"]
    found["difference"] = abs(own["objective"] - here) / abs(here)
    return found


def line(found):
    here, there = found["numpy"], found["torch"]
    moved = there["bytes_moved"] / max(1, there["rounds"]) / 1e6
    return (
        f"| {found['machine']} | {found['rows']:,} | {here['seconds']:.2f} | "
        f"{there['seconds']:.2f} | {here['cpu_seconds']:.2f} | {there['cpu_seconds']:.2f} | "
        f"{here['rounds']} | {there['rounds']} | {there['support_vectors']} | "
        f"{here['kernel_values']:.2e} | {there['kernel_values']:.2e} | {there['passes']} | "
        f"{moved:.2f} | {there['bytes_passed'] / 1e9:.2f} | {found['difference']:.0e} | "
        f"{there['gap']:.0e} |"
    )


TITLES = {"ball": "SVDD", "one-class": "OneClassSVM"}


def entry_of(results, facts, args):
    """Seconds of both, for the results file."""
    rows = [
        [
            f"`{TITLES[found['machine']]}`, {found['rows']:,} rows",
            found["numpy"]["seconds"],
            found["torch"]["seconds"],
            found["numpy"]["seconds"] / found["torch"]["seconds"],
            found["torch"]["support_vectors"],
        ]
        for found in results
    ]
    return entry(
        "array-api",
        ["NumPy, s", "torch, s", "ratio", "support vectors"],
        rows,
        unit="s",
        label=f"fit, {args.columns} columns",
        formats=["3g", "3g", ".1f", ","],
        program=f"python benchmarks array_api --device {args.device}",
        hardware=f"{facts['device']}; {args.threads} cores for NumPy",
        note=f"{args.dtype}, torch {facts['torch']}",
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--rows", type=int, nargs="+", default=[5_000, 20_000])
    parser.add_argument("--columns", type=int, default=20)
    parser.add_argument("--machines", nargs="+", default=["ball", "one-class"])
    parser.add_argument("--dtype", choices=["float32", "float64"], default="float32")
    parser.add_argument("--device", default="cpu", help="of torch, such as cuda or cuda:1")
    parser.add_argument("--threads", type=int, default=os.cpu_count())
    parser.add_argument("--out", type=Path, default=Path("results"))
    args = parser.parse_args()
    import torch

    torch.set_num_threads(args.threads)
    # Compiled code and libraries are loaded before anything is measured.
    for name in args.machines:
        compare(name, 4000, args, torch)
    print(
        "| machine | rows | s NumPy | s torch | CPU s | CPU s torch | rounds | torch | vectors | "
        "values | torch | passes | MB moved a round | GB passed | difference | gap |"
    )
    print("|---" * 16 + "|")
    results = []
    for n in args.rows:
        for name in args.machines:
            results.append(compare(name, n, args, torch))
            print(line(results[-1]), flush=True)
    args.out.mkdir(parents=True, exist_ok=True)
    facts = {"torch": torch.__version__, "device": args.device, "dtype": args.dtype}
    if args.device.startswith("cuda"):
        facts["device"] = torch.cuda.get_device_name()
    text = json.dumps({**facts, "threads": args.threads, "results": results}, indent=1)
    (args.out / "array_api.json").write_text(text + "\n", encoding="utf-8")
    found = {"entries": [entry_of(results, facts, args)]}
    (args.out / "array_api-entries.json").write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()
