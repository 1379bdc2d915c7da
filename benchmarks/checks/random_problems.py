"""Thousands of random problems, some of extreme scales: do two versions give the same answers?

Run it with each version, and compare the second run with the first:

    PYTHONPATH=OTHER/CHECKOUT/src python benchmarks random_problems --out before
    python benchmarks random_problems --before before/random_problems.jsonl

Every problem is decided by its number: model, kernel, rows (duplicates, constant columns,
float32, sparse), offset and scale from 1e-6 to 1e6. The objective, the duality gap, whether the
fit converged, and the decisions about its rows relative to their largest are stored.

Some problems leave decisions open: an objective within ``gap`` of the optimum bounds the function
by ||f - f*||^2 <= 2 gap, and so |f(x) - f*(x)| by sqrt(2 gap K(x, x)). Decisions that differ by no
more than both versions' bounds are counted apart.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import scipy.sparse as sp
from shared.common import markdown_table
from study import Case, Setting, Study, read_results

from fewlabels import PUSVM, S3VM, SVDD, OneClassSVM

KEPT = 25  # decisions of each problem
_FACTS = 6
KINDS = ["OneClassSVM", "SVDD", "PUSVM", "S3VM"]
# Problems of a case.
_BATCH = 100


def problem(number):
    """An unfitted model and what it is fitted to."""
    rng = np.random.default_rng(number)
    n, d = int(rng.integers(4, 400)), int(rng.integers(1, 30))
    X = rng.normal(size=(n, d)) * 10.0 ** rng.integers(-6, 7)
    if rng.random() < 0.2:
        X = X[rng.integers(0, max(2, n // 3), n)]
    if rng.random() < 0.2:
        X[:, 0] = 1.0
    if rng.random() < 0.3:
        X += rng.normal(size=d) * 10.0 ** rng.integers(0, 5)
    X = X.astype(np.float32) if rng.random() < 0.2 else X
    X = sp.csr_array(X) if rng.random() < 0.2 else X
    kernel = {"kernel": str(rng.choice(["rbf", "rbf", "linear", "poly"])), "coef0": 1.0}
    kernel["tol"] = 10.0 ** -rng.integers(3, 8)
    kind = int(rng.integers(5))
    if kind < 2:
        return OneClassSVM(nu=float(rng.choice([0.02, 0.1, 0.5, 0.9])), **kernel), (X,)
    if kind == 2:
        slack = {"slack": "linear", "nu": 0.1} if rng.random() < 0.5 else {"C": 0.1}
        return SVDD(**slack, **kernel), (X,)
    y = np.where(np.arange(n) < max(2, n // 5), 1, 0)
    if kind == 3:
        return PUSVM(prior=0.3, lam=10.0 ** -rng.integers(0, 5), **kernel), (X, y)
    y = np.where(y == 1, np.arange(n) % 2, -1)
    return S3VM(C=1.0, C_star=0.1, **kernel), (X, y)


def solved(number):
    """Objective, gap, state and decisions; NaN where the fit was refused."""
    model, arguments = problem(number)
    found = np.full(_FACTS + KEPT, np.nan)
    found[0] = KINDS.index(type(model).__name__)
    try:
        model.fit(*arguments)
    except (ValueError, ArithmeticError):
        return found
    f = np.asarray(model.decision_function(arguments[0]), dtype=float)
    found[1], found[3] = model.objective_, model.fit_status_
    found[2] = getattr(model, "duality_gap_", np.nan)
    found[4] = max(np.abs(f).max(), 1e-300)
    found[5] = np.sqrt(2.0 * max(found[2], 0.0) * largest_kernel_value(model, arguments[0]))
    found[_FACTS : _FACTS + min(KEPT, len(f))] = f[:KEPT] / found[4]
    return found


def largest_kernel_value(model, X):
    """The largest K(x, x) of any row, around the mean for a linear kernel."""
    if model.kernel == "rbf":
        return 1.0
    X = X.toarray() if sp.issparse(X) else X
    X = np.asarray(X, dtype=float)
    if model.kernel == "linear":
        X = X - X.mean(axis=0)
    squares = np.einsum("ij,ij->i", X, X).max()
    return squares if model.kernel == "linear" else (model.gamma_ * squares + 1.0) ** model.degree


def measure(first, last):
    return [{"problem": k, "found": solved(k).tolist()} for k in range(first, last)]


def cases(options):
    for first in range(0, options.problems, _BATCH):
        last = min(first + _BATCH, options.problems)
        yield Case({"first": first}, measure, (first, last))


def compared(before, after):
    """A line per kind of model."""
    for kind, name in enumerate(KINDS):
        b, a = (x[x[:, 0] == kind] for x in (before, after))
        refused = [int(np.sum(~np.isfinite(x[:, 1]))) for x in (b, a)]
        both = np.isfinite(b[:, 1]) & np.isfinite(a[:, 1])
        b, a = b[both], a[both]
        moved = (a[:, 1] - b[:, 1]) / np.maximum(np.abs(b[:, 1]), 1e-300)
        apart = np.abs(a[:, _FACTS:] * a[:, 4:5] - b[:, _FACTS:] * b[:, 4:5])
        apart = np.nanmax(apart, axis=1)
        relative = apart / np.maximum(a[:, 4], b[:, 4])
        early = (a[:, 3] != 0) | (b[:, 3] != 0)
        allowed = apart <= a[:, 5] + b[:, 5]
        differ = relative > 1e-3
        yield [
            name, len(both), *refused, int(np.sum(b[:, 3] != 0)), int(np.sum(a[:, 3] != 0)),
            float(moved.min()), float(moved.max()), float(np.median(relative)),
            int(np.sum(differ & early)), int(np.sum(differ & ~early & allowed)),
            int(np.sum(differ & ~early & ~allowed)),
        ]  # fmt: skip


def figures(results):
    found = sorted((r["problem"], r["found"]) for r in results.records)
    return np.array([[np.nan if v is None else v for v in one] for _, one in found], dtype=float)


def report(results):
    after, earlier = figures(results), results.options["before"]
    before = figures(read_results(results.name, Path(earlier))) if earlier else after
    if not earlier:
        yield "Without --before, the run is compared with itself."
    columns = ["model", "problems", "refused before", "after", "not converged before", "after",
               "objective moved, least", "most", "decisions apart, median",
               "over 1e-3: stopped early", "within both gaps", "others"]  # fmt: skip
    yield markdown_table(columns, compared(before, after))


STUDY = Study(
    __doc__, cases, report,
    settings={
        "problems": Setting(3400, "number of problems"),
        "before": Setting(None, "stored results of the other version", Path),
    },
    quick={"problems": 60},
)  # fmt: skip
