"""Training on rows of one class."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ..._typing import RowMatrix
from ..._util.messages import plural, ref
from ...one_class.task import ONE_CLASS
from ...tables.columns import target as rows_of
from ...tables.columns.target import RowSelection
from ...tables.reading.training import TrainingFile
from ..options.fit import FitOptions
from . import Choice, finite
from .score_columns import ThresholdColumns

if TYPE_CHECKING:
    from sklearn.base import BaseEstimator

    from ...model_selection import TuningResult

# Settings that speak of one ball around all rows, and of bags.
SINGLE_MODEL_PARAMETERS = (
    "C",
    "nu",
    "slack",
    "kernel",
    "gamma",
    "degree",
    "coef0",
    "max_iter",
    "cache_size",
)
BAG_PARAMETERS = ("n_bags", "bag_size", "trim")
# Fewer rows are not split into bags.
FEWEST = 40
# What learns from all rows of a file.
ON_ALL_ROWS = f"{ref('method', 'svdd')} and one-class train"
# Rows of training whose side is counted for the summary.
_MAX_COUNTED_ROWS = 20_000


def roles(file: TrainingFile, method: str, options: FitOptions) -> RowSelection:
    """Select every row, or only rows of the normal class."""
    if file.labels is None:
        return rows_of.choose_all_rows(file.n_rows)
    return rows_of.choose_normal_rows(file.labels, options.normal)


def adapt_settings(
    settings: dict[str, Any], roles: RowSelection, options: FitOptions
) -> dict[str, Any]:
    """Return the settings; none of them depends on the rows."""
    return settings


def choose(
    why: str, options: FitOptions, n_known: int, n_rows: int, seconds: float | None
) -> Choice:
    """Choose one ball for rows known to be normal, where it does better, else bags."""
    given = options.parameters
    if n_known < FEWEST and not given.keys() & set(BAG_PARAMETERS):
        few = f"{plural(n_known, 'row')} {'is' if n_known == 1 else 'are'} too few"
        return Choice("svdd", f"{why}; {few} for an ensemble")
    said = [ref(name) for name in SINGLE_MODEL_PARAMETERS if name in given]
    if given.get("target_fpr") == "none":
        said.append(ref("target_fpr", "none"))
    if said and not given.keys() & set(BAG_PARAMETERS):
        return Choice("svdd", f"{why}; a single model, because {said[0]} is given")
    if options.clean and seconds and not given.keys() & set(BAG_PARAMETERS):
        return Choice("svdd", f"{why}; no anomalies ({ref('clean', True)})")
    return Choice(ONE_CLASS.usual, why)


def explain_tuning(tuning: TuningResult) -> str:
    """Return how settings were chosen."""
    table = tuning.candidates
    share = table["trim"].iloc[0]
    if "bag_size" in table:
        return _describe_bags(share)
    share = float(share)
    if not share:
        return f"a rule based on distances between rows ({ref('clean', True)}: no anomalies)"
    return (
        f"a rule based on distances between rows, without the most distant {100 * share:g} "
        f"%, which may be anomalies ({ref('clean', True)} if there are none)"
    )


def _describe_bags(share: float | str) -> str:
    if not share:
        return f"a rule: bags use all their rows ({ref('clean', True)}: no anomalies)"
    return f"a rule: {describe_trimming(share)} ({ref('clean', True)} if there are no anomalies)"


def describe_trimming(trim: float | str) -> str:
    """Return what becomes of anomalies in bags, in words."""
    if trim == "auto":
        return "bags drop their most distant rows if the data suggest it"
    return f"each bag drops its most distant {100 * trim:g} %"


def figures(
    estimator: BaseEstimator, X: RowMatrix, labeled: dict[str, int], counted: Sequence[int] | None
) -> dict[str, Any]:
    """Return figures of the threshold and the boundary."""
    from ...one_class.base import count_outside

    step = -(-X.shape[0] // _MAX_COUNTED_ROWS)
    outside = count_outside(estimator, X[::step])
    target_fpr = estimator.target_fpr
    calibrated = {}
    if target_fpr is not None:
        calibrated = {"calibration_rows": len(estimator.calibration_scores_)}
    return {
        "target_fpr": target_fpr,
        **calibrated,
        "radius": finite(getattr(estimator, "radius_", None)),
        "rows_outside": outside.outside,
        "rows_counted": outside.counted,
        "rows_left_out": outside.left_out,
    }


def score_columns(training: dict[str, Any], extra: str | None) -> ThresholdColumns:
    """Return the columns of scores: inside or outside."""
    return ThresholdColumns(("inside", "outside"), ("inside", "outside"), True, extra=extra)
