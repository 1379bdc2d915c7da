"""Shapley values of kernel expansions, exactly: no sampling of coalitions."""

import itertools
from collections.abc import Sequence
from functools import cache
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

from ..._core import games
from ..._typing import BoolArray, FloatArray, IntArray, RowMatrix
from ..._util.threads import resolve_n_jobs, run_ranges
from ...base.solution import Function
from ...kernels import centered
from .inputs import dense

# Numbers held for a block of support vectors and background rows.
_NUMBERS = 4_000_000
_SHORTEST, _LONGEST = 16, 256
# Quadrature nodes to begin with, and most of them: exact up to twice as many players.
_NODES, _MOST_NODES = 4, 64
# Changes and terms below these shares of sum |coef| are rounding.
_CHANGE, _TINY = 1e-11, 1e-16


class Gaussians(NamedTuple):
    """``sum_j coef_j exp(-gamma ||v_j - x||^2)``."""

    gamma: float
    vectors: RowMatrix
    coef: FloatArray


class Columnwise(NamedTuple):
    """``sum_c weights_c (x_c - shift_c) - square (x_c - shift_c)^2``."""

    weights: FloatArray
    square: float
    shift: FloatArray | None


def terms_of(function: Function | None) -> Sequence[Gaussians | Columnwise] | None:
    """Return a learned function as a sum of terms, up to a constant.

    None where it has no exact rule here.
    """
    if not isinstance(function, Function):  # but the logarithms of such sums
        return None
    if not function.self_weight:
        function = function.to_base_kernel()
    rules = {kernel.explanation for kernel in function.kernels}
    if rules == {"columns"}:
        weights = np.asarray(function.weights, dtype=float)
        return [Columnwise(weights, function.self_weight, function.shift)]
    if rules != {"gaussian"}:
        return None
    return [
        Gaussians(kernel.gamma, function.vectors, coef)
        for kernel, coef in zip(function.kernels, function.coef, strict=True)
        if coef.any()
    ]


def exact_values(
    terms: Sequence[Gaussians | Columnwise],
    rows: RowMatrix,
    background: RowMatrix,
    group: IntArray,
    n_groups: int,
    n_jobs: int | None = None,
) -> FloatArray:
    """Compute Shapley values of a sum of terms relative to its mean over background rows.

    ``group`` is the player that each column belongs to. Shape (n_rows, n_groups).
    """
    values = np.zeros((rows.shape[0], n_groups))
    for term in terms:
        if isinstance(term, Columnwise):
            values += _columnwise(term, rows, background, group, n_groups)
        else:
            _add_gaussians(term, rows, background, group, values, resolve_n_jobs(n_jobs))
    return values


def _columnwise(
    term: Columnwise, rows: RowMatrix, background: RowMatrix, group: IntArray, n_groups: int
) -> FloatArray:
    """Return each column's summand less its mean over the background."""
    rows, background = centered(rows, term.shift), centered(background, term.shift)
    rows, background = (sp.csr_array(X, dtype=float) for X in (rows, background))
    # Column by column without making sparse rows dense.
    member = sp.csr_array(
        (np.ones(len(group)), (np.arange(len(group)), group)), shape=(len(group), n_groups)
    )

    def summed(X: sp.csr_array) -> FloatArray:
        parts = X.multiply(term.weights[None, :]) - term.square * X.multiply(X)
        return (sp.csr_array(parts) @ member).toarray()

    return summed(rows) - summed(background).mean(axis=0)


