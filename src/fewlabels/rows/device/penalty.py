"""Penalties of rows on a device: what ``Penalty`` says of variables, over their arrays."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Self

import numpy as np
import numpy.typing as npt

from ...problem import Extent, Penalty, Totals
from ...problem.penalty import PiecewiseLinear
from .backend import ArrayBackend, DeviceArray


class ArrayPenalty(PiecewiseLinear):
    """The ``Penalty`` of n variables, each array of which is here, or a number for them all.

    The names and their meanings are as in ``Penalty``.
    """

    def __init__(
        self,
        backend: ArrayBackend,
        n: int,
        ends: Iterable[DeviceArray],
        slopes: Iterable[DeviceArray],
    ) -> None:
        self.backend, self.xp, self.n = backend, backend.xp, n
        self.ends, self.slopes = tuple(ends), tuple(slopes)

    @classmethod
    def from_penalty(cls, backend: ArrayBackend, penalty: Penalty, n: int) -> Self:
        """From a ``Penalty`` in memory, of n variables, or of one that means all."""
        both = penalty.ends, penalty.slopes
        return cls(backend, n, *([to_device(backend, array) for array in some] for some in both))

    def _number(self, value: float) -> DeviceArray:
        return self.backend.array(value)

    @property
    def extent(self) -> Extent:
        xp, parts = self.xp, []
        for end in (self.lower, self.upper):
            end = self._each(end)
            finite = xp.isfinite(end)
            kept = xp.where(finite, end, xp.zeros_like(end))
            parts.append(
                (xp.sum(kept), xp.sum(xp.abs(kept)), xp.sum(self.backend.exactly(~finite)))
            )
        sums, sizes, counts = zip(*parts, strict=True)
        lower, upper, lower_size, upper_size, infinite_lower, infinite_upper = (
            self.backend.numbers([*sums, *sizes, *counts])
        )
        return Extent(
            lower, upper, lower_size, upper_size, int(infinite_lower), int(infinite_upper)
        )

    def take(self, rows: DeviceArray) -> ArrayPenalty:
        """Return the penalty of some of the variables."""
        both = ([self.backend.take(a, rows) for a in some] for some in (self.ends, self.slopes))
        return ArrayPenalty(self.backend, rows.shape[0], *both)

    def scaled(self, breakpoints: DeviceArray, slopes: DeviceArray) -> ArrayPenalty:
        """Return all breakpoints, and all slopes, times a number, or one each."""
        ends = [end * breakpoints for end in self.ends]
        return ArrayPenalty(self.backend, self.n, ends, [slope * slopes for slope in self.slopes])

    def gap(
        self,
        a: DeviceArray,
        g: DeviceArray,
        ridge: DeviceArray,
        multiplier: float,
        implied: tuple[float, float, float, float],
    ) -> float:
        xp = self.xp
        low, low_free, high, high_free = map(self.backend.array, implied)
        linear = g - ridge * a - float(multiplier)
        at = self.minimiser(linear, ridge)
        with np.errstate(invalid="ignore"):
            least = xp.where(xp.isfinite(self.upper), low + self.upper, low_free)
            most = xp.where(xp.isfinite(self.lower), high + self.lower, high_free)
        at = xp.where(self.lower == -np.inf, xp.maximum(at, least), at)
        at = xp.where(self.upper == np.inf, xp.minimum(at, most), at)
        if not bool(xp.all(xp.isfinite(at))):
            return np.inf
        parts = (linear + 0.5 * ridge * (a + at)) * (a - at) + self.value(a) - self.value(at)
        return float(xp.sum(parts))

    def set_to_minimiser(
        self,
        a: DeviceArray,
        smooth: DeviceArray,
        ridge: DeviceArray,
        multiplier: float,
        held: DeviceArray,
    ) -> float:
        """Return variables at their optimum for a multiplier, in place; ``sum a``."""
        xp = self.xp
        at = self.minimiser(smooth - float(multiplier), ridge)
        a[...] = xp.where(held | ~xp.isfinite(at), a, at)
        return float(xp.sum(a))

    def clipped(self, a: DeviceArray) -> DeviceArray:
        xp = self.xp
        return xp.minimum(xp.maximum(a, self.lower), self.upper)

    def filled(self, a: DeviceArray, amount: float) -> DeviceArray:
        xp = self.xp
        room = self._each(self.upper - a if amount > 0 else a - self.lower)
        before = xp.concat([self.backend.zeros(1), xp.cumulative_sum(room)[:-1]])
        step = xp.minimum(xp.maximum(abs(amount) - before, self.backend.array(0.0)), room)
        return self.clipped(a + (step if amount > 0 else -step))

    @property
    def is_kept(self) -> DeviceArray:
        return self._each(super().is_kept)

    @property
    def width(self) -> DeviceArray:
        return self._each(super().width)

    def neighbours(self, a: DeviceArray) -> tuple[DeviceArray, DeviceArray]:
        below, above = super().neighbours(a)
        return self._each(below), self._each(above)

    def nearest_zero(self) -> DeviceArray:
        return self.backend.copy(self._each(super().nearest_zero()))

    def numpy(self) -> Penalty:
        """Return the ``Penalty`` in memory."""
        arrays = [self.backend.numpy(array) for array in self.arrays()]
        return Penalty.from_arrays([np.array(np.broadcast_to(array, self.n)) for array in arrays])

    def survey(
        self, a: DeviceArray, g: DeviceArray, size: DeviceArray
    ) -> tuple[Totals, tuple[DeviceArray, DeviceArray]]:
        """Return the ``Totals``, and rates of change to the right and to the left."""
        xp = self.xp

        def count(mask: DeviceArray) -> DeviceArray:
            return xp.sum(self.backend.exactly(mask))

        right, left = self.step_slopes(a)
        up, down = g + right, g + left
        between, reach = self.between(a), xp.abs(a)
        outside = (a < self.lower) | (a > self.upper)
        zero = xp.zeros_like(a)
        values = self.backend.numbers(
            [
                xp.sum(a),
                xp.sum(reach),
                xp.sum(a * g),
                xp.sum(self.value(a)),
                xp.sum(xp.abs(size) * a * a),
                xp.sum(xp.where(between, up, zero)),
                xp.min(up),
                xp.max(down),
                xp.max(reach),
                count(between),
                count(a != 0.0),
                count(outside),
            ]
        )
        return Totals.from_values(np.array(values)), (up, down)

    def _each(self, values: DeviceArray) -> DeviceArray:
        return self.xp.broadcast_to(values, (self.n,))


def to_device(backend: ArrayBackend, values: npt.ArrayLike) -> DeviceArray:
    """Return numbers of NumPy as an array here: one without axes where they are all the same."""
    values = np.asarray(values, float)
    alike = values.ndim == 0 or bool(np.all(values == values.flat[0]))
    return backend.array(values.flat[0] if alike else values)
