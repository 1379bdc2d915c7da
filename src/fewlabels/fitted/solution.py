"""What a fit found: a function, and what can be said about it."""

import json
from dataclasses import dataclass, field, fields

import numpy as np

from .conformal import TIE, TIE_FLOAT32, Conformal
from .function import TAIL, Function

# Values below this share of the terms they are summed from are rounding.
ROUNDING = 1e-12


@dataclass(frozen=True, eq=False, kw_only=True)
class Solution:
    """The function of a machine with its certificate."""

    function: Function
    support: np.ndarray  # training rows that are its vectors, int32; -1 for those leaving
    n_support: np.ndarray  # their number, by class
    n_iter: int
    history: list = field(repr=False)
    converged: bool
    objective: float = np.nan
    duality_gap: float = np.inf

    def __getstate__(self):
        # One text in place of many small objects.
        state = {entry.name: getattr(self, entry.name) for entry in fields(self)}
        return {**state, "history": json.dumps(self.history, default=float)}

    def __setstate__(self, state):
        for name, value in state.items():
            object.__setattr__(self, name, json.loads(value) if name == "history" else value)


@dataclass(frozen=True, eq=False, kw_only=True)
class OneClassSolution(Solution):
    """The ``Solution`` of a machine of one class; its function gives ``score_samples``."""

    intercept: float  # decisions are the part of the score that depends on the row, plus this
    scale: float = 1.0  # scores by machines of other rows compare when divided by this
    size: float  # what a score is summed from: rounding is a share of it
    rate: float | None = None  # of new normal rows that may be rejected
    radius: float = np.nan  # of a ball
    is_point: bool = False  # the ball shrank to one, as slack is cheaper than a radius

    def comparable(self, score):
        """Scores on no machine's scale, as ``Conformal.scores`` are."""
        return (score - self.function.bias) / self.scale

    def calibrated(self, scores):
        """The ``Conformal`` of sorted scores of rows that were not trained on."""
        share = TIE_FLOAT32 if self.function.float64 is False else TIE
        # Sums of positive terms are as exact as these, relative to themselves.
        is_relative = self.function.kernel.is_similarity
        return Conformal(
            scores=scores,
            shift=self.function.bias,
            scale=self.scale,
            tie=share if is_relative else share * self.size,
            relative=is_relative,
            tail=self.function.tail / self.scale,
            rate=self.rate,
        )


@dataclass(frozen=True, eq=False)
class Certificate:
    """How good the function of a semi-supervised machine is, and what it says of its rows.

    Of several classes the first two are arrays, and ``positive`` is the class by its number.
    """

    objective: float
    violation: float  # of the conditions of optimality, the largest
    positive: np.ndarray  # which training rows it finds on the positive side


def edges_of_scores(kernel, size, boundary):
    """The ``boundary`` of a function, what counts as on it, and where its log scale begins."""
    rounding = ROUNDING * size
    if not kernel.is_similarity:
        return {"boundary": boundary, "rounding": rounding}
    rounding, tail = min(rounding, TIE * abs(boundary)), TAIL * max(boundary, 0.0)
    return {"boundary": boundary, "rounding": rounding, "tail": tail}
