"""What a positive-unlabelled machine is trained with."""

from __future__ import annotations

from dataclasses import dataclass, field

from ...solvers import Settings

# lambda times the number of positive rows: on real sets the best was between 0.1 and 0.2 (12 sets
# with 100 positives, 8 with 20 to 1000).
_COST = 0.15


@dataclass(frozen=True)
class PUSettings:
    """Parameters of a fit.

    Attributes
    ----------
    prior : float
        Share of positives among the unlabelled rows, in (0, 1).
    lam : float
        Weight of the norm, > 0.
    loss : {"double-hinge", "ramp"}
        Loss.
    solver : {"auto", "decomposition", "usmo", "qp"}
        What solves the convex problems.
    threshold : {"leave-one-out", "prior", "risk"}
        Where the decision is zero.
    engine : Settings
        Tolerance, limits, callback and seed.
    """

    prior: float
    lam: float
    loss: str = "double-hinge"
    solver: str = "auto"
    threshold: str = "leave-one-out"
    engine: Settings = field(default_factory=Settings)


def weight_of_norm(lam, weight_positive):
    """The number that ``lam`` stands for; ``weight_positive`` is the positive rows' weight."""
    return _COST / weight_positive if lam == "auto" else float(lam)
