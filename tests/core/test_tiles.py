"""Kernel values of the compiled core against NumPy, one by one and on every instruction level."""

from types import SimpleNamespace

import numpy as np
import pytest
import scipy.sparse as sp

from fewlabels._core import functions as core
from fewlabels.kernels.base import Map
from fewlabels.kernels.operators.rows import SparseRows, TiledRows

MAPS = {
    Map.EXP2: lambda z: np.exp2(np.minimum(z, 0.0)),
    Map.POWER: lambda z: z**3,
    Map.TANH: np.tanh,
    Map.IDENTITY: lambda z: z,
}
TYPES = {np.float32: 2e-5, np.float64: 1e-13}
DENSE = [(n, m, d) for n in (1, 15, 97, 192, 401) for m in (1, 2, 4, 7) for d in (0, 1, 16, 37)]


def row_map(kind):
    return SimpleNamespace(kind=int(kind), degree=3, kernel=SimpleNamespace(coef0=-0.25))


def problem(rng, n, m, d, dtype):
    rows, columns = rng.normal(size=(n, d)) / 6, rng.normal(size=(m, d)) / 6
    term, column_term = -rng.random(n), -rng.random(m)
    return [array.astype(dtype) for array in (rows, term, columns, column_term)]


def slow_values(kind, rows, term, columns, column_term):
    """One column per row of the result."""
    rows, term, columns, column_term = (
        np.asarray(array, float) for array in (rows, term, columns, column_term)
    )
    return MAPS[kind](columns @ rows.T + term + (column_term - 0.25)[:, None])


def test_every_map_is_checked():
    assert set(MAPS) == set(Map)


@pytest.mark.parametrize("dtype", TYPES)
def test_a_map_that_is_not_compiled_has_no_values(dtype, rng, core_level):
    rows, term, columns, column_term = problem(rng, 40, 4, 5, dtype)
    unknown = row_map(1 + max(Map))
    assert np.isnan(TiledRows(rows, term).columns(unknown, columns, column_term, 1)).all()
    out = np.zeros(40)
    TiledRows(rows, term).apply(unknown, columns, column_term, np.ones(4), out, 1)
    assert np.isnan(out).all()
    packed = SparseRows(sparse_rows(rows), term)
    columns = sparse_rows(columns)
    assert np.isnan(packed.columns(unknown, columns, column_term, 1)).all()


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("kind", MAPS)
def test_dense_values(kind, dtype, rng, core_level):
    for n, m, d in DENSE:
        rows, term, columns, column_term = problem(rng, n, m, d, dtype)
        exact, coef = slow_values(kind, rows, term, columns, column_term), rng.normal(size=m)
        packed = TiledRows(rows, term)
        values = packed.columns(row_map(kind), columns, column_term, 1)
        np.testing.assert_allclose(values, exact, rtol=0, atol=TYPES[dtype])
        out = np.ones(n)
        packed.apply(row_map(kind), columns, column_term, coef, out, 1)
        np.testing.assert_allclose(out, 1.0 + coef @ exact, rtol=0, atol=10 * TYPES[dtype])


def sparse_rows(rows):
    return sp.csr_array(np.where(np.abs(rows) < 0.1, 0.0, rows))


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("kind", MAPS)
def test_sparse_values(kind, dtype, rng, core_level):
    for n, m, d in ((1, 1, 5), (17, 1, 40), (40, 2, 1), (300, 17, 40), (33, 150, 23)):
        rows, term, columns, column_term = problem(rng, n, m, d, dtype)
        rows, columns = sparse_rows(rows), sparse_rows(columns)
        exact = slow_values(kind, rows.toarray(), term, columns.toarray(), column_term)
        packed, coef = SparseRows(rows, term), rng.normal(size=m)
        values = packed.columns(row_map(kind), columns, column_term, 1)
        np.testing.assert_allclose(values, exact, rtol=0, atol=TYPES[dtype])
        out = np.ones(n)
        packed.apply(row_map(kind), columns, column_term, coef, out, 1)
        np.testing.assert_allclose(out, 1.0 + coef @ exact, rtol=0, atol=30 * TYPES[dtype])


