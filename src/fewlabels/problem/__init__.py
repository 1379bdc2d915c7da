"""The one problem (P): separable penalties, one equality, and its certificates."""

from .dual import DualProblem
from .one_class import one_class, svdd_linear, svdd_squared
from .penalty import Penalty, RowPenalties
from .positive_unlabelled import pu_double_hinge, pu_ramp_step, soft_labels
from .semi_supervised import s3vm_step
from .totals import Extent, Totals

__all__ = [
    "DualProblem",
    "Extent",
    "Penalty",
    "RowPenalties",
    "Totals",
    "one_class",
    "pu_double_hinge",
    "pu_ramp_step",
    "s3vm_step",
    "soft_labels",
    "svdd_linear",
    "svdd_squared",
]
