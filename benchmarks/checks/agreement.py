"""Do all SVDD solvers find the same optimum? Against an independent QP, on real sets.

    python benchmarks agreement --data FOLDER

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
* lagrangian, projected and interior-point replace the constraint sum(a) = 1 by a penalty (13)
  with rho = 200. Where K(x, x) is constant, as for RBF, the solution of (13) is a multiple of
  the solution of (7), so that the description, scaled to sum to one, must agree as well. The
  vector before scaling is compared on (11), the function that these three minimise, with
  Clarabel's minimum of it. Their tolerances here are far below the paper's 1e-5 (see the table
  of settings); `projected` needs more iterations than anyone would wait for, so that what it
  reaches is reported without a bound.
"""

from __future__ import annotations

import json
import sys
import warnings
from fnmatch import fnmatch
from pathlib import Path

import numpy as np
import scipy.sparse as sp
from shared.common import (
    COLOURS,
    cell,
    data_folder,
    figure,
    load_set,
    machine,
    machine_line,
    markdown_table,
    options,
    save_figure,
    standardised,
    timed,
    write_json,
    write_text,
)

SETS = [
    "adbench_wine", "adbench_wbc", "adbench_wdbc", "adbench_breastw", "adbench_vowels",
    "adbench_letter", "adbench_cardio", "adbench_musk", "adbench_waveform", "adbench_spambase",
    "adbench_pageblocks", "adbench_satellite", "adbench_landsat", "adbench_annthyroid",
    "usmo_australian", "usmo_clean1", "usmo_diabetes", "usmo_heart", "usmo_house_votes",
    "usmo_ionosphere", "usmo_isolet", "usmo_liverdisorders",
]  # fmt: skip
QUICK = ["adbench_wine", "adbench_wdbc", "usmo_heart"]

C, NU, RHO = 2.0, 0.1, 200.0
EXACT, PENALISED = ["decomposition", "qp"], ["lagrangian", "projected", "interior-point"]
SETTINGS = {
    "decomposition": {"tol": 1e-6},
    "qp": {"tol": 1e-10},
    "lagrangian": {"tol": 1e-9, "max_iter": 100_000},
    "projected": {"tol": 1e-9, "max_iter": 50_000},
    "interior-point": {"tol": 1e-10},
}
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
    """``1/2 a'Pa + q'a`` with ``sum(a) = 1`` (or not), ``0 <= a <= upper``."""

    def __init__(self, P, q, upper=np.inf, sums_to_one=True):
        self.P, self.q, self.upper, self.sums_to_one = P, q, upper, sums_to_one

    def value(self, a):
        return float(0.5 * a @ (self.P @ a) + self.q @ a)

    def gradient(self, a):
        return self.P @ a + self.q

    def feasible(self, a):
        """The nearest thing to ``a`` that satisfies the constraints."""
        a = np.clip(a, 0.0, self.upper)
        if self.sums_to_one:
            for _ in range(100):
                missing = 1.0 - a.sum()
                room = (a < self.upper) & (a > 0)
                if abs(missing) < 1e-15 or not room.any():
                    break
                a[room] = np.clip(a[room] + missing / room.sum(), 0.0, self.upper)
        return a

    def frank_wolfe_gap(self, a):
        """Upper bound on ``value(a)`` minus the minimum; needs ``sums_to_one``."""
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
        rows, bounds, cones = [], [], []
        if self.sums_to_one:
            rows.append(np.ones((1, n)))
            bounds.append([1.0])
            cones.append(clarabel.ZeroConeT(1))
        rows.append(-sp.eye_array(n))
        bounds.append(np.zeros(n))
        if np.isfinite(self.upper):
            rows.append(sp.eye_array(n))
            bounds.append(np.full(n, self.upper))
        cones.append(clarabel.NonnegativeConeT(sum(len(b) for b in bounds[-2:] if len(b) == n)))
        settings = clarabel.DefaultSettings()
        settings.verbose = False
        settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = 1e-11
        # Size of numbers, not a change of the problem: the penalty makes P about 2 rho.
        scale = np.abs(self.P).max()
        solution = clarabel.DefaultSolver(
            sp.triu(sp.csc_matrix(self.P / scale), format="csc"), self.q / scale,
            sp.csc_matrix(sp.vstack([sp.csr_matrix(r) for r in rows])),
            np.concatenate(bounds), cones, settings,
        ).solve()  # fmt: skip
        return self.feasible(np.array(solution.x)), str(solution.status)


