"""All rows of a problem: partitions asked together, their answers put together."""

import math
import sys
from functools import partial
from operator import methodcaller

import numpy as np

from ..._threads import run_each
from ...gram import Columns
from ...problem import Totals
from .messages import Accuracy, Facts, Ranked, Room, WorkingSet

# Columns that are gathered at a time where many are needed.
_AT_A_TIME = 1024
# Passes over the rows that a repair of their sum may take, and what it may miss by.
_REPAIRS = 100
_RIGHT = 1e-13

_FACTS, _TOTALS = methodcaller("facts"), methodcaller("totals")
_ACCURACY, _N_VALUES = methodcaller("accuracy"), methodcaller("n_values")


class Rows:
    """The rows of a problem (P), wherever they are: partitions of consecutive rows, in order.

    So many threads as ``n_jobs`` ask them. A coarse start takes ``most_sampled`` rows at most.
    """

    def __init__(self, partitions, total, scale, n_jobs=1, most_sampled=sys.maxsize):
        self.partitions = partitions
        self.total, self.scale = total, scale
        self.n_jobs, self.most_sampled = n_jobs, most_sampled
        self.facts = Facts.combined(self.ask(_FACTS))

    @property
    def n(self):
        """Number of rows."""
        return self.facts.n

    def ask(self, message):
        """The answers of all partitions; others may ask them at the same time."""
        return run_each([partial(message, place) for place in self.partitions], self.n_jobs)

    def tell(self, messages):
        """Each partition its own message; the answers of those that have one."""
        pairs = [pair for pair in zip(messages, self.partitions, strict=True) if pair[0]]
        return run_each([partial(message, place) for message, place in pairs], self.n_jobs)

    def sampled(self, share, firsts):
        """Rows of the samples that were drawn, see ``Partition.sample``."""
        parts = self.tell([methodcaller("sample", share, first) for first in firsts])
        return Rows(parts, self.total, self.scale, self.n_jobs)

    # -- what is ------------------------------------------------------------------------------

    def totals(self):
        """Totals of all variables."""
        return Totals.combined(self.ask(_TOTALS))

    def accuracy(self):
        """Accuracy of kernel values."""
        return Accuracy.combined(self.ask(_ACCURACY))

    def n_values(self):
        """Kernel values evaluated so far."""
        return sum(self.ask(_N_VALUES))

    def duality_gap(self, multiplier):
        """See ``DualProblem.duality_gap``."""
        implied = self.facts.extent.implied(self.total)
        return math.fsum(self.ask(methodcaller("gap", multiplier, implied)))

    def is_sound(self):
        """Whether the gradient belongs to the variables."""
        return all(self.ask(methodcaller("is_sound")))

    # -- rounds -------------------------------------------------------------------------------

    def propose(self, count):
        """Numbers of the rows that want up most and of those that want down most."""
        answers = self.ask(methodcaller("propose", count))
        up, down = (Ranked.combined(parts, count) for parts in zip(*answers, strict=True))
        return up.ids, down.ids

    def between(self, count):
        """Numbers of the first ``count`` rows strictly between breakpoints."""
        return np.concatenate(self.ask(methodcaller("between", count)))[:count]

    def fetch(self, ids):
        """The WorkingSet of rows in ascending order."""
        return WorkingSet.joined(self.ask(methodcaller("fetch", ids)))

    def block(self, working):
        """``Q`` between the rows of a working set, in float64."""
        block = self.kernel_values(working.columns)
        if self.scale != 1.0:
            block *= self.scale
        block.flat[:: len(block) + 1] += working.ridge
        return block

    def kernel_values(self, columns):
        """Between the rows of gathered columns, in float64."""
        return self.partitions[0].block(columns)

    def update(self, update):
        """Advance all variables and gradients by a BlockUpdate."""
        self.ask(methodcaller("update", update))

    def assign(self, ids, a):
        """Set variables alone."""
        self.ask(methodcaller("assign", ids, a))

    # -- precision ----------------------------------------------------------------------------

    def keep_columns(self, max_bytes):
        """Store columns that were evaluated, each partition its share of ``max_bytes``."""
        shares = (max_bytes * facts.n / self.n for facts in self.ask(_FACTS))
        self.tell([methodcaller("keep_columns", share) for share in shares])

    def refine(self):
        """Continue with float64 kernel values; False where they are that already."""
        return any(self.ask(methodcaller("refine")))

    def refresh(self):
        """Compute the gradient again."""
        self._pay(self.ask(methodcaller("forget")))

    def snap(self, rtol=1e-12):
        """Take rounding from the variables; the gradient stays, see ``DualProblem.snapped``."""
        totals = self.totals()
        if totals.n_between:
            self.ask(methodcaller("snap", rtol * totals.largest))
            totals = self.totals()
        missing = self.total - totals.sum
        if abs(missing) > 1e-15 * totals.reach:
            best = Ranked.combined(self.ask(methodcaller("absorbs", missing)), 1)
            for row in best.ids:
                self.ask(methodcaller("shift", int(row), missing))

    # -- a gradient that is owed ----------------------------------------------------------------

    def begin(self):
        """Take note of the variables: from here on they move without columns of K."""
        self.ask(methodcaller("begin"))

    def advance(self):
        """Bring the gradient up to the variables, by the cheaper way."""
        counts = self.ask(methodcaller("owed"))
        if sum(counts) > self.totals().n_used:
            counts = self.ask(methodcaller("forget"))
        self._pay(counts)

    def _pay(self, counts):
        self.receive(self, counts)
        self.ask(methodcaller("settled"))

    def receive(self, other, counts):
        """Add what the variables of these or of other rows owe to the gradient.

        ``counts`` are their numbers in each of the partitions of ``other``. However these are
        divided, the same columns are added together.
        """
        ends = np.cumsum([0, *counts])
        for start in range(0, int(ends[-1]), _AT_A_TIME):
            # Of every partition those between start and stop that are its own, if any.
            own = np.clip([start, start + _AT_A_TIME], ends[:-1, None], ends[1:, None])
            pairs = (own - ends[:-1, None]).tolist()
            debts = [
                methodcaller("debt", low, high - low, other is not self) if high > low else None
                for low, high in pairs
            ]
            columns, changes = zip(*other.tell(debts), strict=True)
            message = methodcaller("add", Columns.joined(columns), np.concatenate(changes))
            self.ask(message)

    # -- feasible points --------------------------------------------------------------------------

    def clip(self):
        """Put variables outside their intervals on the nearest end; K's part is owed."""
        self.ask(methodcaller("clip"))

    def rest(self):
        """Go to a feasible point: variables filled one after the other from their bounds."""
        sums, above, below = zip(*self.ask(methodcaller("rest")), strict=True)
        missing = self.total - math.fsum(sums)
        shares = _allotted(missing, above if missing > 0 else below)
        self.tell([methodcaller("fill", share) for share in shares])
        # A room filled to the last bit but one by rounding counts as full.
        self.snap()

    def repair(self):
        """Restore the sum by moving the rows nearest to a threshold first; K's part is owed."""
        for _ in range(_REPAIRS):
            totals = self.totals()
            missing = self.total - totals.sum
            if abs(missing) <= _RIGHT * max(totals.reach, abs(self.total)):
                break
            self.ask(methodcaller("line_up", missing))
            limit, rooms = self._cheapest(abs(missing))
            left = abs(missing) - math.fsum(room.below for room in rooms)
            shares = _allotted(left, [room.up_to - room.below for room in rooms])
            self.tell(
                [methodcaller("move", limit, math.copysign(share, missing)) for share in shares]
            )

    def _cheapest(self, amount):
        """The lowest cost up to which there is room for ``amount``, and the room there."""
        low, high = -math.inf, math.inf
        everything = Room.combined(self.ask(methodcaller("room", high)))
        if everything.up_to > amount:
            low = Room.combined(self.ask(methodcaller("room", low))).following
            high = everything.reached
            while low < high:
                middle = 0.5 * low + 0.5 * high
                middle = middle if middle < high else low
                answer = Room.combined(self.ask(methodcaller("room", middle)))
                if answer.up_to >= amount:
                    high = answer.reached
                else:
                    low = answer.following
        return high, self.ask(methodcaller("room", high))


def _allotted(amount, rooms):
    """``amount`` divided among places, each filled before the next; with the sign of amount."""
    shares, left = [], abs(amount)
    for room in rooms:
        shares.append(math.copysign(min(left, room), amount))
        left = max(0.0, left - room)
    return shares
