"""Bags of rows of one class, a small ball around most of the rows of each, and one scale for all.

Which rows are in a bag follows from their values: every row has a number for every bag, and those
with the lowest are in. So the bags of rows that come and go are as in a fit to all that are
there, in whatever order they came, and a row more or less changes few bags.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from sklearn.metrics.pairwise import euclidean_distances

from .._typing import AnyArray, FloatArray, IntArray, RowMatrix
from .._util.deadline import ENDLESS, Deadline
from .._util.threads import run_in_order
from ..base.solution import TAIL, Function, TrainingRows
from ..kernels import Isolation, Kernel, Precomputed, center_of, centered
from ..kernels.operators import GramOperator, PrecomputedGram, make_gram
from ..kernels.rows import find_shift
from ..kernels.sampling import WeightedCopies
from ..rows.neighbors import ROUNDING, gamma_from_distances, mark_farthest, neighbor_rank
from ..rows.row_store import PlainState, RowStore
from ..solvers import Settings, Status, solve_decomposition
from ..solvers.run import Callback
from .fitted_bags import (
    Bag,
    BaggedFunction,
    IsolationSimilarity,
    ScoreComponent,
    compute_level,
    log_similarity,
)
from .problem import SquaredSlackBall

# Rows that levels are standardised on and thresholds set by, at most.
_MAX_REFERENCE_ROWS = 5000
# Gamma over the squared distance to a near neighbour.
_GAMMA_FACTOR = 4.0
# Share of the values on Q's diagonal that is rounding.
_ROUNDING = 1e-13
# Share of the rows that trimmed bags leave out, where data decide what these count for.
_TRIMMED_SHARE = 0.2
# With fewer bags each is trimmed. Ten bags took clean Gaussian rows for contaminated ones in
# three of four draws, and 25 bags in none.
_MIN_BAGS_FOR_UNTRIMMED = 16
# What trimmed bags and the isolation kernel count for beside untrimmed bags.
_SECONDARY_WEIGHT = 0.5
# Trimmed and other bags agree if more than this share of the most anomalous rows are the same.
_MIN_AGREEMENT = 0.7
# With fewer rows they can't be compared.
_MIN_ROWS_TO_COMPARE = 20
# The samples of the isolation kernel are numbered from here, samples of bags from 0.
_DRAWS_FROM = 2**32
# What tol = 1 means, as a share of the rows' variance in feature space.
_SHARE_OF_VARIANCE = 0.01
# Values on the diagonal of a matrix that differ by less, relatively, are one.
_EQUAL_RTOL = 1e-9


def resolve_trim(trim: str | float, n_bags: int) -> float | None:
    """Return the share of ``BagSettings``, from the parameter ``trim``.

    Few bags are all trimmed.
    """
    if trim == "auto":
        return None if n_bags >= _MIN_BAGS_FOR_UNTRIMMED else _TRIMMED_SHARE
    return float(trim)


@dataclass(frozen=True)
class BagSettings:
    """Parameters of a fit. ``kernel(gamma)`` makes the kernel; ``gamma`` None: from neighbours.

    ``trim`` None: every second bag is trimmed, and the data decide what the others count for.
    """

    n_bags: int
    size: int
    trim: float | None
    isolation: Isolation | None
    C: float
    kernel: Callable[[float], Kernel]
    gamma: float | None
    tol: float
    seed: int
    n_jobs: int
    deadline: Deadline
    report: Callback | None


@dataclass
class BagResult:
    """The result of a fit: ``status`` says why there are fewer bags than requested, if so."""

    function: BaggedFunction
    scores: np.ndarray  # of rows by the bags that they are not in, ascending
    scored: np.ndarray  # numbers of these rows
    status: Status


def fit_bags(
    X: RowMatrix, weight: FloatArray, settings: BagSettings, known: Sequence[Bag] = ()
) -> BagResult:
    """``Bagged`` of the rows of weight > 0; ``X`` is a matrix of kernel values if precomputed.

    ``known`` are bags of earlier rows: those that hold the same rows still are taken as they are.
    After Ctrl-C or the time limit the bags so far make the function. Where a backend of joblib was
    chosen, its workers train the bags of rows (not of a matrix).
    """
    is_matrix = isinstance(settings.kernel(1.0), Precomputed)
    copies = WeightedCopies(X, weight, is_matrix)
    places = copies.lowest(settings.n_bags, _MAX_REFERENCE_ROWS, settings.seed)
    references = _References(X, copies.rows[places], copies.marks[places], is_matrix)
    bag_of_marks = {(k % 2, bag.marks.tobytes()): bag for k, bag in enumerate(known)}
    size = min(settings.size, (len(copies.rows) + 1) // 2)
    plain = replace(settings, report=None)  # as it travels

    def made(number: int) -> Callable[[], tuple[Bag, FloatArray] | None]:
        chosen = copies.lowest(number, size, settings.seed)
        rows, marks = copies.rows[chosen], copies.marks[chosen]
        inside = X[np.ix_(rows, rows)] if is_matrix else X[rows]
        trim = settings.trim
        if trim is None:
            trim = _TRIMMED_SHARE if number % 2 else 0.0
        deadline = settings.deadline if number else ENDLESS
        begun = replace(plain, deadline=deadline, trim=trim)
        bag = bag_of_marks.get((number % 2, marks.tobytes()))
        return partial(_train_bag, inside, rows, marks, bag, references, begun)

    calls = map(made, range(settings.n_bags))
    results = (call() for call in calls) if is_matrix else run_in_order(calls, settings.n_bags)
    found: list[tuple[Bag, FloatArray]] = []
    status = Status.CONVERGED
    try:
        for one in results:
            if one is None:
                status = Status.MAX_TIME
                break
            bag, scores_of_bag = one
            entry = {"round": len(found) + 1, **bag.entry}
            found.append((replace(bag, entry=entry), scores_of_bag))
            if settings.report is not None and settings.report(entry):
                status = Status.STOPPED
                break
    except KeyboardInterrupt:
        if not found:
            raise
        status = Status.INTERRUPTED
    bags = tuple(bag for bag, _ in found)
    if len(bags) == settings.n_bags and status is not Status.INTERRUPTED:
        status = Status.CONVERGED
    scores = np.array([scores_of_bag for _, scores_of_bag in found])
    parts: tuple[ScoreComponent, ...] = ()
    combined = _mean_out_of_bag(scores)
    if settings.trim is None or settings.isolation is not None:
        parts, combined = _combine_groups(scores, settings.trim is None)
    if settings.isolation is not None:
        part, own = _score_by_isolation(X, copies, places, settings)
        parts, combined = (*parts, part), np.minimum(combined, own)
    scored = np.flatnonzero(np.isfinite(combined))
    scored = scored[np.argsort(combined[scored], kind="stable")]
    rows = copies.rows[places[scored]]
    return BagResult(BaggedFunction(bags=bags, parts=parts), combined[scored], rows, status)


def _mean_out_of_bag(scores: FloatArray) -> FloatArray:
    """Return the mean scores of rows over the bags that they are not in.

    NaN for rows in all of them.
    """
    times = np.isfinite(scores).sum(axis=0)
    return np.where(times > 0, np.nansum(scores, axis=0) / np.maximum(times, 1), np.nan)


def _combine_groups(
    scores: FloatArray, is_auto: bool
) -> tuple[tuple[ScoreComponent, ...], FloatArray]:
    """``Part`` s of the bags, and the smallest of their scores for each reference row.

    If every second bag is trimmed, and trimmed and other bags agree on which rows are the most
    anomalous, few anomalies are among the rows, and trimmed bags count half. If they don't,
    anomalies hide among the rows of the other bags, and these aren't used.
    """
    n = len(scores)
    if not is_auto or n == 1:
        part, own = _standardise(_mean_out_of_bag(scores), bags=tuple(range(n)))
        return (part,), own
    groups = tuple(range(0, n, 2)), tuple(range(1, n, 2))
    plain, trimmed = (_mean_out_of_bag(scores[list(group)]) for group in groups)
    if not _do_agree(plain, trimmed):
        part, own = _standardise(trimmed, bags=groups[1])
        return (part,), own
    one, own = _standardise(plain, bags=groups[0])
    other, others = _standardise(trimmed, _SECONDARY_WEIGHT, bags=groups[1])
    return (one, other), np.minimum(own, others)


def _do_agree(plain: FloatArray, trimmed: FloatArray) -> bool:
    """Return whether two scores mostly agree on the most anomalous tenth of the rows."""
    known = np.isfinite(plain) & np.isfinite(trimmed)
    n = int(known.sum())
    if n < _MIN_ROWS_TO_COMPARE:
        return True
    most = n // 10
    lowest_plain, lowest_trimmed = (
        np.argsort(scores[known], kind="stable")[:most] for scores in (plain, trimmed)
    )
    return len(np.intersect1d(lowest_plain, lowest_trimmed)) > _MIN_AGREEMENT * most


def _standardise(
    scores: FloatArray, weight: float = 1.0, **of: Any
) -> tuple[ScoreComponent, FloatArray]:
    """Return a ``Part`` by scores of rows that it doesn't know, and these, standardised."""
    known = scores[np.isfinite(scores)]
    middle = spread = 0.0
    if len(known):
        middle = float(np.median(known))
        apart = np.abs(known - middle)
        spread = float(np.median(apart)) or float(np.mean(apart))
    part = ScoreComponent(middle=middle, spread=(spread or 1.0) / weight, **of)
    return part, part.standardise(scores)


