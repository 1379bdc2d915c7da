"""Rows that answer the engine's messages, wherever their arrays are."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, TypeAlias, TypeVar

import numpy as np

from ..._typing import BoolArray, FloatArray, IntArray
from ...kernels.operators import Columns, GramOperator
from ...problem import Totals
from ...problem.penalty import ImpliedEnds, PiecewiseLinear
from .backend import Backend, NumpyBackend, Rates
from .messages import (
    Accuracy,
    BlockUpdate,
    Facts,
    Histogram,
    LowestRows,
    RunState,
    Slack,
    WorkingSet,
)

Message = TypeVar("Message", bound=Callable[..., Any])
# Rows in the order of what a step costs, their costs, where steps end, and the room up to each.
CostOrder: TypeAlias = tuple[IntArray, FloatArray, FloatArray, FloatArray]

# Changes below this share of the largest variable are none.
_ROUNDING = 1e-12


def read_only(message: Message) -> Message:
    """Mark a message that changes nothing."""
    vars(message)["is_read_only"] = True
    return message


def config_message(message: Message) -> Message:
    """Mark a message about how to compute, which a rebuilt partition gets first."""
    vars(message)["is_config_message"] = True
    return message


def is_read_only(name: str) -> bool:
    """Return whether the message of this name changes nothing."""
    return getattr(getattr(Partition, name), "is_read_only", False)


def is_config_message(name: str) -> bool:
    """Return whether the message of this name is about how to compute."""
    return getattr(getattr(Partition, name), "is_config_message", False)


def message_names() -> list[str]:
    """Return names of all messages that partitions answer."""
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
        self,
        gram: GramOperator,
        penalty: PiecewiseLinear,
        ridge: FloatArray,
        scale: float,
        first: int = 0,
        *,
        size: FloatArray | None = None,
        origin: IntArray | None = None,
        arrays: Backend | None = None,
    ) -> None:
        self.arrays: Backend = NumpyBackend() if arrays is None else arrays
        self.gram, self.penalty, self.ridge, self.scale = gram, penalty, ridge, scale
        self.first, self.n, self.origin = first, gram.n, origin
        self.size = gram.diagonal() if size is None else size
        self.a, self.g = self.arrays.zeros(self.n), self.arrays.zeros(self.n)
        # Whether the gradient belongs to the variables: no update was cut short.
        self.has_current_gradient = False
        # What follows from both: totals, and rows in the order of what a step costs.
        self._totals: Totals | None = None
        self._cost_order: tuple[float, CostOrder] | None = None
        self._values_before = -gram.n_values
        self._max_bytes = 0.0
        # While a gradient is owed, a sample drawn and its function taken over.
        self._variables_before: FloatArray | None = None
        self._pending: tuple[IntArray, FloatArray] | None = None
        self._sampled_rows: IntArray | None = None
        self._sample: Partition | None = None
        self._shares: FloatArray | None = None
        self._held_rows: BoolArray | None = None

    def start(self, a: FloatArray, gradient: FloatArray | None = None) -> None:
        """Take variables and, where it is known, their gradient."""
        self.a = a
        self._set_changed(is_current=gradient is not None)
        if gradient is not None:
            self.g = gradient

    def _set_changed(self, *, is_current: bool) -> None:
        self.has_current_gradient, self._totals, self._cost_order = is_current, None, None

    def _move_variables(self, a: FloatArray) -> None:
        """Move variables: the ridge's part of the gradient follows, K's part does not."""
        self._totals = self._cost_order = None
        self.g = self.g + self.ridge * (a - self.a)
        self.a = a

    def _find_rows(self, ids: IntArray) -> tuple[slice, IntArray]:
        """Return the slice of some ascending numbers that are of rows here, and their places."""
        low, high = np.searchsorted(ids, (self.first, self.first + self.n))
        return slice(low, high), self.arrays.rows(ids[low:high] - self.first)

    def _row_ids(self, places: IntArray) -> IntArray:
        return self.arrays.numpy(places) + self.first

    def _set(self, array: FloatArray, places: IntArray, values: FloatArray) -> FloatArray:
        return self.arrays.put(array, places, self.arrays.array(values, float))

    # -- what is ------------------------------------------------------------------------------

    @read_only
    def facts(self) -> Facts:
        """``Facts`` about the rows."""
        n_kept = self.arrays.places(self.penalty.is_kept).shape[0]
        largest = self.arrays.largest(self.size)
        return Facts(self.n, n_kept, self.penalty.extent, largest, self._accuracy())

    def _accuracy(self) -> Accuracy:
        gram = self.gram
        return Accuracy(gram.value_error, bool(gram.dtype == np.float64), float(gram.value_cost))

    @read_only
    def state(self) -> RunState:
        """Return the ``RunState`` that the rows are in."""
        return RunState(self._survey(), self.n_values)

    @property
    def n_values(self) -> int:
        """Kernel values evaluated so far."""
        return self._values_before + self.gram.n_values

    def _survey(self) -> Totals:
        """``Totals`` of the variables, computed once for each change."""
        if self._totals is None:
            self._totals = self.arrays.survey(self.penalty, self.a, self.g, self.size)
        return self._totals

    def _rates(self) -> Rates:
        """Return rates of change when variables grow, and when they shrink."""
        rates = self.arrays.rates(self._survey())
        if rates is None:  # another partition was surveyed since
            self._totals = None
            rates = self.arrays.rates(self._survey())
            assert rates is not None
        return rates

    @read_only
    def gap(self, multiplier: float, implied: ImpliedEnds) -> float:
        """These rows' part of the duality gap, see ``Penalty.gap``."""
        return self.penalty.gap(self.a, self.g, self.ridge, multiplier, implied)

    # -- rounds -------------------------------------------------------------------------------

    @read_only
    def propose(self, count: int, n_between: int = 0) -> tuple[LowestRows, LowestRows, IntArray]:
        """Return the rows that want up most and those that want down most, as two LowestRows.

        And the numbers of the first ``n_between`` rows strictly between breakpoints.
        """
        up, down = self._rates()
        between: IntArray = np.empty(0, np.intp)
        if n_between:
            places = self.arrays.places(self.penalty.between(self.a))
            between = self._row_ids(places[: min(n_between, places.shape[0])])
        return self._lowest(up, count), self._lowest(-down, count), between

    def _lowest(self, keys: FloatArray, count: int) -> LowestRows:
        best = self.arrays.find_lowest(keys, count)
        return LowestRows(best.ids + self.first, best.keys)

    @read_only
    def histogram(self, edges: FloatArray, ids: IntArray, g: FloatArray) -> Histogram:
        """The Histogram the gradient over ascending ``edges``, which is given at the rows ``ids``.

        Rows count as wide as their intervals are.
        """
        return self.arrays.histogram(*self._gradients_and_widths(ids, g), edges)

    @read_only
    def within(
        self, low: float, high: float, ids: IntArray, g: FloatArray
    ) -> tuple[FloatArray, FloatArray]:
        """Return gradients from ``low`` to below ``high``, and how wide the rows' intervals are.

        Rows whose interval has no width are left out; ``ids`` and ``g`` as above.
        """
        values, width = self._gradients_and_widths(ids, g)
        inside = self.arrays.places((values >= float(low)) & (values < float(high)))
        values, width = self.arrays.take_each((values, width), inside)
        return values, width

    def _gradients_and_widths(self, ids: IntArray, g: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the gradient of rows whose intervals have a width, and these."""
        where, rows = self._find_rows(ids)
        values, width = self._set(self.arrays.copy(self.g), rows, g[where]), self.penalty.width
        wide = self.arrays.places(width > 0.0)
        return self.arrays.take(values, wide), self.arrays.take(width, wide)

    @read_only
    def fetch(self, ids: IntArray | None) -> WorkingSet:
        """Return a WorkingSet of the rows ``ids`` that are here.

        None for variables other than zero.
        """
        if ids is None:
            rows = self.arrays.places(self.a != 0.0)
            own_ids = self._row_ids(rows)
        else:
            where, rows = self._find_rows(ids)
            own_ids = ids[where]
        return WorkingSet(
            own_ids,
            self._gather(rows, own_ids),
            self.arrays.penalty(self.penalty.take(rows)),
            *self.arrays.take_each((self.ridge, self.size, self.a, self.g), rows),
        )

    def _gather(self, rows: IntArray, ids: IntArray) -> Columns:
        return replace(self.gram.gather(rows), ids=ids)

    @read_only
    def block(self, columns: Columns) -> FloatArray:
        """Return kernel values between the rows of any working set, in float64.

        ``columns`` says all.
        """
        return self.gram.block_of(columns)

    def update(self, update: BlockUpdate) -> None:
        """Advance variables and gradient by a BlockUpdate."""
        where, rows = self._find_rows(update.ids)
        self._set_changed(is_current=False)
        self.a = self._set(self.a, rows, update.a[where])
        self.gram.add_columns(update.columns, self.scale * update.change, self.g)
        self.g = self._set(self.g, rows, update.g[where])
        self._set_changed(is_current=True)

    def assign(self, ids: IntArray, a: FloatArray) -> None:
        """Set variables alone; the gradient is not theirs any more."""
        where, rows = self._find_rows(ids)
        self._set_changed(is_current=False)
        self.a = self._set(self.a, rows, a[where])

    # -- precision ----------------------------------------------------------------------------

    @config_message
    def keep_columns(self, max_bytes: float) -> None:
        """Store columns of K that were evaluated, up to a bound on memory."""
        self._max_bytes = max_bytes
        self._set_gram(self.gram)

    @config_message
    def refine(self) -> Accuracy | None:
        """Continue with float64 kernel values: their Accuracy; None where they are that."""
        refined = self.gram.refined()
        if refined is None:
            return None
        self._set_gram(refined)
        self._set_changed(is_current=False)
        return self._accuracy()

    def _set_gram(self, gram: GramOperator) -> None:
        gram = self.arrays.caching(gram, self._max_bytes) if self._max_bytes else gram
        self._values_before = self.n_values - gram.n_values
        self.gram = gram

    def round_to_breakpoints(self, near: float) -> None:
        """Put variables on breakpoints that they reach to within ``near``.

        K's part of the gradient stays as it is.
        """
        self._move_variables(self.penalty.round_to_breakpoints(self.a, near))

    @read_only
    def can_absorb(self, amount: float) -> LowestRows:
        """At most one row, as LowestRows, that takes ``amount`` without reaching a breakpoint.

        Of those between breakpoints the one with the lowest Q_ii.
        """
        able = self.arrays.places(self.penalty.can_absorb(self.a, amount))
        size, ridge = self.arrays.take_each((self.size, self.ridge), able)
        best = LowestRows.from_keys(self.scale * size + ridge, 1)
        return LowestRows(self._row_ids(able)[best.ids], best.keys)

    def shift(self, row: int, amount: float) -> None:
        """Change the variable of ``row``, if it is here. Not repeatable.

        K's part of the gradient stays as it is.
        """
        if 0 <= row - self.first < self.n:
            at = self.arrays.rows(np.array([row - self.first]))
            (a,) = self.arrays.take_each((self.a,), at)
            below, above = self.arrays.penalty(self.penalty.take(at)).neighbours(a)
            moved = np.minimum(np.maximum(a + amount, below), above)
            self._move_variables(self._set(self.arrays.copy(self.a), at, moved))

    # -- a gradient that is owed ----------------------------------------------------------------

    def clip(self) -> None:
        """Put variables outside their intervals on the nearest end.

        What they were is kept: from here on they move without columns of K.
        """
        self._variables_before = self.arrays.copy(self.a)
        self._move_variables(self.penalty.clipped(self.a))
        self._set_changed(is_current=False)

    def count_pending_updates(self, everything: bool) -> int:
        """How many variables owe their part of the gradient: those that moved since ``clip``.

        Or ``everything``: the gradient is set to the ridge's part, and all of K a is owed.
        """
        arrays = self.arrays
        if everything:
            moved = arrays.places(self.a != 0.0)
            (change,) = arrays.take_each((self.a,), moved)
            self.g = self.ridge * self.a
            self._set_changed(is_current=False)
        else:
            assert self._variables_before is not None
            distance = arrays.xp.abs(self.a - self._variables_before)
            moved = arrays.places(distance > _ROUNDING * arrays.largest(self.a))
            after, before = arrays.take_each((self.a, self._variables_before), moved)
            change = after - before
        self._pending = moved, change
        return moved.shape[0]

    @read_only
    def pending_columns(
        self, start: int, count: int, original: bool
    ) -> tuple[Columns, FloatArray]:
        """Return columns and changes of some of those that moved, by their order.

        With ``original``, rows of a sample go by the numbers of the rows it was drawn from.
        """
        assert self._pending is not None
        moved, change = self._pending
        rows = moved[start : min(start + count, moved.shape[0])]
        ids = self._row_ids(rows)
        if original and self.origin is not None:
            ids = self.origin[ids - self.first]
        return self._gather(rows, ids), change[start : start + len(ids)]

    def add(self, columns: Columns, change: FloatArray) -> None:
        """``gradient += scale * K change``. Not repeatable."""
        self._set_changed(is_current=False)
        self.gram.add_columns(columns, self.scale * change, self.g)

    def mark_gradient_current(self) -> None:
        """The gradient matches the variables again."""
        self._variables_before = self._pending = None
        self._set_changed(is_current=True)

    # -- a sum that is not right ------------------------------------------------------------------

    def reset_to_feasible(self, amount: float) -> tuple[float, float, float]:
        """Put every variable on its lower bound or, where it has none, next to zero.

        Then move them by ``amount`` in all, each to its end before the next. Returns the sum of
        all variables before that, and how far it can be raised and lowered.
        """
        self.a = self.penalty.nearest_zero()
        self._set_changed(is_current=False)
        with np.errstate(invalid="ignore"):
            above, below = self.penalty.upper - self.a, self.a - self.penalty.lower
        total, room_above, room_below = self.arrays.numbers(
            map(self.arrays.xp.sum, (self.a, above, below))
        )
        if amount:
            self.a = self.penalty.filled(self.a, amount)
        return total, room_above, room_below

    def _sort_by_cost(self, amount: float) -> CostOrder:
        """Return rows in the order of what a step in the direction of ``amount`` costs.

        With their costs, where the step ends, and the room up to each.
        """
        if self._cost_order is not None and self._cost_order[0] == amount:
            return self._cost_order[1]
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
        cost_order = (
            arrays.copy(rows[:enough]),
            arrays.copy(cost[:enough]),
            arrays.copy(to[:enough]),
            arrays.copy(room[: enough + 1]),
        )
        self._cost_order = amount, cost_order
        return cost_order

    @read_only
    def measure_slack(self, missing: float, limit: float) -> Slack:
        """``Room`` to the next breakpoints at no more than this cost.

        In the direction of what the sum of all rows is ``missing``.
        """
        _, cost, _, room = self._sort_by_cost(missing)
        low, high = self.arrays.ends(cost, limit)
        reached = cost[high - 1] if high else -np.inf
        following = cost[high] if high < cost.shape[0] else np.inf
        return Slack(*map(float, (room[low], room[high], reached, following)))

    def move(self, missing: float, limit: float, amount: float) -> None:
        """Move rows that cost less than ``limit`` to their next breakpoint, see ``room``.

        Those that cost as much move by ``amount`` in all, one after the other. Not repeatable.
        """
        rows, cost, to, room = self._sort_by_cost(missing)
        low, high = self.arrays.ends(cost, limit)
        before = float(room[low])
        # How far the sum of those that go all the way may reach.
        full = low + self.arrays.ends(room[low + 1 : high + 1] - before, abs(amount))[1]
        a = self.arrays.put(self.arrays.copy(self.a), rows[:full], to[:full])
        if full < high:
            step = float(np.copysign(abs(amount) - (float(room[full]) - before), amount))
            at = rows[full : full + 1]
            a = self.arrays.put(a, at, self.arrays.take(a, at) + step)
        self._move_variables(a)

    # -- a sample that stands for all rows -----------------------------------------------------

    def choose_sample(self, n: int, size: int, seed: int) -> int:
        """Note which rows belong to a sample of ``size`` of n rows; how many are here."""
        chosen = draw_sample_mask(self.first, self.first + self.n, n, size, seed)
        kept = self.arrays.numpy(self.penalty.is_kept)
        self._sampled_rows = self.arrays.rows(np.flatnonzero(chosen | kept))
        return self._sampled_rows.shape[0]

    def sample(self, share: float, first: int) -> Partition:
        """Return a Partition of the rows that were drawn, numbered from ``first``.

        Each means ``share`` rows, see ``docs/the-one-problem.md``.
        """
        arrays, rows = self.arrays, self._sampled_rows
        assert rows is not None
        kept, shares = arrays.take(self.penalty.is_kept, rows), arrays.array(float(share))
        if bool(arrays.xp.any(kept)):
            shares = arrays.xp.where(kept, arrays.array(1.0), shares)
        self._shares = shares
        self._sample = Partition(
            self.gram.view_rows(rows),
            self.penalty.take(rows).scaled(shares, 1.0),
            arrays.take(self.ridge, rows) / shares,
            self.scale,
            first,
            size=arrays.take(self.size, rows),
            origin=self._row_ids(rows),
            arrays=arrays,
        )
        return self._sample

    def predict(self) -> None:
        """Begin a prediction: the gradient is zero, to receive the sample's function.

        What the sample knows better is held.
        """
        arrays = self.arrays
        sample = self._sample
        sampled_rows = self._sampled_rows
        shares = self._shares
        assert sample is not None and sampled_rows is not None and shares is not None
        self.g = arrays.zeros(self.n)
        # Between breakpoints without a ridge the sample knows better than any prediction.
        inside = arrays.places(sample.penalty.between(sample.a) & (sample.ridge == 0.0))
        values = arrays.take(sample.a / shares, inside)
        rows = arrays.take(sampled_rows, inside)
        self.a = arrays.put(self.penalty.clipped(arrays.zeros(self.n)), rows, values)
        self._held_rows = (
            arrays.put(arrays.zeros(self.n), rows, arrays.xp.ones_like(values)) != 0.0
        )
        self._set_changed(is_current=False)

    def set_to_minimiser(self, multiplier: float, ends: bool) -> float:
        """Put every row that is not held into the state that its gradient predicts; the sum.

        If the prediction ``ends`` with it, the ridge's part is added to the gradient.
        """
        assert self._held_rows is not None
        self._set_changed(is_current=False)
        total = self.penalty.set_to_minimiser(
            self.a, self.g, self.ridge, multiplier, self._held_rows
        )
        if ends:
            self.g = self.g + self.ridge * self.a
            self._sample = self._sampled_rows = self._held_rows = self._shares = None
        return total


# Of every so many rows the same share is drawn.
_STRETCH = 4096


def draw_sample_mask(first: int, stop: int, n: int, size: int, seed: int) -> BoolArray:
    """Mask: which of the rows ``first`` to ``stop`` belong to a sample of ``size`` of n rows."""
    chosen = np.zeros(stop - first, dtype=bool)
    for begin in range(first - first % _STRETCH, stop, _STRETCH):
        end = min(n, begin + _STRETCH)
        count = size * end // n - size * begin // n
        rng = np.random.default_rng((seed, begin))
        rows = begin + rng.choice(end - begin, count, replace=False)
        chosen[rows[(rows >= first) & (rows < stop)] - first] = True
    return chosen
