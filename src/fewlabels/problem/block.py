"""One block of problem (P), by pair steps in compiled code.

    minimise  1/2 a' Q a + sum phi_i(a_i)   over a with a fixed sum

by moving mass between two variables at a time. The pair is chosen by second-order
information (Fan, Chen & Lin 2005, working set selection 2), generalised to penalties
with a kink: i has the lowest slope to the right, j promises the largest decrease.
"""

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
    #: Many solutions are equal, or too many variables are in use.
    SINGULAR = code.SINGULAR


def solve_block(Q, g, a, penalty, tol, max_steps):
    """Pair steps until the KKT violation within the block is at most ``tol``.

    Q (C-contiguous, symmetric) is the block of the whole problem's; its variables ``a`` and their
    gradient ``g`` are changed in place. Returns the steps and the Outcome.
    """
    steps, _, outcome = _solved(Q, g, a, penalty, None, tol, max_steps, 0.0, 0, 0.0)
    return steps, outcome


def finish_block(Q, g, a, penalty, goal, largest, budget):
    """Newton steps on the variables between breakpoints until the violation is at most ``goal``.

    Each goes as far as the first breakpoint. After one that went the whole way, a few pair steps
    let a variable in the wrong state join the others. No step takes more than ``largest``
    variables; together they may cost ``budget``, where one of 200 variables costs 1.1. Returns the
    pair steps, what is left of the budget (``STEP_LIMIT`` when nothing is), and the Outcome, which
    is ``STUCK`` when nothing can move.
    """
    return _solved(Q, g, a, penalty, None, 0.0, 0, goal, max(1, largest), budget)


def solve_whole(Q, g, a, penalty, met, tol, max_steps, goal, largest, budget):
    """``solve_block``, and ``finish_block`` after it unless ``largest`` is 0, of a whole problem.

    Its gradient is Q a, and is computed afresh in between. Where steps come first, the ``goal`` is
    a thirteenth digit of the multiplier, if that is more. ``met`` says which rows of Q are there
    yet and has others evaluated, see ``solvers.whole.Met``. Returns what ``finish_block`` does.
    """
    return _solved(Q, g, a, penalty, met, tol, max_steps, goal, largest, budget)


def _solved(Q, g, a, penalty, met, tol, max_steps, goal, largest, budget):
    """Any of these: one compiled function does them, so that a first fit loads one."""
    ready = np.ones(len(a), bool) if met is None else met.ready
    diagonal = Q.diagonal().copy() if met is None else met.diagonal
    steps, ended, far = 0, code.MISSING, np.empty(len(a))
    while ended == code.MISSING:
        done, budget, ended = code.solve_block(
            Q, diagonal, ready, g, a, *penalty.arrays(), far,
            float(tol), int(max_steps) - steps, float(goal), int(largest), float(budget),
        )  # fmt: skip
        steps += done
        if ended == code.MISSING and not met.meet(far):
            ended = code.SINGULAR
    return steps, budget, Outcome(ended)


def add_products(Q, a, g):
    """``g + Q a`` of a symmetric Q, in place, from the entries of ``a`` that are not zero."""
    used = np.flatnonzero(a)
    code.add_products(Q, used, a[used], g)
    return g
