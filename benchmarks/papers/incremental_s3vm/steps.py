"""Steps and sign changes when one row is added to a solved problem."""

from __future__ import annotations

import copy
import time

from fewlabels import S3VM

from .data import C_STAR, KERNELS, C, draw

# Accuracy of the batch training that a path starts from; the path makes its solution exact.
START_TOL = 1e-2
CACHE_MB = 1500


def solved(problem, kernel, balance, balance_update="keep"):
    """An S3VM at a local minimum, trained as in the papers, on its path.

    The concave-convex procedure at full C* from the labelled rows' SVM (no annealing).
    """
    machine = S3VM(
        C=C, C_star=C_STAR, balance=balance, balance_update=balance_update, annealing=False,
        unlabeled=None, tol=START_TOL, cache_size=CACHE_MB, n_jobs=1, **KERNELS[kernel],
    )  # fmt: skip
    machine.fit(problem.X[: problem.size], problem.given)
    return machine.resume()


def count(folder, name, size, kernel, balanced, trials, paper_trials, seed, budget):
    """Steps of single additions to copies of one solution: the same rows, labelled and not.

    Parameters
    ----------
    balanced : bool
        With the balancing constraint, kept in ("keep") and taken out and put back ("paper");
        otherwise without ("off").
    trials : int
        Rows, each added to a copy of its own.
    paper_trials : int
        Of these, the first so many for "paper", which takes hundreds of steps for each.
    budget : float
        Seconds after which no further row is added.

    Returns
    -------
    list of dict
        One record per variant, kind of row and trial.
    """
    started = time.perf_counter()
    problem = draw(folder, name, size, seed, balanced=balanced, extra=trials)
    machine = solved(problem, kernel, balanced)
    start = machine.history_[-1]
    machines = [("keep" if balanced else "off", machine, trials)]
    if balanced:
        other = solved(problem, kernel, balanced, "paper")  # the same batch solution
        machines.append(("paper", other, min(trials, paper_trials)))
    at = {"set": name, "size": size, "kernel": kernel}
    records = []
    for variant, solution, rows in machines:
        for i in range(size, size + rows):
            row = problem.X[i : i + 1]
            for kind, label in (("labelled", problem.y[i]), ("unlabelled", float("nan"))):
                if time.perf_counter() - started > budget:
                    return records
                other = copy.deepcopy(solution).partial_fit(row, [label])
                done = other.history_[-1]
                records.append(
                    {
                        **at, "balance": variant, "added": kind, "draw": seed, "trial": i - size,
                        "steps": done["steps"], "flips": done["flips"],
                        "margin_rows": start["margin"],
                    }
                )  # fmt: skip
    return records
