"""USMO: the paper's Tables 3 and 4 on its twelve sets, and the objectives behind them.

The data folder holds the authors' matrices, usmo_NAME.npz. Every column is computed: Init*, the
ramp loss [6], the convex problem by a QP solver [7], USMO, and ours; see protocol.py for what is
measured and where the protocol comes from. Half an hour on one core with 10 draws, most of it the
QP solver. On sets with more rows than --largest-qp (krvskp, 3196 rows: a minute or more per fit)
[7]'s problem is solved by the decomposition.
"""

from __future__ import annotations

import numpy as np
from shared.threads import limit_threads
from study import Case, Setting, Study

from . import certificate, protocol, report
from .tables import LAMBDAS


def f_measures_of(folder, name, seed, largest_qp):
    """One record per kernel, lambda and column of a draw of a set."""
    data, records = protocol.draw(folder, name, seed), []
    for kernel in protocol.KERNELS:
        for lam in LAMBDAS:
            at = {"kernel": kernel, "lambda": lam}
            records += [{**at, **record} for record in _fits(data, kernel, lam, largest_qp)]
    return records


def _fits(data, kernel, lam, largest_qp):
    for method in protocol.METHODS:
        by_other = method == "qp" and len(data.X) > largest_qp
        machine = protocol.fitted(data, kernel, lam, "exact" if by_other else method)
        decision = machine.decision_function(data.X)
        yield {"method": method, **protocol.f_measures(data, decision)}


def objectives_of(folder, name, largest_qp):
    """One record per kernel and lambda: objectives computed apart from the package."""
    data, records = protocol.draw(folder, name, 0), []
    X = np.asarray(data.X, dtype=np.float64)
    for kernel in protocol.KERNELS:
        K = certificate.kernel_matrix(kernel, X)
        for lam in LAMBDAS:
            at = {"kernel": kernel, "lambda": lam}
            records.append({**at, **_objectives(data, K, kernel, lam, largest_qp)})
    return records


def _objectives(data, K, kernel, lam, largest_qp):
    found = {}
    for method in ("qp", "usmo", "ours"):
        if method == "qp" and len(data.X) > largest_qp:
            continue
        machine = protocol.fitted(data, kernel, lam, method)
        coef = certificate.coefficients(machine, len(data.X))
        setting = (K, data.labelled, data.prior, lam, coef)
        found[method] = certificate.risk(*setting, machine.risk_intercept_)
        found[f"{method}_gap"] = found[method] - certificate.dual_value(*setting)
        found[f"{method}_steps"] = int(machine.n_iter_)
    return found


def cases(options):
    limit_threads(1)
    for name in options.sets:
        yield Case({"part": "objectives", "set": name}, objectives_of,
                   (options.data, name, options.largest_qp), apart=True)  # fmt: skip
    for seed in range(options.draws):
        for name in options.sets:
            yield Case({"part": "f_measures", "set": name, "draw": seed}, f_measures_of,
                       (options.data, name, seed, options.largest_qp), apart=True)  # fmt: skip


STUDY = Study(
    __doc__, cases, report.report, report.entries, data="required",
    files=lambda options: [f"usmo_{name}" for name in options.sets],
    choices={"sets": list(protocol.PRIORS)},
    settings={
        "draws": Setting(10, "choices of labelled positives"),
        "largest_qp": Setting(1000, "rows of a set up to which a QP solver is used"),
        "jobs": Setting(1, "draws at a time, each on one core"),
    },
    quick={"sets": ["heart"], "draws": 1},
)  # fmt: skip
