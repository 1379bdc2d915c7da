"""The concave-convex procedure from the solution of the problem with fewer rows."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fewlabels.data.labels.semi_supervised import read_semi_labels
from fewlabels.kernels.operators import make_gram
from fewlabels.kernels.rows import find_shift
from fewlabels.semi_supervised.annealing import solution_of
from fewlabels.semi_supervised.data import S3VMData
from fewlabels.semi_supervised.problem import SemiSupervised
from fewlabels.solvers import Settings
from fewlabels.solvers.cccp import Steps, solve_cccp
from fewlabels.solvers.decomposition import warm_start


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
    start = machine._stream.paths[0].current_start()
    f = machine.decision_function(X)
    return Solution(machine, start.a, start.virtual, start.multiplier, f)


def warm_cccp(before, X, given, tol, max_time):
    """Train on more rows, the first of them those of before.

    New rows get the variables that leave f as it was and the sign of f; convex steps at full C*
    follow, each from the one before.

    Returns
    -------
    dict
        objective, kkt_violation, f (of all rows), finished.
    """
    given_to = before.machine
    label, _, _ = read_semi_labels(given, given_to.unlabeled)
    kernel = given_to.function_.kernel
    shift = find_shift(kernel, X)
    gram = make_gram(kernel, X if shift is None else X - shift, min_support=1.0)
    machine = SemiSupervised(given_to.C, given_to.C_star, given_to.balance)
    data = S3VMData.from_gram(gram, machine, label, np.ones(len(label)))
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

    def make_step(sign):
        return machine.step(data.gram, label, data.weight, sign, data.target)

    def signs(result):
        return np.where(data.decision(result) >= 0, 1.0, -1.0)

    sign = np.where(f >= 0, 1.0, -1.0)
    start = warm_start(make_step(sign), a, gradient)
    settings = Settings(tol=tol, rtol=0.0, max_time=np.inf if max_time is None else max_time)
    solve = Steps(settings).solve
    result, sign, objectives = solve_cccp(
        make_step, sign, signs, solve, data.objective, start=start
    )
    found = solution_of(data, result, sign, objectives)
    return {
        "objective": found.objective,
        "kkt_violation": found.violation,
        "f": found.f,
        "finished": bool(result.converged),
    }
