"""Estimators of the class prior, and of class ratios among unlabelled rows."""

from ..data.labels.positive_unlabelled import split_labels
from .bounds import prior_bounds
from .class_ratio import ClassRatio, label_shift, label_shift_em
from .conventions import pooled_from_unlabeled, unlabeled_from_pooled
from .estimate import METHODS, PriorEstimate, estimate_prior
from .methods._base import PriorEstimator
from .methods.best_bin import BestBin
from .methods.blanchard import Blanchard
from .methods.dedpul import DEDPUL
from .methods.kernel_mean import KM1, KM2
from .methods.lee_liu import LeeLiu
from .methods.pen_l1 import PenL1
from .methods.saturated import SaturatedLogistic
from .methods.tice import TIcE

__all__ = [
    "DEDPUL",
    "KM1",
    "KM2",
    "METHODS",
    "BestBin",
    "Blanchard",
    "ClassRatio",
    "LeeLiu",
    "PenL1",
    "PriorEstimate",
    "PriorEstimator",
    "SaturatedLogistic",
    "TIcE",
    "estimate_prior",
    "label_shift",
    "label_shift_em",
    "pooled_from_unlabeled",
    "prior_bounds",
    "split_labels",
    "unlabeled_from_pooled",
]