def problems(K):
    """(7)-(8), (3)-(4) and (11) over this kernel matrix; the constant of (11) left out."""
    n, u = len(K), np.diag(K).copy()
    ridged = 2.0 * K + np.eye(n) / (2.0 * C)
    return {
        "squared": Quadratic(ridged, -u),
        "linear": Quadratic(2.0 * K, -u, upper=1.0 / (NU * n)),
        "penalised": Quadratic(ridged + 2.0 * RHO, -u - 2.0 * RHO, sums_to_one=False),
    }


# -- the library's answers -----------------------------------------------------------------------


def fitted(X, gamma, slack, solver):
    """Dual variables of all rows and what the estimator reports, through the public class."""
    from fewlabels import SVDD

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


def penalised_vector(X, gamma, solver):
    """What a penalty solver returns before its answer is moved onto the simplex."""
    from fewlabels.kernels import RBF
    from fewlabels.kernels.operators import make_gram
    from fewlabels.one_class.problem import svdd_squared
    from fewlabels.solvers.papers.interior_point import solve_interior_point
    from fewlabels.solvers.papers.lagrangian import solve_lagrangian
    from fewlabels.solvers.papers.projected import solve_projected

    solve = dict(zip(PENALISED, (solve_lagrangian, solve_projected, solve_interior_point),
                     strict=True))[solver]  # fmt: skip
    problem = svdd_squared(make_gram(RBF(gamma), X, dtype=np.float64), C)
    return np.maximum(solve(problem, **SETTINGS[solver]).a, 0.0)


def available():
    """The solvers that ``SVDD(solver=...)`` reaches."""
    from fewlabels.solvers import REFERENCE_SOLVERS

    missing = [s for s in EXACT + PENALISED if s not in REFERENCE_SOLVERS and s != EXACT[0]]
    if missing:
        print(f"not reachable by SVDD(solver=...), left out: {', '.join(missing)}", flush=True)
    return [s for s in EXACT + PENALISED if s not in missing]


def compare(folder, name, solvers, largest):
    """All solvers on one set."""
    X = one_class_rows(folder, name, largest)
    gamma = 1.0 / (X.shape[1] * X.var())
    quadratics = problems(kernel_matrix(X, gamma))
    record = {"n": len(X), "d": X.shape[1], "gamma": gamma}
    for slack in ("squared", "linear"):
        quadratic = quadratics[slack]
        a, status = quadratic.solve()
        best = quadratic.value(a)
        record[slack] = {
            "reference": best, "status": status,
            "certified": quadratic.frank_wolfe_gap(a) / abs(best), "solvers": {},
        }  # fmt: skip
        for solver in solvers if slack == "squared" else [s for s in solvers if s in EXACT]:
            a, entry = fitted(X, gamma, slack, solver)
            value = quadratic.value(a)
            entry |= {
                "difference": (value - best) / abs(best),
                "reported_off": abs(entry["reported"] - value) / abs(best),
                "kkt": quadratic.kkt_residual(a),
                "sum_off": abs(a.sum() - 1.0),
                "out_of_bounds": float(max(0.0, -a.min(), (a - quadratic.upper).max())),
            }
            record[slack]["solvers"][solver] = entry
    penalised = [s for s in solvers if s in PENALISED]
    if penalised:
        quadratic = quadratics["penalised"]
        a, status = quadratic.solve()
        # With the constant rho, (11) is of the size of (7).
        best = quadratic.value(a) + RHO
        record["penalised"] = {"reference": best, "status": status, "solvers": {}}
        for solver in penalised:
            value = quadratic.value(penalised_vector(X, gamma, solver)) + RHO
            record["penalised"]["solvers"][solver] = (value - best) / abs(best)
    return record


