"""Choosing hyper-parameters when there are no labelled negatives."""

from .search import PUSVMCV
from .sensitivity import prior_sensitivity
from .splitters import LabeledKFold, PUKFold

__all__ = ["PUSVMCV", "LabeledKFold", "PUKFold", "prior_sensitivity"]
