"""Smoothed p-values from ranks among all scores seen so far, with bounded memory.

Let s_1, s_2, ... be exchangeable scores. The p-value of s_n is its rank among s_1, ..., s_n, with
ties (also the tie with itself) broken by a uniform number:

    p_n = (#{i < n : s_i < s_n} + U_n (#{i < n : s_i = s_n} + 1)) / n.

These p-values are independent and uniform (Vovk, Gammerman and Shafer 2005, theorem 8.2). The
proof needs only that the bag of scores compared is a symmetric function of the scores before.

This still holds when memory is bounded. Once ``size`` scores are held, the new score joins them
and one of the ``size + 1`` is dropped, each with the same probability, the new one included. What
remains depends on the bag alone, so p_n is independent of everything after it. (Keeping a
reservoir that is uniform over the whole stream would not do: the newest score would be dropped
more often than the others, and the comparison set would hardly change, like a fixed one.)
"""

from bisect import bisect_left, bisect_right, insort

import numpy as np

from .._typing import FloatArray, IntArray

# Scores inserted one by one before they are merged into the sorted array.
_PENDING = 1000
# The largest number below 1: bets on p-values near 1 divide by 1 - p.
_BELOW_ONE = 1.0 - 2.0**-53
_LEAST = 2.0**-60


def uniform_numbers(seed: int, stream: int, first: int, n: int) -> FloatArray:
    """Return the numbers in [0, 1) that belong to the rows ``first`` to ``first + n``."""
    bits = np.random.PCG64(np.random.SeedSequence([seed, stream]))
    return np.random.Generator(bits.advance(first)).random(n)


def p_values_among(ascending: FloatArray, scores: FloatArray, ties: FloatArray) -> FloatArray:
    """Return smoothed p-values of scores among fixed ones; ``ties`` are uniform numbers."""
    low = np.searchsorted(ascending, scores, "left")
    high = np.searchsorted(ascending, scores, "right")
    return (low + ties * (high - low + 1)) / (len(ascending) + 1)


class Ranks:
    """Scores of a stream, at most ``size`` of them, and the p-value of the next one.

    A state is ``values``, the scores in the order of their slots, and ``count``.
    """

    def __init__(self, size: int, seed: int) -> None:
        self.size, self.seed, self.count = size, seed, 0
        self._hold(np.zeros(0))

    def _hold(self, values: FloatArray) -> None:
        """Hold these scores, and no others."""
        self._slots = np.empty(max(1024, len(values)))
        self._slots[: len(values)] = values
        self._held = len(values)
        self._sorted = np.sort(self.values)
        self._added: list[float] = []
        self._removed: list[float] = []

    @property
    def values(self) -> FloatArray:
        """The scores held, in the order of their slots."""
        return self._slots[: self._held]

    def begin(self, scores: FloatArray) -> None:
        """Hold calibration scores, which have no p-values; a random ``size`` of them at most."""
        if len(scores) > self.size:
            chosen = np.random.default_rng([self.seed, 2]).permutation(len(scores))[: self.size]
            scores = scores[np.sort(chosen)]
        self._hold(np.asarray(scores, dtype=np.float64))

    def p_values(self, scores: FloatArray) -> tuple[FloatArray, IntArray]:
        """Return p-values of the next scores, which are held from then on, and their slots.

        Slots of scores that were dropped at once are -1.
        """
        found, slots = np.empty(len(scores)), np.empty(len(scores), np.int64)
        ties = self.ties(len(scores)).tolist()
        drops = uniform_numbers(self.seed, 1, self.count, len(scores)).tolist()
        for start in range(0, len(scores), _PENDING):
            part = slice(start, start + _PENDING)
            self._merge()
            low = np.searchsorted(self._sorted, scores[part], "left").tolist()
            high = np.searchsorted(self._sorted, scores[part], "right").tolist()
            todo = zip(scores[part].tolist(), low, high, ties[part], drops[part], strict=True)
            for k, row in enumerate(todo, start):
                found[k], slots[k] = self._next(*row)
        self.count += len(scores)
        return found, slots

    def ties(self, n: int) -> FloatArray:
        """Return the numbers in (0, 1] that break the ties of the next n rows."""
        return 1.0 - uniform_numbers(self.seed, 0, self.count, n)

    def _next(
        self, score: float, low: int, high: int, tie: float, drop: float
    ) -> tuple[float, int]:
        added, removed = self._added, self._removed
        below = low + bisect_left(added, score) - bisect_left(removed, score)
        at_most = high + bisect_right(added, score) - bisect_right(removed, score)
        p = (below + tie * (at_most - below + 1)) / (self._held + 1)
        slot = self._held
        if slot < self.size:
            if slot == len(self._slots):
                self._slots = np.concatenate([self._slots, np.empty(slot)])
            self._held += 1
        else:
            slot = int(drop * (self.size + 1))
            if slot >= self.size:
                return _clip_to_open_interval(p), -1
            self._drop(float(self._slots[slot]))
        self._slots[slot] = score
        insort(added, score)
        return _clip_to_open_interval(p), slot

    def _drop(self, score: float) -> None:
        place = bisect_left(self._added, score)
        if place < len(self._added) and self._added[place] == score:
            self._added.pop(place)
        else:
            insort(self._removed, score)

    def _merge(self) -> None:
        """Bring the sorted array up to date."""
        if not self._added and not self._removed:
            return
        kept = self._sorted
        if self._removed:
            gone = np.asarray(self._removed)
            first = np.searchsorted(kept, gone, "left")
            # The k-th of equal scores to remove is the k-th of equal scores held.
            again = np.arange(len(gone)) - np.searchsorted(gone, gone, "left")
            kept = np.delete(kept, first + again)
        new = np.asarray(self._added)
        self._sorted = np.insert(kept, np.searchsorted(kept, new, "right"), new)
        self._added, self._removed = [], []


def _clip_to_open_interval(p: float) -> float:
    return min(max(p, _LEAST), _BELOW_ONE)
