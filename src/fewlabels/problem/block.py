"""One block of problem (P), by pair steps in compiled code.

    minimise  1/2 a' Q a + sum phi_i(a_i)   over a with a fixed sum

by moving mass between two variables at a time. The pair is chosen by second-order
information (Fan, Chen & Lin 2005, working set selection 2), generalised to penalties
with a kink: i has the lowest slope to the right, j promises the largest decrease.
"""

from __future__ import annotations

from enum import Enum

from . import _penalty as code


class Outcome(Enum):
    """Why pair steps ended."""

    DONE = code.DONE
    STEP_LIMIT = code.STEP_LIMIT
    #: Rounding allows no step.
    STUCK = code.STUCK
    #: The objective falls for ever.
    UNBOUNDED = code.UNBOUNDED


def solve_block(Q, g, a, penalty, tol, max_steps):
    """Pair steps until the KKT violation within the block is at most ``tol``.

    Parameters
    ----------
    Q : float64 array of shape (q, q)
        Block of Q, C-contiguous.
    g, a : float64 arrays of shape (q,), changed in place
        Gradient ``(Q a)`` of the whole problem at the block's variables, and the variables.
    penalty : Penalty
        Of the block's variables.
    tol : float
        Tolerance.
    max_steps : int
        Limit on steps.

    Returns
    -------
    steps : int
    outcome : Outcome
    """
    steps, ended = code.solve_block(Q, g, a, *penalty.arrays(), float(tol), int(max_steps))
    return steps, Outcome(ended)
