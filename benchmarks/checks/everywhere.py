"""The same problems wherever rows are: in memory, in a file, on a cluster, on the array API.

    python benchmarks everywhere --rows 4000

Every problem is fitted to rows in memory, in a memory-mapped file (--cache-size below its size),
by two and by four worker processes, and as arrays of array-api-strict and of torch. Of every place
the relative difference of its objective from that in memory, and its duality gap, relative too;
and whether support vectors and labels of all rows are the same; of labels that are not, how far
from the boundary their rows are at most, as a share of the range of the decision function: support
vectors lie on it, to rounding.
"""

import argparse
import os
import tempfile
import warnings
from itertools import pairwise

os.environ["SCIPY_ARRAY_API"] = "1"  # before SciPy is imported

import array_api_strict
import numpy as np
import scipy.sparse as sp
import sklearn
import torch
from dask import delayed
from distributed import Client, LocalCluster
from shared.common import markdown_table

from fewlabels import PUSVM, S3VM, SVDD, OneClassSVM
from fewlabels.dask import DaskOneClassSVM, DaskPUSVM, DaskS3VM, DaskSVDD

ON_CLUSTER = {
    SVDD: DaskSVDD, OneClassSVM: DaskOneClassSVM, PUSVM: DaskPUSVM, S3VM: DaskS3VM
}  # fmt: skip
PLACES = ["memory", "file", "2 processes", "4 processes", "array-api-strict", "torch"]
_PARTS = 5


def problems(n):
    """Name, class, settings, rows, labels, weights."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 3))
    side = np.where(np.arange(n) < n // 3, 1, 0)
    X[side == 1] += 2.0
    known = np.where((side == 1) & (rng.random(n) < 0.3), 1, 0)
    few = np.where(rng.random(n) < 0.02, side, -1)
    weight = rng.uniform(0.2, 2.0, n)
    sparse = sp.random(n, 20, 0.2, format="csr", random_state=0)
    linear, pu = {"slack": "linear", "nu": 0.05}, {"prior": 0.2, "lam": 1e-3}
    semi = {"kernel": "linear", "balance": False}
    return [
        ("squared slack", SVDD, {"C": 0.05}, X, None, None),
        ("squared slack, weights", SVDD, {"C": 0.05}, X, None, weight),
        ("squared slack, sparse", SVDD, {"C": 0.05}, sparse, None, None),
        ("linear slack", SVDD, linear, X, None, None),
        ("linear slack, weights", SVDD, linear, X, None, weight),
        ("linear slack, sparse", SVDD, linear, sparse, None, None),
        ("one-class", OneClassSVM, {"nu": 0.05}, X, None, None),
        ("one-class, weights", OneClassSVM, {"nu": 0.05}, X, None, weight),
        ("one-class, sparse", OneClassSVM, {"nu": 0.05}, sparse, None, None),
        ("PU with kinks, prior known", PUSVM, pu, X, known, None),
        ("PU with kinks, prior estimated", PUSVM, {"lam": 1e-3}, X, known, None),
        ("PU with kinks, weights", PUSVM, pu, X, known, weight),
        ("S3VM, linear", S3VM, semi, X, few, None),
        ("S3VM, linear, weights", S3VM, semi, X, few, weight),
    ]


def fits(kind, settings, X, y, weight, clients, folder):
    """Pairs of a place and the machine fitted there."""
    labels = () if y is None else (y,)
    yield "memory", kind(**settings).fit(X, *labels, sample_weight=weight)
    if not sp.issparse(X):
        np.save(f"{folder}/rows.npy", X)
        rows = np.load(f"{folder}/rows.npy", mmap_mode="r")
        machine = kind(**settings, cache_size=0.01)
        yield "file", machine.fit(rows, *labels, sample_weight=weight)
    for place, client in clients.items():
        cut = np.linspace(0, X.shape[0], _PARTS + 1).astype(int)
        rows, *others = (
            None if one is None else [delayed(one[a:b]) for a, b in pairwise(cut)]
            for one in (X, y, weight)
        )
        machine = ON_CLUSTER[kind](**settings, client=client)
        yield place, machine.fit(rows, *others[: len(labels)], sample_weight=others[1])
    if kind is not S3VM and not sp.issparse(X):
        for place, library in (("array-api-strict", array_api_strict), ("torch", torch)):
            with sklearn.config_context(array_api_dispatch=True):
                machine = kind(**settings).fit(library.asarray(X), *labels, sample_weight=weight)
                yield place, machine.to_local()


def relative_gap(machine):
    gap = getattr(machine, "duality_gap_", None)
    return None if gap is None else gap / abs(machine.objective_)


def compare(name, kind, settings, X, y, weight, clients, folder):
    """A row of the table."""
    settings, local = {**settings, "tol": 1e-8}, None
    told, support, others = dict.fromkeys(PLACES, "-"), 0, []
    for place, machine in fits(kind, settings, X, y, weight, clients, folder):
        local = local or machine
        gap = relative_gap(machine)
        gap = "no gap" if gap is None else f"gap {gap:.0e}"
        if machine is local:
            told[place] = gap
            continue
        apart = np.max(np.abs(machine.objective_ / local.objective_ - 1.0))
        told[place] = f"{apart:.0e}, {gap}"
        support += len(np.setxor1d(machine.support_, local.support_))
        others.append(np.flatnonzero(np.asarray(machine.predict(X)) != local.predict(X)))
    decisions, others = local.decision_function(X), np.unique(np.concatenate(others))
    labels = "the same"
    if len(others):
        far = np.abs(decisions[others]).max() / np.ptp(decisions)
        labels = f"{len(others)} within {far:.0e} of the boundary"
    support = f"{support} others" if support else "the same"
    return [name, len(local.support_), *told.values(), support, labels]


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--rows", type=int, default=4000)
    parser.add_argument("--quick", action="store_true", help="few rows, few problems")
    args = parser.parse_args()
    chosen = problems(600)[::5] if args.quick else problems(args.rows)
    warnings.simplefilter("ignore")
    rows = []
    of_workers = dict(threads_per_worker=1, dashboard_address=":0", silence_logs=50)
    with (
        tempfile.TemporaryDirectory() as folder,
        LocalCluster(n_workers=2, **of_workers) as two, Client(two) as first,
        LocalCluster(n_workers=4, **of_workers) as four, Client(four) as second,
    ):  # fmt: skip
        clients = {"2 processes": first, "4 processes": second}
        for problem in chosen:
            rows.append(compare(*problem, clients, folder))
            print(*rows[-1], sep=" | ", flush=True)
    header = ["problem", "support vectors", *PLACES, "support vectors elsewhere", "labels"]
    print(markdown_table(header, rows))


if __name__ == "__main__":
    main()
