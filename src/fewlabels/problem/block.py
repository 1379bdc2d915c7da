"""One block of problem (P), by pair steps in compiled code.

    minimise  1/2 a' Q a + sum phi_i(a_i)   over a with a fixed sum

by moving mass between two variables at a time. The pair is chosen by second-order
information (Fan, Chen & Lin 2005, working set selection 2), generalised to penalties
with a kink: i has the lowest slope to the right, j promises the largest decrease.
"""

from enum import Enum

import numpy as np

from .._core import block as code

#: Violation relative to the multiplier that counts as none.
EXACT = code.EXACT

# Rows of Q that are evaluated together, at most.
_MOST_WANTED = 32


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
    steps, _, outcome = _solved(Q, g, a, penalty, tol, max_steps, 0.0, 0, 0.0)
    return steps, outcome


def finish_block(Q, g, a, penalty, goal, largest, budget):
    """Newton steps on the variables between breakpoints until the violation is at most ``goal``.

    Each goes as far as the first breakpoint, where a variable stays. After one that went the whole
    way, a few pair steps let a variable in the wrong state join the others. No step takes more
    than ``largest`` variables; together they may cost ``budget``, where the first one of 200
    variables costs 1.1 and those that follow .1. Returns the pair steps, what is left of the
    budget (``STEP_LIMIT`` when nothing is), and the Outcome, which is ``STUCK`` when nothing can
    move.
    """
    return _solved(Q, g, a, penalty, 0.0, 0, goal, max(1, largest), budget)


def solve_whole(g, a, penalty, met, tol, max_steps, goal, largest, budget):
    """``solve_block``, and ``finish_block`` after it unless ``largest`` is 0, of a whole problem.

    Its gradient is Q a, and is computed afresh in between. Where steps come first, the ``goal`` is
    a thirteenth digit of the multiplier, if that is more. ``met`` has the rows of Q that are there
    yet and has others evaluated, see ``solvers.whole.Met``. Returns what ``finish_block`` does.
    """
    pieces, wanted = penalty.pieces, np.empty(0 if met.whole else _MOST_WANTED, np.int64)
    # Pair steps go through the columns of the rows that are there: these together, as they come.
    part, joined = np.empty((0, 0)), len(a) if met.whole else 0
    steps, ended = 0, code.MISSING
    work = code.workspace(len(a), int(largest))
    while ended == code.MISSING:
        count = len(met.here)
        if count > max(joined, len(part)):
            part, joined = np.empty((2 * count, 2 * count)), 0
        done, budget, ended = code.solve_block(
            met.Q, met.here, met.place, part, joined, met.diagonal, g, a, pieces, wanted,
            float(tol), int(max_steps) - steps, float(goal), int(largest), float(budget), work,
        )  # fmt: skip
        steps, joined = steps + done, count
        if ended == code.MISSING and not met.meet(wanted[wanted >= 0]):
            ended = code.SINGULAR
    return steps, budget, Outcome(ended)


def _solved(Q, g, a, penalty, tol, max_steps, goal, largest, budget):
    """Either, where all of Q is there: the function that solves whole problems, so that one loads.

    It wants no rows.
    """
    n = len(a)
    order, part, wanted = np.arange(n), np.empty((0, 0)), np.empty(0, np.int64)
    steps, budget, ended = code.solve_block(
        Q, order, order, part, n, Q.diagonal().copy(), g, a, penalty.pieces, wanted,
        float(tol), int(max_steps), float(goal), int(largest), float(budget),
        code.workspace(n, int(largest)),
    )  # fmt: skip
    return steps, budget, Outcome(ended)


def add_products(rows, change, g):
    """``g + change @ rows`` in place, from the entries of ``change`` that are not zero."""
    used = np.flatnonzero(change)
    code.add_products(rows, used, change[used], g)
    return g
