"""Branch and bound for a semi-supervised SVM: over all signs, or over those near a new row.

All signs: Chapelle, Sindhwani & Keerthi (2007). Near a new row: NN-BB of Emara et al. (2007), with
which Gu et al. (2018, section 5.1) compare.
"""

import time
from dataclasses import replace
from itertools import count
from typing import TypeAlias

import numpy as np

from .._typing import FloatArray, IntArray
from .._util.threads import one_blas_thread
from ..kernels.operators import BorderedGram, GramOperator
from ..solvers import Status
from ..solvers.papers.branch_and_bound import SignSearch, branch_and_bound
from ..solvers.run import Callback, certify
from .annealing import anneal, solution_of
from .class_path import PathSolution
from .data import S3VMData, S3VMSettings, S3VMSolution
from .problem import SemiSupervised
from .sign_relaxation import SignRelaxation, SignSolution

# Other signs must lower the objective by this share of it.
_RTOL = 1e-9
# A gap below this share of the objective is rounding.
PROVEN = 2e-9
# max_nodes="auto": nodes at most, ...
_MAX_NODES = 50_000
# ... and nodes times rows.
_MAX_NODES_TIMES_ROWS = 2_000_000
# Bytes per row that a node keeps while it waits: variable, gradient, sign.
_BYTES_PER_ROW = 24

# Of a search over signs.
Search: TypeAlias = SignSearch

_ADVICE = {
    Status.MAX_ITER: "raise max_nodes, and cache_size for more than a thousand rows",
    Status.MAX_TIME: "raise max_time",
    Status.STALLED: "scale the columns",
    Status.STOPPED: "fit again without the callback that stopped it",
}


def train(
    data: S3VMData, settings: S3VMSettings, signs_before: FloatArray | None = None
) -> S3VMSolution:
    """Batch training, from ``signs_before`` or, with ``branching``, for the global minimum."""
    few = data.distinct()
    if few is not None:
        signs = None if signs_before is None else signs_before[few.copies.first[: few.data.n]]
        return few.to_whole(train(few.data, settings, signs))
    if settings.branching and signs_before is None:
        return solve_global(data, settings)
    return anneal(data, settings, signs_before)


def describe_unproven(found: S3VMSolution) -> str | None:
    """Return a message if a search ended without a proof, else None."""
    status = found.result.status
    if not found.n_nodes or status not in _ADVICE:
        return None
    assert found.lower_bound is not None
    return (
        f"the global minimum is not certified: the search stopped after {found.n_nodes} nodes "
        f"({status.value}); the objective {found.objective:.6g} is at most "
        f"{found.objective - found.lower_bound:.3g} above it. {_sentence(status)}; solver='cccp' "
        "finds the minimum that the search started from."
    )


def describe_early_stops(searches: list[Search], n_rows: int) -> str | None:
    """Return a message about searches around new rows that stopped early; None without any."""
    stopped = [search for search in searches if search.status is not Status.CONVERGED]
    if not stopped:
        return None
    worst = max(stopped, key=lambda search: search.gap)
    return (
        f"the search around {len(stopped)} of {n_rows} new rows stopped early "
        f"({worst.status.value}); with other signs, the objective could be lower by "
        f"{worst.gap:.3g}. {_sentence(worst.status)}, or lower n_neighbors."
    )


def _sentence(status: Status) -> str:
    advice = _ADVICE[status]
    return advice[0].upper() + advice[1:]


# -- all signs -----------------------------------------------------------------------------


