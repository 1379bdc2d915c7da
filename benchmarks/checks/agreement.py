"""Do both exact SVDD solvers find the same optimum? Against an independent QP, on real sets.

Per set at most 800 rows of one class (ADBench: the normal one; usmo: class 1), standardised,
RBF with gamma = "scale"; squared slack with C = 2, the problem (7)-(8) of the paper, and linear
slack with nu = 0.1, the problem (3)-(4).

* The reference is Clarabel, called here directly on a kernel matrix made here (float64, plain
  NumPy), not through the library's solver="qp". How far it can be from the optimum is certified
  by its Frank-Wolfe gap, max over feasible b of f'(a)(a - b), computed here.
* Every fit is made through `SVDD(solver=...)`; its objective is computed here from `support_`
  and `dual_coef_`, and compared as (objective - reference) / |reference|.
* KKT residual of the default (tol = 1e-6), from the gradient computed here: the largest
  gradient among rows that can give weight minus the smallest among rows that can take some.
"""

from __future__ import annotations

import warnings

import numpy as np
import scipy.sparse as sp
from shared.common import group, load_set, markdown_table, standardised, timed
from study import Case, Setting, Study

from fewlabels import SVDD

SETS = [
    "adbench_wine", "adbench_wbc", "adbench_wdbc", "adbench_breastw", "adbench_vowels",
    "adbench_letter", "adbench_cardio", "adbench_musk", "adbench_waveform", "adbench_spambase",
    "adbench_pageblocks", "adbench_satellite", "adbench_landsat", "adbench_annthyroid",
    "usmo_australian", "usmo_clean1", "usmo_diabetes", "usmo_heart", "usmo_house_votes",
    "usmo_ionosphere", "usmo_isolet", "usmo_liverdisorders",
]  # fmt: skip
C, NU = 2.0, 0.1
SETTINGS = {"decomposition": {"tol": 1e-6}, "qp": {"tol": 1e-10}}
_LARGEST = 800


# -- the problems, written down independently of the library -----------------------------------


def one_class_rows(folder, name, largest):
    """At most ``largest`` standardised rows of the class that the set is about."""
    X, y = load_set(folder, name)
    X = X[y == (0 if name.startswith("adbench") else 1)]
    if len(X) > largest:
        X = X[np.sort(np.random.default_rng(0).permutation(len(X))[:largest])]
    return standardised(X)[0]


def kernel_matrix(X, gamma):
    difference = X[:, None, :] - X[None, :, :]
    return np.exp(-gamma * np.einsum("ijk,ijk->ij", difference, difference))


class Quadratic:
    """``1/2 a'Pa + q'a`` with ``sum(a) = 1``, ``0 <= a <= upper``."""

    def __init__(self, P, q, upper=np.inf):
        self.P, self.q, self.upper = P, q, upper

    def value(self, a):
        return float(0.5 * a @ (self.P @ a) + self.q @ a)

    def gradient(self, a):
        return self.P @ a + self.q

    def feasible(self, a):
        """The nearest thing to ``a`` that satisfies the constraints."""
        a = np.clip(a, 0.0, self.upper)
        for _ in range(100):
            missing = 1.0 - a.sum()
            room = (a < self.upper) & (a > 0)
            if abs(missing) < 1e-15 or not room.any():
                break
            a[room] = np.clip(a[room] + missing / room.sum(), 0.0, self.upper)
        return a

    def frank_wolfe_gap(self, a):
        """Upper bound on ``value(a)`` minus the minimum."""
        g = self.gradient(a)
        if np.isinf(self.upper):
            best = g.min()
        else:
            filled = np.sort(g)
            share = np.diff(np.minimum(self.upper * np.arange(len(g) + 1), 1.0))
            best = filled @ share
        return float(g @ a - best)

    def kkt_residual(self, a):
        g = self.gradient(a)
        return float(max(0.0, g[a > 0].max() - g[a < self.upper].min()))

    def solve(self):
        """Clarabel's solution."""
        import clarabel

        n = len(self.q)
        rows, bounds = [np.ones((1, n)), -sp.eye_array(n)], [[1.0], np.zeros(n)]
        if np.isfinite(self.upper):
            rows.append(sp.eye_array(n))
            bounds.append(np.full(n, self.upper))
        cones = [clarabel.ZeroConeT(1), clarabel.NonnegativeConeT(n * (len(rows) - 1))]
        settings = clarabel.DefaultSettings()
        settings.verbose = False
        settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = 1e-11
        solution = clarabel.DefaultSolver(
            sp.triu(sp.csc_matrix(self.P), format="csc"), self.q,
            sp.csc_matrix(sp.vstack([sp.csr_matrix(r) for r in rows])),
            np.concatenate(bounds), cones, settings,
        ).solve()  # fmt: skip
        return self.feasible(np.array(solution.x)), str(solution.status)


