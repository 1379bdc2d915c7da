"""Solvers: each takes a problem and returns a Result with its certificate."""

from .decomposition import solve_decomposition
from .references import REFERENCE_SOLVERS, check_solver_options
from .run import Result, Settings, Status

__all__ = [
    "REFERENCE_SOLVERS",
    "Result",
    "Settings",
    "Status",
    "check_solver_options",
    "solve_decomposition",
]
