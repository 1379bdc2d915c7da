"""One block of problem (P), by pair steps in compiled code.

    minimise  1/2 a' Q a + sum phi_i(a_i)   over a with a fixed sum

by moving mass between two variables at a time. The pair is chosen by second-order
information (Fan, Chen & Lin 2005, working set selection 2), generalised to penalties
with a kink: i has the lowest slope to the right, j promises the largest decrease.
"""

from __future__ import annotations

from enum import Enum

import numpy as np

from . import _penalty as code


class Outcome(Enum):
    """Why pair steps ended."""

    DONE = code.DONE
    STEP_LIMIT = code.STEP_LIMIT
    #: Rounding allows no step.
    STUCK = code.STUCK
    #: The objective falls for ever.
    UNBOUNDED = code.UNBOUNDED
    #: Many solutions are equal, or too many variables are between breakpoints.
    SINGULAR = code.SINGULAR


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


def finish_block(Q, g, a, penalty, goal, largest, budget):
    """Newton steps on the variables between breakpoints until the violation is at most ``goal``.

    Each goes as far as the first breakpoint. After one that went the whole way, a few pair steps
    let a variable in the wrong state join the others.

    Parameters
    ----------
    Q, g, a, penalty
        As in ``solve_block``.
    goal : float
        What counts as rounding.
    largest : int
        Most variables of a Newton step.
    budget : float
        What the steps may cost; a step of 200 variables costs 1.1.

    Returns
    -------
    steps : int
        Pair steps.
    budget : float
        What is left of it.
    outcome : Outcome
        ``STEP_LIMIT`` when the budget is used up, ``STUCK`` when nothing can move.
    """
    steps, budget, ended = code.finish_block(
        Q, g, a, *penalty.arrays(), float(goal), int(largest), float(budget)
    )
    return steps, budget, Outcome(ended)


def add_products(Q, a, g):
    """``g + Q a`` of a symmetric Q, in place, from the entries of ``a`` that are not zero."""
    used = np.flatnonzero(a)
    code.add_products(Q, used, a[used], g)
    return g
