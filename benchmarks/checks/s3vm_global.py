"""How often does each solver of S3VM find the global minimum, and how far off is it otherwise?

    python benchmarks s3vm_global --data FOLDER

Small problems, whose global minimum `solver="branch-and-bound"` proves: 4 labelled and 10 to 20
unlabelled rows of two moons, of two Gaussian clouds in 5 dimensions, and of three real sets
(g50c, USPS as 0-4 against 5-9, COIL2). C = 10, C* = 5, RBF with gamma = 1 / (d var), mean of f
held at that of the labels (0), and free.

* "annealed CCCP" is the default; "CCCP" has `annealing=False`.
* "path" adds rows one by one, those first that the machine is most sure of.
* "streamed" begins with the labelled rows and gets the others in random order, by `partial_fit`;
  "+ consolidate" calls it once at the end.
* "NN-BB k" is the same stream with `solver="branch-and-bound"` and k neighbours.

A minimum counts as global when its objective is at most 1e-6 above the smallest one, relative to
it; "excess" is that difference. Errors are those on the unlabelled rows: on so few, the global
minimum need not be the better classifier, and the table says so.
"""

from __future__ import annotations

import warnings

import numpy as np
from shared.common import (
    data_folder,
    load_set,
    machine,
    machine_line,
    markdown_table,
    options,
    timed,
    write_json,
    write_text,
)
from sklearn.datasets import make_moons

from fewlabels import S3VM

LABELS, UNLABELLED, DRAWS = 4, (10, 20), 6
REAL = {"g50c": "chapelle_g50c", "USPS": "chapelle_uspst", "COIL2": "ssl_coil2"}
KINDS = ["two moons", "Gaussians", *REAL]
FOUND = 1e-6


# -- problems ------------------------------------------------------------------------------


def rows_of(kind, rng, n, folder):
    """Rows and classes 0 and 1, at least two of each."""
    while True:
        if kind == "two moons":
            X, truth = make_moons(n, noise=0.15, random_state=int(rng.integers(2**31)))
        elif kind == "Gaussians":
            truth = rng.integers(0, 2, n)
            X = rng.normal(size=(n, 5)) + 0.8 * (2 * truth[:, None] - 1)
        else:
            X, y = load_set(folder, REAL[kind])
            chosen = rng.permutation(len(y))[:n]
            X, y = X[chosen], y[chosen]
            truth = (y >= 5 if kind == "USPS" else y == 1).astype(int)
        if min(truth.sum(), n - truth.sum()) >= LABELS // 2:
            return X, truth


