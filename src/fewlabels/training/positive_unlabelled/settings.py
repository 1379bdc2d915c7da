"""What a positive-unlabelled machine is trained with."""

from __future__ import annotations

from dataclasses import dataclass, field

from ...solvers import Settings


@dataclass(frozen=True)
class PUSettings:
    """Parameters of a fit.

    Attributes
    ----------
    prior : float
        Share of positives among the unlabelled rows, in (0, 1).
    lam : float
        Weight of the norm, > 0.
    solver : {"auto", "decomposition", "usmo", "qp"}
        What solves the convex problems.
    engine : Settings
        Tolerance, limits, callback and seed.
    """

    prior: float
    lam: float
    solver: str = "auto"
    engine: Settings = field(default_factory=Settings)
