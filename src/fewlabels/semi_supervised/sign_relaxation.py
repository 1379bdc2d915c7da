"""The signs of a semi-supervised SVM as a tree of convex problems.

    min over f and signs s    1/2 |w|^2 + sum_L C_i hinge(y_i f_i) + sum_U C*_i hinge(s_i f_i)

is problem (1) of Gu et al. (2018), and convex once s is given. A node gives signs to some of the
unlabelled rows and leaves the loss of the others out (Chapelle, Sindhwani & Keerthi 2007): every
feasible point of its dual bounds all that the node contains from below. A balancing constraint
is linear in f, so that every node has it, over all unlabelled rows.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .._core.functions import Outcome, solve_block
from .._typing import FloatArray, IntArray
from ..kernels.operators import GramOperator
from ..problem import DualProblem, Penalty
from ..solvers.decomposition import solve_decomposition, warm_start
from ..solvers.newton import newton_step
from ..solvers.run import MAX_ROWS_SOLVED_WHOLE, Result, Settings, Status
from .problem import with_target

# Up to so many variables the whole matrix is kept and a node costs microseconds.
_MAX_DENSE_VARIABLES = 300
# Violation to which problems of nodes are solved, in units of f.
_TOL = 1e-4
# Violation to which the engine solves leaves.
_TOL_LEAF = 1e-8
# Pair steps per variable before the first Newton step.
_STEPS_PER_VARIABLE = 2
# Growth of the pair steps from one Newton step to the next.
_STEP_GROWTH = 1.5
# Pair steps between two Newton steps at most.
_MAX_STEPS = 200_000
# Newton steps at most.
_MAX_NEWTON_STEPS = 40
# Relative gap between value and bound at which a leaf is solved.
_MAX_GAP_OF_LEAF = 1e-12
# A kernel matrix with an eigenvalue below minus this share of the largest is not an inner product.
_INDEFINITE = 1e-8
# Decisions this small have no sign.
_ZERO_DECISION = 1e-10


@dataclass
class SignNode:
    """The optimum of rows with a label or sign: ``side``, shape (n,), 0 where none is given.

    ``a`` is a feasible point of the dual, nearly optimal, and ``gradient`` is ``Q a``, both of
    length n, or n + 1 with the virtual row of the balancing constraint; ``bound`` is the dual
    objective.
    """

    side: FloatArray
    a: FloatArray
    gradient: FloatArray
    bound: float


@dataclass
class SignSolution:
    """A solution for given signs of all rows; ``f = gradient - multiplier``."""

    sign: FloatArray
    a: FloatArray
    gradient: FloatArray
    multiplier: float


class SignRelaxation:
    """Nodes of a semi-supervised SVM for ``branch_and_bound``.

    ``gram`` is K over all rows, with ``target`` (the mean of f over the unlabelled rows) bordered
    by their mean; ``side`` is +1 or -1 where a label or sign is given, 0 for rows to be decided;
    ``price`` is the cost of the loss of every row. ``start`` is ``a`` and ``Q a`` of a similar
    problem, for the root. Only with ``dense`` (None decides by size), when the whole kernel matrix
    is kept, is K checked: bounds hold for inner products.
    """

    def __init__(
        self,
        gram: GramOperator,
        side: FloatArray,
        price: FloatArray,
        target: float | None = None,
        *,
        start: tuple[FloatArray, FloatArray] | None = None,
        dense: bool | None = None,
    ) -> None:
        self.gram, self.target = gram, target
        self.side = np.asarray(side, dtype=float)
        self.price = np.asarray(price, dtype=float)
        self.n = len(self.side)
        self.undecided = np.flatnonzero(self.side == 0)
        self._start = start
        self._diagonal = gram.diagonal()[: self.n]
        dense = gram.n <= _MAX_DENSE_VARIABLES if dense is None else dense
        self._Q: FloatArray | None = gram.block(np.arange(gram.n)) if dense else None
        if self._Q is not None:
            _check_bounds(self._Q)
        self._tried: set[bytes] = set()

    # -- what branch_and_bound asks for --------------------------------------------------------

    def root(self) -> SignNode:
        if self._start is None:
            zero = np.zeros(self.gram.n)
            return self._solve_node(self.side, zero, zero, np.inf)
        a, gradient = self._feasible(self.side, *self._start)
        return self._solve_node(self.side, a, gradient, np.inf)

    def is_leaf(self, node: SignNode) -> bool:
        return not np.any(node.side == 0)

    def complete(self, node: SignNode, cutoff: float) -> tuple[float, SignSolution] | None:
        """Every row gets the sign of f; then signs follow f as long as that helps."""
        sign = self._follow(node.side, self._decision(node), np.ones(self.n))
        return self.descend(sign, node.a, node.gradient, cutoff)

    def split(self, node: SignNode, cutoff: float) -> tuple[list[SignNode], int]:
        """Both signs of the row for which the wrong one costs most, the cheaper one first."""
        free = np.flatnonzero(node.side == 0)
        f = self._decision(node)[free]
        i = free[np.argmax(np.maximum(self._cost(free, 1.0 - f), self._cost(free, 1.0 + f)))]
        children = []
        for sign in (1.0, -1.0):
            side = node.side.copy()
            side[i] = sign
            children.append(self._solve_node(side, node.a, node.gradient, cutoff))
        return sorted(children, key=lambda child: child.bound), 2

    def descend(
        self, sign: FloatArray, a: FloatArray, gradient: FloatArray, cutoff: float = np.inf
    ) -> tuple[float, SignSolution] | None:
        """Return a local minimum from given signs.

        Rows to be decided follow f as long as that helps.

        Begins at a point that is feasible for these or similar signs. Returns value and
        SignSolution; None when nothing below ``cutoff`` was found, or the signs were tried before.
        """
        found = None
        while self._key(sign) not in self._tried:
            self._tried.add(self._key(sign))
            a, gradient = self._feasible(sign, a, gradient)
            leaf = self._solve_node(sign, a, gradient, cutoff)
            a, gradient = leaf.a, leaf.gradient
            if leaf.bound >= cutoff:
                break
            value = self.value(sign, a, gradient)
            if value < cutoff:
                multiplier = self.multiplier(sign, a, gradient)
                found, cutoff = (value, SignSolution(sign, a, gradient, multiplier)), value
            sign = self._follow(self.side, self._decision(leaf), sign)
        return found

    # -- convex problems ---------------------------------------------------------------------

    def _cost(self, rows: IntArray, lack: FloatArray) -> FloatArray:
        """Return the dual's gain by a row's variable alone, ``lack`` below its margin."""
        step = np.clip(lack / np.maximum(self._diagonal[rows], 1e-300), 0.0, self.price[rows])
        return step * (lack - 0.5 * self._diagonal[rows] * step)

    def _penalty(self, side: FloatArray) -> Penalty:
        return with_target(Penalty.hinge(side, self.price), self.target)

    def _feasible(
        self, side: FloatArray, a: FloatArray, gradient: FloatArray
    ) -> tuple[FloatArray, FloatArray]:
        """Return the nearest point that is feasible for ``side``, with its gradient."""
        end = side * self.price
        real = a[: self.n]
        if np.all(real >= np.minimum(end, 0.0)) and np.all(real <= np.maximum(end, 0.0)):
            return a, gradient
        start = warm_start(DualProblem(self.gram, self._penalty(side), 0.0), a, gradient)
        return start.a, start.gradient

    def _solve_node(
        self, side: FloatArray, a: FloatArray, gradient: FloatArray, cutoff: float
    ) -> SignNode:
        """Return the node of ``side``, from a point that is feasible for it."""
        penalty, leaf = self._penalty(side), bool(np.all(side))
        if self._Q is None:
            a, gradient = self._by_engine(penalty, a, gradient, leaf)
        else:
            a, gradient = self._by_pairs(penalty, side, a.copy(), gradient.copy(), cutoff, leaf)
        return SignNode(side, a, gradient, self._bound(penalty, a, gradient))

    @staticmethod
    def _bound(penalty: Penalty, a: FloatArray, gradient: FloatArray) -> float:
        return -float(0.5 * a @ gradient + penalty.slopes[-1] @ a)

    def _by_pairs(
        self,
        penalty: Penalty,
        side: FloatArray,
        a: FloatArray,
        gradient: FloatArray,
        cutoff: float,
        leaf: bool,
    ) -> tuple[FloatArray, FloatArray]:
        """Pair steps, and Newton steps where they are slow or a leaf is to be exact."""
        Q, tol = self._Q, _TOL
        assert Q is not None
        n_steps = _STEPS_PER_VARIABLE * len(a)
        for _ in range(_MAX_NEWTON_STEPS):
            _, outcome = solve_block(Q, gradient, a, penalty, tol, n_steps)
            bound = self._bound(penalty, a, gradient)
            if bound >= cutoff or (outcome is Outcome.DONE and not leaf):
                break
            if leaf and self.value(side, a, gradient) - bound <= _MAX_GAP_OF_LEAF * abs(bound):
                break
            step = newton_step(Q, penalty, a, gradient)
            if step is not None:
                free, values, _ = step
                gradient += (values - a[free]) @ Q[free]
                a[free] = values
            if outcome is Outcome.DONE:
                tol *= 0.1
            n_steps = min(_MAX_STEPS, int(_STEP_GROWTH * n_steps))
        return a, gradient

    def _by_engine(
        self, penalty: Penalty, a: FloatArray, gradient: FloatArray, leaf: bool
    ) -> tuple[FloatArray, FloatArray]:
        problem = DualProblem(self.gram, penalty, 0.0)
        start = Result(a, gradient, 0.0, np.nan, np.inf, np.inf, Status.STOPPED, 0)
        settings = Settings(
            tol=_TOL_LEAF if leaf else _TOL, polish=MAX_ROWS_SOLVED_WHOLE if leaf else 0
        )
        result = solve_decomposition(problem, start, settings)
        if result.status is Status.INTERRUPTED:
            raise KeyboardInterrupt
        return result.a, result.gradient

    # -- the function ---------------------------------------------------------------------------

    def multiplier(self, side: FloatArray, a: FloatArray, gradient: FloatArray) -> float:
        """Return the multiplier of the equality.

        The balancing constraint holds exactly with it.
        """
        if self.target is not None:
            return float(gradient[-1] - self.target)
        end = side * self.price
        between = (a != 0.0) & (a != end)
        if between.any():
            return float(np.mean((gradient - side)[between]))
        # Anything from what rows that may shrink ask for to what those that may grow allow.
        wanted, given = gradient - side, side != 0
        most = wanted[given & (a < np.maximum(end, 0.0))].min(initial=np.inf)
        least = wanted[given & (a > np.minimum(end, 0.0))].max(initial=-np.inf)
        return float(np.mean([v for v in (least, most) if np.isfinite(v)]))

    def value(self, side: FloatArray, a: FloatArray, gradient: FloatArray) -> float:
        """Return the objective of the function for given signs.

        Rows without a sign cost nothing.
        """
        f = gradient[: self.n] - self.multiplier(side, a, gradient)
        loss = np.where(side != 0, np.maximum(0.0, 1.0 - side * f), 0.0)
        return 0.5 * float(a @ gradient) + float(self.price @ loss)

    def _decision(self, node: SignNode) -> FloatArray:
        return node.gradient[: self.n] - self.multiplier(node.side, node.a, node.gradient)

    def _follow(self, side: FloatArray, f: FloatArray, before: FloatArray) -> FloatArray:
        """Return signs of f where ``side`` gives none."""
        sign = np.where(np.abs(f) <= _ZERO_DECISION, before, np.sign(f))
        return np.where(side != 0, side, sign)

    def _key(self, sign: FloatArray) -> bytes:
        return np.packbits(sign[self.undecided] > 0).tobytes()


def _check_bounds(Q: FloatArray) -> None:
    """Refuse a matrix that is not an inner product: bounds would not hold."""
    values = np.linalg.eigvalsh(Q)
    if values[0] < -_INDEFINITE * values[-1]:
        raise ValueError(
            f"the kernel matrix has negative eigenvalues (from {values[0]:.3g} to "
            f"{values[-1]:.3g}), so the objective is unbounded below; use a positive "
            "semi-definite kernel, or another solver."
        )