@pytest.mark.parametrize("is_sparse", [False, True])
@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("kind", MAPS)
def test_a_value_does_not_depend_on_its_neighbours(kind, dtype, is_sparse, rng, core_level):
    """Neither on how columns are grouped, nor on how many threads share the rows."""
    rows, term, columns, column_term = problem(rng, 1500, 39, 37, dtype)
    if is_sparse:
        rows, columns = sparse_rows(rows), sparse_rows(columns)
    packed, how = (SparseRows if is_sparse else TiledRows)(rows, term), row_map(kind)
    together = packed.columns(how, columns, column_term, 1)
    for j in range(39):
        alone = packed.columns(how, columns[[j]], column_term[[j]], 1)
        np.testing.assert_array_equal(alone[0], together[j])
    np.testing.assert_array_equal(packed.columns(how, columns, column_term, 3), together)
    coef, sums = rng.normal(size=39), np.zeros((2, 1500))
    for out, n_jobs in zip(sums, (1, 3), strict=True):
        packed.apply(how, columns, column_term, coef, out, n_jobs)
    np.testing.assert_array_equal(*sums)


@pytest.mark.parametrize("n", [1, 2, 60, 192, 300])
def test_all_rows_with_each_other(n, rng):
    rows, term, _, _ = problem(rng, n, 1, 3, np.float64)
    packed = TiledRows(rows, term)
    values = packed.columns(row_map(Map.EXP2), *packed.all_rows(), 1)
    np.testing.assert_allclose(values, slow_values(Map.EXP2, rows, term, rows, term), atol=1e-13)


def test_stored_columns(rng, core_level):
    for n, count in ((1, 1), (5, 4), (2049, 7), (4097, 9)):
        for dtype in TYPES:
            storage = rng.normal(size=(12, n + 3)).astype(dtype)
            slots, coef, out = rng.integers(12, size=count), rng.normal(size=count), np.ones(n)
            core.apply_columns(storage, slots, coef, out, n // 3, n)
            exact = np.where(np.arange(n) < n // 3, 0.0, coef @ storage[slots, :n].astype(float))
            np.testing.assert_allclose(out, 1.0 + exact, rtol=0, atol=1e-13)
        rows = rng.integers(n, size=6)
        block, sums = np.empty((6, count)), np.ones(6)
        core.gather(storage, slots, rows, block)
        np.testing.assert_array_equal(block, storage[np.ix_(slots, rows)].T)
        core.gather_product(storage, slots, rows, coef, sums)
        np.testing.assert_allclose(sums, 1.0 + block @ coef, rtol=0, atol=1e-13)
        column_of = np.where(np.arange(12) % 3, rng.integers(9, size=12), -1)
        new, longer = rng.normal(size=(2, 9)), storage.copy()
        for slot in np.flatnonzero(column_of >= 0):
            longer[slot, n : n + 2] = new[:, column_of[slot]]
        core.extend_columns(storage, column_of, new, n)
        np.testing.assert_array_equal(storage, longer)


def test_sizes_are_checked(rng):
    rows, term, columns, column_term = problem(rng, 40, 3, 5, np.float64)
    packed, out = TiledRows(rows, term), np.zeros(40)
    for wrong in (columns[:, :4].copy(), columns.astype(np.float32), columns[:2]):
        with pytest.raises(TypeError, match=r"fit columns|the core needs"):
            packed.apply(row_map(Map.EXP2), wrong, column_term, np.ones(3), out, 1)
    with pytest.raises(TypeError, match="too many"):
        one = core.CsrRows(np.ones(1), np.zeros(1, np.int64), np.array([0, 1]), term[:1])
        lanes = core.ColumnRows(np.zeros((5, 3)), np.zeros(3))
        core.apply_sparse(row_map(Map.EXP2), one, lanes, np.ones(3), np.zeros(1), 0, 1)
