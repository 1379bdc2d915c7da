"""Batch training of the functions of an S3VM, one after the other within one limit of time."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

import numpy as np

from .._typing import FloatArray, RowMatrix
from ..kernels.base import Kernel
from ..kernels.operators import GramOperator, PrecomputedGram, RepeatedGram, make_gram
from ..rows.source import RowSource, ShardedSource
from ..solvers import Result, Settings, Status
from ..solvers.run import Callback, HistoryEntry
from .branching import train
from .data import S3VMData, S3VMSettings, S3VMSolution

# Multiply-adds per kernel value from which training holds all values, if there is room.
_WORTH_HOLDING = 48


@dataclass(frozen=True)
class Trainer:
    """Trains an S3VM on all rows at once.

    ``engine(callback)`` gives the ``Settings`` of the engine, with the time that is left now;
    kernel values within ``cache_size`` bytes may be held. A ``source`` that is not in memory
    reports what rounds have cost, and no sample is taken to begin with. See ``S3VMSettings`` for
    the others.
    """

    engine: Callable[[Callback | None], Settings]
    cache_size: float = 200e6
    n_jobs: int = 1
    annealing: bool = True
    branching: bool = False
    max_nodes: int | str = "auto"
    source: RowSource | None = None
    _shared: dict[int, tuple[Kernel, GramOperator]] = field(
        default_factory=dict, init=False, repr=False
    )

    def settings(self, callback: Callback | None = None) -> S3VMSettings:
        """``S3VMSettings`` with the time that is left."""
        engine = self.engine(callback)
        if isinstance(self.source, ShardedSource):
            callback_with_usage = self.source.with_usage(engine.callback)
            engine = replace(engine, coarse=False, callback=callback_with_usage)
        return S3VMSettings(
            engine=engine,
            annealing=self.annealing,
            branching=self.branching,
            max_nodes=self.max_nodes,
            callback=callback,
        )

    def gram(self, kernel: Kernel, X: RowMatrix) -> GramOperator:
        """Return K over rows, all at once where that is cheaper: training solves many problems."""
        gram = make_gram(kernel, X, n_jobs=self.n_jobs, min_support=1.0)
        inner = gram.inner if isinstance(gram, RepeatedGram) else gram
        if inner.value_cost < _WORTH_HOLDING or 8 * inner.n**2 > self.cache_size:
            return gram
        held = PrecomputedGram(inner.block(np.arange(inner.n)), inner.n_jobs)
        held.n_values, held.is_inner_product = inner.n_values, inner.is_inner_product
        if inner is gram:
            return held
        assert gram.copies is not None
        return RepeatedGram(held, gram.copies)

    def shared_gram(self, kernel: Kernel, X: RowMatrix) -> GramOperator:
        """``gram``, the same again for the same kernel: functions of classes have equal rows."""
        known = self._shared.get(id(kernel))
        if known is None:
            known = self._shared[id(kernel)] = kernel, self.gram(kernel, X)
        return known[1]

    def train(
        self,
        several: Sequence[S3VMData],
        callback: Callback | None = None,
        signs_before: FloatArray | None = None,
    ) -> list[S3VMSolution]:
        """Return the ``S3VMSolution`` of every ``S3VMData``."""
        if len(several) == 1:
            return [train(several[0], self.settings(callback), signs_before)]
        found: list[S3VMSolution] = []
        started = time.perf_counter()
        for number, data in enumerate(several):
            settings = self.settings(callback and partial(_call_numbered, callback, number))
            left = settings.engine.max_time - (time.perf_counter() - started)
            if any(was_stopped(one.result) for one in found):
                left = 0.0  # the others only begin
            engine = replace(settings.engine, max_time=max(0.0, left))
            found.append(train(data, replace(settings, engine=engine)))
        return found


def _call_numbered(callback: Callback, number: int, entry: HistoryEntry) -> object:
    return callback({**entry, "class": number})


def was_stopped(result: Result) -> bool:
    """Return whether a limit or the user ended training; rounding doesn't count."""
    return not result.converged and result.status is not Status.STALLED
