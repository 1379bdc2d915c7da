"""Compiled kernel evaluation on tiles of rows that stay in cache.

Rows are stored feature-major in tiles: ``tiles[t, k, i]`` is feature k of row
``t * TILE + i``. Every kernel here is a function of

    z = row_term[i] + column_term[j] + <row_i, column_j>

evaluated for four columns at a time: the innermost loop runs over the rows of a
tile with unit stride, which the compiler turns into vector instructions. The
features are scaled beforehand (``dense.py``), so that

    RBF          K = 2^z              (z <= 0, the terms hold the squared norms)
    polynomial   K = z^degree
    sigmoid      K = tanh(z)
    linear       K = z

The values never travel through memory unless the caller wants them: ``apply_tiles``
multiplies them with the coefficients in the same pass. Tiles are float32 or float64;
products are accumulated in float64 every four columns.

Sparse rows use the same map with the four columns replaced by a group of columns held
dense and interleaved ("lanes"), so that one stored entry of a row serves all of them.
"""

import numpy as np

from ..._jit import (
    KERNEL_MATH,
    SUM_MATH,
    compiled_as,
    float32_from_bits,
    float64_from_bits,
    is_float32,
    jit,
)

TILE = 256

RBF, POLYNOMIAL, SIGMOID, LINEAR = 0, 1, 2, 3


def exp2_nonpositive(z):
    """2^z for z <= 0; relative error below 2e-7 (float32) or 4e-16 (float64)."""
    return np.exp2(z)


@compiled_as(exp2_nonpositive, KERNEL_MATH)
def _exp2_nonpositive(z):
    if is_float32(z):

        def implementation(z):
            z = max(z, np.float32(-126.0))
            whole = np.int32(z - np.float32(0.5))
            f = z - np.float32(whole)
            p = np.float32(1.535336188319500e-4)
            p = p * f + np.float32(1.339887440266574e-3)
            p = p * f + np.float32(9.618437357674640e-3)
            p = p * f + np.float32(5.550332471162809e-2)
            p = p * f + np.float32(2.402264791363012e-1)
            p = p * f + np.float32(6.931472028550421e-1)
            p = p * f + np.float32(1.0)
            return p * float32_from_bits(np.int32((whole + np.int32(127)) << np.int32(23)))

    else:

        def implementation(z):
            z = max(z, -1022.0)
            whole = np.int64(z - 0.5)
            # Taylor series of exp on |f| <= log(2)/2: the 13th term is below 1e-17.
            f = (z - np.float64(whole)) * 0.6931471805599453
            p = 1.0 / 479001600.0
            p = p * f + 1.0 / 39916800.0
            p = p * f + 1.0 / 3628800.0
            p = p * f + 1.0 / 362880.0
            p = p * f + 1.0 / 40320.0
            p = p * f + 1.0 / 5040.0
            p = p * f + 1.0 / 720.0
            p = p * f + 1.0 / 120.0
            p = p * f + 1.0 / 24.0
            p = p * f + 1.0 / 6.0
            p = p * f + 0.5
            p = p * f + 1.0
            p = p * f + 1.0
            return p * float64_from_bits((whole + 1023) << 52)

    return implementation


@jit(KERNEL_MATH)
def _add_products(tile, columns, j, z):
    """z[c, i] += <tile[:, i], columns[j + c]> for c in 0..3."""
    d, n_rows = tile.shape
    z0, z1, z2, z3 = z[0], z[1], z[2], z[3]
    whole = d - d % 4
    for k in range(0, whole, 4):
        x0, x1, x2, x3 = tile[k], tile[k + 1], tile[k + 2], tile[k + 3]
        c00, c01, c02, c03 = columns[j, k], columns[j, k + 1], columns[j, k + 2], columns[j, k + 3]
        j1, j2, j3 = j + 1, j + 2, j + 3
        c10, c11 = columns[j1, k], columns[j1, k + 1]
        c12, c13 = columns[j1, k + 2], columns[j1, k + 3]
        c20, c21 = columns[j2, k], columns[j2, k + 1]
        c22, c23 = columns[j2, k + 2], columns[j2, k + 3]
        c30, c31 = columns[j3, k], columns[j3, k + 1]
        c32, c33 = columns[j3, k + 2], columns[j3, k + 3]
        for i in range(n_rows):
            a0, a1, a2, a3 = x0[i], x1[i], x2[i], x3[i]
            z0[i] += a0 * c00 + a1 * c01 + a2 * c02 + a3 * c03
            z1[i] += a0 * c10 + a1 * c11 + a2 * c12 + a3 * c13
            z2[i] += a0 * c20 + a1 * c21 + a2 * c22 + a3 * c23
            z3[i] += a0 * c30 + a1 * c31 + a2 * c32 + a3 * c33
    for k in range(whole, d):
        x = tile[k]
        c0, c1, c2, c3 = columns[j, k], columns[j + 1, k], columns[j + 2, k], columns[j + 3, k]
        for i in range(n_rows):
            z0[i] += x[i] * c0
            z1[i] += x[i] * c1
            z2[i] += x[i] * c2
            z3[i] += x[i] * c3


