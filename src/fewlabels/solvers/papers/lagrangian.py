"""Algorithm 1 of the paper (L-SVDD): a fixed-point iteration on the multiplier.

    minimise_a   1/2 a' Q a - v' a   subject to   a >= 0     (13), see ``penalised.py``

The conditions (14) hold exactly where ``Q a - v = (Q a - v - gamma a)_+`` (15), which is
iterated as

    a_{k+1} = Q^-1 (v + (Q a_k - v - gamma a_k)_+)                              (16)

from ``a_0 = Q^-1 v`` until ``||a_k - a_{k-1}|| <= epsilon``; it converges r-linearly for
``0 < gamma < 1 / C`` (Proposition 2), where the paper takes gamma = 0.95 / C (section 4.1).

Q^-1 is formed once, from the Cholesky factor. Two triangular solves per iteration would
read as much memory as one product with the inverse, but in sequence, where the product
uses every core; the condition number of Q, about 4 C rho n, leaves the explicit inverse
ten digits and the tolerance asks for five. Of the two products in (16) only one is left:
``w_{k+1} = Q a_{k+1} - v`` is the positive part that was just computed.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from scipy.linalg import blas, lapack

from ..._typing import FloatArray
from ...problem import DualProblem
from ..run import Callback
from .penalised import NOT_CONVEX, Iterate, PenalisedProblem, PenalisedResult, iterate


def solve_lagrangian(
    problem: DualProblem,
    *,
    rho: float = 200.0,
    epsilon: float = 1e-5,
    max_iter: int = 3000,
    rate: float = 0.95,
    callback: Callback | None = None,
) -> PenalisedResult:
    """Solve SVDD with squared slack by Algorithm 1, with ``gamma = rate / max(C_i)``.

    Stops when ``||a_k - a_{k-1}|| <= epsilon``; parameters as in section 4.1 of the paper. O(n^3)
    once and O(n^2) per iteration; two n x n matrices in memory. ``violation`` in the history is
    the largest entry of the residual of (15), ``inner_product`` is ``a_k'(Q a_k - v)``.
    """
    penalised = PenalisedProblem.from_problem(problem, rho, "lagrangian")
    inverse = invert(penalised.Q)
    start = _multiply_symmetric(inverse, penalised.v)
    steps = _iterate_fixed_point(inverse, penalised.v, penalised.gamma(rate), start, epsilon)
    return iterate(penalised, start, steps, max_iter, callback)


def _iterate_fixed_point(
    inverse: FloatArray, v: FloatArray, gamma: float, a: FloatArray, epsilon: float
) -> Iterator[Iterate]:
    w = np.zeros(len(a))  # Q a - v
    while True:
        w_next = np.maximum(w - gamma * a, 0.0)
        a_next = _multiply_symmetric(inverse, v + w_next)
        change = float(np.linalg.norm(a_next - a))
        violation = float(np.abs(w_next - w).max())
        a, w = a_next, w_next
        yield (
            a,
            change <= epsilon,
            {
                "violation": violation,
                "change": change,
                "inner_product": float(a @ w),
                "sum": float(a.sum()),
            },
        )


def invert(Q: FloatArray) -> FloatArray:
    """Lower triangle of Q^-1, in Fortran order; what lies above it is not defined."""
    factor, info = lapack.dpotrf(Q.T, lower=1, overwrite_a=0, clean=0)
    if info == 0:
        inverse, info = lapack.dpotri(factor, lower=1, overwrite_c=1)
    if info != 0:
        raise ValueError(NOT_CONVEX)
    return inverse


def _multiply_symmetric(lower: FloatArray, x: FloatArray) -> FloatArray:
    return blas.dsymv(1.0, lower, x, lower=1)
