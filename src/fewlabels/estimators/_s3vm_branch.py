"""Branch and bound for a semi-supervised SVM: over all signs, or over those near a new row.

All signs: Chapelle, Sindhwani & Keerthi (2007). Near a new row: NN-BB, the incremental variant
of Emara et al. (2007) that Gu et al. (2018, section 5.1) compare with: a new row changes f
mostly around itself, so that only the signs of its nearest unlabelled rows are searched.
"""

from __future__ import annotations

import time
import warnings
from dataclasses import dataclass
from functools import partial
from itertools import count
from types import SimpleNamespace

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from .._threads import one_blas_thread, resolve_n_jobs
from ..gram import BorderedGram, make_gram
from ..problem import s3vm_step
from ..solvers import Status
from ..solvers.papers.branch_and_bound import branch_and_bound
from ..solvers.papers.sign_relaxation import SignRelaxation
from ..solvers.result import certify
from ._s3vm_batch import S3VMSolution, solve_batch, violation

# Other signs must lower the objective by this share of it.
_RTOL = 1e-9
# A gap below this share of the objective is rounding.
PROVEN = 2e-9
# max_nodes="auto": nodes, and rows times nodes.
_MOST_NODES, _ROWS_OF_NODES = 50_000, 2_000_000
# Bytes per row that a node keeps while it waits: variable, gradient, sign.
_BYTES_PER_ROW = 24

_ADVICE = {
    Status.MAX_ITER: "raise max_nodes, and cache_size for more than a thousand rows",
    Status.MAX_TIME: "raise max_time",
    Status.STALLED: "scale the columns",
    Status.STOPPED: "fit again without the callback that stopped it",
}


@dataclass
class GlobalSolution(S3VMSolution):
    """A local minimum of (1) with a certificate of how far the global one may be.

    Attributes
    ----------
    lower_bound : float
        Nothing is below it.
    n_nodes : int
        Convex problems that were solved to know that; 0 when the search did not begin.
    """

    lower_bound: float = 0.0
    n_nodes: int = 0


def train(machine, data, callback, signs_before=None):
    """Batch training as ``solver`` says, and how far the global minimum may be from it."""
    if machine.solver == "branch-and-bound" and signs_before is None:
        found = solve_global(machine, data, callback)
        machine._lower_bound, machine.n_nodes_ = found.lower_bound, found.n_nodes
        return found
    machine._lower_bound = None
    return solve_batch(machine, data, callback, signs_before)


def warn_of_training(machine, found, stacklevel):
    """Warn when the tolerance was not reached, or the global minimum is not proven."""
    result = found.result
    if not getattr(found, "n_nodes", 0) or result.status not in _ADVICE:
        machine._report_status(result, machine.tol, stacklevel=stacklevel + 1)
        return
    warnings.warn(
        f"the global minimum is not proven: the search stopped after {found.n_nodes} nodes "
        f"({result.status.value}); the objective {found.objective:.6g} is at most "
        f"{found.objective - found.lower_bound:.3g} above it. {_sentence(result.status)}; "
        "solver='cccp' finds the minimum that this search began at.",
        ConvergenceWarning,
        stacklevel=stacklevel,
    )


# -- all signs -----------------------------------------------------------------------------


def solve_global(machine, data, callback):
    """The best minimum of (1) within the limits; the search begins at the batch solution."""
    started = time.perf_counter()
    found = solve_batch(machine, data, callback)
    if not found.result.converged:
        return GlobalSolution(**vars(found))
    n, history = len(data.label), found.result.history
    C, C_star = machine.C * data.weight, machine.C_star * data.weight
    gram = data.gram.refined() or data.gram
    relaxation = SignRelaxation(
        gram, data.label, np.where(data.label != 0, C, C_star), data.target
    )
    sign, a, gradient = _start(data, found, gram)
    with one_blas_thread():
        value, best = relaxation.descend(sign, a, gradient)
        search = branch_and_bound(
            relaxation,
            value,
            rtol=_RTOL,
            max_nodes=_nodes(machine, n),
            max_waiting=max(1.0, machine.cache_size * 1e6 / (_BYTES_PER_ROW * n)),
            max_time=_seconds(machine) - (time.perf_counter() - started),
            callback=_reporter(callback, len(history)),
        )
    best = best if search.solution is None else search.solution
    history = history + _numbered(search.history, len(history))
    problem = s3vm_step(gram, data.label, best.sign, C, C_star, data.target)
    status = search.status
    if status is Status.CONVERGED and search.gap > PROVEN * abs(search.value):
        status = Status.STALLED
    result = certify(problem, best.a, best.gradient, status, found.result.n_iter, history)
    result.multiplier = best.multiplier
    f = best.gradient[:n] - best.multiplier
    return GlobalSolution(
        result=result,
        f=f,
        sign=best.sign,
        objective=search.value,
        violation=violation(data, best.a[:n], f, C, C_star),
        objectives=[value] if search.solution is None else [value, search.value],
        lower_bound=max(0.0, search.lower_bound),
        n_nodes=search.n_nodes,
    )


