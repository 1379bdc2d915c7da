"""Estimators of the class prior from positive and unlabelled rows."""

from ._base import PriorEstimator
from ._labels import split_labels
from .best_bin import BestBin
from .conventions import pooled_from_unlabeled, unlabeled_from_pooled
from .estimate import METHODS, PriorEstimate, estimate_prior
from .saturated import SaturatedLogistic

__all__ = [
    "METHODS",
    "BestBin",
    "PriorEstimate",
    "PriorEstimator",
    "SaturatedLogistic",
    "estimate_prior",
    "pooled_from_unlabeled",
    "split_labels",
    "unlabeled_from_pooled",
]
