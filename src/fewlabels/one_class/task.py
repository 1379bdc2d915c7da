"""Rows of one class, in which new rows may not belong."""

from collections.abc import Sequence
from typing import ClassVar

from ..base.task import Method, Task


def _baseline(title: str) -> Method:
    return Method("OneClassBaseline", title, is_baseline=True)


class OneClassTask(Task):
    """Learning what rows of one class look like."""

    name = "one_class"
    key = "normal"
    rows = "rows of one class"
    methods: ClassVar[dict[str, Method]] = {
        "svdd": Method("SVDD", "support vector data description (SVDD)", takes_files=True),
        "svdd-ensemble": Method("SVDDEnsemble", "ensemble of small SVDD models"),
        "one-class": Method("OneClassSVM", "one-class support vector machine", takes_files=True),
        "isolation-forest": _baseline("isolation forest"),
        "neighbours": _baseline("distance to the 10th neighbour"),
        "root-neighbours": _baseline("distance to the root-n-th neighbour"),
        "mahalanobis": _baseline("Mahalanobis distance"),
    }
    usual = "svdd-ensemble"
    takes_labels = False
    options = ("normal", "clean")
    columns = ("p_value",)
    fits = 1.3
    score = "ROC AUC"
    terms = (
        (
            "Score",
            "How far inside the boundary a row lies. Below 0 it is outside. Scores rank "
            "rows; their absolute size has no meaning.",
        ),
        (
            "P-value",
            "The share of normal rows that look at least as strange as this one. One normal "
            "row in twenty has a p-value below 0.05.",
        ),
        (
            "Inside and outside",
            "Rows inside the boundary resemble the training rows. Rows outside don't, for "
            "whatever reason.",
        ),
    )

    def is_suitable(self, counts: Sequence[int], n_blank: int) -> bool:
        return len(counts) == 1 and not n_blank


ONE_CLASS = OneClassTask()
