"""Input and solution of the training of a positive-unlabelled model."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import TypeAlias

import numpy as np

from .._typing import BoolArray, FloatArray, IntArray, RowMatrix
from ..base.solution import Function, Solution
from ..calibration.curve import TwoSidedCurve
from ..kernels import Kernel, MappedKernel
from ..kernels.operators import Expansion, GramOperator, PrecomputedGram, RowMap, make_gram
from ..kernels.rows import DuplicateRows, equal_rows, row_keys
from ..problem import Penalty
from ..solvers import Result, Settings

# Given priors are refused when they would be wrong for one sample in a million.
_ERROR_PROBABILITY = 1e-6
_ROUNDING = 1e-10


class PUData:
    """Rows of a positive-unlabelled problem, as the kernel sees them.

    ``X`` (n, d), or the matrix of a precomputed kernel; a mask of positive rows; weights > 0, or
    None. With ``float64`` all kernel values are; with ``gathered`` the unlabelled rows' part of a
    matrix is copied, faster for several models. ``positive`` and ``unlabeled`` are indices of
    either kind, ``weight_...`` their weights; ``share_positive`` sum to one. ``factor`` multiplies
    the weights of the positive rows (None: 1), whose own ones are ``given_weight_positive``.
    """

    def __init__(
        self,
        X: RowMatrix,
        positive: BoolArray,
        weight: FloatArray | None,
        kernel: Kernel,
        n_jobs: int = 1,
        *,
        factor: FloatArray | None = None,
        float64: bool = False,
        gathered: bool = False,
    ) -> None:
        self.X = X
        self.kernel = kernel
        self.n_jobs = n_jobs
        self.float64, self.gathered = float64, gathered
        self.positive = np.flatnonzero(positive)
        self.unlabeled = np.flatnonzero(~positive)
        self.weight = weight
        weight = np.ones(X.shape[0]) if weight is None else weight
        self.factor = factor
        self.given_weight_positive = weight[self.positive]
        self.weight_positive = self.given_weight_positive * (1.0 if factor is None else factor)
        self.weight_unlabeled = weight[self.unlabeled]
        self.share_positive = self.weight_positive / self.weight_positive.sum()

    def with_factors(self, factor: FloatArray) -> PUData:
        """Return a copy with other factors of the positive rows."""
        positive = np.zeros(self.X.shape[0], dtype=bool)
        positive[self.positive] = True
        return PUData(
            self.X,
            positive,
            self.weight,
            self.kernel,
            self.n_jobs,
            factor=factor,
            float64=self.float64,
            gathered=self.gathered,
        )

    @cached_property
    def gram(self) -> GramOperator:
        """K over the unlabelled rows."""
        if self.gathered and self.kernel.is_matrix:
            values = self.X[np.ix_(self.unlabeled, self.unlabeled)]
            return PrecomputedGram(values, self.n_jobs)
        return self.gram_of(self.unlabeled)

    @cached_property
    def gram_positive(self) -> GramOperator:
        """K over the positive rows."""
        return self.gram_of(self.positive)

    @cached_property
    def gram_all(self) -> GramOperator:
        """K over all rows."""
        return self._make_gram(self.X)

    def gram_of(self, rows: IntArray) -> GramOperator:
        """Return K over some rows."""
        if self.kernel.is_matrix:
            return self.gram_all.take(rows)
        return self._make_gram(self.X[rows])

    def _make_gram(self, X: RowMatrix) -> GramOperator:
        dtype = np.float64 if self.float64 else None
        return make_gram(self.kernel, X, dtype=dtype, n_jobs=self.n_jobs, min_support=1.0)

    def diagonal(self, rows: IntArray) -> FloatArray:
        """Return K(x, x) of some rows."""
        if self.kernel.is_matrix:
            return np.diagonal(self.X)[rows].astype(float)
        return self.kernel.diagonal(self.X[rows])

    def expand_over_positives(self, coef: FloatArray) -> Expansion:
        """Return the function ``sum_P coef_i K(x_i, .)``, evaluated in float64."""
        if self.kernel.is_matrix:
            return Expansion(self.kernel, self.X, coef, columns=self.positive, n_jobs=self.n_jobs)
        return make_exact_expansion(self.kernel, self.X[self.positive], coef, self.n_jobs)

    def evaluate_all_rows(self, coef: FloatArray) -> tuple[FloatArray, float]:
        """Values of ``sum_i coef_i K(x_i, .)`` at all rows, in float64, and its squared norm."""
        used = np.flatnonzero(coef)
        if self.kernel.is_matrix:
            function = Expansion(self.kernel, self.X, coef[used], columns=used, n_jobs=self.n_jobs)
        else:
            function = make_exact_expansion(self.kernel, self.X[used], coef[used], self.n_jobs)
        f = function(self.X)
        if self.kernel.is_linear:
            return f, float(function.weights @ function.weights)
        return f, float(coef @ f)

    @cached_property
    def similarity(self) -> FloatArray:
        """Mean kernel value between each unlabelled row and the positive rows."""
        return self._mean_similarity(self.unlabeled)

    @cached_property
    def similarity_positive(self) -> FloatArray:
        """Mean kernel value between each positive row and all of them (itself included)."""
        return self._mean_similarity(self.positive)

    @cached_property
    def _copies(self) -> DuplicateRows | None:
        is_matrix = self.kernel.is_matrix
        return None if is_matrix else equal_rows(self.X)

    def _mean_similarity(self, rows: IntArray) -> FloatArray:
        if self._copies is None:
            return self.expand_over_positives(self.share_positive)(self.X[rows])
        # Of distinct rows with distinct ones.
        positive, others = self._copies.take(self.positive), self._copies.take(rows)
        share = np.bincount(positive.of, self.share_positive).astype(float, copy=False)
        vectors = self.X[self.positive[positive.first]]
        values = make_exact_expansion(self.kernel, vectors, share, self.n_jobs)(
            self.X[rows[others.first]]
        )
        return values[others.of]

    @cached_property
    def groups(self) -> IntArray:
        """A number for every unlabelled row; equal rows share it."""
        return np.unique(row_keys(self.X)[self.unlabeled], return_inverse=True)[1]

    @cached_property
    def positive_norm(self) -> float:
        """Squared norm of the mean of the positive rows in feature space."""
        return float(self.share_positive @ self.similarity_positive)

    def largest_prior(self) -> float:
        """Return what the prior exceeds with a probability of at most one in a million.

        ``P(set | unlabelled) >= prior P(set | positive)`` for the rows whose similarity to the
        (other) positives is at least t, for all t at once; frequencies are off by no more than
        Dvoretzky, Kiefer, Wolfowitz and Massart allow.
        """
        share = self.share_positive
        if share.max() > 0.5:
            return 1.0
        own = self.gram_positive.diagonal()
        others = (self.similarity_positive - share * own) / (1.0 - share)
        # An unlabelled row equal to a positive one is as similar, itself counted or not.
        others = np.minimum(others, self.similarity_positive) - _ROUNDING * np.abs(own).max()
        order = np.argsort(-others)
        threshold = others[order]
        among_positive = np.cumsum(share[order])
        order = np.argsort(self.similarity)
        weight = self.weight_unlabeled / self.weight_unlabeled.sum()
        below = np.concatenate([[0.0], np.cumsum(weight[order])])
        among_unlabeled = 1.0 - below[np.searchsorted(self.similarity[order], threshold)]
        slack_positive = _largest_deviation(self.weight_positive)
        slack_unlabeled = _largest_deviation(self.weight_unlabeled)
        useful = among_positive > slack_positive
        if not useful.any():
            return 1.0
        bound = (among_unlabeled + slack_unlabeled)[useful]
        bound /= (among_positive - slack_positive)[useful]
        return float(min(1.0, bound.min()))


@dataclass(frozen=True)
class PUSettings:
    """Parameters of a fit as numbers; ``engine`` has tolerance, limits, callback and seed.

    Weights of positive rows may be off by a factor of ``bias``. Lambda ``follows`` the number of
    positive rows when these come and go.
    """

    prior: float
    lam: float
    solver: str = "auto"
    engine: Settings = field(default_factory=Settings)
    bias: float = 1.0
    loss: str = "double-hinge"
    follows: bool = False


@dataclass
class PUSolution:
    """f(x) = sum_i coef_i K(x_i, x) + bias, with the bias that minimises the risk.

    ``f`` are values at the unlabelled rows, without bias; ``penalty`` belongs to their
    coefficients, sign reversed; ``objective`` and ``gap`` the regularised risk (4) and a bound on
    its distance to the optimum; ``result`` the (last) convex problem's; ``objectives`` the ramp
    loss's objectives by step.
    """

    coef: np.ndarray
    f: np.ndarray
    penalty: Penalty
    bias: float
    objective: float
    gap: float
    result: Result
    gram: GramOperator
    objectives: list[float] | None = None


def make_exact_expansion(
    kernel: Kernel, vectors: RowMatrix, coef: FloatArray, n_jobs: int
) -> Expansion:
    """Return the function ``sum_i coef_i K(x_i, .)``, evaluated in float64."""
    row_map = None
    if isinstance(kernel, MappedKernel):
        row_map = RowMap(kernel, vectors, np.dtype(np.float64))
    return Expansion(kernel, vectors, coef, row_map=row_map, n_jobs=n_jobs)


def _largest_deviation(weight: FloatArray) -> float:
    """Largest distance between an empirical distribution and the true one, nearly surely."""
    weight = weight / weight.max()
    size = weight.sum() ** 2 / np.sum(weight**2)
    return np.sqrt(np.log(4.0 / _ERROR_PROBABILITY) / (2.0 * size))


# Scores of positive and unlabelled rows as if they had not been trained on, with weights.
HeldOutScores: TypeAlias = tuple[tuple[FloatArray, FloatArray], tuple[FloatArray, FloatArray]]


@dataclass(frozen=True, eq=False, kw_only=True)
class PUFit(Solution):
    """The function of a model, and which training rows are labelled positive, or called so."""

    function: Function
    is_positive: BoolArray | None  # None of rows that aren't in memory


@dataclass(frozen=True, eq=False, kw_only=True)
class PUSVMFit(PUFit):
    """The solution of a PUSVM, with the weight of its norm and the intercept of least risk.

    ``objectives`` are those after each convex step of the ramp loss. ``held_out`` are scores and
    weights of the positive rows, as if these had not been trained on, and of the unlabelled
    ones; None where nobody requested them yet.
    """

    lam: float
    risk_intercept: float
    objectives: list[float] | None = None
    held_out: HeldOutScores | None = None


@dataclass(frozen=True, eq=False, kw_only=True)
class PUEnsembleFit(PUFit):
    """The solution of a PUEnsemble, with its curve from decisions to probabilities."""

    curve: TwoSidedCurve
