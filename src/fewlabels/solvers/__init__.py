"""Solvers: each takes a problem and returns a Result with its certificate."""

from .decomposition import Settings, solve_decomposition
from .result import Result, Status

REFERENCE_SOLVERS = {}

__all__ = ["REFERENCE_SOLVERS", "Result", "Settings", "Status", "solve_decomposition"]
