"""Solvers: each takes a problem and returns a Result with its certificate."""

from collections.abc import Callable

from .decomposition import solve_decomposition
from .papers.interior_point import solve_interior_point
from .papers.lagrangian import solve_lagrangian
from .papers.projected import solve_projected
from .qp import solve_qp
from .run import Result, Settings, Status

# Name, function and the accuracy that each is run with at least.
REFERENCE_SOLVERS: dict[str, tuple[Callable, float]] = {
    "lagrangian": (solve_lagrangian, 1e-5),
    "projected": (solve_projected, 1e-5),
    "interior-point": (solve_interior_point, 1e-10),
    "qp": (solve_qp, 1e-10),
}

__all__ = ["REFERENCE_SOLVERS", "Result", "Settings", "Status", "solve_decomposition"]
