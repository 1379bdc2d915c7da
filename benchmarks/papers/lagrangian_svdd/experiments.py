"""The paper's tables as dictionaries: what was measured, beside what was published."""

from __future__ import annotations

import numpy as np

from fewlabels.kernels.operators import PrecomputedGram
from fewlabels.one_class.problem import svdd_squared
from fewlabels.solvers.papers.interior_point import solve_interior_point
from fewlabels.solvers.papers.lagrangian import solve_lagrangian
from fewlabels.solvers.papers.projected import solve_projected

from . import published
from .data import auc, digit, faces, paper_auc
from .methods import (
    INTERIOR,
    LAGRANGIAN,
    OURS,
    QP,
    overlap,
    rbf_matrix,
    run_all,
    run_ours,
    run_reference,
    timed,
)


def on_test(runs, X, test, positive):
    """AUC of every run, through all scores and as the paper draws its curve."""
    K = rbf_matrix(test, X)
    true = runs[QP].support
    scores, rows = {}, {}
    for method, run in runs.items():
        scores[method] = K @ run.a
        row = {
            "n": len(X),
            "n_sv": run.n_sv or None,
            "auc": auc(scores[method], positive),
            "paper_auc": paper_auc(scores[method], positive),
            "objective": run.objective,
            "above_optimum": (run.objective - runs[QP].objective) / abs(runs[QP].objective),
            "gap": run.gap,
            "iterations": run.iterations,
            "converged": run.converged,
            "seconds": run.seconds,
            "kernel_seconds": run.kernel_seconds,
            "total_seconds": run.total_seconds,
            **run.extra,
        }
        if run.n_sv:
            row["precision"], row["recall"] = overlap(run.support, true)
        rows[method] = row
    return rows, scores


def convergence(K, a_qp):
    """``||a_k - a_QP||`` and the inner product along Algorithm 1, and the fit A c^k."""
    distance = []
    result = solve_lagrangian(
        svdd_squared(PrecomputedGram(K), published.C),
        callback=lambda entry: distance.append(float(np.linalg.norm(entry["a"] - a_qp))),
    )
    k = np.arange(1, len(distance) + 1)
    A, c = fit_exponential(k, np.array(distance))
    return {
        "distance": distance,
        "inner_product": [entry["inner_product"] for entry in result.history],
        "A": A,
        "c": c,
    }


def fit_exponential(k, y):
    """Least squares of ``y = A c^k`` (in y, as the paper's fit is drawn)."""
    from scipy.optimize import curve_fit

    slope, start = np.polyfit(k, np.log(y), 1)
    (A, rate), _ = curve_fit(
        lambda k, A, rate: A * np.exp(rate * k), k, y, p0=(np.exp(start), slope), maxfev=10_000
    )
    return float(A), float(np.exp(rate))


def face_detection(folder, budget, largest=None):
    """The main experiment of section 4.2; Figures 1 and 2."""
    X, test, positive = faces(folder)
    X = X[:largest]
    runs, K = run_all(X, budget)
    rows, scores = on_test(runs, X, test, positive)
    return {
        "rows": rows,
        "roc": {m: roc(scores[m], positive) for m in (QP, LAGRANGIAN, OURS)},
        "convergence": convergence(K, runs[QP].a),
        "projected": projected_in_the_long_run(K, runs[INTERIOR].a),
    }


def roc(score, positive, points=600):
    """False and true positive rates, thinned for storage."""
    order = np.argsort(-score, kind="stable")
    hit = positive[order]
    true = np.concatenate([[0], np.cumsum(hit)]) / hit.sum()
    false = np.concatenate([[0], np.cumsum(~hit)]) / (~hit).sum()
    kept = np.unique(np.linspace(0, len(true) - 1, points).astype(int))
    return {"false": false[kept].tolist(), "true": true[kept].tolist()}


def projected_in_the_long_run(K, solution, iterations=20_000):
    """Distance to the solution of (13) after as many iterations as the paper names."""
    if len(K) <= 1000:
        iterations = 2_000
    result = solve_projected(
        svdd_squared(PrecomputedGram(K), published.C), epsilon=0.0, max_iter=iterations
    )
    return {
        "iterations": result.n_iter,
        "distance": float(np.linalg.norm(result.a - solution)),
        "last_step": result.history[-1]["change"],
        "seconds": result.history[-1]["seconds"],
    }


