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
        return Deadline, (self.left() if self.is_near else None,)

    @property
    def is_near(self) -> bool:
        """Whether there is one at all."""
        return math.isfinite(self._end)

    def left(self) -> float:
        """Seconds until then, at least 0; inf without one."""
        return max(0.0, self._end - time.perf_counter())

    def is_over(self) -> bool:
        """Whether it has come."""
        return self.left() <= 0.0

    def part(self, share: float) -> Deadline:
        """One after this share of the seconds left, which shares its cuts with this one."""
        part = Deadline(share * self.left() if self.is_near else None)
        part.cut = self.cut
        return part


#: There is always time.
ENDLESS = Deadline()
