"""Choosing hyper-parameters when there are no labelled negatives."""

from .._extras import require
from ..training.neighbors import far_from_neighbors, neighbor_gamma

require("fewlabels.model_selection", "pandas")

from .bias import BiasSensitivity, bias_sensitivity
from .comparison.baselines import compare_with_baselines
from .comparison.result import BaselineComparison
from .propensity import PropensityEstimate, estimate_propensity
from .random_labels import LabelledAtRandomTest, labelled_at_random_test
from .search import PUSVMCV
from .sensitivity import prior_sensitivity
from .splitters import LabeledKFold, PUKFold
from .tuning.one_class import shuffled_columns_score
from .tuning.result import TuningResult
from .tuning.tune import tune

__all__ = [
    "PUSVMCV",
    "BaselineComparison",
    "BiasSensitivity",
    "LabeledKFold",
    "LabelledAtRandomTest",
    "PUKFold",
    "PropensityEstimate",
    "TuningResult",
    "bias_sensitivity",
    "compare_with_baselines",
    "estimate_propensity",
    "far_from_neighbors",
    "labelled_at_random_test",
    "neighbor_gamma",
    "prior_sensitivity",
    "shuffled_columns_score",
    "tune",
]
