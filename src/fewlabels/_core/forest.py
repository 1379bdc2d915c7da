"""Leaves of forests; ``core/src/forest.cpp`` counts them."""

from .arrays import f32, f64, f64_out, i32, i32_out, i64, u8, u16, u32
from .library import lib

# By bytes of a code.
_SHARED = {
    1: (u8, lib.fl_shared_leaves_u8),
    2: (u16, lib.fl_shared_leaves_u16),
    4: (u32, lib.fl_shared_leaves_u32),
}


def find_leaves(rows, roots, feature, threshold, left, right, depth, out, start, stop):
    """``out[i, tree]`` = the leaf of ``rows[i]``; places of columns and nodes have to be right."""
    (n, d), n_trees, n_nodes = rows.shape, len(roots), len(left)
    lib.fl_leaves(
        d, f32(rows, n * d), n_trees, i64(roots, n_trees), i64(feature, n_nodes),
        f64(threshold, n_nodes), i64(left, n_nodes), i64(right, n_nodes), depth,
        i32_out(out, n * n_trees), start, stop,
    )  # fmt: skip


def shared_leaves(a, b, out, start, stop):
    """``out[i, j]`` = share of trees with ``a[i, tree] == b[tree, j]``, for some columns j."""
    (n, n_trees), m = a.shape, b.shape[1]
    codes, function = _SHARED[a.dtype.itemsize]
    function(
        n, n_trees, codes(a, n * n_trees), m, codes(b, n_trees * m), f64_out(out, n * m),
        start, stop,
    )  # fmt: skip


def add_leaves(leaves, weights, out, start, stop):
    """``out[i, c] += sum_tree weights[c, leaves[i, tree]]``; leaves have to be right."""
    (n, n_trees), (k, n_nodes) = leaves.shape, weights.shape
    lib.fl_add_leaves(
        n_trees, i32(leaves, n * n_trees), n_nodes, k, f64(weights, k * n_nodes),
        f64_out(out, n * k), start, stop,
    )  # fmt: skip