def problem(kind, seed, folder):
    """Labelled rows first; gamma; the classes of all rows."""
    rng = np.random.default_rng([KINDS.index(kind), seed])
    n = LABELS + int(rng.integers(UNLABELLED[0], UNLABELLED[1] + 1))
    X, truth = rows_of(kind, rng, n, folder)
    first = np.concatenate([np.flatnonzero(truth == c)[: LABELS // 2] for c in (0, 1)])
    order = np.concatenate([first, rng.permutation(np.setdiff1d(np.arange(n), first))])
    X, truth = X[order], truth[order]
    y = np.where(np.arange(n) < LABELS, truth, np.nan)
    return X, y, truth, 1.0 / (X.shape[1] * X.var())


# -- methods -------------------------------------------------------------------------------


def batch(**parameters):
    return lambda X, y, common: S3VM(**parameters, **common).fit(X, y)


def streamed(consolidate=False, **parameters):
    def run(X, y, common):
        model = S3VM(**common).fit(X[:LABELS], y[:LABELS]).set_params(**parameters)
        for i in range(LABELS, len(X)):
            model.partial_fit(X[i : i + 1])
        if consolidate:
            model.consolidate()
        return model

    return run


METHODS = {
    "annealed CCCP": batch(),
    "CCCP": batch(annealing=False),
    "path": batch(solver="path"),
    "streamed": streamed(),
    "streamed + consolidate": streamed(consolidate=True),
    "NN-BB 3": streamed(solver="branch-and-bound", n_neighbors=3),
    "NN-BB 10": streamed(solver="branch-and-bound", n_neighbors=10),
}


def run_problem(kind, seed, balance, folder):
    X, y, truth, gamma = problem(kind, seed, folder)
    common = {"gamma": gamma, "balance": balance, "tol": 1e-6}
    unlabelled = np.isnan(y)

    def error(model):
        return float(np.mean(model.transduction_[unlabelled] != truth[unlabelled]))

    seconds, best = timed(S3VM(solver="branch-and-bound", max_nodes=10**6, **common).fit, X, y)
    found = {"global": {"excess": 0.0, "error": error(best), "seconds": seconds}}
    for name, method in METHODS.items():
        seconds, model = timed(method, X, y, common)
        excess = float(model.objective_ / best.objective_ - 1.0)
        found[name] = {"excess": excess, "error": error(model), "seconds": seconds}
    return {
        "kind": kind,
        "balance": balance,
        "unlabelled": int(unlabelled.sum()),
        "objective": best.objective_,
        "gap": best.optimality_gap_,
        "nodes": best.n_nodes_,
        "methods": found,
    }


# -- report ----------------------------------------------------------------------------------


def method_rows(results):
    for name in METHODS:
        excess = np.array([r["methods"][name]["excess"] for r in results])
        off = excess[excess > FOUND]
        counts = []
        for kind in KINDS:
            of = [r["methods"][name]["excess"] <= FOUND for r in results if r["kind"] == kind]
            counts.append(f"{sum(of)}/{len(of)}")
        yield [
            name,
            f"{len(excess) - len(off)}/{len(excess)}",
            *counts,
            float(np.median(off)) if len(off) else None,
            float(off.max()) if len(off) else None,
            100 * float(np.mean([r["methods"][name]["error"] for r in results])),
        ]
    error = 100 * float(np.mean([r["methods"]["global"]["error"] for r in results]))
    everything = f"{len(results)}/{len(results)}"
    each = [f"{n}/{n}" for n in (sum(r["kind"] == kind for r in results) for kind in KINDS)]
    yield ["global minimum", everything, *each, None, None, error]


def search_rows(results):
    for kind in KINDS:
        of = [r for r in results if r["kind"] == kind]
        nodes = [r["nodes"] for r in of]
        seconds = [r["methods"]["global"]["seconds"] for r in of]
        yield [
            kind,
            f"{min(r['unlabelled'] for r in of)}-{max(r['unlabelled'] for r in of)}",
            f"{sum(r['gap'] == 0.0 for r in of)}/{len(of)}",
            int(np.median(nodes)),
            max(nodes),
            float(np.median(seconds)),
            max(seconds),
        ]


def report(results, info):
    parts = ["# Global minima of small semi-supervised problems", machine_line(info)]
    for balance in (True, False):
        of = [r for r in results if r["balance"] is balance]
        parts.append(f"## {'Mean of f held' if balance else 'Mean of f free'}")
        parts.append("Global minimum found, relative excess where not, mean error in %.")
        titles = ["method", "found", *KINDS, "median excess", "largest", "error %"]
        parts.append(markdown_table(titles, method_rows(of)))
        parts.append("The search that proves it.")
        titles = [
            "set",
            "unlabelled",
            "proven",
            "nodes, median",
            "most",
            "seconds, median",
            "most",
        ]
        parts.append(markdown_table(titles, search_rows(of)))
    return "\n\n".join(parts) + "\n"


def main():
    parser = options(__doc__)
    parser.add_argument("--draws", type=int, default=DRAWS, help="problems per set")
    args = parser.parse_args()
    folder = data_folder(args, list(REAL.values()))
    info, results = machine(), []
    warnings.filterwarnings("error")  # a search that is cut short proves nothing
    for balance in (True, False):
        for kind in KINDS:
            for seed in range(1 if args.quick else args.draws):
                results.append(run_problem(kind, seed, balance, folder))
                done = results[-1]
                print(f"{kind}, {seed}, balance={balance}: {done['nodes']} nodes", flush=True)
    name = "s3vm_global" + ("-quick" if args.quick else "")
    write_json(args.out / f"{name}.json", {"machine": info, "results": results})
    text = report(results, info)
    write_text(args.out / f"{name}.md", text)
    print(text)


if __name__ == "__main__":
    main()
