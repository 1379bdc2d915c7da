"""One-class SVM: ours against scikit-learn, Nystroem + SGD and PyOD, side by side.

    python benchmarks one_class --data FOLDER

Cases
  mixture-N-NU   five Gaussian clusters in 20 dimensions, centres N(0, 2^2), deviation 1; the
                 first 5 % of the rows have deviation 1.45; RBF gamma = 1/20. Test: 5000 rows
                 of deviation 1 (normal), 5000 of deviation 1.45 (anomalies).
  gaussian-N     0.3 * randn(N, 2) with default nu (0.5) and gamma ("scale"). Test: 5000 more
                 (normal), 5000 uniform on [-4, 4]^2 (anomalies).
  adbench-NAME   ADBench set: a random half of the normal rows for training, the other half
                 and all anomalies for testing (20 000 rows of it at most); columns
                 standardised by the training rows; nu = 0.05, gamma = "scale" (and 16 times
                 that: cases ending in -x16).

Protocol
  Every fit runs in a fresh process that generates or loads the data and warms up with a fit on
  at most 3000 of the rows, so that imports, compilation and reading the compilation cache are
  outside every figure. Every method uses its default number of threads: ours all cores, LIBSVM
  one. Seconds are the fastest of several calls while these fit into a few seconds, else of one.
  Memory is the high-water mark of resident memory during the first full fit minus resident
  memory before it. The objective 1/2 a'Ka is computed for every exact method by one function
  (float64, blocks) from dual_coef_ and support_vectors_. The floor is the time that evaluating
  n x n_SV kernel values takes with our own kernel product on the same rows, measured in the
  same process.
"""

from __future__ import annotations

import json
import sys
import warnings
from fnmatch import fnmatch
from pathlib import Path

import numpy as np
from shared.common import (
    COLOURS,
    ChildFailed,
    PeakMemory,
    data_folder,
    fastest,
    figure,
    in_child,
    load_set,
    machine,
    machine_line,
    markdown_table,
    options,
    plain_ticks,
    save_figure,
    standardised,
    timed,
    write_json,
    write_text,
)

OURS, LIBSVM, APPROXIMATE, PYOD = "fewlabels", "scikit-learn", "Nystroem+SGD", "PyOD"
METHODS = [OURS, LIBSVM, APPROXIMATE, PYOD]

ADBENCH = [
    "wine", "wbc", "wdbc", "breastw", "vowels", "letter", "cardio", "musk", "waveform",
    "spambase", "pageblocks", "landsat", "satellite", "annthyroid", "magic_gamma", "shuttle",
    "http",
]  # fmt: skip

_WARM_ROWS = 3000
_LARGEST_TEST = 20_000
# From this many support vectors at least, LIBSVM is likely to need more than half a minute.
_SLOW = 8_000


# -- cases ---------------------------------------------------------------------------------


def all_cases(quick):
    """The cases in the order in which they run."""
    if quick:
        cases = [mixture(n, nu) for n in (1_000, 2_000) for nu in (0.01, 0.05, 0.2, 0.5)]
        return [*cases, gaussian(2_000)] + [adbench(name) for name in ("wine", "wdbc", "cardio")]
    cases = [mixture(n, nu) for n in (2_000, 10_000, 50_000, 100_000)
             for nu in (0.01, 0.05, 0.2, 0.5)]  # fmt: skip
    cases.insert(8, mixture(20_000, 0.5))
    cases.append(gaussian(100_000))
    cases += [adbench(name) for name in ADBENCH]
    return cases + [adbench(name, 16) for name in ADBENCH if name != "http"]


def mixture(n, nu):
    name = f"mixture-{n // 1000}k-{nu:g}"
    return {"name": name, "family": "mixture", "n": n, "nu": nu, "gamma": 1 / 20,
            "slow": nu * n >= _SLOW}  # fmt: skip


