"""How often does each solver of S3VM find the global minimum, and how far off is it otherwise?

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
from shared.common import group, load_set, markdown_table, mean, timed
from sklearn.datasets import make_moons
from study import Case, Setting, Study

from fewlabels import S3VM

LABELS, UNLABELLED = 4, (10, 20)
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


def measure(kind, seed, balance, folder):
    """A record per method, and one of the search that proves the global minimum."""
    X, y, truth, gamma = problem(kind, seed, folder)
    common = {"gamma": gamma, "balance": balance, "tol": 1e-6}
    unlabelled = np.isnan(y)

    def error(model):
        return float(np.mean(model.transduction_[unlabelled] != truth[unlabelled]))

    with warnings.catch_warnings():
        warnings.simplefilter("error")  # a search that is cut short proves nothing
        search = S3VM(solver="branch-and-bound", max_nodes=10**6, **common)
        seconds, best = timed(search.fit, X, y)
        records = [{"method": "global minimum", "excess": 0.0, "error": error(best),
                    "seconds": seconds, "nodes": best.n_nodes_, "gap": best.optimality_gap_,
                    "unlabelled": int(unlabelled.sum())}]  # fmt: skip
        for name, method in METHODS.items():
            seconds, model = timed(method, X, y, common)
            excess = float(model.objective_ / best.objective_ - 1.0)
            records.append({"method": name, "excess": excess, "error": error(model),
                            "seconds": seconds})  # fmt: skip
    return records


def cases(options):
    for balance in (True, False):
        for kind in options.sets:
            if kind in REAL and options.data is None:
                continue
            for seed in range(options.draws):
                key = {"balance": balance, "set": kind, "seed": seed}
                yield Case(key, measure, (kind, seed, balance, options.data))


def report(results):
    for balance, some in group(results.records, "balance").items():
        yield f"## {'Mean of f held' if balance else 'Mean of f free'}"
        yield "Global minimum found, relative excess where not, mean error in %."
        kinds = list(group(some, "set"))
        yield markdown_table(["method", "found", *kinds, "median excess", "largest", "error %"],
                             method_rows(some, kinds))  # fmt: skip
        yield "The search that proves it."
        rows = []
        for kind, own in group([r for r in some if "nodes" in r], "set").items():
            nodes, seconds = ([r[key] for r in own] for key in ("nodes", "seconds"))
            proven = f"{sum(r['gap'] == 0.0 for r in own)}/{len(own)}"
            rows.append([kind, proven, int(np.median(nodes)), max(nodes),
                         float(np.median(seconds)), max(seconds)])  # fmt: skip
        columns = ["set", "proven", "nodes, median", "most", "seconds, median", "most"]
        yield markdown_table(columns, rows)


def method_rows(records, kinds):
    for name, some in group(records, "method").items():
        excess = np.array([r["excess"] for r in some])
        off, counts = excess[excess > FOUND], []
        for kind in kinds:
            found = [r["excess"] <= FOUND for r in some if r["set"] == kind]
            counts.append(f"{sum(found)}/{len(found)}")
        yield [name, f"{len(excess) - len(off)}/{len(excess)}", *counts,
               float(np.median(off)) if len(off) else None, float(off.max(initial=0.0)) or None,
               100 * mean(some, "error")]  # fmt: skip


STUDY = Study(
    __doc__, cases, report, data="optional", choices={"sets": KINDS},
    settings={"draws": Setting(6, "problems per set")}, quick={"draws": 1, "sets": KINDS[:3]},
)  # fmt: skip
