"""How long a job will continue, as far as that is known."""

import math
import time

# Of this share, and after so many seconds, how fast a job goes is not known yet.
_LEAST_SHARE, _LEAST_SECONDS = 0.02, 2.0
# Rounds that tell how fast the violation falls, and the shortest time left that is worth telling.
_ROUNDS, _SHORTEST = 8, 5.0
_ROUNDING = 1e-6


class OfShare:
    """The time left of a job of which a growing share is done, which began now."""

    def __init__(self):
        self._began = time.monotonic()

    def words(self, share):
        """Such as ", about 2 min left"; empty while it is not known."""
        gone = time.monotonic() - self._began
        if share < _LEAST_SHARE or gone < _LEAST_SECONDS:
            return ""
        return words_of(gone * (1.0 - share) / share)


class OfRounds:
    """The time left of a solver whose violation falls from round to round, about geometrically."""

    def __init__(self):
        self._rounds = []

    def words(self, entry):
        """Such as ", about 2 min left" after a round; empty while it is not known.

        An entry of the history has the violation before its round.
        """
        known = [entry.get(name) for name in ("violation", "tolerance", "seconds")]
        if None in known or not min(known[:2]) > 0:
            return ""
        violation, tolerance, seconds = known
        if self._rounds and entry["round"] <= self._rounds[-1][0]:
            self._rounds = []  # another problem
        self._rounds = [*self._rounds, (entry["round"], math.log(violation), seconds)][-_ROUNDS:]
        if len(self._rounds) < 2:
            return ""
        (first, before, since), (last, now, _) = self._rounds[0], self._rounds[-1]
        fall = (before - now) / (last - first)
        if not fall > 0:
            return ""
        pace = (seconds - since) / (last - first)
        rounds = (now - math.log(tolerance)) / fall - 1.0
        return words_of(pace * max(0, math.ceil(rounds - _ROUNDING)))


def words_of(seconds):
    """A time left in words that promise no more than they can."""
    if not seconds >= _SHORTEST:  # nor NaN
        return ""
    if seconds < 55:
        return f", about {5 * round(seconds / 5)} s left"
    if seconds < 55 * 60:
        return f", about {round(seconds / 60)} min left"
    if seconds < 48 * 3600:
        return f", about {round(seconds / 3600)} h left"
    return ", more than two days left"
