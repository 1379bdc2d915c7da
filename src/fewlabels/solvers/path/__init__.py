"""Path following: exact updates of a solution when rows arrive, leave or change."""

from .follower import PathFollower
from .rows import RowPenalties

__all__ = ["PathFollower", "RowPenalties"]