def solve_global(data: S3VMData, settings: S3VMSettings) -> S3VMSolution:
    """Return the best minimum of (1) within the limits.

    The search begins at the batch solution.
    """
    started, engine = time.perf_counter(), settings.engine
    found = anneal(data, settings)
    if not found.result.converged:
        return replace(found, lower_bound=0.0)
    if not data.class_objective.C_star:  # the problem is convex
        return replace(found, lower_bound=found.objective)
    n, history = len(data.label), found.result.history
    gram = data.gram.refined() or data.gram
    relaxation = SignRelaxation(
        gram, data.label, data.class_objective.cost(data.label, data.weight), data.target
    )
    sign, a, gradient = _start(data, found, gram)
    with one_blas_thread():
        descended = relaxation.descend(sign, a, gradient)
        assert descended is not None
        value, best = descended
        search = branch_and_bound(
            relaxation,
            value,
            rtol=_RTOL,
            max_nodes=_nodes(settings, n),
            max_waiting=max(1.0, engine.cache_size / (_BYTES_PER_ROW * n)),
            max_time=engine.max_time - (time.perf_counter() - started),
            callback=_reporter(settings.callback, len(history)),
        )
    if search.solution is not None:
        assert isinstance(search.solution, SignSolution)
        best = search.solution
    history = history + [
        {"round": k, **entry} for k, entry in enumerate(search.history, start=len(history) + 1)
    ]
    problem = data.class_objective.step(gram, data.label, data.weight, best.sign, data.target)
    status = search.status
    if status is Status.CONVERGED and search.gap > PROVEN * abs(search.value):
        status = Status.STALLED
    result = certify(problem, best.a, best.gradient, status, found.result.n_iter, history)
    result.multiplier = best.multiplier
    objectives = [value] if search.solution is None else [value, search.value]
    return replace(
        solution_of(data, result, best.sign, objectives),
        objective=search.value,
        lower_bound=max(0.0, search.lower_bound),
        n_nodes=search.n_nodes,
    )


def _start(
    data: S3VMData, found: S3VMSolution, gram: GramOperator
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return signs, variables and gradient of the batch solution, in float64."""
    sign, a = np.where(data.label != 0, data.label, found.sign), found.result.a
    if gram is data.gram:
        return sign, a, found.result.gradient
    support = np.flatnonzero(a)
    return sign, a, gram.product(support, a[support])


def _nodes(settings: S3VMSettings, n: int) -> int:
    if isinstance(settings.max_nodes, str):  # "auto"
        return min(_MAX_NODES, _MAX_NODES_TIMES_ROWS // n)
    return settings.max_nodes


def _reporter(callback: Callback | None, before: int) -> Callback | None:
    """Return the user's callback, for entries of a search."""
    if callback is None:
        return None
    rounds = count(before + 1)
    return lambda entry: callback({"round": next(rounds), **entry})


# -- signs near a new row ------------------------------------------------------------------


def search_near_last(
    gram: GramOperator,
    class_objective: SemiSupervised,
    label: FloatArray,
    weight: FloatArray,
    at: PathSolution,
    n_neighbors: int,
    settings: S3VMSettings,
) -> Search:
    """The ``SignSearch`` over the signs of the last row's neighbours, the others held ``at``.

    Its ``solution`` is None where no other signs are better.
    """
    free = np.flatnonzero(label == 0)
    sign = np.where(label != 0, label, np.where(at.f >= 0, 1.0, -1.0))
    a, gradient = at.a, at.f + at.multiplier
    target = class_objective.target(label, weight) if len(free) else None
    near = _nearest(gram, free, len(label) - 1, n_neighbors)
    if target is not None:
        gram = BorderedGram.mean_of(gram, free)
        a, gradient = np.append(a, at.virtual), np.append(gradient, target + at.multiplier)
    side = sign.copy()
    side[near] = 0.0
    with one_blas_thread():
        relaxation = SignRelaxation(
            gram, side, class_objective.cost(label, weight), target, start=(a, gradient)
        )
        search = branch_and_bound(
            relaxation,
            relaxation.value(sign, a, gradient),
            rtol=_RTOL,
            max_nodes=_nodes(settings, len(label)),
            max_time=settings.engine.max_time,
        )
    if search.status is Status.INTERRUPTED:
        raise KeyboardInterrupt
    return search


def _nearest(gram: GramOperator, rows: IntArray, newest: int, k: int) -> IntArray:
    """Return the ``k`` of ``rows`` nearest to the newest row in feature space, itself included."""
    column = gram.columns(np.array([newest]))[0]
    diagonal = gram.diagonal()
    distance = (diagonal + diagonal[newest] - 2.0 * column)[rows]
    distance[rows == newest] = -np.inf
    several = k + int(np.any(rows == newest))
    return rows[np.argsort(distance, kind="stable")[:several]]