def summary_line(record):
    parts = []
    for slack in ("squared", "linear"):
        for solver, entry in record[slack]["solvers"].items():
            parts.append(f"{slack} {solver} {entry['difference']:+.1e} ({entry['seconds']:.2g} s)")
    for solver, difference in record.get("penalised", {"solvers": {}})["solvers"].items():
        parts.append(f"(11) {solver} {difference:+.1e}")
    kkt = record["squared"]["solvers"]["decomposition"]["kkt"]
    return "; ".join(parts) + f"; KKT {kkt:.1e}"


# -- the report ----------------------------------------------------------------------------------


def write_report(report, stem, out):
    """Markdown, JSON and a picture."""
    records = report["sets"]
    picture = draw(records, out / f"{stem}.png")
    text = [
        "# Agreement of the SVDD solvers with an independent QP",
        machine_line(report["machine"]),
        __doc__.split("\n\n", 2)[2].strip(),
        markdown_table(
            ["solver", "settings"],
            [[s, ", ".join(f"{k} = {v:g}" for k, v in SETTINGS[s].items())] for s in SETTINGS],
        ),
        f"## Promises ({len(records)} sets)",
        promises(records),
        f"![agreement]({picture.name})",
    ]
    for slack, title in (
        ("squared", "Squared slack, C = 2"),
        ("linear", "Linear slack, nu = 0.1"),
    ):
        text += [f"## {title}", slack_table(records, slack)]
    rows = [
        [name, r["n"], r["penalised"]["status"], f"{r['penalised']['reference']:.10g}"]
        + [f"{r['penalised']['solvers'].get(s, np.nan):+.1e}" for s in PENALISED]
        for name, r in records.items() if "penalised" in r
    ]  # fmt: skip
    if rows:
        text += [
            "## The penalised objective (11)",
            markdown_table(["set", "n", "Clarabel", "minimum of (11)", *PENALISED], rows),
        ]
    remarks = {}
    for name, r in records.items():
        for slack in ("squared", "linear"):
            for solver, entry in r[slack]["solvers"].items():
                for warning in entry["warnings"]:
                    remarks.setdefault((slack, solver), []).append((name, warning))
    if remarks:
        lines = [f"* {slack}, {solver}, {len(given)} sets; on {given[0][0]}: {given[0][1]}"
                 for (slack, solver), given in remarks.items()]  # fmt: skip
        text += ["## Warnings given during fits", "\n".join(lines)]
    write_text(out / f"{stem}.md", "\n\n".join(text) + "\n")


def slack_table(records, slack):
    solvers = list(dict.fromkeys(s for r in records.values() for s in r[slack]["solvers"]))
    rows = []
    for name, r in records.items():
        entries = r[slack]["solvers"]
        rows.append(
            [name, r["n"], r["d"], f"{r[slack]['reference']:.10g}", r[slack]["certified"],
             entries["decomposition"]["n_sv"], entries["decomposition"]["kkt"]]
            + [f"{entries[s]['difference']:+.1e}" if s in entries else None for s in solvers]
            + [entries[s]["seconds"] if s in entries else None for s in solvers]
        )  # fmt: skip
    return markdown_table(
        ["set", "n", "d", "reference", "certified to", "SVs", "KKT of default", *solvers,
         *(f"{s} s" for s in solvers)],
        rows,
    )  # fmt: skip


def promises(records):
    """Worst case of every figure."""
    rows = []

    def worst(text, bound, values):
        values = {name: v for name, v in values.items() if v is not None}
        if values:
            name = max(values, key=values.get)
            kept = None if bound is None else bool(values[name] <= bound)
            rows.append([text, bound, values[name], name, kept])

    for slack in ("squared", "linear"):
        worst(f"{slack}: reference certified to", 1e-6,
              {n: r[slack]["certified"] for n, r in records.items()})  # fmt: skip
        for solver in EXACT + PENALISED:
            found = {n: r[slack]["solvers"].get(solver) for n, r in records.items()}
            worst(
                f"{slack}, {solver}: objective against the reference",
                None if solver == "projected" else 1e-6,
                {n: abs(e["difference"]) if e else None for n, e in found.items()},
            )
            worst(
                f"{slack}, {solver}: objective_ against its own value computed here", 1e-9,
                {n: e["reported_off"] if e else None for n, e in found.items()},
            )  # fmt: skip
        worst(
            f"{slack}, decomposition: KKT residual", 1e-5,
            {n: r[slack]["solvers"]["decomposition"]["kkt"] for n, r in records.items()},
        )  # fmt: skip
    for solver in PENALISED:
        worst(
            f"(11), {solver}: objective against the minimum",
            None if solver == "projected" else 1e-6,
            {n: abs(r.get("penalised", {}).get("solvers", {}).get(solver, np.nan))
             if solver in r.get("penalised", {}).get("solvers", {}) else None
             for n, r in records.items()},
        )  # fmt: skip
    return markdown_table(["figure", "bound", "worst", "where", "kept"], rows)


