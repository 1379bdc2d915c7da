"""Looking into fitted models: what drives a score, and pictures."""

from .._util.extras import require

require("fewlabels.inspection", "pandas")

from .boundary import BoundaryDisplay
from .convergence import ConvergenceDisplay
from .explain import explain
from .explanation import Explanation
from .latency import LatencyDisplay
from .paths import BiasSensitivityDisplay, PriorSensitivityDisplay, RegularizationPathDisplay
from .scores import ScoreDisplay

__all__ = [
    "BiasSensitivityDisplay",
    "BoundaryDisplay",
    "ConvergenceDisplay",
    "Explanation",
    "LatencyDisplay",
    "PriorSensitivityDisplay",
    "RegularizationPathDisplay",
    "ScoreDisplay",
    "explain",
]