def _add_gaussians(
    term: Gaussians,
    rows: RowMatrix,
    background: RowMatrix,
    group: IntArray,
    values: FloatArray,
    n_jobs: int,
) -> None:
    coef = term.coef
    size = float(np.abs(coef).sum())
    rows, background, vectors, coef, group = _columns_that_matter(
        term, rows, background, group, coef
    )
    players, place = np.unique(group, return_inverse=True)
    order = np.argsort(place, kind="stable")
    starts = np.flatnonzero(np.r_[True, np.diff(place[order]) > 0])
    rows, background = (np.ascontiguousarray(X[:, order]) for X in (rows, background))
    n, m, d = len(rows), len(background), len(order)
    if not d:
        return
    rules = _rules(min(_MOST_NODES, (len(players) + 1) // 2))
    quadrature = games.Quadrature(*rules, first_nodes=_NODES, tol=_CHANGE * size)
    at_a_time = max(1, min(m, _NUMBERS // (d * _SHORTEST)))
    step = int(np.clip(_NUMBERS // (at_a_time * d), _SHORTEST, _LONGEST))
    pieces = itertools.product(range(0, m, at_a_time), range(0, len(coef), step))
    for start, first in pieces:
        others, part = background[start : start + at_a_time], slice(first, first + step)
        if not first:
            unequal = [np.logical_or.reduceat(row != others, starts, axis=1) for row in rows]
        block = np.ascontiguousarray(dense(vectors[part])[:, order].T, dtype=float)
        of_background = _factors(term.gamma, others, block, starts)
        found = np.zeros((n, len(players)))

        def explain_rows(
            low: int,
            high: int,
            part: slice = part,
            block: FloatArray = block,
            Q: FloatArray = of_background,
            unequal: list[BoolArray] = unequal,
            found: FloatArray = found,
        ) -> None:
            for i in range(low, high):
                P = _factors(term.gamma, rows[i : i + 1], block, starts)[0]
                games.product_values(
                    P,
                    Q,
                    unequal[i],
                    coef[part],
                    quadrature,
                    _TINY * size,
                    found[i],
                )

        run_ranges(explain_rows, n, n_jobs)
        values[:, players] += found / m


def beyond_reach(
    function: Function, rows: RowMatrix, missing: FloatArray, group: IntArray, n_groups: int
) -> FloatArray:
    """Share out what decisions in a function's log scale have beyond its terms."""
    shares = np.zeros((len(missing), n_groups))
    for i in np.flatnonzero(function(rows) < function.tail) if function.tail else ():
        beside = np.abs(dense(rows[[i]]) - dense(function.vectors))
        squares = np.square(beside / beside.max())
        nearest = squares[np.argmin(squares.sum(axis=1))]
        shares[i] = missing[i] * np.bincount(group, nearest / nearest.sum(), n_groups)
    return shares


def _columns_that_matter(
    term: Gaussians, rows: RowMatrix, background: RowMatrix, group: IntArray, coef: FloatArray
) -> tuple[FloatArray, FloatArray, RowMatrix, FloatArray, IntArray]:
    """Leave out columns that are 0 in all rows, as most of sparse data are.

    They are a constant factor of each term.
    """
    vectors = term.vectors
    if not sp.issparse(vectors):
        return dense(rows).astype(float), dense(background).astype(float), vectors, coef, group
    rows, background = sp.csr_array(rows), sp.csr_array(background)
    vectors = sp.csr_array(vectors, dtype=float)
    used = np.union1d(rows.indices, background.indices)
    inside = vectors[:, used]
    squares = np.where(np.isin(vectors.indices, used), 0.0, np.square(vectors.data))
    outside = sp.csr_array((squares, vectors.indices, vectors.indptr), vectors.shape).sum(axis=1)
    coef = coef * np.exp(-term.gamma * np.maximum(np.asarray(outside).ravel(), 0.0))
    rows, background = (X[:, used].toarray().astype(float) for X in (rows, background))
    return rows, background, inside, coef, group[used]


def _factors(gamma: float, rows: FloatArray, block: FloatArray, starts: IntArray) -> FloatArray:
    """Return the kernel's factors by player, shape (n_rows, n_players, n_vectors)."""
    squares = np.square(rows[:, :, None] - block[None, :, :])
    if len(starts) < squares.shape[1]:
        squares = np.add.reduceat(squares, starts, axis=1)
    squares *= -gamma
    return np.exp(squares, out=squares)


@cache
def _rules(n_most: int) -> tuple[FloatArray, FloatArray]:
    """Return Gauss-Legendre nodes and weights on [0, 1], with n of them in row n."""
    nodes, weights = np.zeros((2, n_most + 1, max(1, n_most)))
    for n in range(1, n_most + 1):
        x, w = np.polynomial.legendre.leggauss(n)
        nodes[n, :n], weights[n, :n] = (x + 1.0) / 2.0, w / 2.0
    return nodes, weights
