"""What a partition does to arrays of the number of its rows, with NumPy."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Sequence
from typing import Any, Protocol, SupportsFloat, TypeAlias, TypeVar

import numpy as np
import numpy.typing as npt

from ..._typing import AnyArray, BoolArray, FloatArray, IntArray
from ...kernels.operators import CachedGram, GramOperator
from ...problem import Penalty, Totals
from ...problem.penalty import PiecewiseLinear
from .messages import Histogram, LowestRows

# Rates of change when variables grow, and when they shrink: two rows, or two arrays.
Rates: TypeAlias = FloatArray | tuple[FloatArray, FloatArray]
A = TypeVar("A", bound=AnyArray)


class Backend(Protocol):
    """Array operations of a ``Partition`` on its rows; see ``NumpyBackend``.

    Types name the arrays of NumPy for arrays of any library.
    """

    xp: Any

    def array(self, values: npt.ArrayLike, dtype: npt.DTypeLike | None = None) -> AnyArray: ...
    def rows(self, places: IntArray) -> IntArray: ...
    def numpy(self, array: A) -> A: ...
    def penalty(self, penalty: PiecewiseLinear) -> Penalty: ...
    def numbers(self, arrays: Iterable[Any]) -> list[float]: ...
    def zeros(self, n: int) -> FloatArray: ...
    def copy(self, array: A) -> A: ...
    def largest(self, array: FloatArray) -> float: ...
    def places(self, mask: BoolArray) -> IntArray: ...
    def take(self, array: AnyArray, places: IntArray) -> AnyArray: ...
    def take_each(self, arrays: Sequence[FloatArray], places: IntArray) -> list[FloatArray]: ...
    def put(self, array: A, places: IntArray, values: AnyArray) -> A: ...
    def order(self, values: FloatArray) -> IntArray: ...
    def running(self, values: FloatArray) -> FloatArray: ...
    def ends(self, values: FloatArray, limit: float) -> tuple[int, int]: ...
    def survey(
        self, penalty: PiecewiseLinear, a: FloatArray, g: FloatArray, size: FloatArray
    ) -> Totals: ...
    def rates(self, totals: Totals) -> Rates | None: ...
    def find_lowest(self, keys: FloatArray, count: int) -> LowestRows: ...
    def histogram(
        self, values: FloatArray, weight: FloatArray, edges: FloatArray
    ) -> Histogram: ...
    def caching(self, gram: GramOperator, max_bytes: float) -> GramOperator: ...


class Scratch(threading.local):
    """Rates of change of the variables that were surveyed last, in every thread."""

    def __init__(self) -> None:
        # The Totals that were found with them, and the rates.
        self.found: tuple[Totals, Rates] | tuple[None, None] = None, None
        self._room = np.empty(0)

    def rates(self, n: int) -> FloatArray:
        """Return room for 2 n numbers, whatever they are."""
        if len(self._room) < 2 * n:
            self._room = np.empty(2 * n)
        return self._room[: 2 * n].reshape(2, n)


class NumpyBackend:
    """Arrays of NumPy; partitions that share a backend share its room for rates of change.

    A backend for another library has the same methods. Arrays of the number of rows are the
    library's, and may have a single entry for all; what ``numpy`` and ``ranked``
    return is NumPy's.
    """

    xp: Any = np

    def __init__(self) -> None:
        self._scratch = Scratch()

    # -- there and back ------------------------------------------------------------------------

    def array(self, values: npt.ArrayLike, dtype: npt.DTypeLike | None = None) -> AnyArray:
        """Return numbers of NumPy as an array of the library."""
        return np.asarray(values, dtype)

    def rows(self, places: IntArray) -> IntArray:
        """Return places of NumPy as an index of the library."""
        return places

    def numpy(self, array: A) -> A:
        """Return an array of the library, in NumPy."""
        return array

    def penalty(self, penalty: PiecewiseLinear) -> Penalty:
        """Return a ``Penalty`` in NumPy."""
        assert isinstance(penalty, Penalty)
        return penalty

    def numbers(self, arrays: Iterable[SupportsFloat]) -> list[float]:
        """Return arrays without axes as plain numbers."""
        return [float(array) for array in arrays]

    # -- what NumPy has other names for ----------------------------------------------------------

    def zeros(self, n: int) -> FloatArray:
        """So many zeros in float64."""
        return np.zeros(n)

    def copy(self, array: A) -> A:
        """Return an array of its own."""
        return array.copy()

    def largest(self, array: FloatArray) -> float:
        """Return the largest absolute value, 0 without any."""
        return float(np.abs(array).max(initial=0.0))

    def places(self, mask: BoolArray) -> IntArray:
        """Return the places where a mask is true."""
        return np.flatnonzero(mask)

    def take(self, array: AnyArray, places: IntArray) -> AnyArray:
        """Return some entries of an array, or the one that is for all."""
        return array[places] if array.ndim else array

    def take_each(self, arrays: Sequence[FloatArray], places: IntArray) -> list[FloatArray]:
        """Return some entries of each of several arrays, in NumPy, one for each place."""
        return [array[places] for array in arrays]

    def put(self, array: A, places: IntArray, values: AnyArray) -> A:
        """``array`` with other values at some places, in place where the library can."""
        array[places] = values
        return array

    def order(self, values: FloatArray) -> IntArray:
        """Return places in ascending order of values; equal values keep their order."""
        return np.argsort(values, kind="stable")

    def running(self, values: FloatArray) -> FloatArray:
        """0 and the sums of the first values, up to all."""
        return np.concatenate([[0.0], np.cumsum(values)])

    def ends(self, values: FloatArray, limit: float) -> tuple[int, int]:
        """How many of ascending values are below a limit, and how many are not beyond it."""
        below = np.searchsorted(values, limit, "left")
        return int(below), int(np.searchsorted(values, limit, "right"))

    # -- what leaves a partition -----------------------------------------------------------------

    def survey(
        self, penalty: PiecewiseLinear, a: FloatArray, g: FloatArray, size: FloatArray
    ) -> Totals:
        """``Totals`` of variables; remembers their rates of change."""
        rates = self._scratch.rates(len(a))
        assert isinstance(penalty, Penalty)
        totals = penalty.survey(a, g, size, rates)
        self._scratch.found = totals, rates
        return totals

    def rates(self, totals: Totals) -> Rates | None:
        """Return rates of change up and down, which were found with these ``totals``.

        None if lost.
        """
        known, rates = self._scratch.found
        return rates if known is totals else None

    def find_lowest(self, keys: FloatArray, count: int) -> LowestRows:
        """Return the lowest of many keys, as ``LowestRows`` places."""
        return LowestRows.from_keys(keys, count)

    def histogram(self, values: FloatArray, weight: FloatArray, edges: FloatArray) -> Histogram:
        """See ``Histogram.from_numbers``."""
        return Histogram.from_numbers(values, weight, edges)

    def caching(self, gram: GramOperator, max_bytes: float) -> GramOperator:
        """``gram`` with stored columns, where that is faster than computing them again."""
        return CachedGram(gram, max_bytes)