def _score_by_isolation(
    X: RowMatrix, copies: WeightedCopies, places: IntArray, settings: BagSettings
) -> tuple[ScoreComponent, FloatArray]:
    """Return the ``Part`` of the isolation kernel, and the standardised scores of reference rows.

    References are scored by the draws in which they aren't centres, without themselves.
    """
    n = len(places)
    assert settings.isolation is not None
    kernel, drawn = settings.isolation.among(X, copies, places, settings.seed, _DRAWS_FROM)
    n_draws = len(drawn)
    cells = (
        kernel.find_nearest(X[copies.rows[places]], settings.n_jobs) + kernel.number_first_cells()
    )
    counts = np.bincount(cells.ravel(), minlength=kernel.n_cells)
    is_centre = np.zeros((n, n_draws), bool)
    is_centre[drawn, np.arange(n_draws)[:, None]] = True
    similarity = (counts[cells] - 1.0) / max(1, n - 1)
    times = n_draws - is_centre.sum(axis=1)
    total = np.where(is_centre, 0.0, similarity).sum(axis=1)
    mean = np.where(times > 0, total / np.maximum(times, 1), np.nan)
    isolated = IsolationSimilarity(kernel=kernel, weights=counts / n * n_draws**-0.5)
    return _standardise(log_similarity(mean), _SECONDARY_WEIGHT, isolated=isolated)