def gaussian(n):
    return {"name": f"gaussian-{n // 1000}k", "family": "gaussian", "n": n, "nu": 0.5,
            "gamma": "scale", "slow": 0.5 * n >= _SLOW}  # fmt: skip


def adbench(set_name, factor=1):
    name = f"adbench-{set_name}" + (f"-x{factor}" if factor > 1 else "")
    return {"name": name, "family": "adbench", "set": f"adbench_{set_name}", "nu": 0.05,
            "gamma": "scale", "factor": factor, "slow": set_name == "http"}  # fmt: skip


def make_data(case, folder):
    """Training rows, test rows, 1 for the test rows that are normal, and gamma as a number."""
    rng = np.random.default_rng(0)
    if case["family"] == "mixture":
        centres = rng.normal(scale=2.0, size=(5, 20))

        def draw(n, deviation):
            return centres[rng.integers(5, size=n)] + deviation * rng.normal(size=(n, 20))

        X = draw(case["n"], 1.0)
        wide = case["n"] // 20
        X[:wide] = draw(wide, 1.45)
        normal, anomalies = draw(5000, 1.0), draw(5000, 1.45)
    elif case["family"] == "gaussian":
        X = 0.3 * rng.normal(size=(case["n"], 2))
        normal = 0.3 * rng.normal(size=(5000, 2))
        anomalies = rng.uniform(-4, 4, size=(5000, 2))
    else:
        rows, y = load_set(folder, case["set"])
        order = rng.permutation(np.flatnonzero(y == 0))
        half = len(order) // 2
        X, normal, anomalies = rows[order[:half]], rows[order[half:]], rows[y == 1]
        X, normal, anomalies = standardised(X, normal, anomalies)
    test = np.concatenate([normal, anomalies])
    is_normal = np.repeat([1, 0], [len(normal), len(anomalies)])
    if len(test) > _LARGEST_TEST:
        kept = rng.permutation(len(test))[:_LARGEST_TEST]
        test, is_normal = test[kept], is_normal[kept]
    gamma = case["gamma"]
    if gamma == "scale":
        gamma = case.get("factor", 1) / (X.shape[1] * X.var())
    return np.ascontiguousarray(X), test, is_normal, float(gamma)


# -- methods -----------------------------------------------------------------------------------


def make_model(method, case, gamma, n):
    """An unfitted model with the case's parameters and everything else at its default."""
    nu = case["nu"]
    if method == OURS:
        from fewlabels import OneClassSVM

        return OneClassSVM(nu=nu, gamma=gamma)
    if method == LIBSVM:
        from sklearn.svm import OneClassSVM

        return OneClassSVM(nu=nu, gamma=gamma)
    if method == PYOD:
        from pyod.models.ocsvm import OCSVM

        return OCSVM(nu=nu, gamma=gamma)
    from sklearn.kernel_approximation import Nystroem
    from sklearn.linear_model import SGDOneClassSVM
    from sklearn.pipeline import make_pipeline

    return make_pipeline(
        Nystroem(gamma=gamma, n_components=min(300, n), random_state=0),
        SGDOneClassSVM(nu=nu, random_state=0),
    )


