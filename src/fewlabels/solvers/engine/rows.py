"""All rows of a problem: partitions asked together, their answers put together."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from operator import methodcaller
from typing import TypeVar

import numpy as np

from ..._typing import FloatArray, IntArray
from ..._util.threads import run_each
from ...kernels.operators import Columns
from ...problem import Totals
from .messages import Accuracy, BlockUpdate, Facts, LowestRows, RunState, Slack, WorkingSet
from .partition import Partition

T = TypeVar("T")

# Columns that are gathered at a time where many are needed.
_AT_A_TIME = 1024
# Passes over the rows that a repair of their sum may take, and what it may miss by.
_REPAIRS = 100
_RIGHT = 1e-13

_FACTS, _STATE = methodcaller("facts"), methodcaller("state")


class Rows:
    """The rows of a problem (P), wherever they are: partitions of consecutive rows, in order.

    So many threads as ``n_jobs`` ask them. A coarse start takes ``max_sampled_rows`` rows at most.
    """

    def __init__(
        self,
        partitions: Sequence[Partition],
        total: float,
        scale: float,
        n_jobs: int = 1,
        max_sampled_rows: int = sys.maxsize,
    ) -> None:
        self.partitions = partitions
        self.total, self.scale = total, scale
        self.n_jobs, self.max_sampled_rows = n_jobs, max_sampled_rows
        facts = self.call_all(_FACTS)
        self.facts, self.sizes = Facts.combined(facts), [one.n for one in facts]

    @property
    def n(self) -> int:
        """Number of rows."""
        return self.facts.n

    def call_all(self, message: Callable[[Partition], T]) -> list[T]:
        """Return the answers of all partitions; others may ask them at the same time."""
        return run_each([partial(message, place) for place in self.partitions], self.n_jobs)

    def call_each(self, messages: Iterable[Callable[[Partition], T] | None]) -> list[T]:
        """Each partition its own message; the answers of those that have one."""
        pairs = zip(messages, self.partitions, strict=True)
        return run_each(
            [partial(message, place) for message, place in pairs if message], self.n_jobs
        )

    def sampled(self, share: float, firsts: list[int]) -> Rows:
        """Return rows of the samples that were drawn, see ``Partition.sample``."""
        parts = self.call_each([methodcaller("sample", share, first) for first in firsts])
        return Rows(parts, self.total, self.scale, self.n_jobs)

    # -- what is ------------------------------------------------------------------------------

    def state(self) -> RunState:
        """Return the state of all rows."""
        return RunState.combined(self.call_all(_STATE))

    def totals(self) -> Totals:
        """Return totals of all variables."""
        return self.state().totals

    def n_values(self) -> int:
        """Return kernel values evaluated so far."""
        return self.state().n_values

    def duality_gap(self, multiplier: float) -> float:
        """See ``DualProblem.duality_gap``."""
        implied = self.facts.extent.implied(self.total)
        return math.fsum(self.call_all(methodcaller("gap", multiplier, implied)))

    def has_current_gradient(self) -> bool:
        """Return whether the gradient belongs to the variables."""
        return all(partition.has_current_gradient for partition in self.partitions)

    # -- rounds -------------------------------------------------------------------------------

    def propose(self, count: int, n_between: int = 0) -> tuple[IntArray, IntArray, IntArray]:
        """Return numbers of the rows that want up most and of those that want down most.

        And of the first ``n_between`` rows strictly between breakpoints.
        """
        ups, downs, between = zip(
            *self.call_all(methodcaller("propose", count, n_between)), strict=True
        )
        up, down = LowestRows.combined(ups, count), LowestRows.combined(downs, count)
        return up.ids, down.ids, np.concatenate(between)[:n_between]

    def fetch(self, ids: IntArray | None = None) -> WorkingSet:
        """Return the WorkingSet of rows in ascending order; None for variables other than zero."""
        return WorkingSet.joined(self.call_all(methodcaller("fetch", ids)))

    def block(self, working: WorkingSet) -> FloatArray:
        """``Q`` between the rows of a working set, in float64."""
        block = self.kernel_values(working.columns)
        if self.scale != 1.0:
            block *= self.scale
        block.flat[:: len(block) + 1] += working.ridge
        return block

    def kernel_values(self, columns: Columns) -> FloatArray:
        """Between the rows of gathered columns, in float64."""
        return self.partitions[0].block(columns)

    def update(self, update: BlockUpdate) -> None:
        """Advance all variables and gradients by a BlockUpdate."""
        self.call_all(methodcaller("update", update))

    def assign(self, ids: IntArray, a: FloatArray) -> None:
        """Set variables alone."""
        self.call_all(methodcaller("assign", ids, a))

    # -- precision ----------------------------------------------------------------------------

    def keep_columns(self, max_bytes: float) -> None:
        """Store columns that were evaluated, each partition its share of ``max_bytes``."""
        shares = (max_bytes * n / self.n for n in self.sizes)
        self.call_each([methodcaller("keep_columns", share) for share in shares])

    def refine(self) -> Accuracy | None:
        """Continue with float64 kernel values: their Accuracy; None where they are that."""
        answers = [
            answer for answer in self.call_all(methodcaller("refine")) if answer is not None
        ]
        return Accuracy.combined(answers) if answers else None

    def refresh(self) -> None:
        """Compute the gradient again."""
        self._apply_pending(self.count_pending_updates(everything=True))

    def round_to_breakpoints(self, rtol: float = 1e-12) -> None:
        """Take rounding from the variables; the gradient stays.

        See ``DualProblem.round_to_breakpoints``.
        """
        totals = self.totals()
        if totals.n_between:
            self.call_all(methodcaller("round_to_breakpoints", rtol * totals.largest))
            totals = self.totals()
        missing = self.total - totals.sum
        if abs(missing) > 1e-15 * totals.reach:
            best = LowestRows.combined(self.call_all(methodcaller("can_absorb", missing)), 1)
            for row in best.ids:
                self.call_all(methodcaller("shift", int(row), missing))

    # -- a gradient that is owed ----------------------------------------------------------------

    def count_pending_updates(self, *, everything: bool = False) -> list[int]:
        """How many variables of each partition owe columns, see ``Partition.owe``."""
        return self.call_all(methodcaller("count_pending_updates", everything))

    def advance(self) -> None:
        """Bring the gradient up to the variables since ``clip``, by the cheaper way."""
        counts = self.count_pending_updates()
        if sum(counts) > self.totals().n_used:
            counts = self.count_pending_updates(everything=True)
        self._apply_pending(counts)

    def _apply_pending(self, counts: list[int]) -> None:
        self.add_contributions(self, counts)
        self.call_all(methodcaller("mark_gradient_current"))

    def add_contributions(self, other: Rows, counts: list[int]) -> None:
        """Add what the variables of these or of other rows owe to the gradient.

        ``counts`` are their numbers in each of the partitions of ``other``. However these are
        divided, the same columns are added together.
        """
        ends = np.cumsum([0, *counts])
        for start in range(0, int(ends[-1]), _AT_A_TIME):
            # Of every partition those between start and stop that are its own, if any.
            own = np.clip([start, start + _AT_A_TIME], ends[:-1, None], ends[1:, None])
            pairs = (own - ends[:-1, None]).tolist()
            messages = [
                methodcaller("pending_columns", low, high - low, other is not self)
                if high > low
                else None
                for low, high in pairs
            ]
            columns, changes = zip(*other.call_each(messages), strict=True)
            message = methodcaller("add", Columns.joined(columns), np.concatenate(changes))
            self.call_all(message)

    # -- feasible points --------------------------------------------------------------------------

    def clip(self) -> None:
        """Put variables outside their intervals on the nearest end; K's part is owed from here."""
        self.call_all(methodcaller("clip"))

    def reset_to_feasible(self) -> None:
        """Go to a feasible point: variables filled one after the other from their bounds."""
        sums, above, below = zip(
            *self.call_all(methodcaller("reset_to_feasible", 0.0)), strict=True
        )
        missing = self.total - math.fsum(sums)
        shares = _allot(missing, above if missing > 0 else below)
        self.call_each([methodcaller("reset_to_feasible", share) for share in shares])
        # A room filled to the last bit but one by rounding counts as full.
        self.round_to_breakpoints()

    def repair(self) -> None:
        """Restore the sum by moving the rows nearest to a threshold first; K's part is owed."""
        for _ in range(_REPAIRS):
            totals = self.totals()
            missing = self.total - totals.sum
            if abs(missing) <= _RIGHT * max(totals.reach, abs(self.total)):
                break
            limit, slacks = self._cheapest(missing)
            left = abs(missing) - math.fsum(room.below for room in slacks)
            shares = _allot(left, [room.up_to - room.below for room in slacks])
            amounts = (math.copysign(share, missing) for share in shares)
            self.call_each([methodcaller("move", missing, limit, amount) for amount in amounts])

    def _measure_slack(self, missing: float, limit: float) -> list[Slack]:
        return self.call_all(methodcaller("measure_slack", missing, limit))

    def _cheapest(self, missing: float) -> tuple[float, list[Slack]]:
        """The lowest cost up to which there is room for what is missing, and the room there."""
        amount, low, high = abs(missing), -math.inf, math.inf
        everything = Slack.combined(self._measure_slack(missing, high))
        if everything.up_to > amount:
            low = Slack.combined(self._measure_slack(missing, low)).following
            high = everything.reached
            while low < high:
                middle = 0.5 * low + 0.5 * high
                middle = middle if middle < high else low
                answer = Slack.combined(self._measure_slack(missing, middle))
                if answer.up_to >= amount:
                    high = answer.reached
                else:
                    low = answer.following
        return high, self._measure_slack(missing, high)


def _allot(amount: float, slacks: Sequence[float]) -> list[float]:
    """``amount`` divided among places, each filled before the next; with the sign of amount."""
    shares, left = [], abs(amount)
    for room in slacks:
        shares.append(math.copysign(min(left, room), amount))
        left = max(0.0, left - room)
    return shares
