"""Weigh columns of texts next to the others, and find those that don't help, by held-out labels.

Each pair of labelled rows is ranked by a ridge regression of all others, in closed form, with a
linear and a Gaussian kernel together. Leaving out pairs (Airola et al. 2011) has no bias for
labels that mean nothing.
"""

from collections.abc import Container, Iterable, Iterator, Mapping
from itertools import combinations
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from scipy.optimize import brentq
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.utils.extmath import safe_sparse_dot

from .._typing import AnyArray, BoolArray, FloatArray, IntArray, RowMatrix
from .._util.threads import one_blas_thread
from ..kernels.parameters import total_variance
from ..rows.grouped_folds import count_once, group_rows

# Rows of either kind that take part at most.
MAX_ROWS_PER_KIND = 600
# Pairs of rows that are ranked at most.
_MAX_PAIRS = 8_000
# Degrees of freedom of the ranking, as a share of the rarer kind's rows.
FREEDOM_PER_ROW = 0.15
# Degrees of freedom at most.
_MAX_FREEDOM = 30.0
# Differences below it are rounding.
_MAX_ROUNDING = 1e-9


def multiply_columns(rows: RowMatrix, weights: FloatArray) -> RowMatrix:
    """Return rows, sparse or not, with their columns multiplied."""
    if isinstance(rows, np.ndarray):
        return rows * weights
    return rows.multiply(weights).tocsr()


def ridge_smoother(X: RowMatrix, n: int, freedom: float) -> FloatArray:
    """Return the matrix by which ridge regression smooths labels of the first n rows.

    With so many degrees of freedom. Directions in which other rows, without labels, are spread
    count more, as a kernel's square has them.
    """
    everything = np.zeros((X.shape[0], X.shape[0]))
    for part in (np.asarray(safe_sparse_dot(X, X.T, dense_output=True), float), rbf_kernel(X)):
        part = part - part.mean(axis=0) - part.mean(axis=1)[:, None] + part.mean()
        everything = everything + _scale_to_unit_trace(part)
    kernel = everything[:n, :n]
    if n < len(everything):
        spread = everything[:n] @ everything[:, :n]
        kernel = _scale_to_unit_trace(kernel) + _scale_to_unit_trace(spread)
    values, vectors = np.linalg.eigh(kernel)
    values = np.clip(values, 0.0, None)
    freedom = min(freedom, _MAX_FREEDOM, 0.5 * np.sum(values > 1e-9))
    if freedom <= 0.0:
        return np.zeros_like(kernel)

    def excess_freedom(log_ridge: float) -> float:
        return np.sum(values / (values + np.exp(log_ridge))) - freedom

    ridge = np.exp(
        brentq(excess_freedom, np.log(values[-1]) - 40.0, np.log(np.sum(values) / freedom) + 1.0)
    )
    return (vectors * (values / (values + ridge))) @ vectors.T


def _scale_to_unit_trace(kernel: FloatArray) -> FloatArray:
    return kernel / max(np.trace(kernel), np.finfo(float).tiny)


def weights_without_pairs(smooth: FloatArray) -> FloatArray:
    """Weight P_ij of row i's residual in what the regression without i and j says apart."""
    a, b = 1.0 - np.diag(smooth), -smooth
    with np.errstate(divide="ignore", invalid="ignore"):
        return (a + b) / (a[:, None] * a - b * b)


def areas(
    smooth: FloatArray, weight: FloatArray, y: FloatArray, rng: np.random.Generator
) -> tuple[FloatArray, float]:
    """Return how often each row is on the right side of the other kind, and the mean of it."""
    left = y - y.mean()
    left = left - smooth @ left
    ours, others = np.flatnonzero(y == 1), np.flatnonzero(y == 0)
    if len(ours) * len(others) > _MAX_PAIRS:
        i, j = rng.choice(ours, _MAX_PAIRS), rng.choice(others, _MAX_PAIRS)
    else:
        i, j = np.repeat(ours, len(others)), np.tile(others, len(ours))
    apart = 1.0 - weight[i, j] * left[i] + weight[j, i] * left[j]
    right = (apart > _MAX_ROUNDING) + 0.5 * (np.abs(apart) <= _MAX_ROUNDING)
    total = np.bincount(i, right, len(y)) + np.bincount(j, right, len(y))
    return total / np.maximum(np.bincount(np.r_[i, j], minlength=len(y)), 1), float(right.mean())


# Times the variance of the other columns; 1, the first, is what is taken without labels.
RATIOS = (1.0, 4.0, 16.0, 64.0, 0.25, 1.0 / 16.0)
# Standard errors that a choice must be ahead.
_MIN_LEAD_IN_ERRORS = 1.0


# What a block's columns come from; and a ratio with the blocks that are left out.
Names: TypeAlias = tuple[str, ...]
Choice: TypeAlias = tuple[float, tuple[Names, ...]]


class ColumnWeights(NamedTuple):
    """The ratio taken, and areas under the ROC curve of held-out rows by ratio, of all columns.

    ``left_out`` are names of columns without which the ``area`` is greater. ``rows`` are those the
    choice was made for, and ``weights`` multiply their columns by what does not hang on labels: by
    each ratio, and without all but the texts.
    """

    ratio: float
    areas: dict[float, float]
    left_out: Names
    area: float
    rows: RowMatrix
    weights: list[FloatArray]