def measure(case, method, folder, budget):
    """All figures of one method on one case; runs in a process of its own."""
    from sklearn.metrics import roc_auc_score

    X, test, is_normal, gamma = make_data(case, folder)
    n = len(X)
    few = X[:: -(-n // _WARM_ROWS)]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        make_model(method, case, gamma, len(few)).fit(few).predict(test[:500])

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        with PeakMemory() as memory:
            model = make_model(method, case, gamma, n)
            first, _ = timed(model.fit, X)
    fit_seconds, fits = fastest(
        lambda: make_model(method, case, gamma, n).fit(X), first=[first], budget=budget
    )
    first, _ = timed(model.predict, test)
    predict_seconds, predicts = fastest(
        lambda: model.predict(test), first=[first], budget=0.5 * budget
    )
    scores = model.decision_function(test)
    answer = {
        "n": n, "d": X.shape[1], "n_test": len(test), "gamma": gamma, "nu": case["nu"],
        "fit_s": fit_seconds, "fits": fits, "predict_s": predict_seconds,
        "predicts": predicts, "extra_mb": memory.extra / 1e6,
        "auc": roc_auc_score(is_normal, -scores if method == PYOD else scores),
        "warnings": sorted({f"{w.category.__name__}: {w.message}"[:300] for w in caught}),
    }  # fmt: skip
    if method != APPROXIMATE:
        machine_of = model.detector_ if method == PYOD else model
        coef = np.asarray(machine_of.dual_coef_).ravel()
        answer["n_sv"] = len(coef)
        answer["objective"] = objective(machine_of.support_vectors_, coef, gamma)
        answer["mass_error"] = abs(coef.sum() / (case["nu"] * n) - 1.0)
    if method == OURS:
        answer |= floor(model, X, gamma)
    return answer


def objective(rows, coef, gamma, block=2048):
    """1/2 a'Ka in float64, from the upper triangle of K in blocks."""
    rows = np.asarray(rows, dtype=np.float64) - np.mean(rows, axis=0, dtype=np.float64)
    squares = np.einsum("ij,ij->i", rows, rows)
    total = 0.0
    for i in range(0, len(rows), block):
        for j in range(i, len(rows), block):
            K = rows[i : i + block] @ rows[j : j + block].T
            K *= 2.0
            K -= squares[i : i + block, None]
            K -= squares[j : j + block]
            np.minimum(K, 0.0, out=K)
            K *= gamma
            np.exp(K, out=K)
            part = coef[i : i + block] @ (K @ coef[j : j + block])
            total += 0.5 * part if i == j else part
    return float(total)


def floor(model, X, gamma):
    """What evaluating the support vectors' columns once would cost."""
    from fewlabels._util.threads import resolve_n_jobs
    from fewlabels.kernels import RBF
    from fewlabels.kernels.operators import make_gram

    gram = make_gram(RBF(gamma), X, n_jobs=resolve_n_jobs(None))
    rng = np.random.default_rng(1)
    columns = rng.permutation(model.support_)[: max(1, min(1024, 200_000_000 // len(X)))]
    coef, out = rng.normal(size=len(columns)), np.zeros(len(X))
    gram.apply(columns, coef, out)
    seconds, _ = fastest(lambda: gram.apply(columns, coef, out), budget=1.0, most=50)
    per_value = seconds / (len(columns) * len(X))
    needed = len(X) * len(model.support_)
    evaluated = model.history_[-1]["kernel_values"] if model.history_ else 0
    return {
        "ns_per_value": 1e9 * per_value,
        "floor_s": per_value * needed,
        "values_over_floor": evaluated / needed,
        "rounds": len(model.history_),
        "gap": model.duality_gap_,
        "objective_reported": model.objective_,
    }


# -- the run -------------------------------------------------------------------------------------


def run(cases, methods, args, folder, path):
    """Measure every method on every case; the file is written after each."""
    records = {}
    if args.resume and path.exists():
        records = json.loads(path.read_text())["cases"]
    report = {"machine": machine(), "cases": records}
    budget = 0.5 if args.quick else 5.0
    for number, case in enumerate(cases, 1):
        results = records.setdefault(case["name"], {"case": case, "results": {}})["results"]
        print(f"[{number}/{len(cases)}] {case['name']}", flush=True)
        for method in methods:
            if args.resume and method in results and "fit_s" in results[method]:
                continue
            results[method] = outcome = attempt(case, method, results, args, folder, budget)
            print(f"    {method:<13} {sentence(outcome)}", flush=True)
            write_json(path, report)
    return report


def attempt(case, method, results, args, folder, budget):
    """The figures, or why there are none."""
    if args.skip_slow and case["slow"] and method in (LIBSVM, PYOD):
        return {"failed": "left out (--skip-slow)"}
    if method == PYOD and results.get(LIBSVM, {}).get("failed", "").startswith("over"):
        return {"failed": "left out: begins with scikit-learn's fit, which took too long"}
    try:
        return in_child(measure, case, method, folder, budget, limit=args.limit)
    except ChildFailed as failure:
        return {"failed": str(failure)}


def sentence(r):
    if "failed" in r:
        return r["failed"].strip().splitlines()[-1]
    text = (
        f"fit {r['fit_s']:.4g} s (best of {r['fits']}), predict {r['predict_s']:.3g} s, "
        f"+{r['extra_mb']:.0f} MB, AUC {r['auc']:.4f}"
    )
    if "objective" in r:
        text += f", {r['n_sv']} SVs, objective {r['objective']:.8g}"
    if "floor_s" in r:
        text += f", {r['fit_s'] / r['floor_s']:.2f} x floor"
    return text + "".join(f"\n        {w}" for w in r["warnings"])


# -- the report ----------------------------------------------------------------------------------


def compared(record):
    """Ratios of scikit-learn to ours, or None where one of the two is missing."""
    ours, theirs = (record["results"].get(m, {}) for m in (OURS, LIBSVM))
    if "fit_s" not in ours or "fit_s" not in theirs:
        return None
    return {
        "fit": theirs["fit_s"] / ours["fit_s"],
        "predict": theirs["predict_s"] / ours["predict_s"],
        "memory_mb": ours["extra_mb"] - theirs["extra_mb"],
        "objective": (ours["objective"] - theirs["objective"]) / abs(theirs["objective"]),
    }


def targets(records):
    """What was promised against what was measured."""
    ratios = {name: compared(record) for name, record in records.items()}
    ratios = {name: ratio for name, ratio in ratios.items() if ratio}
    family = lambda name: records[name]["case"]["family"]  # noqa: E731
    rows = []

    def promise(text, names, key, reached, worst):
        values = [ratios[name][key] for name in names if name in ratios]
        if values:
            value = worst(values)
            where = [name for name in names if name in ratios and ratios[name][key] == value]
            rows.append([text, value, where[0], reached(value)])

    def at_least(bound):
        return lambda value: value >= bound

    promise("fit >= 10 x, n = 50k, nu = .05", ["mixture-50k-0.05"], "fit", at_least(10), min)
    promise(
        "fit >= 20 x, n >= 20k, nu = .5",
        [f"mixture-{n}k-0.5" for n in (20, 50, 100)], "fit", at_least(20), min,
    )  # fmt: skip
    promise("fit >= 50 x, 0.3 randn(100k, 2)", ["gaussian-100k"], "fit", at_least(50), min)
    small = [f"mixture-2k-{nu}" for nu in (0.01, 0.05, 0.2, 0.5)]
    promise("fit >= 1 x, n = 2000", small, "fit", at_least(1), min)
    synthetic = [name for name in ratios if family(name) != "adbench"]
    everything = list(ratios)
    promise("predict >= 3 x, synthetic cases", synthetic, "predict", at_least(3), min)
    promise("predict >= 3 x, all cases", everything, "predict", at_least(3), min)
    promise("memory <= scikit-learn + 300 MB", everything, "memory_mb", lambda v: v <= 300, max)
    promise("objective within 1e-4 or lower", everything, "objective", lambda v: v <= 1e-4, max)
    promise("objective not lower by 1e-4", everything, "objective", lambda v: v >= -1e-4, min)
    return rows and markdown_table(["promise", "worst measured", "where", "kept"], rows)


def method_rows(record):
    """One row per method of a case."""
    results = record["results"]
    reference = results.get(LIBSVM, {})
    rows = []
    for method, r in results.items():
        start = [record["case"]["name"], r.get("n"), method]
        if "failed" in r:
            rows.append([*start, sentence(r)] + [None] * 7)
            continue
        difference = None
        if "objective" in r and "objective" in reference:
            difference = f"{r['objective'] / reference['objective'] - 1:+.1e}"
        objective_text = f"{r['objective']:.8g}" if "objective" in r else None
        fit_ratio = reference["fit_s"] / r["fit_s"] if "fit_s" in reference else None
        rows.append(
            [*start, r["fit_s"], fit_ratio, r["predict_s"], round(r["extra_mb"]),
             objective_text, difference, f"{r['auc']:.4f}", r.get("n_sv")]
        )  # fmt: skip
    return rows


def floor_row(record):
    r = record["results"].get(OURS, {})
    if "floor_s" not in r:
        return []
    return [[
        record["case"]["name"], r["n"], r["d"], r["n_sv"], r["rounds"], r["ns_per_value"],
        r["values_over_floor"], r["floor_s"], r["fit_s"], r["fit_s"] / r["floor_s"],
    ]]  # fmt: skip


def write_report(report, stem, out):
    """Markdown, JSON and pictures."""
    records = report["cases"]
    pictures = draw_times(records, out / f"{stem}-times.png")
    pictures += draw_ratios(records, out / f"{stem}-ratios.png")
    columns = ["case", "n", "method", "fit s", "scikit-learn / it", "predict s", "extra MB",
               "objective", "against scikit-learn", "AUC", "SVs"]  # fmt: skip
    promised = targets(records)
    text = [
        "# One-class SVM: ours, scikit-learn, Nystroem + SGD, PyOD",
        machine_line(report["machine"]),
        "```\n" + __doc__.split("\n\n", 2)[2].strip("\n") + "\n```",
        *(["## Promises", promised] if promised else []),
        *(f"![{picture.stem}]({picture.name})" for picture in pictures),
    ]
    for family in ("mixture", "gaussian", "adbench"):
        rows = [row for record in records.values() if record["case"]["family"] == family
                for row in method_rows(record)]  # fmt: skip
        if rows:
            text += [f"## {family}", markdown_table(columns, rows)]
    text += [
        "## Distance from the floor",
        "Floor: n x n_SV kernel values at our measured time per value (float32 where the library "
        "would use it, every core). Up to 1024 rows our fits use float64, so the ratio there "
        "compares with a faster floor than theirs.",
        markdown_table(
            ["case", "n", "d", "SVs", "rounds", "ns / value", "values / floor", "floor s",
             "fit s", "fit / floor"],
            [row for record in records.values() for row in floor_row(record)],
        ),
    ]  # fmt: skip
    remarks = [
        f"* {name}, {method}: {warning}"
        for name, record in records.items()
        for method, r in record["results"].items()
        for warning in r.get("warnings", [])
    ]
    if remarks:
        text += ["## Warnings given during fits", "\n".join(remarks)]
    write_text(out / f"{stem}.md", "\n\n".join(text) + "\n")
    print(f"wrote {out / stem}.md, .json" + "".join(f", {p.name}" for p in pictures))


def draw_times(records, path):
    """Seconds against rows, one panel per nu."""
    points = {}  # nu -> method -> [(n, seconds)]
    for record in records.values():
        if record["case"]["family"] == "mixture":
            for method, r in record["results"].items():
                if "fit_s" in r:
                    by_method = points.setdefault(record["case"]["nu"], {})
                    by_method.setdefault(method, []).append((r["n"], r["fit_s"]))
    if not points:
        return []
    fig, axes = figure(1, len(points), figsize=(3.1 * len(points) + 0.6, 3.6), sharey=True,
                       squeeze=False)  # fmt: skip
    for ax, (nu, by_method) in zip(axes[0], sorted(points.items()), strict=True):
        for method, colour, marker in zip(METHODS, COLOURS, "os^x", strict=False):
            if method in by_method:
                n, seconds = zip(*sorted(by_method[method]), strict=True)
                ax.loglog(n, seconds, color=colour, marker=marker, label=method,
                          linewidth=2 if method in (OURS, LIBSVM) else 1)  # fmt: skip
        ax.set(title=f"nu = {nu:g}", xlabel="training rows")
        plain_ticks(ax.xaxis)
        plain_ticks(ax.yaxis)
    axes[0, 0].set_ylabel("seconds to fit")
    handles, labels = axes[0, 0].get_legend_handles_labels()
    fig.legend(handles, labels, loc="outside lower center", ncols=len(labels), frameon=False)
    fig.suptitle("One-class SVM, Gaussian mixture, d = 20")
    save_figure(fig, path)
    return [path]


def draw_ratios(records, path):
    """How many times faster than scikit-learn, one bar per case."""
    bars = [(name, compared(record)["fit"]) for name, record in records.items()
            if compared(record)]  # fmt: skip
    if not bars:
        return []
    names, ratios = zip(*bars, strict=True)
    colours = [
        COLOURS[["mixture", "gaussian", "adbench"].index(records[name]["case"]["family"])]
        for name in names
    ]
    fig, ax = figure(figsize=(7.5, 1.2 + 0.24 * len(names)))
    # Bars start at 1, "as fast": to the right we are faster, to the left slower.
    ax.barh(names, [ratio - 1.0 for ratio in ratios], left=1.0, color=colours)
    for row, ratio in enumerate(ratios):
        side = 1 if ratio >= 1 else -1
        ax.annotate(f"{ratio:.3g}", (ratio, row), (4 * side, 0), textcoords="offset points",
                    ha="left" if side > 0 else "right", va="center", fontsize=8)  # fmt: skip
    ax.axvline(1.0, color="#333333", linewidth=1)
    ax.set_xscale("log")
    ax.set_xlim(0.5 * min(1.0, *ratios), 2.0 * max(1.0, *ratios))
    ax.set_ylim(len(names) - 0.4, -0.6)
    ax.grid(axis="y", visible=False)
    ax.tick_params(axis="y", labelsize=8)
    plain_ticks(ax.xaxis)
    ax.set_xlabel("seconds of scikit-learn's fit / seconds of ours")
    ax.set_title("One-class SVM: speed of the fit, scikit-learn = 1")
    save_figure(fig, path)
    return [path]


def main():
    parser = options(__doc__)
    parser.add_argument(
        "--cases", nargs="*", default=["*"], help="names or patterns, e.g. 'mixture-50k-*'"
    )
    parser.add_argument("--methods", nargs="*", default=METHODS, choices=METHODS)
    parser.add_argument(
        "--skip-slow", action="store_true",
        help="leave scikit-learn and PyOD out of cases likely to take over half a minute",
    )  # fmt: skip
    parser.add_argument(
        "--limit", type=float, default=1200.0, help="seconds until a measurement is given up"
    )
    parser.add_argument(
        "--resume", action="store_true", help="keep what the results file holds already"
    )
    parser.add_argument(
        "--report-only",
        action="store_true",
        help="write tables and pictures again, measure nothing",
    )
    parser.add_argument("--list", action="store_true", help="print the names of the cases")
    args = parser.parse_args()

    cases = [case for case in all_cases(args.quick)
             if any(fnmatch(case["name"], pattern) for pattern in args.cases)]  # fmt: skip
    if args.list:
        print("\n".join(case["name"] for case in cases))
        return
    if not cases:
        sys.exit(f"no case is called {' '.join(args.cases)}; see --list.")
    stem = "one-class-quick" if args.quick else "one-class"
    path = Path(args.out) / f"{stem}.json"
    if args.report_only:
        report = json.loads(path.read_text())
    else:
        sets = sorted({case["set"] for case in cases if "set" in case})
        folder = data_folder(args, sets) if sets else None
        report = run(cases, args.methods, args, folder, path)
    write_report(report, stem, Path(args.out))


if __name__ == "__main__":
    main()
