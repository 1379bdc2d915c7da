"""Rows that answer the engine's messages, wherever their arrays are."""

from dataclasses import replace

import numpy as np

from .backend import NumpyBackend
from .messages import Accuracy, Facts, Ranked, Room, RunState, WorkingSet

# Changes below this share of the largest variable are none.
_ROUNDING = 1e-12


def question(message):
    """Mark a message that changes nothing."""
    message.is_question = True
    return message


def setting(message):
    """Mark a message about how to compute, which a rebuilt partition gets first."""
    message.is_setting = True
    return message


def is_question(name):
    """Whether the message of this name changes nothing."""
    return getattr(getattr(Partition, name), "is_question", False)


def is_setting(name):
    """Whether the message of this name is about how to compute."""
    return getattr(getattr(Partition, name), "is_setting", False)


def message_names():
    """Names of all messages that partitions answer."""
    return [
        name
        for name, value in vars(Partition).items()
        if callable(value) and not name.startswith("_") and name != "start"
    ]


class Partition:
    """Consecutive rows of a problem (P), the first of which has the number ``first``.

    Features, variables, gradient, penalties and ridges stay where they are. Messages, which are
    the public methods, and their answers are plain numbers and NumPy arrays of the size of a
    working set. Rows go by their numbers among the rows of all partitions. Every message changes
    the state once however often it arrives, or says in its description that it does not.

    ``gram`` is K at these rows, for columns of any; ``penalty``, ``ridge`` and ``scale`` are as of
    ``DualProblem``, ``size`` is the diagonal of K. A sample has the numbers of its rows among
    those that it was drawn from, ``origin``. ``arrays`` is the backend of the rows' arrays.
    """

    def __init__(
        self, gram, penalty, ridge, scale, first=0, *, size=None, origin=None, arrays=None
    ):
        self.arrays = NumpyBackend() if arrays is None else arrays
        self.gram, self.penalty, self.ridge, self.scale = gram, penalty, ridge, scale
        self.first, self.n, self.origin = first, gram.n, origin
        self.size = gram.diagonal() if size is None else size
        self.a, self.g = self.arrays.zeros(self.n), self.arrays.zeros(self.n)
        # Whether the gradient belongs to the variables: no update was cut short.
        self.is_sound = False
        # What follows from both: totals, and rows in the order of what a step costs.
        self._totals = self._line = None
        self._values_before = -gram.n_values
        self._max_bytes = 0.0
        # While a gradient is owed, a sample drawn and its function taken over.
        self._before = self._debt = self._drawn = self._sample = self._held = None

    def start(self, a, gradient=None):
        """Take variables and, where it is known, their gradient."""
        self.a = a
        self._changed(sound=gradient is not None)
        if gradient is not None:
            self.g = gradient

    def _changed(self, *, sound):
        self.is_sound, self._totals, self._line = sound, None, None

    def _put(self, a):
        """Move variables: the ridge's part of the gradient follows, K's part does not."""
        self._totals = self._line = None
        self.g = self.g + self.ridge * (a - self.a)
        self.a = a

    def _own(self, ids):
        """Which of some numbers in ascending order are of rows here, and these rows' places."""
        low, high = np.searchsorted(ids, (self.first, self.first + self.n))
        return slice(low, high), self.arrays.rows(ids[low:high] - self.first)

    def _numbers(self, places):
        return self.arrays.numpy(places) + self.first

    def _set(self, array, places, values):
        return self.arrays.put(array, places, self.arrays.array(values, float))

    # -- what is ------------------------------------------------------------------------------

    @question
    def facts(self):
        """``Facts`` about the rows."""
        n_kept = self.arrays.places(self.penalty.is_kept).shape[0]
        largest = self.arrays.largest(self.size)
        return Facts(self.n, n_kept, self.penalty.extent, largest, self._accuracy())

    def _accuracy(self):
        gram = self.gram
        return Accuracy(gram.value_error, bool(gram.dtype == np.float64), float(gram.value_cost))

    @question
    def state(self):
        """The ``RunState`` that the rows are in."""
        return RunState(self._surveyed(), self.n_values)

    @property
    def n_values(self):
        """Kernel values evaluated so far."""
        return self._values_before + self.gram.n_values

    def _surveyed(self):
        """``Totals`` of the variables, computed once for each change."""
        if self._totals is None:
            self._totals = self.arrays.survey(self.penalty, self.a, self.g, self.size)
        return self._totals

    def _rates(self):
        """Rates of change when variables grow, and when they shrink."""
        rates = self.arrays.rates(self._surveyed())
        if rates is None:  # another partition was surveyed since
            self._totals = None
            rates = self.arrays.rates(self._surveyed())
        return rates

    @question
    def gap(self, multiplier, implied):
        """These rows' part of the duality gap, see ``Penalty.gap``."""
        return self.penalty.gap(self.a, self.g, self.ridge, multiplier, implied)

    # -- rounds -------------------------------------------------------------------------------

    @question
    def propose(self, count, n_between=0):
        """The rows that want up most and those that want down most, as two Ranked.

        And the numbers of the first ``n_between`` rows strictly between breakpoints.
        """
        up, down = self._rates()
        between = np.empty(0, np.intp)
        if n_between:
            places = self.arrays.places(self.penalty.between(self.a))
            between = self._numbers(places[: min(n_between, places.shape[0])])
        return self._lowest(up, count), self._lowest(-down, count), between

    def _lowest(self, keys, count):
        best = self.arrays.ranked(keys, count)
        return Ranked(best.ids + self.first, best.keys)

    @question
    def spread(self, edges, ids, g):
        """The SpreadOf the gradient over ascending ``edges``, which is given at the rows ``ids``.

        Rows count as wide as their intervals are.
        """
        return self.arrays.spread(*self._by_width(ids, g), edges)

    @question
    def within(self, low, high, ids, g):
        """Gradients from ``low`` to below ``high``, and how wide the rows' intervals are.

        Rows whose interval has no width are left out; ``ids`` and ``g`` as above.
        """
        values, width = self._by_width(ids, g)
        inside = self.arrays.places((values >= float(low)) & (values < float(high)))
        return tuple(self.arrays.taken((values, width), inside))

    def _by_width(self, ids, g):
        """The gradient of rows whose intervals have a width, and these."""
        where, rows = self._own(ids)
        values, width = self._set(self.arrays.copy(self.g), rows, g[where]), self.penalty.width
        wide = self.arrays.places(width > 0.0)
        return self.arrays.take(values, wide), self.arrays.take(width, wide)

    @question
    def fetch(self, ids):
        """A WorkingSet of the rows ``ids`` that are here; None for variables other than zero."""
        if ids is None:
            rows = self.arrays.places(self.a != 0.0)
            own = self._numbers(rows)
        else:
            where, rows = self._own(ids)
            own = ids[where]
        return WorkingSet(
            own,
            self._gathered(rows, own),
            self.arrays.penalty(self.penalty.take(rows)),
            *self.arrays.taken((self.ridge, self.size, self.a, self.g), rows),
        )

    def _gathered(self, rows, ids):
        return replace(self.gram.gather(rows), ids=ids)

    @question
    def block(self, columns):
        """Kernel values between the rows of any working set, in float64: ``columns`` says all."""
        return self.gram.block_of(columns)

    def update(self, update):
        """Advance variables and gradient by a BlockUpdate."""
        where, rows = self._own(update.ids)
        self._changed(sound=False)
        self.a = self._set(self.a, rows, update.a[where])
        self.gram.add_columns(update.columns, self.scale * update.change, self.g)
        self.g = self._set(self.g, rows, update.g[where])
        self._changed(sound=True)

    def assign(self, ids, a):
        """Set variables alone; the gradient is not theirs any more."""
        where, rows = self._own(ids)
        self._changed(sound=False)
        self.a = self._set(self.a, rows, a[where])

    # -- precision ----------------------------------------------------------------------------

    @setting
    def keep_columns(self, max_bytes):
        """Store columns of K that were evaluated, up to a bound on memory."""
        self._max_bytes = max_bytes
        self._use(self.gram)

    @setting
    def refine(self):
        """Continue with float64 kernel values: their Accuracy; None where they are that."""
        refined = self.gram.refined()
        if refined is None:
            return None
        self._use(refined)
        self._changed(sound=False)
        return self._accuracy()

    def _use(self, gram):
        gram = self.arrays.caching(gram, self._max_bytes) if self._max_bytes else gram
        self._values_before = self.n_values - gram.n_values
        self.gram = gram

    def snap(self, near):
        """Put variables on breakpoints that they reach to within ``near``.

        K's part of the gradient stays as it is.
        """
        self._put(self.penalty.snapped(self.a, near))

    @question
    def absorbs(self, amount):
        """At most one row, as Ranked, that takes ``amount`` without reaching a breakpoint.

        Of those between breakpoints the one with the lowest Q_ii.
        """
        able = self.arrays.places(self.penalty.absorbs(self.a, amount))
        size, ridge = self.arrays.taken((self.size, self.ridge), able)
        best = Ranked.of(self.scale * size + ridge, 1)
        return Ranked(self._numbers(able)[best.ids], best.keys)

    def shift(self, row, amount):
        """Change the variable of ``row``, if it is here. Not repeatable.

        K's part of the gradient stays as it is.
        """
        if 0 <= row - self.first < self.n:
            at = self.arrays.rows(np.array([row - self.first]))
            (a,) = self.arrays.taken((self.a,), at)
            below, above = self.arrays.penalty(self.penalty.take(at)).neighbours(a)
            moved = np.minimum(np.maximum(a + amount, below), above)
            self._put(self._set(self.arrays.copy(self.a), at, moved))

    # -- a gradient that is owed ----------------------------------------------------------------

    def clip(self):
        """Put variables outside their intervals on the nearest end.

        What they were is kept: from here on they move without columns of K.
        """
        self._before = self.arrays.copy(self.a)
        self._put(self.penalty.clipped(self.a))
        self._changed(sound=False)

    def owe(self, everything):
        """How many variables owe their part of the gradient: those that moved since ``clip``.

        Or ``everything``: the gradient is set to the ridge's part, and all of K a is owed.
        """
        arrays = self.arrays
        if everything:
            moved = arrays.places(self.a != 0.0)
            (change,) = arrays.taken((self.a,), moved)
            self.g = self.ridge * self.a
            self._changed(sound=False)
        else:
            distance = arrays.xp.abs(self.a - self._before)
            moved = arrays.places(distance > _ROUNDING * arrays.largest(self.a))
            after, before = arrays.taken((self.a, self._before), moved)
            change = after - before
        self._debt = moved, change
        return moved.shape[0]

    @question
    def debt(self, start, count, original):
        """Columns and changes of some of those that moved, by their order.

        With ``original``, rows of a sample go by the numbers of the rows it was drawn from.
        """
        moved, change = self._debt
        rows = moved[start : min(start + count, moved.shape[0])]
        ids = self._numbers(rows)
        if original and self.origin is not None:
            ids = self.origin[ids - self.first]
        return self._gathered(rows, ids), change[start : start + len(ids)]

    def add(self, columns, change):
        """``gradient += scale * K change``. Not repeatable."""
        self._changed(sound=False)
        self.gram.add_columns(columns, self.scale * change, self.g)

    def settled(self):
        """The gradient matches the variables again."""
        self._before = self._debt = None
        self._changed(sound=True)

    # -- a sum that is not right ------------------------------------------------------------------

    def rest(self, amount):
        """Put every variable on its lower bound or, where it has none, next to zero.

        Then move them by ``amount`` in all, each to its end before the next. Returns the sum of
        all variables before that, and how far it can be raised and lowered.
        """
        self.a = self.penalty.nearest_zero()
        self._changed(sound=False)
        with np.errstate(invalid="ignore"):
            above, below = self.penalty.upper - self.a, self.a - self.penalty.lower
        sums = tuple(self.arrays.numbers(map(self.arrays.xp.sum, (self.a, above, below))))
        if amount:
            self.a = self.penalty.filled(self.a, amount)
        return sums

    def _lined_up(self, amount):
        """Rows in the order of what a step in the direction of ``amount`` costs.

        With their costs, where the step ends, and the room up to each.
        """
        if self._line is not None and self._line[0] == amount:
            return self._line[1]
        arrays, (up, down) = self.arrays, self._rates()
        below, above = self.penalty.neighbours(self.a)
        cost, to = (up, above) if amount > 0 else (-down, below)
        rows = arrays.places(arrays.xp.isfinite(cost))
        rows = arrays.take(rows, arrays.order(arrays.take(cost, rows)))
        cost, to = arrays.take(cost, rows), arrays.take(to, rows)
        room = arrays.running(arrays.xp.abs(to - arrays.take(self.a, rows)))
        # Those that cost more than enough others are never moved, and are many.
        enough = arrays.ends(room, abs(amount))[0]
        if enough < room.shape[0]:
            enough = arrays.ends(cost, float(cost[max(enough, 1) - 1]))[1]
        ends = ((rows, enough), (cost, enough), (to, enough), (room, enough + 1))
        self._line = amount, tuple(arrays.copy(array[:end]) for array, end in ends)
        return self._line[1]

    @question
    def room(self, missing, limit):
        """``Room`` to the next breakpoints at no more than this cost.

        In the direction of what the sum of all rows is ``missing``.
        """
        _, cost, _, room = self._lined_up(missing)
        low, high = self.arrays.ends(cost, limit)
        reached = cost[high - 1] if high else -np.inf
        following = cost[high] if high < cost.shape[0] else np.inf
        return Room(*map(float, (room[low], room[high], reached, following)))

    def move(self, missing, limit, amount):
        """Move rows that cost less than ``limit`` to their next breakpoint, see ``room``.

        Those that cost as much move by ``amount`` in all, one after the other. Not repeatable.
        """
        rows, cost, to, room = self._lined_up(missing)
        low, high = self.arrays.ends(cost, limit)
        before = float(room[low])
        # How far the sum of those that go all the way may reach.
        full = low + self.arrays.ends(room[low + 1 : high + 1] - before, abs(amount))[1]
        a = self.arrays.put(self.arrays.copy(self.a), rows[:full], to[:full])
        if full < high:
            step = float(np.copysign(abs(amount) - (float(room[full]) - before), amount))
            at = rows[full : full + 1]
            a = self.arrays.put(a, at, self.arrays.take(a, at) + step)
        self._put(a)

    # -- a sample that stands for all rows -----------------------------------------------------

    def draw(self, n, size, seed):
        """Note which rows belong to a sample of ``size`` of n rows; how many are here."""
        chosen = drawn(self.first, self.first + self.n, n, size, seed)
        kept = self.arrays.numpy(self.penalty.is_kept)
        self._drawn = self.arrays.rows(np.flatnonzero(chosen | kept))
        return self._drawn.shape[0]

    def sample(self, share, first):
        """A Partition of the rows that were drawn, numbered from ``first``.

        Each means ``share`` rows, see ``docs/the-one-problem.md``.
        """
        arrays, rows = self.arrays, self._drawn
        kept, share = arrays.take(self.penalty.is_kept, rows), arrays.array(float(share))
        if bool(arrays.xp.any(kept)):
            share = arrays.xp.where(kept, arrays.array(1.0), share)
        self._shares = share
        self._sample = Partition(
            self.gram.some(rows),
            self.penalty.take(rows).scaled(share, 1.0),
            arrays.take(self.ridge, rows) / share,
            self.scale,
            first,
            size=arrays.take(self.size, rows),
            origin=self._numbers(rows),
            arrays=arrays,
        )
        return self._sample

    def predict(self):
        """Begin a prediction: the gradient is zero, to receive the sample's function.

        What the sample knows better is held.
        """
        arrays, sample = self.arrays, self._sample
        self.g = arrays.zeros(self.n)
        # Between breakpoints without a ridge the sample knows better than any prediction.
        inside = arrays.places(sample.penalty.between(sample.a) & (sample.ridge == 0.0))
        values = arrays.take(sample.a / self._shares, inside)
        rows = arrays.take(self._drawn, inside)
        self.a = arrays.put(self.penalty.clipped(arrays.zeros(self.n)), rows, values)
        self._held = arrays.put(arrays.zeros(self.n), rows, arrays.xp.ones_like(values)) != 0.0
        self._changed(sound=False)

    def settle(self, multiplier, ends):
        """Put every row that is not held into the state that its gradient predicts; the sum.

        If the prediction ``ends`` with it, the ridge's part is added to the gradient.
        """
        self._changed(sound=False)
        total = self.penalty.settle(self.a, self.g, self.ridge, multiplier, self._held)
        if ends:
            self.g = self.g + self.ridge * self.a
            self._sample = self._drawn = self._held = self._shares = None
        return total


# Of every so many rows the same share is drawn.
_STRETCH = 4096


def drawn(first, stop, n, size, seed):
    """Mask: which of the rows ``first`` to ``stop`` belong to a sample of ``size`` of n rows."""
    chosen = np.zeros(stop - first, dtype=bool)
    for begin in range(first - first % _STRETCH, stop, _STRETCH):
        end = min(n, begin + _STRETCH)
        count = size * end // n - size * begin // n
        rng = np.random.default_rng((seed, begin))
        rows = begin + rng.choice(end - begin, count, replace=False)
        chosen[rows[(rows >= first) & (rows < stop)] - first] = True
    return chosen
