"""Rows on a device, as a source of rows."""

from collections.abc import Iterator
from dataclasses import replace
from typing import cast

import numpy as np

from ..._typing import FloatArray, IntArray, RowMatrix
from ...kernels.base import LARGEST
from ...kernels.operators import GramOperator
from ...kernels.operators.rows import find_median_row
from ...solvers.engine.partition import Partition
from ...solvers.engine.rows import Rows
from ..problem import ProblemSpec
from ..shards import MemoryShard, Moments, Shard, check_finite
from ..source import ShardedSource
from .backend import ArrayBackend, DeviceArray
from .gram import ArrayGram
from .penalty import ArrayPenalty, to_device
from .values import parts_of

# Numbers that are copied or summed at a time.
_NUMBERS_AT_A_TIME = 16_000_000
# Rows that a median is taken of.
_N_ROWS_FOR_MEDIAN = 1000


class ArrayShard(Shard):
    """All rows of an array ``X``, which stay where they are; weights and marks are NumPy's."""

    def __init__(
        self, backend: ArrayBackend, X: DeviceArray, weight: FloatArray | None = None
    ) -> None:
        super().__init__(X.shape[0], 0, weight)
        self.backend, self.X = backend, X

    def pieces(self) -> Iterator[tuple[slice, RowMatrix]]:
        for part in parts_of(self.n, self.X.shape[1], _NUMBERS_AT_A_TIME):
            yield part, self.backend.numpy(self.X[part, :])

    def take(self, places: IntArray) -> RowMatrix:
        return self.backend.numpy(self.backend.xp.take(self.X, self.backend.rows(places), axis=0))

    # -- sums of all rows, where they are --------------------------------------------------------

    def moments(self) -> Moments:
        weight = np.ones(self.n) if self.weight is None else self.weight
        there = self.backend.zeros(self.n) + 1.0
        if self.weight is not None:
            there = self.backend.array(weight, float)
        found = Moments.combined(
            self._moments(part, there[part], weight[part])
            for part in parts_of(self.n, self.X.shape[1], _NUMBERS_AT_A_TIME)
        )
        # Rows that are far away take no digits from the others where the centre is a median.
        some = self.backend.numpy(self.X[:: -(-self.n // _N_ROWS_FOR_MEDIAN), :])
        return replace(found, center=find_median_row(some))

    def _moments(self, part: slice, there: DeviceArray, weight: FloatArray) -> Moments:
        xp, backend, d = self.backend.xp, self.backend, self.X.shape[1]
        rows = backend.exactly(self.X[part, :])
        largest = float(xp.max(xp.abs(rows)))
        if not largest <= LARGEST:
            check_finite(backend.numpy(rows), part.start.__add__)
        total, n = float(weight.sum()), int(np.count_nonzero(weight))
        if not n:
            return Moments(0, 0.0, np.zeros(d), np.zeros(d), np.zeros(d), largest, 0)
        counts = backend.exactly(there > 0.0)
        mean = there @ rows / total
        squares = there @ ((rows - mean) * (rows - mean))
        found = backend.numpy(xp.stack([mean, squares, counts @ rows / n]))
        mean, squares, center = map(np.array, found)
        return Moments(n, total, mean, squares, center, largest, d)

    def farthest(self, center: FloatArray | None) -> float:
        xp, found = self.backend.xp, 0.0
        center = None if center is None else self.backend.array(center, float)
        for part in parts_of(self.n, self.X.shape[1], _NUMBERS_AT_A_TIME):
            rows = self.backend.exactly(self.X[part, :])
            rows = rows if center is None else rows - center
            found = max(found, float(xp.max(xp.sum(rows * rows, axis=1))))
        return found

    # -- the kernel matrix -----------------------------------------------------------------------

    def array_gram(self, spec: ProblemSpec) -> ArrayGram:
        """Return K at the rows, computed where they are, in a precision that the device keeps."""
        gram = ArrayGram(self.backend, self.X, spec)
        refined = None if gram.has_stated_precision() else gram.refined()
        return gram if refined is None else refined


class ArraySource(ShardedSource):
    """Rows of an array that compute where they are: one shard, one partition.

    Entries of the history tell the passes over all rows and the bytes that went to the device or
    came from it, both so far.
    """

    description = "rows of the array API"
    alternative = "NumPy rows"
    backend: ArrayBackend
    share = 0.1

    def __init__(
        self,
        backend: ArrayBackend,
        X: DeviceArray,
        weight: FloatArray | None = None,
        n_jobs: int = 1,
    ) -> None:
        dtype = np.float32 if X.dtype == backend.float32 else np.float64
        self._shard = ArrayShard(backend, X, weight)
        super().__init__([self._shard], X.shape[1], dtype)
        self.backend, self.n_jobs_of_shard = backend, n_jobs
        self._partition: Partition | None = None

    def release(self) -> None:
        self.backend.release()

    def rows(self, spec: ProblemSpec) -> Rows:
        shard, backend = self._shard, self.backend
        gram = shard.array_gram(spec)
        alike = shard.weight is None and not shard.marks and spec.kernel.is_similarity
        size = backend.array(1.0) if spec.kernel.is_similarity else gram.diagonal()
        if alike:  # one row says all
            penalty, ridge = spec.build_penalty(MemoryShard(np.zeros((1, 1))), np.ones(1))
        else:
            diagonal = np.broadcast_to(backend.numpy(size), shard.n) * 1.0
            penalty, ridge = spec.build_penalty(shard, diagonal)
        self._partition = Partition(
            cast(GramOperator, gram),  # as far as a partition asks
            ArrayPenalty.from_penalty(backend, penalty, shard.n),
            to_device(backend, ridge),
            spec.formulation.scale,
            size=size,
            arrays=backend,
        )
        return Rows([self._partition], spec.total(), spec.formulation.scale)

    def spent(self) -> dict[str, float]:
        partition = self._partition
        passes = 0 if partition is None else cast("ArrayGram", partition.gram).passes
        return {"passes": passes, "bytes_moved": self.backend.moved}
