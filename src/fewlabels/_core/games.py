"""Shapley values of sums of products; ``core/src/games.cpp`` has the formula."""

from typing import NamedTuple

import numpy as np

from .._typing import BoolArray, FloatArray
from .functions import bools, f64, f64_out, i64_out
from .library import lib


class Quadrature(NamedTuple):
    """Rules on [0, 1]: row n of ``nodes`` and ``weights`` holds the one with n nodes.

    ``first_nodes`` are taken to begin with, and twice as many until values change by at most
    ``tol``.
    """

    nodes: FloatArray
    weights: FloatArray
    first_nodes: int
    tol: float


def product_values(
    P: FloatArray,
    Q: FloatArray,
    differs: BoolArray,
    coef: FloatArray,
    quadrature: Quadrature,
    tiny: float,
    out: FloatArray,
) -> None:
    """Add Shapley values, summed over backgrounds, to ``out``, one per player.

    ``P`` are factors of the row, shape (n_players, n_terms), ``Q`` of the background rows,
    one more axis first; ``differs`` says where these are not the same. Terms below ``tiny`` are
    left out.
    """
    nodes, weights, first_nodes, tol = quadrature
    (n, m), n_backgrounds, n_rules = P.shape, len(Q), nodes.shape[1]
    n_work = lib.fl_product_work(n, m)
    lib.fl_product_values(
        n, m, n_backgrounds, f64(P, n * m), f64(Q, n_backgrounds * n * m),
        bools(differs, n_backgrounds * n), f64(coef, m), n_rules,
        f64(nodes, (n_rules + 1) * n_rules), f64(weights, (n_rules + 1) * n_rules), first_nodes,
        tiny, tol, f64_out(out, n), f64_out(np.empty(n_work), n_work),
        i64_out(np.empty(n + m, np.int64), n + m),
    )  # fmt: skip
