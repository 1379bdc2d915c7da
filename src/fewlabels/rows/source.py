"""Where the rows of a fit are: the one interface that estimators take rows by."""

from __future__ import annotations

import sys
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from operator import methodcaller
from typing import Any, NamedTuple, NoReturn, Self, TypeAlias, TypeVar

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from .._typing import AnyArray, BoolArray, FloatArray, IntArray, RowMatrix
from .._util.messages import Message, ref
from .._util.threads import run_each
from ..kernels import center_of, centered
from ..kernels.base import Kernel, MappedKernel
from ..kernels.operators import GramOperator, LinearSourceGram
from ..kernels.operators.rows import find_median_row
from ..kernels.parameters import gamma_of_moments
from ..kernels.rows import distinct, squared_norms
from ..problem.dual import Formulation
from ..solvers.engine.backend import NumpyBackend
from ..solvers.engine.rows import Rows
from ..solvers.run import Callback, HistoryEntry
from .device import ArrayBackend
from .problem import ModelProblem, ProblemSpec, ShardedProblem
from .shards import Moments, Shard, TakeRows, check_finite, choose_rows, get_weights, stack_rows

Answer = TypeVar("Answer")
# Makes the operator of a kernel over rows in memory.
MakeGram: TypeAlias = Callable[[Kernel, RowMatrix], GramOperator]
# Arguments of a ``Function``: rows, and options by name.
FunctionRows: TypeAlias = tuple[RowMatrix, dict[str, AnyArray]]

_EPSILON = float(np.finfo(float).eps)
# Rows at random that distances and medians are estimated from.
_N_ROWS_FOR_DISTANCES = 500


class HeldOut(NamedTuple):
    """The rows that a split holds out, as a mask, and the weights of all rows."""

    mask: BoolArray
    weight: FloatArray


class RowSource(ABC):
    """The rows of a fit: in memory, in files, on a device or on a cluster.

    ``shape`` is the shape of the rows as they were given; ``n_counting`` of them have a positive
    weight, and ``mass`` is the weight of all normal rows.
    """

    shape: tuple[int, int]
    #: Mask of confirmed anomalies among all rows; None without any.
    anomalies: BoolArray | None = None
    #: The rows that ``split`` has taken and a model will hold, or None.
    held_out: HeldOut | None = None
    #: Whether rows are in memory.
    is_in_memory = False
    #: Numbers of the rows of positive weight; None for all.
    kept: IntArray | None = None
    is_matrix = False
    #: The backend of rows that compute where they are, where attributes are then shown.
    backend: ArrayBackend | None = None

    @property
    @abstractmethod
    def n_counting(self) -> int:
        """Number of the rows of positive weight."""

    @property
    @abstractmethod
    def mass(self) -> float:
        """Weight of all normal rows."""

    @property
    @abstractmethod
    def indices(self) -> IntArray:
        """Numbers of the rows that count."""

    @property
    @abstractmethod
    def weights(self) -> FloatArray:
        """Weights of the rows that count."""

    @abstractmethod
    def gamma(self, rule: str | float) -> float:
        """Return the number that a rule for gamma means for these rows."""

    @abstractmethod
    def check(self, kernel: Kernel, *, width: bool) -> None:
        """Refuse rows that a kernel has no digits for; its ``width`` only if asked."""

    @abstractmethod
    def build_problem(self, kernel: Kernel, formulation: Formulation, n_jobs: int) -> ModelProblem:
        """Return the problem that a ``Formulation`` states over the rows that count."""

    @abstractmethod
    def shift(self, kernel: Kernel) -> FloatArray | None:
        """Return the shift that is taken from rows under the linear kernel, or None."""

    @abstractmethod
    def gram(self, kernel: Kernel, shift: FloatArray | None, make: MakeGram) -> GramOperator:
        """Return K over the rows less ``shift``.

        What ``make(kernel, X)`` gives for rows in memory.
        """

    @abstractmethod
    def split(self, mask: BoolArray) -> tuple[Self, FunctionRows | None]:
        """Return the source without some rows, and these rows if nobody else keeps them.

        The latter as arguments of a ``Function``: rows, and options by name. Else None.
        """

    @property
    def is_updatable(self) -> bool:
        """bool: Whether a model can hold the rows, to be updated."""
        return False

    @property
    def anomaly(self) -> BoolArray | None:
        """Mask of the confirmed anomalies among the rows that count; None without any."""
        return None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.release()

    def release(self) -> None:
        """Let go of what the rows take outside of this process."""
        return None


