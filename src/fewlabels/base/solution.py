"""The solution of a fit: its function, its certificate, and the rows it was trained on."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any, Protocol, Self

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp

from .._typing import AnyArray, FloatArray, IntArray, RowMatrix, VectorLike
from .._util.deadline import Deadline
from .._util.threads import resolve_n_jobs
from ..calibration.conformal import TIE, TIE_FLOAT32, Conformal
from ..kernels import Kernel, center_of, centered
from ..kernels.operators import Expansion, GramOperator, RowMap
from ..kernels.operators.expansion import extend_tail
from ..kernels.rows import equal_rows
from ..problem.penalty import group_sums
from ..solvers.run import HistoryEntry

# Share of the threshold's level below which sums of a similarity go on in log scale.
TAIL = 1e-12
# Sums below this have lost digits, or all: their logarithms are summed up from the kernel's.
_MIN_SUM = 1e-290
# Logarithms end here, before float64 does.
_MIN_LOG = -1e290
_MAX_VALUES_AT_A_TIME = 4_000_000

# Sums in units of the coefficients' that float32 may have cut off: it ends at 1e-38.
_MIN_SUM_FLOAT32 = 1e-30


@dataclass(frozen=True, eq=False, kw_only=True)
class Function:
    """``f(x) = sum_k sum_j coef[k, j] K_k(x_j, x) - self_weight K(x, x) + bias``.

    Below ``tail``, a sum of positive terms of a similarity continues in log scale (``continued``):
    it still ranks which of two rows is farther where the kernel itself has ended.

    Values within ``rounding`` of ``boundary`` are moved onto it: support vectors between their
    bounds lie exactly on the boundary, and the sign of a rounding error would decide on which
    side they are.
    """

    kernels: tuple[Any, ...]  # K_k
    vectors: np.ndarray  # or CSR array: x_j as given; of shape (0, 0) for a precomputed kernel
    coef: np.ndarray  # of shape (n_kernels, m)
    bias: float = 0.0
    self_weight: float = 0.0
    shift: np.ndarray | None = None  # taken from all rows first (linear kernel)
    center: np.ndarray | None = None  # where a kernel that does not see it moves rows to
    float64: bool | None = None  # kernel values are; None for kernels that prepare no rows
    columns: np.ndarray | None = None  # precomputed: training rows that x_j are
    diagonal: float | None = None  # precomputed: K(x, x), where that is constant
    boundary: float = 0.0
    rounding: float = 0.0
    tail: float = 0.0
    # Where support vectors are equal: which of the vectors each is, and its own coefficient.
    repeats: np.ndarray | None = None
    shares: np.ndarray | None = None  # of shape (n_kernels, n_support)
    # Kernels with features: a weight for each. From the coefficients, unless given.
    weights: np.ndarray | None = field(default=None, repr=False)
    # Deformed kernel: coefficients of its points under the base kernel, unless given.
    on_points: np.ndarray | None = field(default=None, repr=False)
    # Kernels of trees: what each leaf adds, None in place of other kernels; unless given.
    on_leaves: tuple | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        kernel = self.kernels[0]
        if self.on_points is None and kernel.has_graph:
            on_points = kernel.on_points(self.vectors, self.coef[0])
            object.__setattr__(self, "on_points", on_points)
        if self.weights is None and kernel.has_features and not kernel.has_graph:
            weights = kernel.weights(self._shift_rows(self.vectors), self.coef[0])
            object.__setattr__(self, "weights", weights)

    @property
    def kernel(self) -> Any:
        """The kernel, where there is one. What methods it has follows from what it can do."""
        (kernel,) = self.kernels
        return kernel

    def to_base_kernel(self) -> Function:
        """Return the function without its term of K(x, x), under a deformed kernel's base."""
        if self.on_points is None:
            return self
        rows, coef = self.kernel.expand(self.vectors, self.coef[0], self.on_points)
        return replace(
            self,
            kernels=(self.kernel.plain,),
            vectors=rows,
            coef=coef[None],
            self_weight=0.0,
            repeats=None,
            shares=None,
            on_points=None,
            float64=True,
            center=center_of(rows),
        )

    @property
    def support_vectors(self) -> RowMatrix:
        """Support vectors, one for each training row, so that equal rows repeat."""
        return self.vectors if self.repeats is None else self.vectors[self.repeats]

    @property
    def dual_coef(self) -> FloatArray:
        """Coefficients of the support vectors."""
        return self.coef if self.shares is None else self.shares

    def __call__(
        self, X: RowMatrix, *, diagonal: VectorLike | None = None, n_jobs: int | None = None
    ) -> FloatArray:
        """Return values at validated rows.

        Precomputed rows are their kernel values with all training rows.

        ``diagonal`` is K(x, x) of these rows, needed where the function has such a term, the
        kernel is precomputed and its diagonal varies. ``n_jobs=None`` means every core.
        """
        X = self._shift_rows(X)
        # The constant is a small part of a value without K(x, x), and then comes last.
        value = np.full(X.shape[0], 0.0 if self.self_weight else self.bias)
        if self.weights is not None:
            value += self.kernel.sums(X, self.weights, resolve_n_jobs(n_jobs))
        else:
            for k in np.flatnonzero(self.coef.any(axis=1)):
                value += self._evaluate_kernel(int(k), X, resolve_n_jobs(n_jobs))
        if self.self_weight:
            value -= self.self_weight * self._diagonal_values(X, diagonal)
            value += self.bias
        far = np.flatnonzero(value < self.tail) if self.tail else ()
        if len(far):
            value[far] = extend_tail(value[far], self.tail, self._log_sums(X[far], value[far]))
        value[np.abs(value - self.boundary) <= self.rounding] = self.boundary
        return value

    def _shift_rows(self, X: RowMatrix) -> RowMatrix:
        return centered(X, self.shift)

    def _evaluate_kernel(self, k: int, X: RowMatrix, n_jobs: int) -> FloatArray:
        """Return the sum over the k-th kernel."""
        kernel, coef, row_map = self.kernels[k], self.coef[k], None
        if self.float64 is not None and kernel.is_mapped:
            dtype = np.float64 if self.float64 else np.float32
            row_map = RowMap.restore(kernel, self.center, dtype)
        expansion = Expansion(
            kernel,
            self.vectors,
            coef,
            columns=self.columns,
            row_map=row_map,
            n_jobs=n_jobs,
            on_points=self.on_points,
            on_leaves=self._leaf_values[k],
        )
        values = expansion(X)
        if row_map is not None and kernel.is_similarity and not self.float64 and coef.min() >= 0:
            # A sum of positive terms is exact relative to itself, however small it is.
            far = np.flatnonzero(values < _MIN_SUM_FLOAT32 * coef.sum())
            if len(far):
                exact = Expansion(kernel, self.vectors, coef, row_map=row_map.refined())
                values[far] = exact(X[far])
        return values

    @property
    def _leaf_values(self) -> tuple[FloatArray | None, ...]:
        """``on_leaves``, computed once unless given."""
        if self.on_leaves is None:
            found = tuple(
                kernel.weights(self.vectors, coef) if kernel.has_leaves else None
                for kernel, coef in zip(self.kernels, self.coef, strict=True)
            )
            object.__setattr__(self, "on_leaves", found)
        leaves = self.on_leaves
        assert leaves is not None
        return leaves

    def _log_sums(self, X: RowMatrix, sums: FloatArray) -> FloatArray:
        """Return logarithms of ``sum_j coef_j K(x_j, x)``, by the kernel's where sums vanish."""
        logs, lost = np.log(np.maximum(sums, _MIN_SUM)), np.flatnonzero(sums < _MIN_SUM)
        with np.errstate(all="ignore"):
            weight = np.log(self.coef[0])
            step = max(1, _MAX_VALUES_AT_A_TIME // len(weight))
            for rows in (lost[i : i + step] for i in range(0, len(lost), step)):
                terms = self.kernel.log_values(X[rows], self.vectors) + weight
                logs[rows] = logsumexp(np.fmax(terms, _MIN_LOG), axis=1)
        return logs

    def _diagonal_values(self, X: RowMatrix, diagonal: VectorLike | None) -> FloatArray:
        """Return K(x, x) of rows."""
        if diagonal is not None:
            diagonal = np.asarray(diagonal, dtype=float)
            if diagonal.shape != (X.shape[0],):
                raise ValueError(
                    f"diagonal has shape {diagonal.shape}; it needs one K(x, x) per row, "
                    f"shape ({X.shape[0]},)."
                )
            return diagonal
        if not self.kernel.is_matrix:
            return self.kernel.diagonal(X)
        if self.diagonal is None:
            raise ValueError(
                "the precomputed training kernel has a varying diagonal, so K(x, x) of the new "
                "rows is needed; pass diagonal=..."
            )
        return np.full(X.shape[0], self.diagonal)


@dataclass(frozen=True, eq=False, kw_only=True)
class ClassFunctions:
    """``f_c(x) = sum_j coef[c, j] K(x_j, x) + bias[c]``, a function for every class.

    For all else see ``Function``: this is one over the same vectors for each class.
    """

    kernels: tuple[Any, ...]  # the kernel, alone
    vectors: np.ndarray
    coef: np.ndarray  # of shape (n_classes, m)
    bias: np.ndarray  # of shape (n_classes,)
    shift: np.ndarray | None = None
    center: np.ndarray | None = None
    float64: bool | None = None
    columns: np.ndarray | None = None
    rounding: np.ndarray  # of shape (n_classes,)
    repeats: np.ndarray | None = None
    shares: np.ndarray | None = None
    weights: np.ndarray | None = field(default=None, repr=False)  # of shape (n_classes, d)
    on_points: np.ndarray | None = field(default=None, repr=False)  # (n_classes, n_points)

    def __post_init__(self) -> None:
        if self.on_points is None and self.kernel.has_graph:
            object.__setattr__(self, "on_points", self.kernel.on_points(self.vectors, self.coef))
        if self.weights is None and self.kernel.has_features and not self.kernel.has_graph:
            weights = self.kernel.weights(self._shift_rows(self.vectors), self.coef)
            object.__setattr__(self, "weights", weights)

    @property
    def kernel(self) -> Any:
        """The kernel. What methods it has follows from what it can do."""
        return self.kernels[0]

    @property
    def support_vectors(self) -> RowMatrix:
        """Support vectors, one for each training row, so that equal rows repeat."""
        return self.vectors if self.repeats is None else self.vectors[self.repeats]

    @property
    def dual_coef(self) -> FloatArray:
        """Coefficients of the support vectors."""
        return self.coef if self.shares is None else self.shares

    @property
    def intercept(self) -> FloatArray:
        """Constants for rows as they are given."""
        return self.bias if self.shift is None else self.bias - self.weights @ self.shift

    def class_function(self, place: int) -> Function:
        """Return the ``Function`` of one class."""
        shares = None if self.shares is None else self.shares[place : place + 1]
        return Function(
            kernels=self.kernels,
            vectors=self.vectors,
            coef=self.coef[place : place + 1],
            bias=float(self.bias[place]),
            shift=self.shift,
            center=self.center,
            float64=self.float64,
            columns=self.columns,
            rounding=float(self.rounding[place]),
            repeats=self.repeats,
            shares=shares,
            weights=None if self.weights is None else self.weights[place],
            on_points=None if self.on_points is None else self.on_points[place],
        )

    def __call__(self, X: RowMatrix, *, n_jobs: int | None = None) -> FloatArray:
        """Return values at validated rows, shape (n, n_classes)."""
        X = self._shift_rows(X)
        if self.weights is not None:
            value = self.kernel.sums(X, self.weights, resolve_n_jobs(n_jobs))
        else:
            row_map = None
            if self.float64 is not None:
                dtype = np.float64 if self.float64 else np.float32
                row_map = RowMap.restore(self.kernel, self.center, dtype)
            value = Expansion(
                self.kernel,
                self.vectors,
                self.coef,
                columns=self.columns,
                row_map=row_map,
                n_jobs=resolve_n_jobs(n_jobs),
                on_points=self.on_points,
            )(X)
        value = value + self.bias
        value[np.abs(value) <= self.rounding] = 0.0
        return value

    def _shift_rows(self, X: RowMatrix) -> RowMatrix:
        return centered(X, self.shift)


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


def largest_term(diagonal: FloatArray) -> float:
    """Return the largest K(x, x), without its sign."""
    return float(np.abs(diagonal).max(initial=0.0))


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
