"""What models of positive and unlabelled rows found."""

from dataclasses import dataclass
from typing import TypeAlias

from .._typing import BoolArray, FloatArray
from ..base.function import Function
from ..base.solution import Solution
from ..calibration.curve import TwoSidedCurve

# Scores of positive and unlabelled rows as if they had not been trained on, with weights.
HeldOutScores: TypeAlias = tuple[tuple[FloatArray, FloatArray], tuple[FloatArray, FloatArray]]


@dataclass(frozen=True, eq=False, kw_only=True)
class PUFit(Solution):
    """The function of a model, and which training rows are labelled positive, or called so."""

    function: Function
    is_positive: BoolArray | None  # None of rows that aren't in memory


@dataclass(frozen=True, eq=False, kw_only=True)
class PUSVMFit(PUFit):
    """The solution of a PUSVM, with the weight of its norm and the intercept of least risk.

    ``objectives`` are those after each convex step of the ramp loss. ``held_out`` are scores and
    weights of the positive rows, as if these had not been trained on, and of the unlabelled
    ones; None where nobody requested them yet.
    """

    lam: float
    risk_intercept: float
    objectives: list[float] | None = None
    held_out: HeldOutScores | None = None


@dataclass(frozen=True, eq=False, kw_only=True)
class PUEnsembleFit(PUFit):
    """The solution of a PUEnsemble, with its curve from decisions to probabilities."""

    curve: TwoSidedCurve
