"""The fits behind the report: F-measures of every draw, and the objectives of the first."""

from __future__ import annotations

import numpy as np

from . import certificate, protocol
from .tables import LAMBDAS


def f_measures_of(folder, name, seed, largest_qp):
    """One record per kernel, lambda and column of a draw of a set.

    Parameters
    ----------
    largest_qp : int
        On sets with more rows the n x n programme of [7] would take a minute per fit; the
        decomposition solves the same convex problem instead.
    """
    data, records = protocol.draw(folder, name, seed), []
    for kernel in protocol.KERNELS:
        for lam in LAMBDAS:
            at = {"set": name, "kernel": kernel, "lambda": lam, "draw": seed}
            records += [{**at, **record} for record in _fits(data, kernel, lam, largest_qp)]
    return records


def _fits(data, kernel, lam, largest_qp):
    for method in protocol.METHODS:
        by_other = method == "qp" and len(data.X) > largest_qp
        machine = protocol.fitted(data, kernel, lam, "exact" if by_other else method)
        decision = machine.decision_function(data.X)
        yield {"method": method, **protocol.f_measures(data, decision)}
        if method == "ours":
            cut = protocol.cut_at_prior(data, decision, data.prior)
            yield {"method": "ours, cut at the prior", **protocol.f_measures(data, cut)}
    prior = data.prior_unlabelled
    decision = protocol.fitted(data, kernel, lam, "ours", prior).decision_function(data.X)
    yield {"method": "ours, prior of U", **protocol.f_measures(data, decision)}
    cut = protocol.cut_at_prior(data, decision, prior)
    yield {"method": "ours, prior of U, cut", **protocol.f_measures(data, cut)}


def objectives_of(folder, name, largest_qp):
    """Risk (4) of the convex solvers on the first draw of a set, and certified gaps."""
    data, records = protocol.draw(folder, name, 0), []
    X = np.asarray(data.X, dtype=np.float64)
    for kernel in protocol.KERNELS:
        K = certificate.kernel_matrix(kernel, X)
        for lam in LAMBDAS:
            at = {"set": name, "kernel": kernel, "lambda": lam}
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
