"""How the engine works."""

from dataclasses import dataclass

import numpy as np

# Rows that are solved whole: in one working set, and with an exact finish of as many variables.
# Where only a share has to be evaluated, the larger number. Kernel values of so many
# rows are float64: it costs milliseconds.
WHOLE, WHOLE_IF_FEW_ARE_MET, MOST_MET = 1024, 2048, 0.3


@dataclass(frozen=True)
class Settings:
    """How the engine works; none of these changes the problem.

    Attributes
    ----------
    tol : float
        Bound on the KKT violation, in units of the gradient, > 0.
    rtol : float
        Bound on the violation relative to the multiplier; the larger bound counts.
    max_iter : int
        Limit on pair steps; -1 for none.
    max_time : float
        Limit in seconds.
    block_size : int or None
        Variables in a working set to begin with; doubled while progress is slow.
        None takes 256 (128 where kernel values are dear), and 1024 from 20 000 rows on.
    share : float
        A working set is solved until this share of the violation is left, or half of what the
        tolerance allows; little, where it costs much to tell the rows of the changes.
    cache_size : float
        Bytes for the block and for stored columns.
    polish : int
        Largest number of variables between breakpoints for which, with float64 kernel
        values, a converged solution is finished to rounding by Newton steps; 0 for none.
    coarse : bool
        Whether a cold start goes from coarse to fine.
    callback : callable or None
        Called after every round with a dict (the entry of ``history``); returning True
        stops the solver.
    random_state : int
        Seed of the coarse sample.
    """

    tol: float = 1e-3
    rtol: float = 0.0
    max_iter: int = -1
    max_time: float = np.inf
    block_size: int | None = None
    share: float = 0.1
    cache_size: float = 200e6
    polish: int = WHOLE
    coarse: bool = True
    callback: object = None
    random_state: int = 0

    def __post_init__(self):
        checks = [
            ("tol", self.tol > 0, "a number > 0"),
            ("rtol", self.rtol >= 0, "a number >= 0"),
            ("max_iter", self.max_iter >= -1, "-1 or a number of steps"),
            ("max_time", self.max_time >= 0, "a number of seconds >= 0"),
            ("block_size", self.block_size is None or self.block_size >= 2, "None or at least 2"),
            ("share", 0 < self.share < 1, "a number between 0 and 1"),
            ("cache_size", self.cache_size > 0, "a number of bytes > 0"),
            ("polish", self.polish >= 0, "a number of variables >= 0"),
        ]
        for name, fine, allowed in checks:
            if not fine:
                raise ValueError(f"{name}={getattr(self, name)!r} is not allowed; pass {allowed}.")
