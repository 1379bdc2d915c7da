"""What the metrics share: checked labels, weights and priors, and the two averages."""

from numbers import Real
from typing import NamedTuple

import numpy as np
from sklearn.utils import check_consistent_length, column_or_1d

from .._typing import BoolArray, FloatArray, VectorLike
from ..data.checks import check_numbers
from ..data.labels.blanks import is_missing
from ..data.labels.positive_unlabelled import split_labels

CONVENTIONS = ("unlabeled", "pooled")


class WeightedSample(NamedTuple):
    """Averages over the positives and over the population.

    ``labelled_share`` is the share of the population that is labelled: 0 where the
    unlabelled rows are the population.
    """

    positive: BoolArray
    label: object
    weight: FloatArray
    labelled_share: float

    def positives(self, values: FloatArray) -> float:
        return float(np.average(values[self.positive], weights=self.weight[self.positive]))

    def population(self, values: FloatArray) -> float:
        unlabeled = ~self.positive
        rest = float(np.average(values[unlabeled], weights=self.weight[unlabeled]))
        share = self.labelled_share
        return share * self.positives(values) + (1.0 - share) * rest if share else rest


def make_sample(
    y_true: VectorLike, convention: str, pos_label: object, sample_weight: VectorLike | None
) -> WeightedSample:
    """Return the sample that ``y_true`` and ``convention`` describe."""
    check_convention(convention)
    positive, classes = split_labels(y_true, pos_label)
    weight = validate_weight(sample_weight, len(positive), positive, ~positive)
    share = float(weight[positive].sum() / weight.sum()) if convention == "pooled" else 0.0
    return WeightedSample(positive, classes[1], weight, share)


def recall_and_predicted_share(
    y_true: VectorLike,
    prediction: VectorLike,
    convention: str,
    pos_label: object,
    sample_weight: VectorLike | None,
) -> tuple[float, float]:
    """Return the recall, and the share of the population predicted positive."""
    sample = make_sample(y_true, convention, pos_label, sample_weight)
    answer = is_label(prediction, sample.label).astype(float)
    check_consistent_length(sample.positive, answer)
    return sample.positives(answer), sample.population(answer)


def is_label(values: VectorLike, label: object) -> BoolArray:
    """Return which ``values`` equal ``label``; missing values don't."""
    if np.asarray(values).dtype.kind == "f" and len(np.unique(values)) > 2:
        raise ValueError(
            "predicted classes have at most two different values; pass the output of predict, "
            "not decisions."
        )
    labels = column_or_1d(np.asarray(values, dtype=object))
    is_equal = ~is_missing(labels)
    is_equal[is_equal] = labels[is_equal] == label
    return is_equal


def check_convention(convention: str) -> None:
    if convention not in CONVENTIONS:
        raise ValueError(
            f"convention={convention!r} is not valid; pass 'unlabeled' (the prior is a share of "
            "the unlabelled rows) or 'pooled' (a share of all rows)."
        )


def validate_prior(prior: float) -> float:
    if not (isinstance(prior, float | Real) and 0.0 < prior < 1.0):
        raise ValueError(f"prior={prior!r} is not allowed; pass a share of positives in (0, 1).")
    return float(prior)


def validate_decision(decision: VectorLike, sample: WeightedSample) -> FloatArray:
    checked = check_numbers(
        column_or_1d(np.asarray(decision)), ensure_2d=False, dtype=float, input_name="decision"
    )
    check_consistent_length(sample.positive, checked)
    return checked


def validate_weight(
    sample_weight: VectorLike | None, n: int, *groups: BoolArray | slice
) -> FloatArray:
    """Return weights, positive somewhere in every group of rows."""
    if sample_weight is None:
        return np.ones(n)
    weight = check_numbers(sample_weight, ensure_2d=False, dtype=float, input_name="sample_weight")
    if weight.shape != (n,) or weight.min() < 0:
        raise ValueError(
            f"sample_weight must hold one number >= 0 per row, shape ({n},); its shape is "
            f"{weight.shape} and its smallest value {weight.min():g}."
        )
    if any(weight[group].sum() == 0 for group in groups):
        raise ValueError(
            "sample_weight is 0 for all positive or for all unlabelled rows; both are needed."
        )
    return weight
