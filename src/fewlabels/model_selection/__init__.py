"""Choosing hyper-parameters when there are no labelled negatives."""

from .._extras import require
from ..training.neighbors import far_from_neighbors, neighbor_gamma

require("fewlabels.model_selection", "pandas")

from .comparison.baselines import compare_with_baselines
from .comparison.result import BaselineComparison
from .search import PUSVMCV
from .sensitivity import prior_sensitivity
from .splitters import LabeledKFold, PUKFold
from .tuning.one_class import shuffled_columns_score
from .tuning.result import TuningResult
from .tuning.tune import tune

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
