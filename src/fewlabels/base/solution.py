"""The solution of a fit: its function, its certificate, and the rows it was trained on."""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from .._typing import AnyArray, FloatArray, IntArray, RowMatrix
from .._util.deadline import Deadline
from ..calibration.conformal import TIE, TIE_FLOAT32, Conformal
from ..kernels import Kernel
from ..kernels.operators import GramOperator, equal_rows
from ..problem.penalty import group_sums
from ..solvers.run import HistoryEntry
from .class_functions import ClassFunctions
from .function import TAIL, Function

# Values below this share of the terms they are summed from are rounding.
ROUNDING = 1e-12


@dataclass(frozen=True, eq=False, kw_only=True)
class Solution:
    """The function of a model with its certificate."""

    function: Function | ClassFunctions
    support: np.ndarray  # training rows that are its vectors, int32; -1 for those leaving
    n_support: np.ndarray  # their number, by class
    n_iter: int
    history: list[HistoryEntry] = field(repr=False)
    converged: bool
    objective: float = np.nan
    duality_gap: float = np.inf

    def without_vectors(self) -> Self:
        """Return a copy without support vectors, if all of them are among the training rows."""
        if np.any(self.support < 0):
            return self
        return replace(self, function=replace(self.function, vectors=self.function.vectors[:0]))

    def with_vectors(self, X: RowMatrix) -> Self:
        """Return a copy with support vectors from training rows ``X``, if it has none."""
        function, rows = self.function, self.support
        if function.vectors.shape[0] == function.coef.shape[1]:
            return self
        if function.repeats is not None:
            rows = rows[np.unique(function.repeats, return_index=True)[1]]
        return replace(self, function=replace(function, vectors=X[rows]))

    def __getstate__(self) -> dict[str, Any]:
        # One text in place of many small objects.
        state = {entry.name: getattr(self, entry.name) for entry in fields(self)}
        return {**state, "history": json.dumps(self.history, default=float)}

    def __setstate__(self, state: dict[str, Any]) -> None:
        for name, value in state.items():
            object.__setattr__(self, name, json.loads(value) if name == "history" else value)


@dataclass(frozen=True, eq=False, kw_only=True)
class OneClassSolution(Solution):
    """The ``Solution`` of a model of one class; its function gives ``score_samples``."""

    function: Function
    intercept: float  # decisions are the part of the score that depends on the row, plus this
    scale: float = 1.0  # scores by models of other rows compare when divided by this
    size: float  # what a score is summed from: rounding is a share of it
    rate: float | None = None  # of new normal rows that may be rejected
    radius: float = np.nan  # of a ball
    is_point: bool = False  # the ball shrank to one, as slack is cheaper than a radius

    def comparable(self, score: FloatArray) -> FloatArray:
        """Return scores on no model's scale, as ``Conformal.scores`` are."""
        return (score - self.function.bias) / self.scale

    def calibrated(self, scores: FloatArray, keys: AnyArray | None = None) -> Conformal:
        """Return the ``Conformal`` of sorted scores of rows that were not trained on.

        ``keys`` identify the rows, where each was left out in turn.
        """
        share = TIE_FLOAT32 if self.function.float64 is False else TIE
        # Sums of positive terms are as exact as these, relative to themselves.
        is_relative = self.function.kernel.is_similarity and not np.any(self.function.coef < 0.0)
        return Conformal(
            scores=scores,
            keys=keys,
            shift=self.function.bias,
            scale=self.scale,
            tie=share if is_relative else share * self.size,
            relative=is_relative,
            tail=self.function.tail / self.scale,
            rate=self.rate,
        )


@dataclass(frozen=True, eq=False)
class Certificate:
    """A measure of how good a semi-supervised model is, and its labels of the training rows.

    Of several classes the first two are arrays, and ``positive`` is the class by its number.
    """

    objective: float | FloatArray
    violation: float | FloatArray  # of the conditions of optimality, the largest
    positive: np.ndarray  # which training rows it finds on the positive side


def score_limits(
    kernel: Kernel, size: float, boundary: float, coef: FloatArray
) -> dict[str, float]:
    """Return the ``boundary`` of a function, its rounding, and where its log scale begins.

    A sum with negative coefficients, of confirmed anomalies, has no log scale.
    """
    rounding = ROUNDING * size
    if not kernel.is_similarity or (coef < 0.0).any():
        return {"boundary": boundary, "rounding": rounding}
    rounding, tail = min(rounding, TIE * abs(boundary)), TAIL * max(boundary, 0.0)
    return {"boundary": boundary, "rounding": rounding, "tail": tail}


