"""Ways to add 20 rows to a solved problem. A new one is a function and a line in METHODS."""

from __future__ import annotations

import copy
import time
import warnings
from dataclasses import dataclass
from functools import cached_property, partial

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from fewlabels import S3VM

from .data import C_STAR, KERNELS, C

CACHE_MB = 1500


@dataclass
class Task:
    """A problem, the rows that come, and solutions before they come.

    Parameters
    ----------
    problem : Draw
        Rows; those after ``problem.size`` are added.
    kernel : str
        A key of ``data.KERNELS``.
    labels : ndarray of float of shape (n_added,)
        Labels of the rows to be added, NaN for unlabelled ones.
    limit : float
        Seconds that a method may take.
    """

    problem: object
    kernel: str
    labels: np.ndarray
    limit: float

    def machine(self, **parameters):
        """An S3VM with the papers' settings."""
        settings = {
            "C": C, "C_star": C_STAR, "balance": True, "annealing": False, "unlabeled": None,
            "cache_size": CACHE_MB, **KERNELS[self.kernel],
        }  # fmt: skip
        return S3VM(**{**settings, **parameters})

    @property
    def before(self):
        """Rows and labels before the others come."""
        return self.problem.X[: self.problem.size], self.problem.given

    @property
    def after(self):
        """All rows and labels."""
        return self.problem.X, np.append(self.problem.given, self.labels)

    @cached_property
    def balanced(self):
        """Batch solution before the others come, with the balancing constraint."""
        return self.machine().fit(*self.before)

    @cached_property
    def unbalanced(self):
        """The same without it."""
        return self.machine(balance=False).fit(*self.before)

    def outcome(self, seconds, f, objective, violation, finished, **more):
        """A record; the error is over unlabelled rows."""
        given = self.after[1]
        free = np.isnan(given)
        wrong = np.where(f > 0, 1, -1) != self.problem.y
        return {
            "seconds": seconds, "finished": bool(finished), "objective": float(objective),
            "kkt_violation": float(violation), "error": float(np.mean(wrong[free])), **more,
        }  # fmt: skip


def path(task, *, balance=True, block=False):
    """partial_fit, a call for each row or one for all, from a batch solution made exact."""
    machine = copy.deepcopy(task.balanced if balance else task.unbalanced).resume()
    return _along(task, machine, block)


def as_printed(task, *, balance):
    """The papers' procedure for a batch, in one call.

    The balancing constraint is taken out once, the samples are added one at a time in their
    order, and it is put back once (Yu et al. 2019, Algorithms 1 to 3). Without the constraint
    this is Algorithm 1 of Gu et al. (2018).
    """
    machine = task.machine(balance=balance, balance_update="paper", path_order="one-by-one")
    return _along(task, machine.fit(*task.before).resume(), block=True)


def _along(task, machine, block):
    steps = machine.n_steps_
    seconds, done = _added(task, machine, block)
    if done < len(task.labels):
        return {"seconds": seconds, "finished": False, "rows_added": done}
    steps = machine.n_steps_ - steps
    return _of_machine(task, machine, seconds, machine.fit_status_ == 0, steps=steps)


def _added(task, machine, block=False):
    """Add the rows within the limit; seconds and how many."""
    rows, n = task.problem.X[task.problem.size :], len(task.labels)
    started = time.perf_counter()
    for part in [slice(0, n)] if block else [slice(j, j + 1) for j in range(n)]:
        machine.partial_fit(rows[part], task.labels[part])
        seconds = time.perf_counter() - started
        if seconds > task.limit:
            break
    return seconds, part.stop


def _of_machine(task, machine, seconds, finished, **more):
    f = machine.decision_function(task.after[0])
    return task.outcome(seconds, f, machine.objective_, machine.kkt_violation_, finished, **more)


def batch(task, *, balance=True, tol=1e-3, annealing=False):
    """fit on all rows from scratch."""
    machine = task.machine(
        balance=balance, tol=tol, annealing=annealing, solver="cccp", max_time=task.limit
    )
    started = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        machine.fit(*task.after)
    seconds = time.perf_counter() - started
    return _of_machine(task, machine, seconds, machine.fit_status_ == 0)


def nn_bb(task):
    """partial_fit with branch and bound over the labels near each new row (Emara et al. 2007)."""
    machine = copy.deepcopy(task.balanced).resume()
    machine.set_params(solver="branch-and-bound", max_time=task.limit / len(task.labels))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", ConvergenceWarning)
        seconds, done = _added(task, machine)
    cut_short = sum(issubclass(w.category, ConvergenceWarning) for w in caught)
    if done < len(task.labels):
        return {"seconds": seconds, "finished": False, "rows_added": done}
    return _of_machine(task, machine, seconds, not cut_short, searches_cut_short=cut_short)


# Title in tables, function. The first is ours.
METHODS = {
    "path": ("path, balanced (default), row by row", path),
    "path-block": ("path, balanced (default), one batch", partial(path, block=True)),
    "path-off": ("IL-S3VM as printed", partial(as_printed, balance=False)),
    "path-paper": ("IL-BCS3VM as printed", partial(as_printed, balance=True)),
    "cccp": ("CCCP, balanced (BCS3VM)", batch),
    "cccp-exact": ("CCCP, balanced, to 1e-6", partial(batch, tol=1e-6)),
    "cccp-off": ("CCCP, no balancing (BL-S3VM)", partial(batch, balance=False)),
    "annealed": ("annealed CCCP, balanced (default)", partial(batch, annealing=True)),
    "nn-bb": ("NN-BB", nn_bb),
}  # fmt: skip
