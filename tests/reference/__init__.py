"""Slow, obvious twins of what the package computes; nothing here imports its code."""

from .certificates import dual_bound, kkt_residual, objective, penalty_value
from .kernels import kernel_matrix, kernel_value
from .qp import solve_qp

__all__ = [
    "dual_bound",
    "kernel_matrix",
    "kernel_value",
    "kkt_residual",
    "objective",
    "penalty_value",
    "solve_qp",
]
