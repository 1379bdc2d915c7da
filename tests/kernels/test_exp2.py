"""2^z and tanh of the compiled core against NumPy, over their whole range."""

from types import SimpleNamespace

import numpy as np
import pytest

from fewlabels._core import functions as core
from fewlabels.kernels.base import Map

TOLERANCE = {np.float32: 2e-7, np.float64: 4e-16}
LOWEST = {np.float32: -126.0, np.float64: -1022.0}


def compiled(kind, z):
    """The map alone: rows without features, whose terms are z."""
    row_map = SimpleNamespace(kind=int(kind), degree=0, kernel=SimpleNamespace(coef0=0.0))
    width = core.tile_rows(z.dtype)
    term = np.zeros((max(1, -(-z.size // width)), width), z.dtype)
    term.reshape(-1)[: z.size] = z
    rows, column = np.zeros((len(term), 0, width), z.dtype), np.zeros((1, 0), z.dtype)
    out = np.empty((1, z.size), z.dtype)
    nothing = np.zeros(1, z.dtype)
    packed, columns = core.Tiles(rows, term, z.size), core.ColumnRows(column, nothing)
    core.column_tiles(row_map, packed, columns, out, 0, len(term))
    return out[0]


def arguments(dtype, rng):
    lowest = LOWEST[dtype]
    whole = np.arange(lowest, 1.0)
    halves = np.arange(lowest, 0.0, 0.5)
    near = [np.nextafter(v.astype(dtype), dtype(side)) for v in (whole, halves)
            for side in (-np.inf, np.inf)]  # fmt: skip
    tiny = -np.logspace(-45 if dtype is np.float32 else -320, 0, 2000)
    z = np.concatenate([whole, halves, *near, tiny, rng.uniform(lowest, 0, 300_000),
                        rng.uniform(-2, 0, 300_000)])  # fmt: skip
    z = z.astype(dtype)
    return z[(z <= 0) & (z >= lowest)]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_exp2_is_accurate(dtype, rng, core_level):
    z = arguments(dtype, rng)
    exact = np.exp2(z.astype(np.longdouble))
    error = np.abs(compiled(Map.EXP2, z) - exact) / exact
    assert error.max() < TOLERANCE[dtype]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_exp2_beyond_the_range(dtype, core_level):
    z = np.array([0.0, -0.0, 1e-3, 1e30, LOWEST[dtype] - 1, -1e30, -np.inf, np.nan], dtype)
    values = compiled(Map.EXP2, z)
    assert np.all(values[:4] == 1.0)  # positive arguments are rounding: K <= 1
    assert np.all(values[4:7] >= 0.0)
    assert np.all(values[4:7] <= np.finfo(dtype).tiny)
    assert np.isnan(values[7])


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_tanh_is_accurate(dtype, rng, core_level):
    tolerance = {np.float32: 3e-7, np.float64: 1e-14}[dtype]
    z = np.concatenate([rng.uniform(-3, 3, 100_000), rng.uniform(-50, 50, 100_000), [0.0]])
    z = np.append(z, [1e30, -1e30, np.inf, -np.inf]).astype(dtype)
    values = compiled(Map.TANH, z)
    assert np.abs(values - np.tanh(z.astype(np.float64))).max() < tolerance
    assert np.abs(values).max() <= 1.0
