"""Path following: exact updates of a solution when rows arrive, leave or change."""

from ...problem import RowPenalties
from .follower import PathFollower

__all__ = ["PathFollower", "RowPenalties"]