class ShardedSource(RowSource):
    """Rows in shards that follow each other, which nobody holds all at once.

    To add a source, write a ``Shard`` with ``pieces`` and ``take``. Override the methods
    from ``call_each`` to ``spent`` where shards aren't in this process or have a better way.

    Parameters
    ----------
    shards : list of Shard
        Each continues the numbers of the one before.
    n_features : int
        Number of columns.
    dtype : numpy.dtype
        float32 or float64.
    """

    is_sparse = False
    #: Threads that ask shards, and threads that a shard evaluates kernel values with.
    n_jobs: int = 1
    n_jobs_of_shard: int = 1
    #: Rows that a coarse start takes at most.
    max_sampled_rows = sys.maxsize
    #: Share of the violation that a working set is solved to: a round is a pass over the rows.
    share: float = 1e-3
    #: What the rows are called, and what to pass where they can't do what a model needs.
    description: str = "rows that are not in memory"
    alternative: str = "rows in memory"
    shards: Sequence[Shard]
    dtype: np.dtype[Any]
    _moments: Moments | None = None

    def __init__(
        self, shards: Sequence[Shard], n_features: int, dtype: npt.DTypeLike = np.float64
    ) -> None:
        if not shards:
            raise ValueError("a source of rows needs at least one shard; there are none.")
        self.shards, self.dtype = shards, np.dtype(dtype)
        self.shape = (sum(shard.n for shard in shards), n_features)

    def __array__(self, dtype: object = None, copy: bool | None = None) -> NoReturn:
        """Refuse to be one array, which is what others than models of all rows ask for."""
        raise TypeError(
            f"X holds {self.description}, which can't be used here; pass {self.alternative}."
        )

    # -- as a source of rows ---------------------------------------------------------------------

    @property
    def n_counting(self) -> int:
        return self.moments.n

    @property
    def mass(self) -> float:
        return self.moments.weight

    @property
    def indices(self) -> IntArray:
        """Numbers of all rows."""
        return np.arange(self.n)

    @property
    def weights(self) -> FloatArray:
        """Weights of all rows."""
        return np.concatenate(self.call_all(get_weights))

    def gamma(self, rule: str | float) -> float:
        if not isinstance(rule, str):
            return float(rule)
        moments = self.moments
        sample = self.sample(_N_ROWS_FOR_DISTANCES) if rule == "distance" else None
        return gamma_of_moments(
            rule, self.shape[1], moments.variance, moments.total_variance, moments.mean, sample
        )

    def check(self, kernel: Kernel, *, width: bool) -> None:
        refused = self.moments  # if a number is missing
        if refused.n and width and isinstance(kernel, MappedKernel) and kernel.of_distance:
            check_width(kernel, self.sample(_N_ROWS_FOR_DISTANCES))

    def build_problem(
        self, kernel: Kernel, formulation: Formulation, n_jobs: int
    ) -> ShardedProblem:
        spec = ProblemSpec.for_source(
            self, kernel, formulation, self.mass, moves=formulation.moves_with_rows
        )
        return ShardedProblem(self, spec)

    def shift(self, kernel: Kernel) -> FloatArray | None:
        return self.center() if kernel.is_linear else None

    def gram(self, kernel: Kernel, shift: FloatArray | None, make: MakeGram) -> GramOperator:
        return LinearSourceGram(self, shift)

    def split(self, mask: BoolArray) -> tuple[Self, FunctionRows | None]:
        numbers = np.flatnonzero(mask)
        rows = self.take(numbers)
        check_finite(rows, numbers.__getitem__)
        self.leave_out(mask)
        self._moments = None
        return self, (rows, {})

    # -- what a source may do otherwise ----------------------------------------------------------

    def call_each(self, questions: Iterable[Callable[[Shard], Answer]]) -> list[Answer]:
        """Return the answers ``question(shard)`` to a question for each shard, in their order."""
        asked = zip(questions, self.shards, strict=True)
        return run_each([partial(question, shard) for question, shard in asked], self.n_jobs)

    def rows(self, spec: ProblemSpec) -> Rows:
        """Return the engine's ``Rows``, whose partitions are ``spec.partition(shard)``."""
        partitions = self.call_all(partial(spec.partition, arrays=NumpyBackend()))
        scale = spec.formulation.scale
        return Rows(partitions, spec.total(), scale, self.n_jobs, self.max_sampled_rows)

    def add_marks(self, **marks: AnyArray) -> Self:
        """Mark the rows: arrays with an entry for each row."""
        for shard in self.shards:
            own = slice(shard.first, shard.first + shard.n)
            shard.marks.update({name: values[own] for name, values in marks.items()})
        return self

    def leave_out(self, mask: BoolArray) -> None:
        """Have the rows of a mask take no part: they get the weight 0."""
        for shard in self.shards:
            own = mask[shard.first : shard.first + shard.n]
            shard.weight = np.where(own, 0.0, 1.0 if shard.weight is None else shard.weight)

    def numbers(self, ids: IntArray) -> IntArray:
        """Return the numbers of rows as they were before any were left out."""
        return ids

    def spent(self) -> dict[str, float]:
        """Return what the source has spent so far, by name, for entries of the history."""
        return {}

    # -- what follows ----------------------------------------------------------------------------

    def with_usage(self, callback: Callback | None) -> Callback:
        """Return a callback that notes in each entry of the history what the source has spent."""

        def note(entry: HistoryEntry) -> object:
            entry.update(self.spent())
            return callback is not None and callback(entry)

        return note

    @property
    def n(self) -> int:
        """Number of rows that are still there."""
        return sum(shard.n for shard in self.shards)

    @property
    def ranges(self) -> list[tuple[int, int]]:
        """The number of the first row of each shard, and the number after its last one."""
        return [(shard.first, shard.first + shard.n) for shard in self.shards]

    def call_all(self, question: Callable[[Shard], Answer]) -> list[Answer]:
        """Return the answers of all shards, in their order."""
        return self.call_each([question] * len(self.shards))

    def take(self, ids: IntArray) -> RowMatrix:
        """Return rows by their numbers, in ascending order."""
        return stack_rows(self.call_all(TakeRows(np.asarray(ids))))

    def sample(self, size: int, seed: int = 0) -> RowMatrix:
        """Return ``size`` random rows, or all rows, in the order of their numbers."""
        return self.take(choose_rows(self.n, size, seed))

    @property
    def moments(self) -> Moments:
        """``Moments`` of the rows, which are checked by that."""
        if self._moments is None:
            self._moments = Moments.combined(self.call_all(methodcaller("moments")))
        return self._moments

    def values(self, of: Callable[[RowMatrix], AnyArray]) -> AnyArray:
        """``of(rows)`` of all rows, as one array."""
        parts = self.call_all(lambda shard: [of(rows) for _, rows in shard.pieces()])
        return np.concatenate([piece for part in parts for piece in part])

    def center(self) -> FloatArray | None:
        """Return the centre to take from all rows (``center_of``); of sparse rows, of a sample."""
        if self.is_sparse:
            return center_of(self.sample(_N_ROWS_FOR_DISTANCES))
        return self.moments.center

    def farthest(self, center: FloatArray | None) -> float:
        """Return the largest squared norm of a row less a centre, which may be None."""
        return max(self.call_all(methodcaller("farthest", center)), default=0.0)


def check_width(kernel: MappedKernel, X: RowMatrix) -> None:
    """Refuse a kernel so narrow that no digit of its values is right for most distinct rows."""
    entries = X.ravel() if isinstance(X, np.ndarray) else X.data
    together = float(np.einsum("i,i->", entries, entries))  # without the threads of BLAS
    if _digits_left(kernel, together, X):
        return
    rows = distinct(X)
    center = center_of(X) if sp.issparse(X) else find_median_row(rows)
    norms = squared_norms(centered(rows, center))
    if not _digits_left(kernel, float(np.median(norms)), X):
        gamma = ref("gamma", getattr(kernel, "gamma", None))
        raise ValueError(
            Message(
                f"{gamma} is so large that kernel values of these rows are rounding errors; "
                "pass a smaller gamma."
            )
        )


def _digits_left(kernel: MappedKernel, norm: float, X: RowMatrix) -> bool:
    return kernel.rounding(norm, X.shape[1])[0] * _EPSILON <= 1.0
