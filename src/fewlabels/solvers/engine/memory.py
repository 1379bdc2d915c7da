"""Rows in memory: the first implementation of a Partition."""

import threading
from dataclasses import replace
from itertools import pairwise

import numpy as np

from ...gram import CachedGram
from ...problem import Extent
from .messages import Accuracy, Facts, Ranked, Room, SpreadOf, WorkingSet
from .partition import Partition
from .rows import Rows
from .sampling import drawn

# Changes below this share of the largest variable are none.
_ROUNDING = 1e-12


class Scratch(threading.local):
    """Rates of change of the variables that were surveyed last, in every thread."""

    def __init__(self):
        self.belongs_to = None  # the Totals that were found with them
        self._room = np.empty(0)

    def rates(self, n):
        """Room for 2 n numbers, whatever they are."""
        if len(self._room) < 2 * n:
            self._room = np.empty(2 * n)
        return self._room[: 2 * n].reshape(2, n)


class MemoryPartition(Partition):
    """Consecutive rows of a problem, in memory, the first of which has the number ``first``.

    ``gram`` is K at these rows, for columns of any; ``penalty``, ``ridge`` and ``scale`` are as of
    ``DualProblem``. A sample has the numbers of its rows among those that it was drawn from,
    ``origin``. Partitions that share a ``scratch`` need no room for rates of change each.
    """

    def __init__(self, gram, penalty, ridge, scale, first=0, origin=None, scratch=None):
        self.gram, self.penalty, self.ridge, self.scale = gram, penalty, ridge, scale
        self.first, self.n, self.origin = first, gram.n, origin
        self.size = gram.diagonal()
        self.a, self.g = np.zeros(self.n), np.zeros(self.n)
        self._sound = False
        self._scratch = scratch or Scratch()
        self._totals = None
        self._values_before = -gram.n_values
        self._max_bytes = 0.0
        # While a gradient is owed, a sum repaired, a sample drawn and its function taken over.
        self._before = self._moved = self._line = self._drawn = self._sample = self._held = None

    def start(self, a, gradient=None):
        """Take variables and, where it is known, their gradient."""
        self.a = a
        self._changed(sound=gradient is not None)
        if gradient is not None:
            self.g = gradient

    def _changed(self, *, sound):
        self._sound = sound
        self._totals = None

    # -- what is ------------------------------------------------------------------------------

    def facts(self):
        n_kept = int(np.count_nonzero(self._is_kept()))
        largest = float(np.abs(self.size).max(initial=0.0))
        return Facts(self.n, n_kept, Extent.of(self.penalty), largest)

    def _is_kept(self):
        """Variables that are free, or fixed but not at 0."""
        fixed = (self.penalty.lower == self.penalty.upper) & (self.penalty.lower != 0.0)
        return self.penalty.is_free | fixed

    def accuracy(self):
        exact = self.gram.dtype == np.float64
        return Accuracy(self.gram.value_error, bool(exact), float(self.gram.value_cost))

    def totals(self):
        if self._totals is None:
            self._survey()
        return self._totals

    def _survey(self):
        """Compute totals and rates of change; the latter."""
        rates = self._scratch.rates(self.n)
        self._totals = self.penalty.survey(self.a, self.g, self.size, rates)
        self._scratch.belongs_to = self._totals
        return rates

    def _rates(self):
        """Rates of change when variables grow, and when they shrink."""
        if self._totals is None or self._scratch.belongs_to is not self._totals:
            return self._survey()
        return self._scratch.rates(self.n)

    def gap(self, multiplier, implied):
        return self.penalty.gap(self.a, self.g, self.ridge, multiplier, implied)

    def n_values(self):
        return self._values_before + self.gram.n_values

    def is_sound(self):
        return self._sound

    # -- rounds -------------------------------------------------------------------------------

    def propose(self, count):
        up, down = self._rates()
        return Ranked.of(up, count, self.first), Ranked.of(-down, count, self.first)

    def between(self, count):
        return np.flatnonzero(self.penalty.between(self.a))[:count] + self.first

    def used(self):
        return np.flatnonzero(self.a) + self.first

    def spread(self, edges, ids, g):
        return SpreadOf.of(*self._by_width(ids, g), edges)

    def within(self, low, high, ids, g):
        values, width = self._by_width(ids, g)
        inside = (values >= low) & (values < high)
        return values[inside], width[inside]

    def _by_width(self, ids, g):
        """The gradient of rows whose intervals have a width, and these."""
        where, rows = self._own(ids)
        values, width = self.g.copy(), self.penalty.upper - self.penalty.lower
        values[rows] = g[where]
        return values[width > 0.0], width[width > 0.0]

    def _own(self, ids):
        """Which of some numbers in ascending order are of rows here, and these rows' places."""
        low, high = np.searchsorted(ids, (self.first, self.first + self.n))
        return slice(low, high), ids[low:high] - self.first

    def fetch(self, ids):
        where, rows = self._own(ids)
        return WorkingSet(
            ids[where],
            self._gathered(rows, rows + self.first),
            self.penalty.take(rows),
            *(array[rows] for array in (self.ridge, self.size, self.a, self.g)),
        )

    def _gathered(self, rows, ids):
        return replace(self.gram.gather(rows), ids=ids)

    def block(self, columns):
        return self.gram.block_of(columns)

    def update(self, update):
        where, rows = self._own(update.ids)
        self._changed(sound=False)
        self.a[rows] = update.a[where]
        self.gram.add_columns(update.columns, self.scale * update.change, self.g)
        self.g[rows] = update.g[where]
        self._changed(sound=True)

    def assign(self, ids, a):
        where, rows = self._own(ids)
        self._changed(sound=False)
        self.a[rows] = a[where]

    # -- precision ----------------------------------------------------------------------------

    def keep_columns(self, max_bytes):
        self._max_bytes = max_bytes
        self._use(CachedGram(self.gram, max_bytes))

    def refine(self):
        refined = self.gram.refined()
        if refined is None:
            return False
        self._use(CachedGram(refined, self._max_bytes) if self._max_bytes else refined)
        self._changed(sound=False)
        return True

    def _use(self, gram):
        self._values_before = self.n_values() - gram.n_values
        self.gram = gram

    def snap(self, near):
        self._put(self.penalty.snapped(self.a, near))

    def absorbs(self, amount):
        able = np.flatnonzero(self.penalty.absorbs(self.a, amount))
        diagonal = self.scale * self.size[able] + self.ridge[able]
        best = Ranked.of(diagonal, 1)
        return Ranked(able[best.ids] + self.first, best.keys)

    def shift(self, row, amount):
        place = row - self.first
        if 0 <= place < self.n:
            below, above = (ends[place] for ends in self.penalty.neighbours(self.a))
            a = self.a.copy()
            a[place] = min(max(a[place] + amount, below), above)
            self._put(a)

    def _put(self, a):
        """Move variables: the ridge's part of the gradient follows, that of K does not."""
        self._totals = None
        self.g += self.ridge * (a - self.a)
        self.a = a

    # -- a gradient that is owed ----------------------------------------------------------------

    def begin(self):
        self._changed(sound=False)
        self._before = self.a.copy()

    def owed(self):
        change = self.a - self._before
        rounding = _ROUNDING * float(np.abs(self.a).max(initial=0.0))
        self._moved = np.flatnonzero(np.abs(change) > rounding)
        return len(self._moved)

    def forget(self):
        self._before = np.zeros(self.n)
        self._moved = np.flatnonzero(self.a)
        self.g = self.ridge * self.a
        self._changed(sound=False)
        return len(self._moved)

    def debt(self, start, count, original):
        rows = self._moved[start : start + count]
        ids = rows + self.first if self.origin is None or not original else self.origin[rows]
        return self._gathered(rows, ids), self.a[rows] - self._before[rows]

    def add(self, columns, change):
        self._changed(sound=False)
        self.gram.add_columns(columns, self.scale * change, self.g)

    def settled(self):
        self._before = self._moved = None
        self._changed(sound=True)

    # -- a sum that is not right ------------------------------------------------------------------

    def clip(self):
        self._put(np.clip(self.a, self.penalty.lower, self.penalty.upper))

    def rest(self):
        self.a = self.penalty.nearest_zero()
        self._changed(sound=False)
        with np.errstate(invalid="ignore"):
            above, below = self.penalty.upper - self.a, self.a - self.penalty.lower
        return float(self.a.sum()), float(above.sum()), float(below.sum())

    def fill(self, amount):
        self.a = self.penalty.filled(self.a, amount)

    def line_up(self, amount):
        up, down = self._rates()
        below, above = self.penalty.neighbours(self.a)
        cost, to = (up, above) if amount > 0 else (-down, below)
        rows = np.flatnonzero(np.isfinite(cost))
        rows = rows[np.argsort(cost[rows], kind="stable")]
        room = np.concatenate([[0.0], np.cumsum(np.abs(to[rows] - self.a[rows]))])
        # Those that cost more than enough others are never moved, and are many.
        enough = np.searchsorted(room, abs(amount))
        if enough < len(room):
            last = cost[rows[max(enough, 1) - 1]]
            enough = np.searchsorted(cost[rows], last, "right")
        rows = rows[:enough].copy()
        self._line = rows, cost[rows], to[rows], room[: enough + 1].copy()

    def room(self, limit):
        _, cost, _, room = self._line
        low, high = np.searchsorted(cost, limit, "left"), np.searchsorted(cost, limit, "right")
        reached = cost[high - 1] if high else -np.inf
        following = cost[high] if high < len(cost) else np.inf
        return Room(*map(float, (room[low], room[high], reached, following)))

    def move(self, limit, amount):
        rows, cost, to, room = self._line
        low, high = np.searchsorted(cost, limit, "left"), np.searchsorted(cost, limit, "right")
        # How far the sum of those that go all the way may reach.
        full = low + np.searchsorted(room[low + 1 : high + 1] - room[low], abs(amount), "right")
        a = self.a.copy()
        a[rows[:full]] = to[:full]
        if full < high:
            a[rows[full]] += np.copysign(abs(amount) - (room[full] - room[low]), amount)
        self._put(a)
        self._line = None

    # -- a sample that stands for all rows -----------------------------------------------------

    def draw(self, n, size, seed):
        chosen = drawn(self.first, self.first + self.n, n, size, seed)
        self._drawn = np.flatnonzero(chosen | self._is_kept())
        return len(self._drawn)

    def sample(self, share, first):
        rows = self._drawn
        penalty = self.penalty.take(rows)
        share = np.where(self._is_kept()[rows], 1.0, share)
        self._sample = MemoryPartition(
            self.gram.some(rows),
            penalty.scaled(share, 1.0),
            self.ridge[rows] / share,
            self.scale,
            first,
            rows + self.first,
        )
        self._shares = share
        return self._sample

    def predict(self):
        sample, rows = self._sample, self._drawn
        self.a = np.clip(0.0, self.penalty.lower, self.penalty.upper)
        self.g = np.zeros(self.n)
        # Between breakpoints without a ridge the sample knows better than any prediction.
        inside = sample.penalty.between(sample.a) & (sample.ridge == 0.0)
        self.a[rows[inside]] = sample.a[inside] / self._shares[inside]
        self._held = np.zeros(self.n, dtype=bool)
        self._held[rows[inside]] = True
        self._changed(sound=False)

    def settle(self, multiplier):
        return self.penalty.settle(self.a, self.g, self.ridge, multiplier, self._held)

    def adopt(self):
        self.g += self.ridge * self.a
        self._sample = self._drawn = self._held = self._shares = None
        self._changed(sound=False)


def memory_rows(problem, a=None, gradient=None, parts=1):
    """The ``Rows`` of a problem, perhaps at a feasible ``a`` with its ``gradient`` Q a.

    The number of ``parts`` makes no difference but for rounding.
    """
    edges = sorted({problem.n * k // parts for k in range(parts + 1)})
    partitions = []
    for first, last in pairwise(edges):
        part = slice(first, last)
        partition = MemoryPartition(
            problem.gram.part(first, last),
            problem.penalty if len(edges) == 2 else problem.penalty.take(part),
            problem.ridge[part],
            problem.scale,
            first,
        )
        if a is not None:
            known = None if gradient is None else np.array(gradient[part])
            partition.start(np.array(a[part]), known)
        partitions.append(partition)
    return Rows(partitions, problem.total, problem.scale)


def collected(rows):
    """All variables and their gradient, of rows in memory."""
    a = [partition.a for partition in rows.partitions]
    g = [partition.g for partition in rows.partitions]
    return (a[0], g[0]) if len(a) == 1 else (np.concatenate(a), np.concatenate(g))
