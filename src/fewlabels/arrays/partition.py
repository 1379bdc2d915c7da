"""Rows on a device: another Partition."""

from dataclasses import replace

import numpy as np

from ..solvers.engine.messages import Accuracy, Facts, Ranked, Room, SpreadOf, WorkingSet
from ..solvers.engine.partition import Partition
from ..solvers.engine.sampling import drawn
from .penalty import some

# Changes below this share of the largest variable are none.
_ROUNDING = 1e-12
# Rows that are ranked on the host, all of them; one in so many of more tells where the lowest lie.
_FEW, _ONE_IN = 8192, 64


class ArrayPartition(Partition):
    """Rows on a device with all that is of their number; what is said of them is on the host.

    ``gram`` is an ``ArrayGram``, ``penalty`` an ``ArrayPenalty``; ``ridge`` and ``size``, the
    diagonals of Q besides the kernel's and of the kernel, may have one entry for all.
    """

    def __init__(self, gram, penalty, ridge, size, scale, first=0, origin=None):
        self.home, self.gram, self.penalty = gram.home, gram, penalty
        self.ridge, self.size, self.scale = ridge, size, scale
        self.first, self.n, self.origin = first, gram.n, origin
        self.a, self.g = self.home.zeros(self.n), self.home.zeros(self.n)
        self._sound, self._surveyed = False, None
        self._values_before = -gram.n_values
        self._passes_before = 0
        self._before = self._moved = self._line = self._drawn = self._sample = self._held = None

    def _changed(self, *, sound):
        self._sound, self._surveyed = sound, None

    def _local(self, places):
        """Places here as numbers on the host."""
        return self.home.numpy(places) + self.first

    def _own(self, ids):
        """Which of some numbers in ascending order are of rows here, and these rows' places."""
        low, high = np.searchsorted(ids, (self.first, self.first + self.n))
        return slice(low, high), self.home.rows(ids[low:high] - self.first)

    def _put(self, a):
        """Move variables: the ridge's part of the gradient follows, that of K does not."""
        self._surveyed = None
        self.g = self.g + self.ridge * (a - self.a)
        self.a = a

    def _set(self, array, rows, values):
        return self.home.put(array, rows, self.home.array(values, float))

    @property
    def passes(self):
        """Passes over all rows so far, for columns of K."""
        return self._passes_before + self.gram.passes

    # -- what is ------------------------------------------------------------------------------

    def facts(self):
        xp = self.home.xp
        n_kept = xp.sum(self.home.exactly(self.penalty.is_kept()))
        n_kept, largest = self.home.numbers([n_kept, xp.max(xp.abs(self.size))])
        return Facts(self.n, int(n_kept), self.penalty.extent(), largest)

    def accuracy(self):
        gram = self.gram
        exact = gram.dtype == np.float64
        return Accuracy(gram.value_error, bool(exact), float(gram.some_row.value_cost))

    def totals(self):
        return self._survey()[0]

    def _survey(self):
        if self._surveyed is None:
            self._surveyed = self.penalty.survey(self.a, self.g, self.size)
        return self._surveyed

    def gap(self, multiplier, implied):
        return self.penalty.gap(self.a, self.g, self.ridge, float(multiplier), implied)

    def n_values(self):
        return self._values_before + self.gram.n_values

    def is_sound(self):
        return self._sound

    # -- rounds -------------------------------------------------------------------------------

    def propose(self, count):
        up, down = self._survey()[1]
        return self._lowest(up, count), self._lowest(-down, count)

    def _lowest(self, keys, count):
        """Those with the lowest keys, ranked; few of them leave the device."""
        xp, home = self.home.xp, self.home
        if self.n <= max(_FEW, 4 * count):
            return Ranked.of(home.numpy(keys), count, self.first)
        some = xp.sort(keys[::_ONE_IN])
        place, limit = 2 * (count // _ONE_IN) + 16, home.array(np.inf)
        while place < some.shape[0]:
            if int(xp.sum(home.exactly(keys <= some[place]))) >= count:
                limit = some[place]
                break
            place *= 4
        # Those at the limit, which may be most rows, count by their numbers.
        below = home.places(keys < limit)
        missing = count - below.shape[0]
        found = [below]
        if missing > 0:
            alike = home.places(keys == limit)
            found.append(alike[: min(missing, alike.shape[0])])
        chosen = xp.sort(xp.concat(found))
        best = Ranked.of(home.numpy(xp.take(keys, chosen)), count)
        return Ranked(self._local(chosen)[best.ids], best.keys)

    def between(self, count):
        found = self.home.places(self.penalty.between(self.a))
        return self._local(found[: min(count, found.shape[0])])

    def used(self):
        return self._local(self.home.places(self.a != 0.0))

    def spread(self, edges, ids, g):
        values, width = self._by_width(ids, g)
        xp, home = self.home.xp, self.home
        if not values.shape[0]:
            return SpreadOf.of(np.empty(0), np.empty(0), edges)
        order = xp.argsort(values)
        values, up_to = xp.take(values, order), xp.cumulative_sum(xp.take(width, order))
        ends = [0, values.shape[0]]
        if len(edges):
            ends[1:1] = home.numpy(xp.searchsorted(values, home.array(edges, float))).tolist()
        up_to = xp.concat([home.zeros(1), up_to])
        weights = home.numpy(xp.take(up_to, home.rows(ends)))
        least, most = home.numbers([values[0], values[-1]])
        return SpreadOf(np.diff(weights), np.diff(ends), least, most)

    def within(self, low, high, ids, g):
        values, width = self._by_width(ids, g)
        inside = self.home.places((values >= float(low)) & (values < float(high)))
        take = self.home.xp.take
        return self.home.numpy(take(values, inside)), self.home.numpy(take(width, inside))

    def _by_width(self, ids, g):
        """The gradient of rows whose intervals have a width, and these."""
        xp = self.home.xp
        where, rows = self._own(ids)
        values = self._set(xp.asarray(self.g, copy=True), rows, g[where])
        width = self.penalty.width
        wide = self.home.places(width > 0.0)
        return xp.take(values, wide), xp.take(width, wide)

    def fetch(self, ids):
        where, rows = self._own(ids)
        xp, n = self.home.xp, rows.shape[0]
        arrays = [
            xp.broadcast_to(some(self.home, array, rows), (n,))
            for array in (self.ridge, self.size, self.a, self.g)
        ]
        numbers = self.home.numpy(xp.stack(arrays))
        return WorkingSet(
            ids[where],
            replace(self.gram.gather(rows), ids=ids[where]),
            self.penalty.take(rows),
            *map(np.array, numbers),
        )

    def block(self, columns):
        return self.gram.block_of(columns)

    def update(self, update):
        where, rows = self._own(update.ids)
        self._changed(sound=False)
        self.a = self._set(self.a, rows, update.a[where])
        self.gram.add_columns(update.columns, self.scale * update.change, self.g)
        self.g = self._set(self.g, rows, update.g[where])
        self._changed(sound=True)

    def assign(self, ids, a):
        where, rows = self._own(ids)
        self._changed(sound=False)
        self.a = self._set(self.a, rows, a[where])

    # -- precision ----------------------------------------------------------------------------

    def keep_columns(self, max_bytes):
        """Nothing is stored: columns are evaluated faster than they are read."""

    def refine(self):
        refined = self.gram.refined()
        if refined is None:
            return False
        self._values_before = self.n_values() - refined.n_values
        self._passes_before = self.passes
        self.gram = refined
        self._changed(sound=False)
        return True

    def snap(self, near):
        self._put(self.penalty.snapped(self.a, near))

    def absorbs(self, amount):
        xp, home = self.home.xp, self.home
        able = home.places(self.penalty.absorbs(self.a, amount))
        diagonal = xp.broadcast_to(self.scale * self.size + self.ridge, (self.n,))
        best = Ranked.of(home.numpy(xp.take(diagonal, able)), 1)
        return Ranked(self._local(able)[best.ids], best.keys)

    def shift(self, row, amount):
        place = row - self.first
        if 0 <= place < self.n:
            at = self.home.rows([place])
            a = self.home.numpy(self.a[place : place + 1])
            below, above = self.penalty.take(at).neighbours(a)
            moved = self.home.xp.asarray(self.a, copy=True)
            self._put(self._set(moved, at, np.clip(a + amount, below, above)))

    # -- a gradient that is owed ----------------------------------------------------------------

    def begin(self):
        self._changed(sound=False)
        self._before = self.home.xp.asarray(self.a, copy=True)

    def owed(self):
        xp = self.home.xp
        rounding = _ROUNDING * xp.max(xp.abs(self.a))
        self._moved = self.home.places(xp.abs(self.a - self._before) > rounding)
        return self._moved.shape[0]

    def forget(self):
        self._before = self.home.zeros(self.n)
        self._moved = self.home.places(self.a != 0.0)
        self.g = self.ridge * self.a
        self._changed(sound=False)
        return self._moved.shape[0]

    def debt(self, start, count, original):
        xp, moved = self.home.xp, self._moved
        rows = moved[start : min(start + count, moved.shape[0])]
        ids = self._local(rows)
        if original and self.origin is not None:
            ids = self.origin[ids - self.first]
        change = xp.take(self.a, rows) - xp.take(self._before, rows)
        return replace(self.gram.gather(rows), ids=ids), self.home.numpy(change)

    def add(self, columns, change):
        self._changed(sound=False)
        self.gram.add_columns(columns, self.scale * change, self.g)

    def settled(self):
        self._before = self._moved = None
        self._changed(sound=True)

    # -- a sum that is not right ------------------------------------------------------------------

    def clip(self):
        self._put(self.penalty.clipped(self.a))

    def rest(self):
        self.a = self.penalty.nearest_zero()
        self._changed(sound=False)
        total = self.home.xp.sum
        above, below = self.penalty.upper - self.a, self.a - self.penalty.lower
        return tuple(self.home.numbers([total(self.a), total(above), total(below)]))

    def fill(self, amount):
        self.a = self.penalty.filled(self.a, amount)

    def line_up(self, amount):
        xp = self.home.xp
        up, down = self._survey()[1]
        below, above = self.penalty.neighbours(self.a)
        cost, to = (up, above) if amount > 0 else (-down, below)
        rows = self.home.places(xp.isfinite(cost))
        cost = xp.take(cost, rows)
        order = xp.argsort(cost, stable=True)
        rows, cost = xp.take(rows, order), xp.take(cost, order)
        to = some(self.home, to, rows)
        room = xp.cumulative_sum(xp.abs(to - xp.take(self.a, rows)))
        room = xp.concat([self.home.zeros(1), room])
        # Those that cost more than enough others are never moved, and are many.
        enough = self._places_in(room, abs(amount))[0]
        if enough < room.shape[0]:
            last = float(cost[max(enough, 1) - 1])
            enough = self._places_in(cost, last)[1]
        ends = ((rows, enough), (cost, enough), (to, enough), (room, enough + 1))
        self._line = tuple(xp.asarray(array[:end], copy=True) for array, end in ends)

    def _places_in(self, values, limit):
        """How many of ascending values are below a limit, and how many are not beyond it."""
        ends = [
            self.home.xp.searchsorted(values, self.home.array([limit], float), side=side)
            for side in ("left", "right")
        ]
        return [int(end[0]) for end in ends]

    def room(self, limit):
        _, cost, _, room = self._line
        low, high = self._places_in(cost, limit)
        reached = float(cost[high - 1]) if high else -np.inf
        following = float(cost[high]) if high < cost.shape[0] else np.inf
        return Room(float(room[low]), float(room[high]), reached, following)

    def move(self, limit, amount):
        rows, cost, to, room = self._line
        low, high = self._places_in(cost, limit)
        before = float(room[low])
        # How far the sum of those that go all the way may reach.
        full = low + self._places_in(room[low + 1 : high + 1] - before, abs(amount))[1]
        a = self.home.xp.asarray(self.a, copy=True)
        going = self.home.xp.argsort(rows[:full])  # in ascending order
        a = self.home.put(
            a, self.home.xp.take(rows[:full], going), self.home.xp.take(to[:full], going)
        )
        if full < high:
            step = np.copysign(abs(amount) - (float(room[full]) - before), amount)
            at = rows[full : full + 1]
            a = self.home.put(a, at, self.home.xp.take(a, at) + float(step))
        self._put(a)
        self._line = None

    # -- a sample that stands for all rows -----------------------------------------------------

    def draw(self, n, size, seed):
        chosen = drawn(self.first, self.first + self.n, n, size, seed)
        kept = self.home.numpy(self.penalty.is_kept())
        self._drawn = self.home.rows(np.flatnonzero(chosen | kept))
        return self._drawn.shape[0]

    def sample(self, share, first):
        rows, xp = self._drawn, self.home.xp
        kept = xp.take(self.penalty.is_kept(), rows)
        one, share = self.home.array(1.0), self.home.array(float(share))
        shares = xp.where(kept, one, share) if bool(xp.any(kept)) else share
        ridge, size = (some(self.home, array, rows) for array in (self.ridge, self.size))
        self._sample = ArrayPartition(
            self.gram.some(rows),
            self.penalty.some(rows).scaled(shares),
            ridge / shares,
            size,
            self.scale,
            first,
            self._local(rows),
        )
        self._shares = shares
        return self._sample

    def predict(self):
        sample, rows, xp = self._sample, self._drawn, self.home.xp
        zero = self.home.zeros(self.n)
        self.a, self.g = self.penalty.clipped(zero), zero
        # Between breakpoints without a ridge the sample knows better than any prediction.
        inside = self.home.places(sample.penalty.between(sample.a) & (sample.ridge == 0.0))
        values = some(self.home, sample.a / self._shares, inside)
        chosen = xp.take(rows, inside)
        self.a = self.home.put(self.a, chosen, values)
        held = self.home.put(self.home.zeros(self.n), chosen, xp.ones_like(values))
        self._held = held != 0.0
        self._changed(sound=False)

    def settle(self, multiplier):
        self.a = self.penalty.settled(self.a, self.g, self.ridge, float(multiplier), self._held)
        self._changed(sound=False)
        return float(self.home.xp.sum(self.a))

    def adopt(self):
        self.g = self.g + self.ridge * self.a
        self._sample = self._drawn = self._held = self._shares = None
        self._changed(sound=False)