def _train_bag(
    inside: RowMatrix,
    rows: IntArray,
    marks: IntArray,
    bag: Bag | None,
    references: _References,
    settings: BagSettings,
) -> tuple[Bag, FloatArray] | None:
    """Return a bag (the one that is known, if any) and scores of the references.

    None if out of time.
    """
    if settings.deadline.is_over():
        return None
    if bag is None:
        bag = _fit_ball(inside, rows, marks, references.diagonal is not None, settings)
    return references.standardise(replace(bag, rows=rows), settings.n_jobs)


class _References:
    """Rows that levels are standardised on, by the bags that they are not in."""

    def __init__(self, X: RowMatrix, rows: IntArray, marks: IntArray, is_matrix: bool) -> None:
        self.X, self.marks = X[rows], marks
        self.diagonal = X.diagonal()[rows] if is_matrix else None

    def standardise(self, bag: Bag, n_jobs: int) -> tuple[Bag, FloatArray]:
        """A bag with what it says of rows outside (of all, where none is), and their scores.

        NaN for rows that are in the bag.
        """
        levels = compute_level(bag.function, self.X, diagonal=self.diagonal, n_jobs=n_jobs)
        # By sorting: the table that NumPy 1.26 would take cannot hold marks of 64 bits.
        outside = ~np.isin(self.marks, bag.marks, kind="sort")
        seen = levels[outside] if outside.any() else levels
        middle = float(np.median(seen))
        apart = np.abs(seen - middle)
        spread = float(np.median(apart)) or float(np.mean(apart)) or 1.0
        scores = np.where(outside, (levels - middle) / spread, np.nan)
        return replace(bag, middle=middle, spread=spread), scores


def _fit_ball(
    inside: RowMatrix, rows: IntArray, marks: IntArray, is_matrix: bool, settings: BagSettings
) -> Bag:
    """Return a ball around the rows of a bag, those farthest from their neighbours left out."""
    since = time.perf_counter()
    apart = _distances(inside, is_matrix)
    assert settings.trim is not None  # a bag has a share of its own
    far = mark_farthest(_neighbor_distances(apart), settings.trim)
    core = np.flatnonzero(~far)
    inside, apart = inside[core], apart[np.ix_(core, core)]
    if is_matrix:
        inside = inside[:, core]
    gamma = settings.gamma
    if gamma is None:
        gamma = gamma_from_distances(_neighbor_distances(apart), _GAMMA_FACTOR)
    kernel = settings.kernel(gamma)
    shift = find_shift(kernel, inside)
    gram = make_gram(kernel, centered(inside, shift), dtype=np.float64)
    block = gram.block(np.arange(gram.n))
    diagonal = np.diag(block)
    ball = SquaredSlackBall(settings.C)
    numbers = {"weight": np.ones(gram.n), "diagonal": diagonal}
    problem = ball.problem(PrecomputedGram(block), numbers)
    spread, size = float(diagonal.mean() - block.mean()), float(diagonal.mean())
    least = _ROUNDING * (abs(size) + 1.0 / settings.C)
    tol = max(_SHARE_OF_VARIANCE * settings.tol * spread, least, 1e-300)
    result = solve_decomposition(problem, settings=Settings(tol=tol))
    if result.status is Status.INTERRUPTED:
        raise KeyboardInterrupt
    used = np.flatnonzero(result.a)
    function = _make_function(kernel, gram, block, inside, result.a, rows[core[used]], shift)
    entry = {
        "gamma": float(gamma),
        "rows": len(core),
        "violation": float(result.violation),
        "iterations": int(result.n_iter),
        "kernel_values": gram.n**2,
        "converged": bool(result.converged),
        "seconds": time.perf_counter() - since,
    }
    return Bag(
        function=function,
        marks=marks,
        rows=rows,
        used=core[used],
        middle=0.0,
        spread=1.0,
        entry=entry,
    )