@jit(KERNEL_MATH)
def _map_values(kind, degree, z):
    """Replace z by K(z) in place; z is one-dimensional."""
    one = z.dtype.type(1.0)
    zero = z.dtype.type(0.0)
    if kind == RBF:
        for i in range(z.size):
            z[i] = exp2_nonpositive(min(z[i], zero))
    elif kind == POLYNOMIAL:
        for i in range(z.size):
            base = z[i]
            value = one
            for _ in range(degree):
                value *= base
            z[i] = value
    elif kind == SIGMOID:
        two = z.dtype.type(2.0)
        log2_e2 = z.dtype.type(-2.8853900817779268)  # -2 / log(2)
        for i in range(z.size):
            e = exp2_nonpositive(log2_e2 * abs(z[i]))  # exp(-2 |z|)
            t = one - two * e / (one + e)
            z[i] = t if z[i] >= zero else -t


@jit(KERNEL_MATH)
def _tile_values(kind, degree, tile, row_term, columns, column_term, j, z):
    for c in range(4):
        term = column_term[j + c]
        zc = z[c]
        for i in range(row_term.size):
            zc[i] = row_term[i] + term
    _add_products(tile, columns, j, z)
    _map_values(kind, degree, z.reshape(z.size))


@jit(KERNEL_MATH)
def apply_tiles(kind, degree, tiles, row_term, columns, column_term, coef, out, start, stop):
    """out[t, i] += sum_j K(row, column_j) coef[j] for tiles start..stop.

    The number of columns is a multiple of four (pad with zero coefficients).
    ``out`` is float64, shape (n_tiles, TILE).
    """
    z = np.empty((4, tiles.shape[2]), tiles.dtype)
    for t in range(start, stop):
        result = out[t]
        for j in range(0, columns.shape[0], 4):
            _tile_values(kind, degree, tiles[t], row_term[t], columns, column_term, j, z)
            c0, c1, c2, c3 = coef[j], coef[j + 1], coef[j + 2], coef[j + 3]
            z0, z1, z2, z3 = z[0], z[1], z[2], z[3]
            for i in range(result.size):
                result[i] += np.float64(z0[i] * c0 + z1[i] * c1 + z2[i] * c2 + z3[i] * c3)


@jit(KERNEL_MATH)
def column_tiles(kind, degree, tiles, row_term, columns, column_term, out, start, stop):
    """out[j, row] = K(row, column_j) for tiles start..stop.

    ``out`` has a multiple of four rows, and a column per row of the tiles.
    """
    n_rows = tiles.shape[2]
    n = out.shape[1]
    z = np.empty((4, n_rows), tiles.dtype)
    for t in range(start, stop):
        for j in range(0, columns.shape[0], 4):
            _tile_values(kind, degree, tiles[t], row_term[t], columns, column_term, j, z)
            for c in range(4):
                first = t * n_rows
                target = out[j + c, first : min(n, first + n_rows)]
                zc = z[c]
                for i in range(target.size):
                    target[i] = zc[i]


@jit(KERNEL_MATH)
def _sparse_values(kind, degree, rows, row_term, lanes, lane_term, first, last, z):
    """z[r - first, :] = K(row r, dense columns ``lanes``) for rows first..last."""
    data, indices, indptr = rows
    width = lanes.shape[1]
    for r in range(first, last):
        zr = z[r - first]
        for c in range(width):
            zr[c] = row_term[r] + lane_term[c]
        e, end = indptr[r], indptr[r + 1]
        while e + 4 <= end:  # four entries at a time: one pass over the lanes serves them
            v0, v1, v2, v3 = data[e], data[e + 1], data[e + 2], data[e + 3]
            l0, l1 = lanes[indices[e]], lanes[indices[e + 1]]
            l2, l3 = lanes[indices[e + 2]], lanes[indices[e + 3]]
            for c in range(width):
                zr[c] += v0 * l0[c] + v1 * l1[c] + v2 * l2[c] + v3 * l3[c]
            e += 4
        while e < end:
            v0 = data[e]
            l0 = lanes[indices[e]]
            for c in range(width):
                zr[c] += v0 * l0[c]
            e += 1
    _map_values(kind, degree, z.reshape(z.size))


@jit(SUM_MATH)
def _weighted_sum(values, coef):
    total = np.float64(0.0)
    for c in range(coef.size):
        total += np.float64(values[c]) * coef[c]
    return total


@jit(KERNEL_MATH)
def apply_sparse(kind, degree, rows, row_term, lanes, lane_term, coef, out, start, stop):
    """out[r] += sum_c K(row r, column_c) coef[c] for tiles start..stop of CSR rows.

    ``rows`` is (data, indices, indptr); ``lanes`` holds the columns dense and
    interleaved, shape (d, width), so that one stored entry serves them all.
    """
    z = np.empty((TILE, lanes.shape[1]), lanes.dtype)
    n = out.size
    for t in range(start, stop):
        first, last = t * TILE, min(n, t * TILE + TILE)
        _sparse_values(kind, degree, rows, row_term, lanes, lane_term, first, last, z)
        for r in range(first, last):
            out[r] += _weighted_sum(z[r - first], coef)


@jit(KERNEL_MATH)
def column_sparse(kind, degree, rows, row_term, lanes, lane_term, out, start, stop):
    """out[c, r] = K(row r, column_c) for tiles start..stop of CSR rows."""
    z = np.empty((TILE, lanes.shape[1]), lanes.dtype)
    n = row_term.size
    for t in range(start, stop):
        first, last = t * TILE, min(n, t * TILE + TILE)
        _sparse_values(kind, degree, rows, row_term, lanes, lane_term, first, last, z)
        for c in range(out.shape[0]):
            for r in range(first, last):
                out[c, r] = z[r - first, c]
