"""The polynomial 2^z and tanh against NumPy, over their whole range."""

import numpy as np
import pytest

from fewlabels.gram.tiles import _tiles

TOLERANCE = {np.float32: 3e-7, np.float64: 1e-14}
LOWEST = {np.float32: -126.0, np.float64: -1022.0}


def compiled(kind, z):
    values = z.copy()
    _tiles._map_values(kind, 0, values)
    return values


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
def test_exp2_is_accurate(dtype, rng):
    z = arguments(dtype, rng)
    exact = np.exp2(z.astype(np.longdouble))
    error = np.abs(compiled(_tiles.RBF, z) - exact) / exact
    assert error.max() < TOLERANCE[dtype]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_exp2_beyond_the_range(dtype):
    z = np.array([0.0, -0.0, 1e-3, 1e30, LOWEST[dtype] - 1, -1e30, -np.inf], dtype)
    values = compiled(_tiles.RBF, z)
    assert np.all(values[:4] == 1.0)  # positive arguments are rounding: K <= 1
    assert np.all(values[4:] >= 0.0)
    assert np.all(values[4:] <= np.finfo(dtype).tiny)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_tanh_is_accurate(dtype, rng):
    z = np.concatenate([rng.uniform(-3, 3, 100_000), rng.uniform(-50, 50, 100_000), [0.0]])
    z = np.append(z, [1e30, -1e30, np.inf, -np.inf]).astype(dtype)
    values = compiled(_tiles.SIGMOID, z)
    assert np.abs(values - np.tanh(z.astype(np.float64))).max() < TOLERANCE[dtype]
    assert np.abs(values).max() <= 1.0


def test_python_body_says_the_same():
    """With the compiler switched off the plain function stands in."""
    assert _tiles.exp2_nonpositive(-1.5) == np.exp2(-1.5)