def _distances(X: RowMatrix, is_matrix: bool) -> FloatArray:
    """Return distances between the rows of a bag; by the kernel's own in a matrix."""
    if is_matrix:
        diagonal = np.diag(X)
        return np.sqrt(np.maximum(diagonal[:, None] + diagonal - 2.0 * X, 0.0))
    X = centered(X, center_of(X))  # differences without cancellation
    found = euclidean_distances(X)
    found[found <= ROUNDING * found.max()] = 0.0
    return found


def _neighbor_distances(distances: FloatArray) -> FloatArray:
    """Return the distance of every row to its q-th neighbour, q = ``neighbor_rank(n)``."""
    rank = neighbor_rank(len(distances)) if len(distances) > 1 else 0
    return np.partition(distances, rank, axis=1)[:, rank]


def _make_function(
    kernel: Kernel,
    gram: GramOperator,
    block: FloatArray,
    X: RowMatrix,
    a: FloatArray,
    rows: IntArray,
    shift: FloatArray | None,
) -> Function:
    """Return the sum of kernel values, or minus the squared distance to the centre."""
    used = np.flatnonzero(a)
    options: dict[str, Any] = {"vectors": X[used], "shift": shift}
    if kernel.is_matrix:
        options = {"vectors": np.empty((0, 0)), "columns": rows}
        diagonal = np.diag(block)
        if np.ptp(diagonal) <= _EQUAL_RTOL * max(1.0, np.abs(diagonal).max()):
            options["diagonal"] = float(diagonal.mean())
    row_map = getattr(gram, "row_map", None)
    if row_map is not None:
        options |= {"center": row_map.center, "float64": True}
    center_norm = float(a @ block @ a)
    if kernel.is_similarity:
        options |= {"coef": a[None, used], "tail": TAIL * center_norm, "boundary": -np.inf}
    else:
        options |= {"coef": 2.0 * a[None, used], "self_weight": 1.0, "bias": -center_norm}
    return Function(kernels=(kernel,), **options)


class BagStream(PlainState):
    """RowStore with "weight", and how often they have changed (``version``).

    There is no path to follow: bags are as in a fit to the present rows.
    """

    cache_size, n_jobs, deadline, tol = 200e6, 1, ENDLESS, np.inf
    done = True

    def __init__(self, rows: RowStore) -> None:
        self.rows, self.version = rows, 0

    def __len__(self) -> int:
        return len(self.rows)

    def add(self, X: RowMatrix, **values: AnyArray) -> IntArray:
        """Add rows with their numbers; their places."""
        self.version += 1
        return self.rows.append(X, **values)

    def remove(self, indices: IntArray) -> IntArray:
        """Let rows go, by what users call them."""
        places, left = self.rows.places[indices], self.rows.alive.copy()
        left[places] = False
        if not np.any(self.rows["weight"][left] > 0):
            raise ValueError("no training row would be left; keep at least one.")
        self.version += 1
        self.rows.drop(places)
        self.rows.compact()
        return places

    def run(self, max_steps: int | None = None) -> bool:
        """Nothing is on its way."""
        return True

    def rounding_violation(self) -> float:
        """No violation."""
        return 0.0

    def training_rows(self) -> TrainingRows:
        """Return the rows that are there, as ``TrainingRows``."""
        state = self.rows.state()
        return TrainingRows(state["X"], state["weight"])

    def __getstate__(self) -> dict[str, Any]:
        return {"rows": self.rows.state(), "version": self.version}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.rows, self.version = RowStore(**state["rows"]), state["version"]
