"""The fits behind the report: F-measures of every draw, and the objectives of the first."""

from __future__ import annotations

import time

import numpy as np

from . import certificate, protocol
from .tables import LAMBDAS


def f_measure_runs(folder, sets, draws, largest_qp):
    """One record per set, kernel, lambda, draw and column.

    Parameters
    ----------
    largest_qp : int
        Sets with more rows are left out of the column of [7], whose n x n programme would
        take a minute per fit.
    """
    records = []
    for name in sets:
        started = time.perf_counter()
        for seed in range(draws):
            data = protocol.draw(folder, name, seed)
            for kernel in protocol.KERNELS:
                for lam in LAMBDAS:
                    for record in _fits(data, kernel, lam, largest_qp):
                        at = {"set": name, "kernel": kernel, "lambda": lam, "draw": seed}
                        records.append({**at, **record})
        print(f"{name}: {draws} draws, {time.perf_counter() - started:.0f} s", flush=True)
    return records


def _fits(data, kernel, lam, largest_qp):
    for method in protocol.METHODS:
        if method == "qp" and len(data.X) > largest_qp:
            continue
        machine = protocol.fitted(data, kernel, lam, method)
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


def objective_runs(folder, sets, largest_qp):
    """Risk (4) of the convex solvers on the first draw, and certified gaps."""
    records = []
    for name in sets:
        data = protocol.draw(folder, name, 0)
        X = np.asarray(data.X, dtype=np.float64)
        for kernel in protocol.KERNELS:
            K = certificate.kernel_matrix(kernel, X)
            for lam in LAMBDAS:
                at = {"set": name, "kernel": kernel, "lambda": lam}
                records.append({**at, **_objectives(data, K, kernel, lam, largest_qp)})
        print(f"{name}: objectives", flush=True)
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
