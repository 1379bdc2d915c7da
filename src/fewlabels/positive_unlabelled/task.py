"""Some rows of one class, and unlabelled rows that hold more of it."""

from collections.abc import Sequence
from typing import ClassVar

from ..base.task import Method, Task

#: Losses of ``PUSVM``, and whether its problem is convex with them.
LOSSES = {"double-hinge": True, "ramp": False}


def _baseline(title: str) -> Method:
    return Method("PUBaseline", title, is_baseline=True)


class PositiveUnlabelledTask(Task):
    """Finding more rows of one class among unlabelled ones."""

    name = "positive_unlabelled"
    key = "positive"
    rows = "positive and unlabelled rows"
    methods: ClassVar[dict[str, Method]] = {
        "pusvm": Method(
            "PUSVM",
            "support vector machine for positive and unlabelled rows",
            probability="isotonic",
            takes_files=True,
        ),
        "pu-ensemble": Method("PUEnsemble", "ensemble for positive and unlabelled rows"),
        "forest": _baseline("tuned forest, unlabelled as negative"),
        "random-forest": _baseline("random forest, unlabelled as negative"),
        "pu-logistic": _baseline("logistic regression, unlabelled as negative"),
        "pu-svm": _baseline("SVM, unlabelled as negative"),
    }
    usual = "pu-ensemble"
    unlabelled = 0
    has_prior = True
    options = ("positive", "unlabeled")
    columns = ("positive", "probability")
    fits = 2.0
    score = "ROC AUC"
    terms = (
        (
            "Score",
            "Rows above 0 are predicted positive. Scores rank rows; their absolute size has "
            "no meaning.",
        ),
        (
            "Unlabelled rows",
            "Rows whose label is unknown. Some of them are positive, so the model doesn't "
            "treat them as negatives.",
        ),
        (
            "Share expected (prior)",
            "The share of positives among the unlabelled rows. The estimate assumes that the "
            "labelled rows are a random sample of all positives. If only obvious cases were "
            "labelled, it is too low. If no row is clearly negative, it may be too high. The "
            "interval covers neither.",
        ),
    )

    def is_suitable(self, counts: Sequence[int], n_blank: int) -> bool:
        return len(counts) == 1 and n_blank > 0


POSITIVE_UNLABELLED = PositiveUnlabelledTask()
