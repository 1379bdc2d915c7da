"""The concave-convex procedure from the solution of the problem with fewer rows."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from sklearn.base import clone

from fewlabels.estimators._s3vm_batch import objective, violation
from fewlabels.estimators._steps import Steps
from fewlabels.problem import s3vm_step
from fewlabels.solvers.cccp import solve_cccp
from fewlabels.solvers.warm import warm_start


@dataclass
class Solution:
    """What a batch training leaves to the next one.

    Attributes
    ----------
    machine : S3VM
        The fitted machine.
    a : ndarray of shape (n,)
        Variables of the rows.
    virtual, multiplier : float
        Variable of the virtual row, multiplier of the equality.
    f : ndarray of shape (n,)
        Decisions.
    """

    machine: object
    a: np.ndarray
    virtual: float
    multiplier: float
    f: np.ndarray


def kept_solution(machine, X):
    """The solution of a machine fitted by the batch solver on ``X``."""
    start = machine._stream.start
    f = machine.decision_function(X)
    return Solution(machine, start["a"], start["virtual"], start["multiplier"], f)


def warm_cccp(before, X, given, tol, max_time):
    """Train on more rows, the first of them those of before.

    New rows get the variables that leave f as it was and the sign of f; convex steps at full C*
    follow, each from the one before.

    Returns
    -------
    dict
        objective, kkt_violation, f (of all rows), finished.
    """
    machine = clone(before.machine).set_params(tol=tol, max_time=max_time)
    data = machine._read(X, given, None)
    n, n_before = len(data.label), len(before.a)
    new = np.arange(n_before, n)
    a = np.concatenate([before.a, np.zeros(len(new))])
    f = np.concatenate([before.f, before.machine.decision_function(X[new])])
    gradient = f + before.multiplier
    if data.target is not None:
        # The mean over the unlabelled rows changes: the same f in other variables.
        added = np.intersect1d(new, data.unlabeled)
        share = before.virtual / (len(data.unlabeled) - len(added))
        a[added] -= share
        a = np.append(a, share * len(data.unlabeled))
        gradient = np.append(gradient, data.share @ gradient[data.unlabeled])
    C, C_star = machine.C * data.weight, machine.C_star * data.weight

    def make_step(sign):
        return s3vm_step(data.gram, data.label, sign, C, C_star, data.target)

    def signs(result):
        return np.where(result.gradient[:n] - result.multiplier >= 0, 1.0, -1.0)

    def value(result):
        return objective(data, result, C, machine.C_star)

    sign = np.where(f >= 0, 1.0, -1.0)
    start = warm_start(make_step(sign), a, gradient)
    solve = Steps(machine, None).solve
    result, _, _ = solve_cccp(make_step, sign, signs, solve, value, start=start)
    f = result.gradient[:n] - result.multiplier
    return {
        "objective": value(result),
        "kkt_violation": violation(data, result.a[:n], f, C, C_star),
        "f": f,
        "finished": bool(result.converged),
    }