class ColumnBlocks:
    """Columns of rows in blocks, known by the names of what they come from.

    ``places`` are which columns, by these names; ``texts`` and ``fixed`` those which are texts,
    and which may not be left out.
    """

    def __init__(
        self,
        X: RowMatrix,
        places: Mapping[Names, Any],
        texts: Container[Names],
        fixed: Iterable[Names] = (),
    ) -> None:
        self.places = places
        self.texts = [names for names in places if names in texts]
        self.others = [names for names in places if names not in texts]
        self.fixed = set(fixed)
        self._width = X.shape[1]
        self._variance = {names: total_variance(X[:, place]) for names, place in places.items()}

    def choices(self) -> Iterator[Choice]:
        """Yield ratios, and blocks left out of those that are no texts."""
        free = [names for names in self.others if names not in self.fixed]
        outs = [out for n in range(len(free) + 1) for out in combinations(free, n)]
        for out in outs:
            yield from ((r, out) for r in (RATIOS if len(out) < len(self.others) else (1.0,)))

    def weights(self, ratio: float, out: Container[Names]) -> FloatArray:
        """Return factors for the columns that keep the total variance."""
        kept = [
            sum(self._variance[names] for names in kind if names not in out)
            for kind in (self.texts, self.others)
        ]
        share = (ratio / (1.0 + ratio), 1.0 / (1.0 + ratio)) if all(kept) else (1.0, 1.0)
        total, found = sum(self._variance.values()), np.zeros(self._width)
        for kind, variance, part in zip((self.texts, self.others), kept, share, strict=True):
            for names in kind:
                if names not in out and variance:
                    found[self.places[names]] = np.sqrt(total * part / variance)
        return found


def weigh_columns(
    X: RowMatrix, y: IntArray, blocks: ColumnBlocks, random_state: int = 0
) -> ColumnWeights | None:
    """Choose the variance of texts relative to all other columns, and what to leave out.

    Rows of every class of ``y`` are separated from the others (negative: without a label) by
    the ridge regression, fitted to all rows but the pair.
    Blocks of other columns may be left out together, then single texts. None where no pair can be
    held out.
    """
    classes, counts = np.unique(y[y >= 0], return_counts=True)
    if len(classes) < 2 or counts.min() < 2:
        return None
    rng = np.random.default_rng(random_state)
    once = count_once(np.arange(len(y)), y, group_rows(X, y))
    kinds = [once[y[once] == k] for k in classes]
    drawn = [rng.choice(rows, min(len(rows), MAX_ROWS_PER_KIND), replace=False) for rows in kinds]
    labels = np.repeat(classes, [len(rows) for rows in drawn])
    others = once[y[once] < 0]
    drawn.append(rng.choice(others, min(len(others), MAX_ROWS_PER_KIND), replace=False))
    rows, masks = X[np.concatenate(drawn)], [labels == k for k in classes]
    found = {}

    def choose_best(choices: Iterable[Choice], usual: Choice) -> Choice:
        for choice in choices:
            found[choice] = _score_held_out(
                multiply_columns(rows, blocks.weights(*choice)), labels, classes
            )
        best = max(found, key=lambda choice: _mean_over_kinds(found[choice], masks))
        ahead = found[best] - found[usual]
        error = float(np.sqrt(sum(np.var(ahead[kind]) / kind.sum() for kind in masks)))
        return best if _mean_over_kinds(ahead, masks) > _MIN_LEAD_IN_ERRORS * error else usual

    with one_blas_thread():
        ratio, out = choose_best(blocks.choices(), (1.0, ()))
        if len(blocks.texts) > 1:
            free = [names for names in blocks.texts if names not in blocks.fixed]
            ratio, out = choose_best([(ratio, (*out, names)) for names in free], (ratio, out))
    return ColumnWeights(
        ratio,
        {one: _mean_over_kinds(found[one, ()], masks) for one in RATIOS},
        tuple(name for names in out for name in names),
        _mean_over_kinds(found[ratio, out], masks),
        X,
        [blocks.weights(one, ()) for one in RATIOS] + [blocks.weights(1.0, tuple(blocks.others))],
    )


def _mean_over_kinds(right: FloatArray, masks: list[BoolArray]) -> float:
    return float(np.mean([right[rows].mean() for rows in masks]))


def _score_held_out(rows: RowMatrix, labels: IntArray, classes: AnyArray) -> FloatArray:
    """Return how well each row is separated from other classes, by regressions without both."""
    smallest = min(int(np.sum(labels == k)) for k in classes)
    smooth = ridge_smoother(rows, len(labels), FREEDOM_PER_ROW * smallest)
    weight = weights_without_pairs(smooth)
    accuracy = np.zeros(len(labels))
    for k in classes[1:] if len(classes) == 2 else classes:
        # The same pairs whatever the choice.
        right, _ = areas(smooth, weight, (labels == k).astype(float), np.random.default_rng(0))
        accuracy += right
    return accuracy / (1 if len(classes) == 2 else len(classes))