def describe_run(
    support: IntArray,
    counts: Sequence[int] | IntArray,
    n_iter: int,
    history: list[HistoryEntry],
    converged: bool,
) -> dict[str, Any]:
    """Return the values of a ``Solution`` that describe the run, for any model."""
    return {
        "support": support,
        "n_support": np.array(counts, dtype=np.int32),
        "n_iter": max(1, int(n_iter)),
        "history": history,
        "converged": bool(converged),
    }


def typical_terms(diagonal: NDArray[np.float64], coef: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the largest terms of sums of kernel values at rows such as most support vectors.

    A term is at most ``|coef| sqrt(K(x_j, x_j) K(x, x))``. Few rows that are far from the others
    have large values under a kernel of inner products, and say nothing about other rows.

    Parameters
    ----------
    diagonal : ndarray of shape (n_rows,)
        K(x_j, x_j) of the rows.
    coef : ndarray of shape (n_rows,)
        Their coefficients.

    Returns
    -------
    ndarray of shape (n_support,)
    """
    used = np.flatnonzero(coef)
    if not len(used):
        return np.zeros(0)
    norms = np.sqrt(np.abs(diagonal[used]))
    return np.abs(coef[used]) * norms * float(np.median(norms))


def estimate_rounding(diagonal: NDArray[np.float64], coef: NDArray[np.float64]) -> float:
    """Return what counts as zero among the sums of ``typical_terms``."""
    return ROUNDING * float(typical_terms(diagonal, coef).sum())


def largest_diagonal(gram: GramOperator) -> float:
    """Return the largest K(x, x)."""
    return float(np.abs(gram.diagonal()).max(initial=0.0))


def make_function(
    kernel: Kernel | tuple[Kernel, ...],
    gram: GramOperator,
    X: RowMatrix,
    coef: FloatArray,
    numbers: IntArray,
    **options: Any,
) -> tuple[Any, IntArray, IntArray]:
    """Return the ``Function`` of the rows with a coefficient, their places and numbers.

    ``kernel`` may be a tuple of kernels, with a row of ``coef`` each; several rows for one kernel
    are as many functions. ``gram`` prepared rows as predictions will; ``numbers`` are what users
    call the rows ``X``, which are as they were given.
    """
    kernels = kernel if isinstance(kernel, tuple) else (kernel,)
    places = np.flatnonzero(coef if coef.ndim == 1 else coef.any(axis=0))
    coef = coef[None] if coef.ndim == 1 else coef
    support = numbers[places].astype(np.int32)
    is_matrix = kernels[0].is_matrix
    row_map = getattr(gram, "row_map", None)
    if row_map is not None:
        options |= {"center": row_map.center, "float64": row_map.dtype == np.float64}
    coef, vectors, copies = coef.take(places, axis=1), np.empty((0, 0)), None
    if not is_matrix:
        vectors = X[places]
        known = gram.copies is None and gram.n == X.shape[0]
        copies = None if known else equal_rows(vectors)
    if copies is not None:
        options |= {"repeats": copies.of, "shares": coef}
        vectors = vectors[copies.first]
        coef = np.stack([group_sums(copies, part) for part in coef])
    kind = Function if len(kernels) == len(coef) else ClassFunctions
    function = kind(
        kernels=kernels,
        vectors=vectors,
        coef=coef,
        columns=support if is_matrix else None,
        **options,
    )
    return function, places, support


@dataclass(frozen=True, eq=False)
class TrainingRows:
    """Rows that a model holds. Not to be written to."""

    X: RowMatrix  # as they were given
    weight: FloatArray  # 0 for rows that have no part in the fit
    # +1, -1, 0 for none. Of one class: -1 for confirmed anomalies, None where there are none.
    label: AnyArray | None = None


class RowStream(Protocol):
    """The training rows that a model holds, and the solution that follows them.

    Attributes that can be set are set before each operation.
    """

    cache_size: float
    n_jobs: int
    deadline: Deadline
    tol: float

    @property
    def version(self) -> int:
        """A number that goes up with everything that may change the solution."""

    @property
    def done(self) -> bool:
        """bool: Whether the solution is for the present rows."""

    @property
    def add(self) -> Callable[..., object]:
        """The method that adds rows, with the numbers of each that the model needs, by name."""

    @property
    def remove(self) -> Callable[..., object]:
        """The method that removes rows by what users call them."""

    def __len__(self) -> int:
        """Return the number of rows."""

    def training_rows(self) -> TrainingRows:
        """Return the rows that are there."""

    def snapshot(self) -> Self:
        """Return a copy that later changes don't reach."""


class RunnableStream(RowStream, Protocol):
    """A stream with a single solution, which it lets follow the rows itself."""

    def run(self, max_steps: int | None = None) -> bool:
        """Let the solution follow the rows, and return whether it has."""

    def rounding_violation(self) -> float:
        """Return the violation that rounding leaves, 0 for none."""
