"""What a partition does to arrays of the number of its rows, with NumPy."""

import threading

import numpy as np

from ...kernels.operators import CachedGram
from .messages import Ranked, SpreadOf


class Scratch(threading.local):
    """Rates of change of the variables that were surveyed last, in every thread."""

    def __init__(self):
        self.found = None, None  # the Totals that were found with them, and the rates
        self._room = np.empty(0)

    def rates(self, n):
        """Room for 2 n numbers, whatever they are."""
        if len(self._room) < 2 * n:
            self._room = np.empty(2 * n)
        return self._room[: 2 * n].reshape(2, n)


class NumpyBackend:
    """Arrays of NumPy; partitions that share a backend share its room for rates of change.

    A backend for another library has the same methods. Arrays of the number of rows are the
    library's, and may have a single entry for all; what ``numpy`` and ``ranked``
    return is NumPy's.
    """

    xp = np

    def __init__(self):
        self._scratch = Scratch()

    # -- there and back ------------------------------------------------------------------------

    def array(self, values, dtype=None):
        """Numbers of NumPy as an array of the library."""
        return np.asarray(values, dtype)

    def rows(self, places):
        """Places of NumPy as an index of the library."""
        return places

    def numpy(self, array):
        """An array of the library, in NumPy."""
        return array

    def penalty(self, penalty):
        """A ``Penalty`` in NumPy."""
        return penalty

    def numbers(self, arrays):
        """Arrays without axes as plain numbers."""
        return [float(array) for array in arrays]

    # -- what NumPy has other names for ----------------------------------------------------------

    def zeros(self, n):
        """So many zeros in float64."""
        return np.zeros(n)

    def copy(self, array):
        """An array of its own."""
        return array.copy()

    def largest(self, array):
        """The largest absolute value, 0 without any."""
        return float(np.abs(array).max(initial=0.0))

    def places(self, mask):
        """Where a mask holds."""
        return np.flatnonzero(mask)

    def take(self, array, places):
        """Some entries of an array, or the one that is for all."""
        return array[places] if array.ndim else array

    def taken(self, arrays, places):
        """Some entries of each of several arrays, in NumPy, one for each place."""
        return [array[places] for array in arrays]

    def put(self, array, places, values):
        """``array`` with other values at some places, in place where the library can."""
        array[places] = values
        return array

    def order(self, values):
        """Places in ascending order of values; equal values keep their order."""
        return np.argsort(values, kind="stable")

    def running(self, values):
        """0 and the sums of the first values, up to all."""
        return np.concatenate([[0.0], np.cumsum(values)])

    def ends(self, values, limit):
        """How many of ascending values are below a limit, and how many are not beyond it."""
        return np.searchsorted(values, limit, "left"), np.searchsorted(values, limit, "right")

    # -- what leaves a partition -----------------------------------------------------------------

    def survey(self, penalty, a, g, size):
        """``Totals`` of variables; remembers their rates of change."""
        rates = self._scratch.rates(len(a))
        totals = penalty.survey(a, g, size, rates)
        self._scratch.found = totals, rates
        return totals

    def rates(self, totals):
        """Rates of change up and down, which were found with these ``totals``; None if lost."""
        known, rates = self._scratch.found
        return rates if known is totals else None

    def ranked(self, keys, count):
        """The lowest of many keys, as ``Ranked`` places."""
        return Ranked.of(keys, count)

    def spread(self, values, weight, edges):
        """See ``SpreadOf.of``."""
        return SpreadOf.of(values, weight, edges)

    def caching(self, gram, max_bytes):
        """``gram`` with stored columns, where that is faster than computing them again."""
        return CachedGram(gram, max_bytes)
