"""Rows in memory, as a fit takes them."""

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np

from ..kernels import centered
from ..kernels.rows import shift_of
from ..kernels.width import resolve_gamma
from ..problem import DualProblem
from ..solvers import solve_decomposition
from ..solvers.whole import gram_over
from .source import RowSource, Stated, check_width, spread_over
from .spec import Solved

NOTHING_LEFT = "Invalid input - all samples have zero or negative weights."


class HeldOut(NamedTuple):
    """Which rows a split holds out, as a mask, and the weights of all rows."""

    mask: np.ndarray
    weight: np.ndarray


@dataclass(frozen=True, eq=False)
class MemorySource(RowSource):
    """Rows in memory, checked: dense or CSR, or a kernel matrix."""

    everything: np.ndarray  # all rows, or a CSR array
    weight: np.ndarray | None  # of the rows that count; None when they are all 1
    kept: np.ndarray | None  # indices of these, the rows of positive weight; None for all
    is_matrix: bool = False  # the rows of a kernel matrix
    anomalies: np.ndarray | None = None  # mask of all rows; None without confirmed anomalies
    held_out: HeldOut | None = None  # of a split, whose rows do not count
    X: np.ndarray = field(init=False)  # the rows that count; of a matrix, their columns

    def __post_init__(self):
        X = self.everything
        if self.kept is not None:
            X = X[self.kept][:, self.kept] if self.is_matrix else X[self.kept]
        object.__setattr__(self, "X", X)

    @property
    def indices(self):
        """Indices of the rows that count."""
        return np.arange(self.X.shape[0]) if self.kept is None else self.kept

    @cached_property
    def weights(self):
        """Weights of the rows that count."""
        return np.ones(self.X.shape[0]) if self.weight is None else self.weight

    @cached_property
    def anomaly(self):
        """Mask of the confirmed anomalies among the rows that count; None without any."""
        if self.anomalies is None:
            return None
        mask = self.anomalies if self.kept is None else self.anomalies[self.kept]
        if mask.all():
            raise ValueError(
                "anomalies marks every weighted row as a confirmed anomaly, but a one-class "
                "model needs normal rows; pass at least one."
            )
        return mask if mask.any() else None

    @cached_property
    def mass(self):
        """What normal rows weigh together."""
        weights = self.weights if self.anomaly is None else self.weights[~self.anomaly]
        return float(weights.sum())

    @property
    def numbers(self):
        """Numbers of the rows that count, by name, as a ``Formulation`` takes them."""
        numbers = {"weight": self.weights}
        return numbers if self.anomaly is None else numbers | {"anomaly": self.anomaly}

    def normal(self):
        """Normal rows that count, and their weights (None when they are all 1)."""
        if self.anomaly is None:
            return self.X, self.weight
        places = np.flatnonzero(~self.anomaly)
        return self.X[places], None if self.weight is None else self.weight[places]

    def spread(self, values):
        """Values of the rows that count, at all rows; 0 for the others."""
        if self.kept is None:
            return values
        everywhere = np.zeros(self.everything.shape[0])
        everywhere[self.kept] = values
        return everywhere

    @property
    def marks(self):
        """What a model that is updated has to know of all rows, by name."""
        marks = {"weight": self.spread(self.weights)}
        if self.held_out is not None:
            marks = {"weight": self.held_out.weight, "calibrates": self.held_out.mask}
        return marks if self.anomalies is None else marks | {"anomaly": self.anomalies}

    def without(self, mask):
        """The same where some of all rows do not count."""
        chosen = np.flatnonzero(~mask[self.indices])
        if not len(chosen):
            raise ValueError(NOTHING_LEFT)
        weight = None if self.weight is None else self.weight[chosen]
        return replace(self, weight=weight, kept=self.indices[chosen])

    # -- as a source of rows ---------------------------------------------------------------------

    @property
    def shape(self):
        return self.everything.shape

    @property
    def n_counting(self):
        return self.X.shape[0]

    is_in_memory = True

    @property
    def can_be_held(self):
        return not self.is_matrix

    def gamma(self, rule):
        return resolve_gamma(rule, *self.normal())

    def check(self, kernel, *, width):
        kernel.check_powers(self.X)
        if width and kernel.is_mapped and kernel.of_distance:
            check_width(kernel, self.X)

    def shift(self, kernel):
        return shift_of(kernel, self.X)

    def gram(self, kernel, shift, make):
        return make(kernel, centered(self.X, shift))

    def stated(self, kernel, formulation, n_jobs):
        shift = self.shift(kernel) if formulation.moves_with_rows else None
        fewest = formulation.min_support(self.mass)
        gram = gram_over(kernel, centered(self.X, shift), n_jobs, fewest=fewest)
        numbers = self.numbers
        if formulation.needs_diagonal:
            numbers = numbers | {"diagonal": gram.diagonal()}
        return StatedInMemory(self, formulation.problem(gram, numbers, self.mass), shift)

    def split(self, mask):
        held = None
        if self.is_matrix:  # which nobody keeps
            held = self.everything[mask], {"diagonal": np.diag(self.everything)[mask]}
        own = HeldOut(mask, self.spread(self.weights))
        return replace(self.without(mask), held_out=own), held


@dataclass(frozen=True, eq=False)
class StatedInMemory(Stated):
    """The problem of a model over rows in memory."""

    source: MemorySource
    problem: DualProblem
    shift: np.ndarray | None

    def sample(self):
        gram = self.problem.gram
        return gram.take(spread_over(gram.n)), float(self.problem.ridge.mean())

    def solve(self, settings, start=None):
        """See ``Stated``; ``start`` may be an earlier ``Result``."""
        return self.solved(solve_decomposition(self.problem, start, settings))

    def solved(self, result):
        """A result as what is solved."""
        return Solved(self.source.X, self.source.indices, self.problem, result)
