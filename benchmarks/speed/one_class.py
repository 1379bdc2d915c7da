"""One-class SVM: ours and scikit-learn's, side by side.

A case mixture-N-NU has N rows of five Gaussian clusters in 20 dimensions, centres N(0, 2^2),
deviation 1; the first 5 % of the rows have deviation 1.45; RBF gamma = 1/20. Test: 5000 rows of
deviation 1 (normal), 5000 of deviation 1.45 (anomalies).

Every fit runs in a fresh process that generates the data and warms up with a fit on at most 3000
of the rows, so that imports and compilation are outside every figure. Both use their default
number of threads: ours all cores, LIBSVM one. Seconds are the fastest of several calls while
these fit into a few seconds, else of one. Memory is the high-water mark of resident memory during
the first full fit minus resident memory before it. The objective 1/2 a'Ka is computed for both by
one function (float64, blocks) from dual_coef_ and support_vectors_. The floor is the time that
evaluating n x n_SV kernel values takes with our own kernel product on the same rows, measured in
the same process.
"""

from __future__ import annotations

import numpy as np
from shared.common import PeakMemory, fastest, group, markdown_table, pivot, timed
from sklearn.metrics import roc_auc_score
from sklearn.svm import OneClassSVM as Libsvm
from study import Case, Setting, Study

from fewlabels import OneClassSVM
from fewlabels._util.threads import resolve_n_jobs
from fewlabels.kernels import RBF
from fewlabels.kernels.operators import make_gram

OURS, LIBSVM = "fewlabels", "scikit-learn"
GAMMA = 1 / 20
_WARM_ROWS = 3000
# From this many support vectors at least, LIBSVM is likely to need more than half a minute.
_SLOW = 8_000


# -- cases ---------------------------------------------------------------------------------


def name_of(n, nu):
    return f"mixture-{n // 1000}k-{nu:g}"


PROBLEMS = {
    name_of(n, nu): (n, nu)
    for n in (2_000, 10_000, 20_000, 50_000, 100_000)
    for nu in (0.01, 0.05, 0.2, 0.5)
}


def make_data(n):
    """Training rows, test rows, and 1 for the test rows that are normal."""
    rng = np.random.default_rng(0)
    centres = rng.normal(scale=2.0, size=(5, 20))

    def draw(n, deviation):
        return centres[rng.integers(5, size=n)] + deviation * rng.normal(size=(n, 20))

    X = draw(n, 1.0)
    wide = n // 20
    X[:wide] = draw(wide, 1.45)
    test = np.concatenate([draw(5000, 1.0), draw(5000, 1.45)])
    return X, test, np.repeat([1, 0], 5000)


def measure(n, nu, method, budget):
    """All figures of one method on one case; runs in a process of its own."""
    kind = OneClassSVM if method == OURS else Libsvm
    X, test, is_normal = make_data(n)
    few = X[:: -(-n // _WARM_ROWS)]
    kind(nu=nu, gamma=GAMMA).fit(few).predict(test[:500])
    with PeakMemory() as memory:
        model = kind(nu=nu, gamma=GAMMA)
        first, _ = timed(model.fit, X)
    fit_seconds, fits = fastest(
        lambda: kind(nu=nu, gamma=GAMMA).fit(X), first=[first], budget=budget
    )
    first, _ = timed(model.predict, test)
    predict_seconds, _ = fastest(lambda: model.predict(test), first=[first], budget=0.5 * budget)
    coef = model.dual_coef_.ravel()
    answer = {
        "n": n, "fit_s": fit_seconds, "predict_s": predict_seconds, "fits": fits,
        "extra_mb": memory.extra / 1e6,
        "auc": roc_auc_score(is_normal, model.decision_function(test)), "n_sv": len(coef),
        "objective": objective(model.support_vectors_, coef, GAMMA),
        "mass_error": abs(coef.sum() / (nu * n) - 1.0),
    }  # fmt: skip
    return answer | floor(model, X, GAMMA) if method == OURS else answer


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
        n, nu = PROBLEMS[name]
        for method in (OURS,) if options.skip_slow and nu * n >= _SLOW else (OURS, LIBSVM):
            yield Case({"case": name, "method": method}, measure, (n, nu, method, budget),
                       apart=True, limit=options.limit)  # fmt: skip


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
        ["case", "n", "SVs", "rounds", "ns / value", "values / floor", "floor s", "fit s",
         "fit / floor"],
        [[r["case"], r["n"], r["n_sv"], r["rounds"], r["ns_per_value"],
          r["values_over_floor"], r["floor_s"], r["fit_s"], r["fit_s"] / r["floor_s"]]
         for r in results.where(method=OURS)],
    )  # fmt: skip


def entries(results):
    rows, both = [], group(results.records, "case")
    for n, nu in ((2_000, 0.05), (10_000, 0.05), (20_000, 0.5), (50_000, 0.05), (50_000, 0.2)):
        found = {r["method"]: r for r in both.get(name_of(n, nu), ())}
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


STUDY = Study(
    __doc__, cases, report, entries, choices={"cases": list(PROBLEMS)},
    settings={
        "skip_slow": Setting(False, "leave LIBSVM out of cases of over half a minute"),
        "limit": Setting(1200.0, "seconds until a measurement is given up"),
    },
    quick={"cases": ["mixture-2k-0.05", "mixture-2k-0.5"]},
)  # fmt: skip
