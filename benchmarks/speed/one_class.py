"""One-class SVM: ours, scikit-learn's, Nystroem + SGD and PyOD, side by side.

Cases
  mixture-N-NU   five Gaussian clusters in 20 dimensions, centres N(0, 2^2), deviation 1; the
                 first 5 % of the rows have deviation 1.45; RBF gamma = 1/20. Test: 5000 rows
                 of deviation 1 (normal), 5000 of deviation 1.45 (anomalies).
  gaussian-N     0.3 * randn(N, 2) with default nu (0.5) and gamma ("scale"). Test: 5000 more
                 (normal), 5000 uniform on [-4, 4]^2 (anomalies).
  adbench-NAME   ADBench set: a random half of the normal rows for training, the other half
                 and all anomalies for testing (20 000 rows of it at most); columns
                 standardised by the training rows; nu = 0.05, gamma = "scale" (and 16 times
                 that: cases ending in -x16). They need --data.

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

import warnings

import numpy as np
from shared.common import (
    ADBENCH,
    PeakMemory,
    fastest,
    group,
    load_set,
    markdown_table,
    pivot,
    standardised,
    timed,
)
from study import Case, Setting, Study

OURS, LIBSVM, APPROXIMATE, PYOD = "fewlabels", "scikit-learn", "Nystroem+SGD", "PyOD"
METHODS = [OURS, LIBSVM, APPROXIMATE, PYOD]
_WARM_ROWS = 3000
_LARGEST_TEST = 20_000
# From this many support vectors at least, LIBSVM is likely to need more than half a minute.
_SLOW = 8_000


# -- cases ---------------------------------------------------------------------------------


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


def all_problems():
    """Problems by name, in the order in which they run."""
    found = [mixture(n, nu) for n in (2_000, 10_000) for nu in (0.01, 0.05, 0.2, 0.5)]
    found.append(mixture(20_000, 0.5))
    found += [mixture(n, nu) for n in (50_000, 100_000) for nu in (0.01, 0.05, 0.2, 0.5)]
    found.append(gaussian(100_000))
    found += [adbench(name) for name in ADBENCH]
    found += [adbench(name, 16) for name in ADBENCH if name != "http"]
    return {problem["name"]: problem for problem in found}


PROBLEMS = all_problems()


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
    predict_seconds, _ = fastest(lambda: model.predict(test), first=[first], budget=0.5 * budget)
    scores = model.decision_function(test)
    answer = {
        "fit_s": fit_seconds, "predict_s": predict_seconds, "extra_mb": memory.extra / 1e6,
        "auc": roc_auc_score(is_normal, -scores if method == PYOD else scores), "n": n,
        "d": X.shape[1], "n_test": len(test), "gamma": gamma, "nu": case["nu"], "fits": fits,
        "warnings": sorted({f"{w.category.__name__}: {w.message}"[:300] for w in caught}),
    }  # fmt: skip
    if method != APPROXIMATE:
        fitted = model.detector_ if method == PYOD else model
        coef = np.asarray(fitted.dual_coef_).ravel()
        answer["n_sv"] = len(coef)
        answer["objective"] = objective(fitted.support_vectors_, coef, gamma)
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


def cases(options):
    budget = 0.5 if options.quick else 5.0
    for name in options.cases:
        problem = PROBLEMS[name]
        if problem["family"] == "adbench" and options.data is None:
            continue
        for method in options.methods:
            if options.skip_slow and problem["slow"] and method in (LIBSVM, PYOD):
                continue
            # PyOD begins with scikit-learn's fit.
            series = name if method in (LIBSVM, PYOD) else ""
            yield Case({"case": name, "method": method}, measure,
                       (problem, method, options.data, budget), apart=True, limit=options.limit,
                       series=series)  # fmt: skip


# -- the report ----------------------------------------------------------------------------------


def report(results):
    for key, title, form in (
        ("fit_s", "Seconds to fit", ".3g"), ("predict_s", "Seconds to predict", ".3g"),
        ("extra_mb", "Extra memory, MB", ".0f"), ("auc", "ROC AUC", ".4f"),
        ("objective", "Objective", ".8g"), ("n_sv", "Support vectors", ".0f"),
    ):  # fmt: skip
        yield f"## {title}"
        yield pivot(results.records, ("case", "n"), "method", key, form)
    yield "## Distance from the floor"
    yield markdown_table(
        ["case", "n", "d", "SVs", "rounds", "ns / value", "values / floor", "floor s", "fit s",
         "fit / floor"],
        [[r["case"], r["n"], r["d"], r["n_sv"], r["rounds"], r["ns_per_value"],
          r["values_over_floor"], r["floor_s"], r["fit_s"], r["fit_s"] / r["floor_s"]]
         for r in results.where(method=OURS)],
    )  # fmt: skip


def entries(results):
    rows, both = [], group(results.records, "case")
    for n, nu in ((2_000, 0.05), (10_000, 0.05), (20_000, 0.5), (50_000, 0.05), (50_000, 0.2)):
        found = {r["method"]: r for r in both.get(mixture(n, nu)["name"], ())}
        if OURS in found and LIBSVM in found:
            own, other = found[OURS], found[LIBSVM]
            rows.append([
                f"{n:,} rows, nu = {nu:g}", other["fit_s"], own["fit_s"],
                other["fit_s"] / own["fit_s"], other["predict_s"] / own["predict_s"],
                own["fit_s"] / own["floor_s"],
            ])  # fmt: skip
    columns = ["scikit-learn, s", "fewlabels, s", "ratio", "scoring, ratio", "fit / floor"]
    return [results.entry("libsvm", columns, rows, label="one-class SVM, 20 columns", unit="s",
                          formats=["3g", "3g", ".1f", ".0f", ".1f"])] if rows else []  # fmt: skip


def files(options):
    return [PROBLEMS[name]["set"] for name in options.cases if "set" in PROBLEMS[name]]


STUDY = Study(
    __doc__, cases, report, entries, data="optional", files=files,
    choices={"cases": list(PROBLEMS), "methods": METHODS},
    settings={
        "skip_slow": Setting(False, "leave LIBSVM and PyOD out of cases of over half a minute"),
        "limit": Setting(1200.0, "seconds until a measurement is given up"),
    },
    quick={"cases": ["mixture-2k-0.05", "mixture-2k-0.5", "adbench-wine", "adbench-cardio"]},
)  # fmt: skip
