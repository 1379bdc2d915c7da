"""The one problem (P): separable penalties, one equality, and its certificates."""

from .dual import DualProblem
from .penalty import Penalty, RowPenalties
from .totals import Extent, Totals

__all__ = [
    "DualProblem",
    "Extent",
    "Penalty",
    "RowPenalties",
    "Totals",
]
