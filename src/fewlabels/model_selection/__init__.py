"""Choosing hyper-parameters when there are no labelled negatives."""

from .search import PUSVMCV
from .sensitivity import prior_sensitivity
from .splitters import LabeledKFold, PUKFold
from .tuning import tune
from .tuning_neighbors import far_from_neighbors, neighbor_gamma
from .tuning_one_class import shuffled_columns_score
from .tuning_result import TuningResult

__all__ = [
    "PUSVMCV",
    "LabeledKFold",
    "PUKFold",
    "TuningResult",
    "far_from_neighbors",
    "neighbor_gamma",
    "prior_sensitivity",
    "shuffled_columns_score",
    "tune",
]
