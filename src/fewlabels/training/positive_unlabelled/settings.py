"""What a positive-unlabelled machine is trained with."""

from __future__ import annotations

from dataclasses import dataclass, field

from ...solvers import Settings


@dataclass(frozen=True)
class PUSettings:
    """Parameters of a fit as numbers; ``engine`` has tolerance, limits, callback and seed."""

    prior: float
    lam: float
    solver: str = "auto"
    engine: Settings = field(default_factory=Settings)
