"""What machines of positive and unlabelled rows found."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .curve import TwoSidedCurve
from .solution import Solution


@dataclass(frozen=True, eq=False, kw_only=True)
class PUFit(Solution):
    """The function of a machine of positive and unlabelled rows.

    Attributes
    ----------
    is_positive : ndarray of bool of shape (n_samples,)
        The training rows: labelled positive, or predicted so.
    """

    is_positive: np.ndarray


@dataclass(frozen=True, eq=False, kw_only=True)
class PUSVMFit(PUFit):
    """That of a PUSVM.

    Attributes
    ----------
    lam : float
        Weight of the norm.
    risk_intercept : float
        Intercept that minimises the risk.
    objectives : list of float or None
        For the ramp loss: the objective after each convex step.
    held_out : tuple of two tuples of two ndarrays, or None
        Scores and weights of the positive rows, as if these had not been trained on, and of the
        unlabelled ones; None where nobody asked for them yet.
    """

    lam: float
    risk_intercept: float
    objectives: list | None = None
    held_out: tuple | None = None


@dataclass(frozen=True, eq=False, kw_only=True)
class PUEnsembleFit(PUFit):
    """That of a PUEnsemble.

    Attributes
    ----------
    curve : TwoSidedCurve
        From decisions to probabilities.
    """

    curve: TwoSidedCurve
