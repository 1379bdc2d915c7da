"""Exact finish: a working set solved to rounding by Newton and pair steps."""

import numpy as np

from ..._core.functions import Outcome, add_products, finish_block, solve_block
from ..._typing import FloatArray
from ...problem import Penalty
from ..newton import newton_step

# A budget of Newton steps of up to _CHEAP variables; larger ones count by their cube.
_BUDGET = 60.0
_CHEAP = 200
# Newton steps of no more variables are taken in compiled code.
_COMPILED = 512
# Pair steps per variable between Newton steps, and what it costs to need them all.
_STEPS_BETWEEN = 10
_LIMIT_COSTS = 5.0


class Finish:
    """Newton steps of no more than ``largest`` variables, as long as the budget lasts."""

    def __init__(self, largest: int) -> None:
        self.largest = largest
        self.left = _BUDGET if largest else 0.0
        self.has_begun = False

    def solve(
        self,
        Q: FloatArray,
        penalty: Penalty,
        a: FloatArray,
        g: FloatArray,
        goal: float,
        max_steps: int,
    ) -> int:
        """Solve a block until its violation is at most ``goal``, or nothing more is to be had.

        ``a`` and ``g`` are changed in place; how many pair steps that took.
        """
        self.has_begun = True
        a_before, g_before = a.copy(), g.copy()
        a[:] = penalty.remove_rounding(a, a.sum(), Q.diagonal())
        g[:] = advance_gradient(Q, a_before, a, g_before)
        n_steps = 0
        while self.left > 0:
            steps, self.left, outcome = finish_block(
                Q, g, a, penalty, goal, min(self.largest, _COMPILED), self.left
            )
            n_steps += steps
            if outcome is not Outcome.SINGULAR:
                break
            # By LAPACK: a factor of many variables, or a choice among solutions that are equal.
            step = newton_step(Q, penalty, a, g)
            if step is None:
                break
            free, values, full = step
            self.left -= max(1.0, (len(free) / _CHEAP) ** 3)
            change = np.zeros(len(a))
            change[free] = values - a[free]
            add_products(Q, change, g)
            a[free] = values
            if not full:
                # Cut short by a breakpoint: another one follows.
                continue
            # What is left are rows in the wrong state, which pair steps find.
            violation = penalty.survey(a, g).violation
            if violation <= goal or n_steps >= max_steps:
                break
            limit = min(max_steps - n_steps, _STEPS_BETWEEN * len(a))
            steps, outcome = solve_block(Q, g, a, penalty, max(0.5 * goal, 0.1 * violation), limit)
            n_steps += steps
            self.left -= 1.0
            if outcome is Outcome.STEP_LIMIT:
                # Perhaps all states are right by now: a Newton step tells. Not many more.
                self.left -= _LIMIT_COSTS
            if outcome is Outcome.STUCK:
                break
        g[:] = advance_gradient(Q, a_before, a, g_before)
        return n_steps


def advance_gradient(
    Q: FloatArray, before: FloatArray, after: FloatArray, g: FloatArray | float
) -> FloatArray:
    """Return the gradient after a change of variables, by one product.

    Thousands of small steps leave more rounding in it than that.
    """
    return g + add_products(Q, after - before, np.zeros(len(after)))
