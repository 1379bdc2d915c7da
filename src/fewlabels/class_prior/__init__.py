"""Estimators of the class prior from positive and unlabelled rows."""

from ._base import PriorEstimator
from ._labels import split_labels
from .best_bin import BestBin
from .blanchard import Blanchard
from .conventions import pooled_from_unlabeled, unlabeled_from_pooled
from .dedpul import DEDPUL
from .estimate import METHODS, PriorEstimate, estimate_prior
from .kernel_mean import KM1, KM2
from .lee_liu import LeeLiu
from .pen_l1 import PenL1
from .saturated import SaturatedLogistic
from .tice import TIcE

__all__ = [
    "DEDPUL",
    "KM1",
    "KM2",
    "METHODS",
    "BestBin",
    "Blanchard",
    "LeeLiu",
    "PenL1",
    "PriorEstimate",
    "PriorEstimator",
    "SaturatedLogistic",
    "TIcE",
    "estimate_prior",
    "pooled_from_unlabeled",
    "split_labels",
    "unlabeled_from_pooled",
]
