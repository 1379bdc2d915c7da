"""PU learning by general QP solvers: seconds of PUSVM and of solvers on the full kernel matrix.

Rows are of a synthetic family: six Gaussian clusters in 20 dimensions, three per class, centres
N(0, 0.8^2), deviation 1.2; a tenth of the n rows are labelled positives, the rest unlabelled with
prior 0.4. gamma = 1/40, lambda = 1e-3 and 1e-2, n_U = 1000, 2000, 4000. Every general solver that
qpsolvers finds solves problem (6) on the full kernel matrix, whose seconds are included. The
regularised risk (4) of each solution is computed here by one function in plain NumPy, at the best
bias for its coefficients, and compared with the smallest found.

Every fit runs in a fresh process after a small fit. Seconds are the fastest of several fits while
these fit into two seconds, else of one. "Extra" memory is the high-water mark of resident memory
during the first fit minus resident memory before it.
"""

from __future__ import annotations

import numpy as np
from shared.common import group, markdown_table
from shared.pu_data import make_family
from shared.pu_measure import measure_fit
from speed import general_qp
from study import Case, Setting, Study

from fewlabels import PUSVM

GAMMA = 1 / 40
LAMBDAS = [1e-3, 1e-2]
SIZES = [1_000, 2_000, 4_000]


def measure(n_unlabeled, lam, solver):
    """One solver on one problem: seconds, memory, and the primal objective."""
    draw = make_family(n_unlabeled + n_unlabeled // 9)
    n_positive, X = draw.n_positive, draw.X
    if solver == "ours":

        def fit():
            return PUSVM(prior=draw.prior, lam=lam, gamma=GAMMA).fit(X, draw.y)

        fit()
        model, figures = measure_fit(fit, budget=2.0)
        s = np.zeros(len(X))
        s[model.support_] = -model.dual_coef_[0]
        s = s[n_positive:]
    else:
        small = make_family(100)
        general_qp.solve(
            general_qp.DoubleHinge(small.X, small.n_positive, small.prior, GAMMA, lam), solver
        )
        s, figures = measure_fit(
            lambda: general_qp.solve(
                general_qp.DoubleHinge(X, n_positive, draw.prior, GAMMA, lam), solver
            ),
            budget=2.0,
        )
    problem = general_qp.DoubleHinge(X, n_positive, draw.prior, GAMMA, lam)
    return figures | {"primal": problem.primal(s)}


def cases(options):
    for n in options.sizes:
        for lam in LAMBDAS:
            for solver in ["ours", *general_qp.SOLVERS]:
                yield Case({"n": n, "lam": lam, "solver": solver}, measure, (n, lam, solver),
                           series=f"{solver}, {lam}", apart=True, limit=options.limit)  # fmt: skip


def report(results):
    best = {key: min(r["primal"] for r in some)
            for key, some in group(results.records, "n", "lam").items()}  # fmt: skip
    yield "Difference: risk over the smallest found."
    yield markdown_table(
        ["n_U", "lambda", "solver", "seconds", "extra MB", "difference"],
        [[r["n"], r["lam"], r["solver"], r["fit_s"], round(r["extra_mb"]),
          f"{r['primal'] / best[r['n'], r['lam']] - 1:.1e}"] for r in results.records],
    )  # fmt: skip


def entries(results):
    found = results.where(n=SIZES[-1], lam=LAMBDAS[0])
    rows = [["PUSVM" if r["solver"] == "ours" else r["solver"], r["fit_s"]] for r in found]
    return [results.entry("pu-qp", ["fit, s"], rows, unit="s", formats=["3g"],
                          label="4000 unlabelled rows, full kernel")] if rows else []  # fmt: skip


STUDY = Study(
    __doc__, cases, report, entries,
    settings={"sizes": Setting(SIZES, "numbers of unlabelled rows"),
              "limit": Setting(900.0, "seconds for one measurement")},
    quick={"sizes": [200]},
)  # fmt: skip
