"""What models of positive and unlabelled rows found."""

from dataclasses import dataclass

import numpy as np

from ..base.solution import Solution
from ..calibration.curve import TwoSidedCurve


@dataclass(frozen=True, eq=False, kw_only=True)
class PUFit(Solution):
    """The function of a model, and which training rows are labelled positive, or called so."""

    is_positive: np.ndarray


@dataclass(frozen=True, eq=False, kw_only=True)
class PUSVMFit(PUFit):
    """The solution of a PUSVM, with the weight of its norm and the intercept of least risk.

    ``objectives`` are those after each convex step of the ramp loss. ``held_out`` are scores and
    weights of the positive rows, as if these had not been trained on, and of the unlabelled
    ones; None where nobody requested them yet.
    """

    lam: float
    risk_intercept: float
    objectives: list | None = None
    held_out: tuple | None = None


@dataclass(frozen=True, eq=False, kw_only=True)
class PUEnsembleFit(PUFit):
    """The solution of a PUEnsemble, with its curve from decisions to probabilities."""

    curve: TwoSidedCurve
