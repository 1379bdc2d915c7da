r"""Quality of a classifier from positive and unlabelled rows: no negatives needed.

Everything rests on two averages that such data allow: over the rows labelled positive
(P), which are taken for a random sample of all positives, and over the rows of the
population (X). The prior :math:`\pi` is the share of positives in X, and ``convention`` says
what X is:

* ``"unlabeled"``: X are the unlabelled rows, as if positives had been collected apart from
  them (case-control; du Plessis et al. 2015). ``PUSVM.prior_`` is such a prior.
* ``"pooled"``: X are all rows, as if one sample had been drawn and some of its positives
  been labelled (single training set; Elkan & Noto 2008; pulearn).

``fewlabels.class_prior`` converts one prior into the other. Estimates are not clipped: a
recall times prior above the share predicted positive gives a precision above 1, and tells
that prior, labels or sample size cannot be trusted.

``benjamini_hochberg`` is about something else: which rows to report, from their p-values; and so
is ``calibration_error``: whether probabilities are frequencies, on rows with known classes.
"""

from .calibration import calibration_error
from .false_discovery import benjamini_hochberg
from .scorers import make_pu_scorer
from .scores import lee_liu_score, pu_accuracy, pu_auc, pu_f1, pu_precision, pu_recall, pu_risk

__all__ = [
    "benjamini_hochberg",
    "calibration_error",
    "lee_liu_score",
    "make_pu_scorer",
    "pu_accuracy",
    "pu_auc",
    "pu_f1",
    "pu_precision",
    "pu_recall",
    "pu_risk",
]
