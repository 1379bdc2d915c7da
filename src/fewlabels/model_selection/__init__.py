"""Choosing hyper-parameters when there are no labelled negatives."""

from .baselines import compare_with_baselines
from .baselines_result import BaselineComparison
from .search import PUSVMCV
from .sensitivity import prior_sensitivity
from .splitters import LabeledKFold, PUKFold
from .tuning import tune
from .tuning_neighbors import far_from_neighbors, neighbor_gamma
from .tuning_one_class import shuffled_columns_score
from .tuning_result import TuningResult

__all__ = [
    "PUSVMCV",
    "BaselineComparison",
    "LabeledKFold",
    "PUKFold",
    "TuningResult",
    "compare_with_baselines",
    "far_from_neighbors",
    "neighbor_gamma",
    "prior_sensitivity",
    "shuffled_columns_score",
    "tune",
]