def problems(K):
    """(7)-(8) and (3)-(4) over this kernel matrix."""
    n, u = len(K), np.diag(K).copy()
    return {
        "squared": Quadratic(2.0 * K + np.eye(n) / (2.0 * C), -u),
        "linear": Quadratic(2.0 * K, -u, upper=1.0 / (NU * n)),
    }


# -- the library's answers -----------------------------------------------------------------------


def fitted(X, gamma, slack, solver):
    """Dual variables of all rows and what the estimator reports, through the public class."""
    model = SVDD(C=C, nu=NU if slack == "linear" else None, slack=slack, gamma=gamma,
                 solver=solver, **SETTINGS[solver])  # fmt: skip
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        seconds, _ = timed(model.fit, X)
    a = np.zeros(len(X))
    a[model.support_] = np.ravel(model.dual_coef_)
    return a, {
        "seconds": seconds, "n_iter": model.n_iter_, "n_sv": len(model.support_),
        "reported": model.objective_, "reported_gap": model.duality_gap_,
        "warnings": [str(w.message)[:300] for w in caught],
    }  # fmt: skip


def measure(folder, name, largest):
    """Both solvers on one set: a record per problem and solver."""
    X = one_class_rows(folder, name, largest)
    gamma = 1.0 / (X.shape[1] * X.var())
    records = []
    for slack, quadratic in problems(kernel_matrix(X, gamma)).items():
        a, status = quadratic.solve()
        best = quadratic.value(a)
        certified = quadratic.frank_wolfe_gap(a) / abs(best)
        for solver in SETTINGS:
            a, entry = fitted(X, gamma, slack, solver)
            value = quadratic.value(a)
            records.append({
                "problem": slack, "solver": solver, "n": len(X), "d": X.shape[1],
                "reference": best, "status": status, "certified": certified, **entry,
                "difference": (value - best) / abs(best),
                "reported_off": abs(entry["reported"] - value) / abs(best),
                "kkt": quadratic.kkt_residual(a),
            })  # fmt: skip
    return records


def cases(options):
    for name in options.sets:
        yield Case({"set": name}, measure, (options.data, name, options.rows))


# -- the report ----------------------------------------------------------------------------------


BOUNDS = {"difference": 1e-6, "reported_off": 1e-9, "certified": 1e-6, "kkt": 1e-5}


def report(results):
    yield "## Worst of all sets"
    yield markdown_table(["figure", "bound", "worst", "where", "kept"], worst_rows(results))
    yield "## Difference to the reference, relative"
    keys = ["set", "problem", "solver", "n", "d", "certified", "kkt", "difference"]
    yield markdown_table(keys, [[r[key] for key in keys] for r in results.records])


def worst_rows(results):
    """The worst case of every figure, and whether its bound is kept."""
    for (problem, solver), some in group(results.records, "problem", "solver").items():
        for key, bound in BOUNDS.items():
            record = max(some, key=lambda r: abs(r[key]))
            value = abs(record[key])
            yield [f"{problem}, {solver}: {key}", bound, value, record["set"], value <= bound]


STUDY = Study(
    __doc__, cases, report, data="required", files=lambda options: options.sets,
    choices={"sets": SETS}, settings={"rows": Setting(_LARGEST, "largest number of rows")},
    quick={"sets": ["adbench_wine", "usmo_heart"], "rows": 200},
)  # fmt: skip