def _start(data, found, gram):
    """Signs, variables and gradient of the batch solution, in float64."""
    sign, a = np.where(data.label != 0, data.label, found.sign), found.result.a
    if gram is data.gram:
        return sign, a, found.result.gradient
    support = np.flatnonzero(a)
    return sign, a, gram.product(support, a[support])


def _sentence(status):
    advice = _ADVICE[status]
    return advice[0].upper() + advice[1:]


def _nodes(machine, n):
    if machine.max_nodes == "auto":
        return min(_MOST_NODES, _ROWS_OF_NODES // n)
    return machine.max_nodes


def _seconds(machine):
    return np.inf if machine.max_time is None else machine.max_time


def _numbered(entries, before):
    return [{"round": k, **entry} for k, entry in enumerate(entries, start=before + 1)]


def _reporter(callback, before):
    """The user's callback, for entries of a search."""
    if callback is None:
        return None
    rounds = count(before + 1)
    return lambda entry: callback({"round": next(rounds), **entry})


# -- signs near a new row ------------------------------------------------------------------


def add_by_branching(machine, rows, label, weight):
    """Add rows one by one; after each, search the signs around it."""
    if machine.max_steps is not None:
        raise ValueError(
            f"max_steps={machine.max_steps} cuts the path short, and branch and bound begins at "
            "its end; set max_steps=None."
        )
    weight = np.ones(len(label)) if weight is None else weight
    stream = machine._stream
    known = stream.places
    stream._check_weight(
        np.append(stream.label[known], label), np.append(stream.weight[known], weight)
    )
    machine._follow("resume", None, None)
    stopped = []
    for i in range(len(label)):
        stream, one = machine._stream, slice(i, i + 1)
        was_ready = stream.ready
        machine._follow("partial_fit", partial(stream.add, rows[one], label[one], weight[one]))
        if was_ready and machine._stream.path is not None:
            search = _search_near_newest(machine)
            if search.status is not Status.CONVERGED:
                stopped.append(search)
    if stopped:
        worst = max(stopped, key=lambda search: search.gap)
        warnings.warn(
            f"the search around {len(stopped)} of {len(label)} new rows stopped early "
            f"({worst.status.value}); with other signs there the objective could be lower by "
            f"{worst.gap:.3g}. {_sentence(worst.status)}, or take fewer n_neighbors.",
            ConvergenceWarning,
            stacklevel=4,
        )
    return machine


def _search_near_newest(machine):
    """Branch and bound over the signs of the newest row's neighbours, all others held."""
    stream = machine._stream
    places, now = stream.places, stream.now()
    label, weight = stream.label[places], stream.weight[places]
    price = weight * np.where(label != 0, stream.C, stream.C_star)
    sign = np.where(label != 0, label, np.where(now.f[places] >= 0, 1.0, -1.0))
    a, gradient = now.a[places], now.f[places] + now.multiplier
    target = stream.data().target
    gram = make_gram(
        stream.kernel, stream.kernel_rows(places), dtype=np.float64,
        n_jobs=resolve_n_jobs(machine.n_jobs),
    )  # fmt: skip
    near = _nearest(gram, np.flatnonzero(label == 0), len(places) - 1, machine.n_neighbors)
    if target is not None:
        gram = BorderedGram.mean_of(gram, np.flatnonzero(label == 0))
        a = np.append(a, stream.path.virtual)
        gradient = np.append(gradient, target + now.multiplier)
    side = sign.copy()
    side[near] = 0.0
    with one_blas_thread():
        relaxation = SignRelaxation(gram, side, price, target, start=(a, gradient))
        search = branch_and_bound(
            relaxation,
            relaxation.value(sign, a, gradient),
            rtol=_RTOL,
            max_nodes=_nodes(machine, len(label)),
            max_time=_seconds(machine),
        )
    if search.status is Status.INTERRUPTED:
        raise KeyboardInterrupt
    machine.n_nodes_ = getattr(machine, "n_nodes_", 0) + search.n_nodes
    if search.solution is not None:
        machine._stream = _moved(machine, stream, search.solution)
        machine._forget_attributes()
    return search


def _nearest(gram, rows, newest, k):
    """The ``k`` of ``rows`` nearest to the newest row in feature space, itself included."""
    column = gram.columns(np.array([newest]))[0]
    diagonal = gram.diagonal()
    distance = (diagonal + diagonal[newest] - 2.0 * column)[rows]
    distance[rows == newest] = -np.inf
    several = k + int(np.any(rows == newest))
    return rows[np.argsort(distance, kind="stable")[:several]]


def _moved(machine, stream, best):
    """A stream of the same rows whose path begins at another solution."""
    fresh = stream.fresh(machine)
    fresh.start_from(
        SimpleNamespace(
            result=SimpleNamespace(a=best.a, multiplier=best.multiplier), sign=best.sign
        )
    )
    fresh.begin()
    fresh._n_rebuilt, fresh._n_changed = stream._n_rebuilt, stream._n_changed
    return fresh
