"""What training of a positive-unlabelled machine takes and gives."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from ...problem import Penalty
from ...solvers import Result, Settings


@dataclass(frozen=True)
class PUSettings:
    """Parameters of a fit as numbers; ``engine`` has tolerance, limits, callback and seed."""

    prior: float
    lam: float
    solver: str = "auto"
    engine: Settings = field(default_factory=Settings)


@dataclass
class PUSolution:
    """f(x) = sum_i coef_i K(x_i, x) + bias, with the bias that minimises the risk.

    ``f`` are values at the unlabelled rows, without bias; ``penalty`` is that of their
    coefficients, sign reversed; ``objective`` and ``gap`` the regularised risk (4) and a bound
    on its distance to the optimum; ``result`` the (last) convex problem's, solved with ``gram``;
    ``objectives`` those after every convex step of the ramp loss.
    """

    coef: np.ndarray
    f: np.ndarray
    penalty: Penalty
    bias: float
    objective: float
    gap: float
    result: Result
    gram: object
    objectives: list | None = None
