"""The same problems wherever rows are: in memory, in a file, on a cluster, on the array API.

Every problem is fitted to rows in memory, in a memory-mapped file (cache_size below its size), by
two and by four worker processes, and as arrays of array-api-strict and of torch. For every place
the table has the relative difference of its objective from that in memory, and its duality gap,
relative too. It also says how many support vectors and labels of rows differ, and how far from the
boundary these rows are at most, as a share of the range of the decision function: support vectors
are on it, to rounding.
"""

from __future__ import annotations

import os
import tempfile
from contextlib import ExitStack
from functools import cache
from itertools import pairwise

os.environ["SCIPY_ARRAY_API"] = "1"  # before SciPy is imported

import numpy as np
import scipy.sparse as sp
import sklearn
from dask import delayed
from distributed import Client, LocalCluster
from shared.common import markdown_table
from study import Case, Setting, Study

from fewlabels import PUSVM, S3VM, SVDD, OneClassSVM
from fewlabels.dask import DaskOneClassSVM, DaskPUSVM, DaskS3VM, DaskSVDD

ON_CLUSTER = {
    SVDD: DaskSVDD, OneClassSVM: DaskOneClassSVM, PUSVM: DaskPUSVM, S3VM: DaskS3VM
}  # fmt: skip
_PARTS = 5
_OPEN = ExitStack()


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


@cache
def client_of(n_workers):
    """A client of a cluster that ends with the program."""
    settings = dict(threads_per_worker=1, dashboard_address=":0", silence_logs=50)
    cluster = _OPEN.enter_context(LocalCluster(n_workers=n_workers, **settings))
    return _OPEN.enter_context(Client(cluster))


def fits(kind, settings, X, y, weight):
    """Pairs of a place and the model fitted there."""
    labels = () if y is None else (y,)
    yield "memory", kind(**settings).fit(X, *labels, sample_weight=weight)
    if not sp.issparse(X):
        with tempfile.TemporaryDirectory() as folder:
            np.save(f"{folder}/rows.npy", X)
            rows = np.load(f"{folder}/rows.npy", mmap_mode="r")
            model = kind(**settings, cache_size=0.01)
            yield "file", model.fit(rows, *labels, sample_weight=weight)
    for n_workers in (2, 4):
        cut = np.linspace(0, X.shape[0], _PARTS + 1).astype(int)
        rows, *others = (
            None if one is None else [delayed(one[a:b]) for a, b in pairwise(cut)]
            for one in (X, y, weight)
        )
        model = ON_CLUSTER[kind](**settings, client=client_of(n_workers))
        yield (
            f"{n_workers} processes",
            model.fit(rows, *others[: len(labels)], sample_weight=others[1]),
        )
    if kind is not S3VM and not sp.issparse(X):
        import array_api_strict
        import torch

        for place, library in (("array-api-strict", array_api_strict), ("torch", torch)):
            with sklearn.config_context(array_api_dispatch=True):
                model = kind(**settings).fit(library.asarray(X), *labels, sample_weight=weight)
                yield place, model.to_local()


def relative_gap(machine):
    gap = getattr(machine, "duality_gap_", None)
    return None if gap is None else gap / abs(machine.objective_)


def measure(number, n):
    """A record per place."""
    _, kind, settings, X, y, weight = problems(n)[number]
    settings, local, records = {**settings, "tol": 1e-8}, None, []
    for place, model in fits(kind, settings, X, y, weight):
        local = local or model
        decisions = local.decision_function(X)
        others = np.asarray(model.predict(X)) != local.predict(X)
        far = np.abs(decisions[others]).max(initial=0.0) / np.ptp(decisions)
        records.append({
            "place": place, "gap": relative_gap(model), "support_vectors": len(model.support_),
            "apart": float(np.max(np.abs(model.objective_ / local.objective_ - 1.0))),
            "other_support": len(np.setxor1d(model.support_, local.support_)),
            "other_labels": int(others.sum()), "other_labels_within": float(far),
        })  # fmt: skip
    return records


NAMES = [name for name, *_ in problems(60)]


def cases(options):
    for number, name in enumerate(NAMES):
        if name in options.problems:
            yield Case({"problem": name}, measure, (number, options.rows))


def report(results):
    columns = ["problem", *list(results.records[0])[1:]]
    yield markdown_table(columns, [[r[key] for key in columns] for r in results.records])
    _OPEN.close()


STUDY = Study(
    __doc__,
    cases,
    report,
    choices={"problems": NAMES},
    settings={"rows": Setting(4000, "rows")},
    quick={"problems": NAMES[::5], "rows": 600},
)
