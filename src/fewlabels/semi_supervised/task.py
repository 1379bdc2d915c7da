"""A few labelled rows of two or more classes, and unlabelled rows."""

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from ..base.task import Method, Task


def _simple(title: str) -> Method:
    return Method("SemiSupervisedBaseline", title, is_baseline=True)


class SemiSupervisedTask(Task):
    """Classifying rows from a few labels of several classes."""

    name = "semi_supervised"
    key = "classes"
    rows = "two or more classes and other rows"
    methods: ClassVar[dict[str, Method]] = {
        "s3vm": Method(
            "S3VM",
            "semi-supervised support vector machine",
            keeps_rows=True,
            probability="sigmoid",
            takes_files=True,
        ),
        "logistic": _simple("logistic regression, labels only"),
        "svm": _simple("SVM, labels only"),
        "extra-trees": _simple("extremely random trees, labels only"),
        "self-training": _simple("self-training"),
        "spreading": _simple("label spreading, nearest neighbours"),
        "tuned-spreading": _simple("label spreading, best of several graphs"),
    }
    usual = "s3vm"
    options = ("unlabeled",)
    columns = ("probability",)
    fits = 2.2
    fits_to_come = 6  # its own, and five for probabilities
    solves_several = True
    score = "accuracy"
    terms = (
        (
            "Score",
            "The sign is the side of the boundary, the size the distance from it. Near 0 the "
            "model is uncertain. With several classes, it is the score of the predicted "
            "class.",
        ),
        (
            "Unlabelled rows",
            "Rows without a class. The model puts the boundary where they are rare, so they "
            "improve it too.",
        ),
    )

    def is_suitable(self, counts: Sequence[int], n_blank: int) -> bool:
        # Of so many values that most occur once, nobody could say that they are classes.
        are_classes = len(counts) == 2 or sum(counts) >= 2 * len(counts)
        return len(counts) > 1 and are_classes and n_blank > 0

    def class_names(self, training: Mapping[str, Any]) -> dict[int, str | None]:
        return dict(enumerate(training["classes"]))

    def format_score(self, score: float) -> str:
        return f"{100.0 * score:.1f} %"


SEMI_SUPERVISED = SemiSupervisedTask()