def sizes(folder, budget, quick):
    """Tables 1 and 2: seconds by training set size, with ours beside.

    The first n faces: with them the paper's iteration numbers come out.
    """
    X, _, _ = faces(folder)
    rows = []
    for i, n in enumerate(published.SIZES):
        if quick and n > 800:
            break
        part = X[:n]
        kernel_seconds, K = timed(rbf_matrix, part)
        qp = run_reference(QP, K, kernel_seconds, 0.0)
        lagrangian = run_reference(LAGRANGIAN, K, kernel_seconds, budget)
        ours = run_ours(part, budget=budget)
        rows.append(
            {
                "n": n,
                "qp_seconds": qp.seconds,
                "paper_qp_seconds": published.QP_SECONDS[i],
                "lagrangian_seconds": lagrangian.seconds,
                "paper_lagrangian_seconds": published.LAGRANGIAN_SECONDS[i],
                "iterations": lagrangian.iterations,
                "paper_iterations": published.LAGRANGIAN_ITERATIONS[i],
                "kernel_seconds": kernel_seconds,
                "ours_seconds": ours.seconds,
            }
        )
    return rows


def parameters(folder, quick):
    """Tables 3 to 7 on 600 faces, "randomly selected" in the paper.

    The first 600 give its iteration numbers; random ones give 280 to 330 where it has 272.
    """
    X, _, _ = faces(folder)
    n = 200 if quick else published.SUBSET
    gram = PrecomputedGram(rbf_matrix(X[:n]))

    def lagrangian(C, rho, **options):
        return solve_lagrangian(svdd_squared(gram, C), rho=rho, **options)

    sums = [
        {
            "C": C,
            "rho": rho,
            "sum": float(lagrangian(C, rho).a.sum()),
            "paper": published.SUM_ALPHA[C][i],
        }
        for C in published.SUM_ALPHA
        for i, rho in enumerate(published.SUM_RHO)
    ]
    by_gamma = [
        {"gamma_C": step, "iterations": lagrangian(4, 200.0, rate=step).n_iter, "paper": paper}
        for step, paper in zip(published.GAMMA_TIMES_C, published.ITERATIONS_BY_GAMMA, strict=True)
    ]
    by_C = [
        {"C": C, "iterations": lagrangian(C, 100.0).n_iter, "paper": paper}
        for C, paper in zip(published.C_VALUES, published.ITERATIONS_BY_C, strict=True)
    ]
    by_rho = [
        {"rho": rho, "iterations": lagrangian(4, rho).n_iter, "paper": paper}
        for rho, paper in zip(published.RHO_VALUES, published.ITERATIONS_BY_RHO, strict=True)
    ]
    against = []
    for rho, C, paper_i, paper_i_seconds, paper_l, paper_l_seconds in published.INTERIOR_POINT:
        interior_seconds, interior = timed(solve_interior_point, svdd_squared(gram, C), rho=rho)
        lagrangian_seconds, fixed_point = timed(lagrangian, C, rho)
        against.append(
            {
                "rho": rho,
                "C": C,
                "interior_iterations": interior.n_iter,
                "paper_interior_iterations": paper_i,
                "interior_seconds": interior_seconds,
                "paper_interior_seconds": paper_i_seconds,
                "lagrangian_iterations": fixed_point.n_iter,
                "paper_lagrangian_iterations": paper_l,
                "lagrangian_seconds": lagrangian_seconds,
                "paper_lagrangian_seconds": paper_l_seconds,
                "distance": float(np.linalg.norm(interior.a - fixed_point.a)),
            }
        )
    return {
        "n": n,
        "sum": sums,
        "by_gamma": by_gamma,
        "by_C": by_C,
        "by_rho": by_rho,
        "interior": against,
    }


def digits(folder, budget, label):
    """Tables 8 to 11 and Figure 3, for one digit."""
    X, test, positive = digit(folder, label)
    runs, K = run_all(X, budget)
    rows, _ = on_test(runs, X, test, positive)
    paper = dict(zip(published.DIGIT_COLUMNS, published.DIGITS[label], strict=True))
    answer = {"rows": rows, "paper": paper}
    if label == published.FIGURE_3_DIGIT:
        answer["convergence"] = convergence(K, runs[QP].a)
    return answer
