"""Forests: growth, and the leaves that rows fall into; ``core/src/forest.cpp`` has the loops."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from .._typing import AnyArray, FloatArray, IntArray, RealArray
from .functions import f32, f64, f64_out, i32, i32_out, i64, i64_out, u8, u16, u32
from .library import lib

# By bytes of a code.
_SHARED = {
    1: (u8, lib.fl_shared_leaves_u8),
    2: (u16, lib.fl_shared_leaves_u16),
    4: (u32, lib.fl_shared_leaves_u32),
}


class GrowthOptions(NamedTuple):
    """The way trees grow.

    ``drawn`` is how many rows a tree sees, drawn with replacement, or 0 for all. ``tried`` columns
    are tried at a split: ``best`` is 1 where every threshold is, and 0 where one is drawn. A leaf
    has ``smallest`` distinct rows at least.
    """

    n_classes: int
    drawn: int
    best: int
    tried: int
    smallest: int
    seed: int


class TreeNodes(NamedTuple):
    """Nodes of trees one after the other, as ``kernels.forest.Forest`` describes them."""

    roots: IntArray
    feature: IntArray
    threshold: FloatArray
    left: IntArray
    right: IntArray
    depth: int


def grow_trees(
    columns: RealArray,
    place: IntArray,
    options: GrowthOptions,
    first: int,
    nodes: Sequence[AnyArray],
    start: int,
    stop: int,
) -> None:
    """Grow trees number ``first + start`` to ``first + stop`` of a seed.

    ``columns`` are float32 of shape (d, n), ``place`` the classes of rows, from 0. ``nodes`` are
    arrays for feature, threshold, left and right, each of shape (n_trees, 2 n_rows - 1), then
    sizes and depths.
    """
    (d, n), (feature, threshold, left, right, sizes, depths) = columns.shape, nodes
    n_classes, drawn, best, tried, smallest, seed = options
    n_trees, most = feature.shape
    n_places, n_nodes = 8 * n + d + 4, n_trees * most
    lib.fl_grow_trees(
        n, d, f32(columns, d * n), n_classes, i32(place, n), drawn, best, tried, smallest, seed,
        first, most, i64_out(feature, n_nodes), f64_out(threshold, n_nodes),
        i64_out(left, n_nodes), i64_out(right, n_nodes), i64_out(sizes, n_trees),
        i64_out(depths, n_trees), f64_out(np.empty(3 * n_classes), 3 * n_classes),
        i64_out(np.empty(n_places, np.int64), n_places), start, stop,
    )  # fmt: skip


def draw_rows(drawn: int, seed: int, times: IntArray, start: int, stop: int) -> None:
    """``times[tree, i]`` = how often a tree of :func:`grow_trees` sees row i."""
    n_trees, n = times.shape
    lib.fl_draw_rows(n, drawn, seed, i32_out(times, n_trees * n), start, stop)


def find_leaves(rows: RealArray, nodes: TreeNodes, out: IntArray, start: int, stop: int) -> None:
    """``out[i, tree]`` = the leaf of ``rows[i]``; places of columns and nodes have to be right."""
    roots, feature, threshold, left, right, depth = nodes
    (n, d), n_trees, n_nodes = rows.shape, len(roots), len(left)
    lib.fl_leaves(
        d, f32(rows, n * d), n_trees, i64(roots, n_trees), i64(feature, n_nodes),
        f64(threshold, n_nodes), i64(left, n_nodes), i64(right, n_nodes), depth,
        i32_out(out, n * n_trees), start, stop,
    )  # fmt: skip


def shared_leaves(a: IntArray, b: IntArray, out: FloatArray, start: int, stop: int) -> None:
    """``out[i, j]`` = share of trees with ``a[i, tree] == b[tree, j]``, for some columns j."""
    (n, n_trees), m = a.shape, b.shape[1]
    codes, function = _SHARED[a.dtype.itemsize]
    function(
        n, n_trees, codes(a, n * n_trees), m, codes(b, n_trees * m), f64_out(out, n * m),
        start, stop,
    )  # fmt: skip


def add_leaves(
    leaves: IntArray, weights: FloatArray, out: FloatArray, start: int, stop: int
) -> None:
    """``out[i, c] += sum_tree weights[c, leaves[i, tree]]``; leaves have to be right."""
    (n, n_trees), (k, n_nodes) = leaves.shape, weights.shape
    lib.fl_add_leaves(
        n_trees, i32(leaves, n * n_trees), n_nodes, k, f64(weights, k * n_nodes),
        f64_out(out, n * k), start, stop,
    )  # fmt: skip