def draw(records, path):
    """Every relative difference as a dot, one row per set."""
    panels = [
        ("squared slack, against (7)-(8)", lambda r: {
            s: e["difference"] for s, e in r["squared"]["solvers"].items()}),
        ("linear slack, against (3)-(4)", lambda r: {
            s: e["difference"] for s, e in r["linear"]["solvers"].items()}),
        ("penalty solvers, against min of (11)", lambda r: r.get("penalised", {}).get(
            "solvers", {})),
    ]  # fmt: skip
    fig, axes = figure(1, 3, figsize=(12, 1.8 + 0.32 * len(records)), sharey=True)
    seen = {}
    for ax, (title, differences) in zip(axes, panels, strict=True):
        for place, record in enumerate(records.values()):
            for solver, difference in differences(record).items():
                order = (EXACT + PENALISED).index(solver)
                dot, = ax.plot(max(abs(difference), 1e-16), place + 0.15 * (order - 2),
                               "osD^v"[order], color=COLOURS[order], markersize=4.5)  # fmt: skip
                seen.setdefault(solver, dot)
        ax.axvline(1e-6, color="#333333", linewidth=1, linestyle="--")
        ax.set(xscale="log", xlim=(5e-17, 1.0), title=title, xlabel="|relative difference|")
    axes[0].set_yticks(range(len(records)), list(records), fontsize=8)
    axes[0].set_ylim(len(records) - 0.5, -0.5)
    fig.legend(seen.values(), seen.keys(), loc="outside lower center", ncols=5, frameon=False)
    fig.suptitle("Objectives of the SVDD solvers against an independent QP (dashed: 1e-6)")
    save_figure(fig, path)
    return path


def main():
    parser = options(__doc__)
    parser.add_argument("--sets", nargs="*", default=["*"], help="names or patterns of sets")
    parser.add_argument("--rows", type=int, default=_LARGEST, help="largest number of rows")
    parser.add_argument("--resume", action="store_true", help="keep the sets already measured")
    args = parser.parse_args()
    names = [s for s in (QUICK if args.quick else SETS) if any(fnmatch(s, p) for p in args.sets)]
    if not names:
        sys.exit(f"no set is called {' '.join(args.sets)}.")
    folder, out = data_folder(args, names), Path(args.out)
    stem = "agreement-quick" if args.quick else "agreement"
    path = out / f"{stem}.json"
    report = {"machine": machine(), "sets": {}}
    if args.resume and path.exists():
        report["sets"] = json.loads(path.read_text())["sets"]
    solvers = available()
    few = np.random.default_rng(0).normal(size=(50, 3))
    for solver in solvers:  # so that no time below holds imports or compilation
        fitted(few, 1.0, "squared", solver)
    for number, name in enumerate(names, 1):
        if name in report["sets"]:
            continue
        record = compare(folder, name, solvers, args.rows)
        report["sets"][name] = record
        print(f"[{number}/{len(names)}] {name} (n = {record['n']}): {summary_line(record)}",
              flush=True)  # fmt: skip
        write_json(path, report)
    write_report(report, stem, out)
    worst = max(
        abs(e["difference"]) for r in report["sets"].values() for slack in ("squared", "linear")
        for s, e in r[slack]["solvers"].items() if s in EXACT
    )  # fmt: skip
    print(f"worst exact solver: {cell(worst)}; wrote {out / stem}.md, .json, .png")


if __name__ == "__main__":
    main()
