"""When a call has to come to its end, and what it has cut short for that."""

from __future__ import annotations

import math
import time

# Seconds beyond which nobody waits; Python's numbers have no end, clocks' numbers do.
_MAX_SECONDS = 1e10


class Deadline:
    """A point in time; ``cut`` says, in sentences, what was given up because it had come."""

    def __init__(self, seconds: float | None = None) -> None:
        if seconds is None or seconds > _MAX_SECONDS:
            self._end = math.inf
        else:
            self._end = time.perf_counter() + seconds
        self.cut: list[str] = []

    def __reduce__(self) -> tuple[type[Deadline], tuple[float | None]]:
        # Clocks of other machines show other times.
        return Deadline, (self.left() if self.has_end else None,)

    @property
    def has_end(self) -> bool:
        """Return whether there is an end at all."""
        return math.isfinite(self._end)

    def left(self) -> float:
        """Return the seconds left, at least 0; inf without an end."""
        return max(0.0, self._end - time.perf_counter())

    def is_over(self) -> bool:
        """Return whether the time is over."""
        return self.left() <= 0.0

    def part(self, share: float) -> Deadline:
        """Return a deadline after this share of the seconds left, which shares its cuts."""
        part = Deadline(share * self.left() if self.has_end else None)
        part.cut = self.cut
        return part


#: There is always time.
ENDLESS = Deadline()
