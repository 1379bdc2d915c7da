"""PU learning on a synthetic family: seconds of ours, the peers and general QP solvers.

Parts
  family  Six Gaussian clusters in 20 dimensions, three per class, centres N(0, 0.8^2), deviation
          1.2; a tenth of the n rows are labelled positives, the rest unlabelled with prior 0.4;
          10 000 test rows. Every method is given the prior and gamma = 1/40. Ours has the full
          kernel, tol = 1e-3, lambda = 1e-3 and 1e-2. Squared loss and double hinge of
          pu-toolbox and pywsl have 200 centres and lambda = 1e-3 (their regularisers are not
          ours); bagged SVCs are 15; nothing else is set.
  qp      The same family with n_U = 1000, 2000, 4000: problem (6) on the full kernel matrix by
          every general solver that qpsolvers finds, against ours on the same problem. Seconds of
          a QP solver include the kernel matrix. The regularised risk (4) of each solution is
          computed here by one function in plain NumPy, at the best bias for its coefficients,
          and compared with the smallest found.

Protocol
  Every fit runs in a fresh process that warms up with a fit on at most 3000 of the rows. Seconds
  are the fastest of several fits while these fit into two seconds, else of one. "Extra" memory
  is the high-water mark of resident memory during the first fit minus resident memory before it,
  "peak" the mark itself with data and libraries. Accuracy and F1 are those of the method's own
  decisions; "cut" takes the 40 % greatest scores for positive. Every method uses its default
  number of threads. The floor is n_U x n_SV kernel values at our measured time per value.
"""

from __future__ import annotations

import numpy as np
from shared.common import group, markdown_table, pivot, timed
from shared.pu_data import make_family
from shared.pu_measure import certificate, floor, measure_fit, quality
from shared.pu_methods import METHODS, Task
from speed import general_qp
from study import Case, Setting, Study

PARTS = ["family", "qp"]
GAMMA = 1 / 40
LAMBDAS = [1e-3, 1e-2]
OURS = [f"PUSVM, lambda {lam:g}" for lam in LAMBDAS]
PEERS = [name for name, method in METHODS.items() if method.group != "ours"]
SIZES = [2_000, 10_000, 20_000, 50_000]
QP_SIZES = [1_000, 2_000, 4_000]
_WARM_ROWS = 3000


# -- the family --------------------------------------------------------------------------------


def measure_family(n, name, budget):
    """One method at one size; runs in a process of its own."""
    draw = make_family(n)
    truth = np.concatenate([np.ones(draw.n_positive, dtype=bool), draw.truth])
    lam = LAMBDAS[OURS.index(name)] if name in OURS else None
    method = METHODS["PUSVM" if name in OURS else name]

    def fit(rows=slice(None)):
        return method.fit(Task(draw.X[rows], draw.y[rows], draw.prior, GAMMA, truth[rows], 0, lam))

    # What compiles is warmed up in the precision that the fit has; others load in no time.
    fit(slice(None, None, -(-n // (_WARM_ROWS if name in OURS else 300))))
    learned, figures = measure_fit(fit, budget)
    predict_s, scores = timed(learned.score, draw.X_test)
    figures |= {"predict_s": predict_s}
    figures |= quality(scores, learned.decide(draw.X_test), draw.y_test, draw.prior)
    if name in OURS:
        figures |= certificate(learned.model) | floor(learned.model, draw)
    return figures


# -- general QP solvers ------------------------------------------------------------------------


def measure_qp(n_unlabeled, lam, solver):
    """One solver on one problem: seconds, memory, and the primal objective."""
    draw = make_family(n_unlabeled + n_unlabeled // 9)
    n_positive, X = draw.n_positive, draw.X
    if solver == "ours":
        from fewlabels import PUSVM

        def fit():
            return PUSVM(prior=draw.prior, lam=lam, gamma=GAMMA).fit(X, draw.y)

        fit()
        model, figures = measure_fit(fit, budget=2.0)
        s = np.zeros(len(X))
        s[model.support_] = -model.dual_coef_[0]
        s = s[n_positive:]
        figures |= certificate(model)
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
    return figures | {"n_u": len(X) - n_positive, "lam": lam, "primal": problem.primal(s)}


# -- cases and report --------------------------------------------------------------------------


def cases(options):
    budget = 0.3 if options.quick else 2.0
    apart = {"apart": True, "limit": options.limit}
    for n in ([1_000] if options.quick else SIZES) if "family" in options.parts else ():
        for name in OURS + PEERS:
            yield Case({"part": "family", "n": n, "method": name}, measure_family,
                       (n, name, budget), series=name, **apart)  # fmt: skip
    for n in ([200] if options.quick else QP_SIZES) if "qp" in options.parts else ():
        for lam in LAMBDAS:
            for solver in ["ours", *general_qp.SOLVERS]:
                yield Case({"part": "qp", "n": n, "lam": lam, "solver": solver}, measure_qp,
                           (n, lam, solver), series=f"{solver}, {lam}", **apart)  # fmt: skip


def report(results):
    if family := results.where(part="family"):
        for key, title, form in (("fit_s", "seconds to fit", ".3g"),
                                 ("extra_mb", "extra memory, MB", ".0f"),
                                 ("accuracy", "accuracy", ".4f"), ("f1", "F1", ".3f"),
                                 ("accuracy_cut", "accuracy cut at the prior", ".4f"),
                                 ("auc", "ROC AUC", ".4f")):  # fmt: skip
            yield f"## The family: {title}"
            yield pivot(family, "method", "n", key, form)
    if found := results.where(part="qp"):
        best = {key: min(r["primal"] for r in some)
                for key, some in group(found, "n", "lam").items()}  # fmt: skip
        yield "## General QP solvers on the full kernel"
        yield "Difference: risk over the smallest found."
        yield markdown_table(
            ["n_U", "lambda", "solver", "seconds", "extra MB", "difference"],
            [[r["n"], r["lam"], r["solver"], r["fit_s"], round(r["extra_mb"]),
              f"{r['primal'] / best[r['n'], r['lam']] - 1:.1e}"] for r in found],
        )  # fmt: skip
    yield "## Distance from the floor"
    yield markdown_table(
        ["fit", "SVs", "rounds", "relative gap", "floor s", "fit s", "fit / floor"],
        [[f"{r['method']}, n = {r['n']}", r["n_sv"], r["rounds"],
          r["relative_gap"], r["floor_s"], r["fit_s"], r["fit_s"] / r["floor_s"]]
         for r in family if "floor_s" in r],
    )  # fmt: skip


def entries(results):
    found = results.where(part="qp", n=QP_SIZES[-1], lam=LAMBDAS[0])
    rows = [["PUSVM" if r["solver"] == "ours" else r["solver"], r["fit_s"]] for r in found]
    return [results.entry("pu-qp", ["fit, s"], rows, unit="s", formats=["3g"],
                          label="4000 unlabelled rows, full kernel")] if rows else []  # fmt: skip


STUDY = Study(
    __doc__, cases, report, entries, choices={"parts": PARTS},
    settings={"limit": Setting(900.0, "seconds for one measurement")},
)  # fmt: skip
