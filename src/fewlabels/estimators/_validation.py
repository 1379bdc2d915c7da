"""Where machines that have not moved yet find their checks."""

from ..kernels.width import resolve_gamma
from .rows import check_rows, check_weight

__all__ = ["check_rows", "check_weight", "resolve_gamma"]
