"""Choosing hyper-parameters when there are no labelled negatives."""

from .._util.extras import require
from ..rows.neighbors import far_from_neighbors, neighbor_gamma

require("fewlabels.model_selection", "pandas")

from .compare import compare_with_baselines
from .comparison.result import BaselineComparison
from .one_class.tuning import shuffled_columns_score
from .positive_unlabelled.bias import BiasSensitivity, bias_sensitivity
from .positive_unlabelled.propensity import PropensityEstimate, estimate_propensity
from .positive_unlabelled.random_labels import LabelledAtRandomTest, labelled_at_random_test
from .positive_unlabelled.search import PUSVMCV
from .positive_unlabelled.sensitivity import prior_sensitivity
from .splitters import LabeledKFold, PUKFold
from .tune import tune
from .tuning.result import TuningResult

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
