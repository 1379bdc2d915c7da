"""The one problem (P): separable penalties, one equality, and its certificates."""

from .dual import DualProblem
from .penalty import Extent, Penalty, RowPenalties, Totals

__all__ = [
    "DualProblem",
    "Extent",
    "Penalty",
    "RowPenalties",
    "Totals",
]
