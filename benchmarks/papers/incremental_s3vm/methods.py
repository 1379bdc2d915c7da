"""Ways to add 20 rows to a solved problem. A new one is a function and a line in METHODS."""

from __future__ import annotations

import time
import warnings
from dataclasses import dataclass
from functools import partial

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

    def outcome(self, seconds, f, objective, violation, finished, **more):
        """A record; the error is over unlabelled rows."""
        given = self.after[1]
        free = np.isnan(given)
        wrong = np.where(f > 0, 1, -1) != self.problem.y
        return {
            "seconds": seconds, "finished": bool(finished), "objective": float(objective),
            "kkt_violation": float(violation), "error": float(np.mean(wrong[free])), **more,
        }  # fmt: skip


def block(task):
    """partial_fit with all rows in one call, from a batch solution made exact."""
    return _along(task, task.machine())


def as_printed(task, *, balance):
    """The papers' procedure for a batch, in one call.

    The balancing constraint is taken out once, the samples are added one at a time in their
    order, and it is put back once (Yu et al. 2019, Algorithms 1 to 3). Without the constraint
    this is Algorithm 1 of Gu et al. (2018).
    """
    return _along(task, task.machine(
        balance=balance, balance_update="paper", path_order="one-by-one"
    ))  # fmt: skip


def _along(task, machine):
    machine.fit(*task.before).resume()
    steps = machine.n_steps_
    started = time.perf_counter()
    machine.partial_fit(task.problem.X[task.problem.size :], task.labels)
    seconds = time.perf_counter() - started
    is_finished = machine.fit_status_ == 0 and seconds <= task.limit
    return _of_machine(task, machine, seconds, is_finished, steps=machine.n_steps_ - steps)


def _of_machine(task, machine, seconds, finished, **more):
    f = machine.decision_function(task.after[0])
    return task.outcome(seconds, f, machine.objective_, machine.kkt_violation_, finished, **more)


def batch(task, *, balance=True, annealing=False):
    """fit on all rows from scratch."""
    machine = task.machine(
        balance=balance, annealing=annealing, solver="cccp", max_time=task.limit
    )
    started = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        machine.fit(*task.after)
    seconds = time.perf_counter() - started
    return _of_machine(task, machine, seconds, machine.fit_status_ == 0)


# Function by title in tables.
METHODS = {
    "IL-S3VM as printed": partial(as_printed, balance=False),
    "IL-BCS3VM as printed": partial(as_printed, balance=True),
    "S3VM, the default": block,
    "batch training, no balancing (BL-S3VM)": partial(batch, balance=False),
    "batch training, balanced (BCS3VM)": batch,
    "batch training, annealed": partial(batch, annealing=True),
}
