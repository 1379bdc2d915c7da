"""Rows that nobody should pass, made of rows that anybody may pass."""

import tempfile
from datetime import datetime, timedelta
from decimal import Decimal
from fractions import Fraction
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import scipy.sparse as sp

# What is said about every kind: "same" answer as for the plain rows, "refused", or "any" of the
# two as long as the answer is right.
SAME, REFUSED, ANY = "same", "refused", "any"


def plain_rows(rng, n, d):
    """Two clouds with d columns, rounded so that float32 and decimal texts hold them."""
    side = rng.integers(0, 2, n)
    X = rng.normal(size=(n, d)) + 1.5 * side[:, None]
    return np.round(X * 64) / 64, side


# -- values -----------------------------------------------------------------------------------


def _scaled(factor):
    return lambda rng, X: X * factor


def _cell(value):
    def change(rng, X):
        X = X.copy()
        X[rng.integers(len(X)), rng.integers(X.shape[1])] = value
        return X

    return change


def _column(factor):
    def change(rng, X):
        X = X.copy()
        X[:, rng.integers(X.shape[1])] *= factor
        return X

    return change


def _magnitudes(rng, X):
    return X * 10.0 ** rng.uniform(-250, 250, X.shape[1])


def _repeated(rng, X):
    few = X[: rng.integers(1, 6)]
    return np.repeat(few, rng.integers(2, 1200 // len(few)), axis=0)


def _copies(rng, X):
    return X[rng.integers(0, max(1, len(X) // 3), len(X))]


def _far_row(rng, X):
    X = X.copy()
    X[rng.integers(len(X))] = 10.0 ** rng.uniform(3, 12)
    return X


def _signed_zeros(rng, X):
    return np.where(rng.random(X.shape) < 0.5, 0.0, -0.0)


VALUES = {
    **{
        f"times 2^{k}": (_scaled(2.0**k), ANY) for k in (-1000, -600, -300, -60, 60, 300, 500, 900)
    },
    "times 1e200": (_scaled(1e200), ANY),
    "times 1e-300": (_scaled(1e-300), ANY),
    "denormal": (_scaled(5e-324 * 64), ANY),
    **{f"a cell of {v:g}": (_cell(v), ANY) for v in (1e30, 1e160, 1.7e308, 1e-320)},
    **{f"a cell of {v}": (_cell(v), REFUSED) for v in (np.nan, np.inf, -np.inf)},
    "a column times 1e150": (_column(1e150), ANY),
    "a column times 1e-170": (_column(1e-170), ANY),
    "columns of all magnitudes": (_magnitudes, ANY),
    "a constant column": (_column(0.0), ANY),
    "equal rows": (lambda rng, X: np.repeat(X[:1], len(X), axis=0), ANY),
    "zeros": (lambda rng, X: np.zeros_like(X), ANY),
    "signed zeros": (_signed_zeros, ANY),
    "few rows, often": (_repeated, ANY),
    "some rows twice": (_copies, ANY),
    "far from the origin": (lambda rng, X: X + 2.0 ** rng.integers(20, 50), ANY),
    "a far row": (_far_row, ANY),
    "whole numbers": (lambda rng, X: np.round(X), ANY),
    "zeros and ones": (lambda rng, X: (X > 0.7).astype(float), ANY),
    "nearly equal rows": (lambda rng, X: 1.0 + X * 1e-14, ANY),
    "many columns": (lambda rng, X: np.tile(X, (1, 3000)), ANY),
    "one row": (lambda rng, X: X[:1], ANY),
    "two rows": (lambda rng, X: X[:2], ANY),
    "three rows": (lambda rng, X: X[:3], ANY),
    "no rows": (lambda rng, X: X[:0], REFUSED),
    "no columns": (lambda rng, X: X[:, :0], REFUSED),
}


# -- layouts ----------------------------------------------------------------------------------


def _strided(X):
    wide = np.full((2 * len(X), 3 * X.shape[1]), np.nan)
    wide[::2, ::3] = X
    return wide[::2, ::3]


def _read_only(X):
    X = X.copy()
    X.flags.writeable = False
    return X


def _mapped(X):
    name = Path(tempfile.mkdtemp()) / "rows.npy"
    np.save(name, X)
    mapped = np.load(name, mmap_mode="r")
    name.unlink()
    name.parent.rmdir()
    return mapped


def _unaligned(X):
    raw = np.zeros(X.nbytes + 1, np.uint8)[1:]
    view = raw.view(np.float64).reshape(X.shape)
    view[:] = X
    return view


def _masked(X):
    return np.ma.masked_array(X, mask=np.arange(X.size).reshape(X.shape) % 7 == 3)


def _objects(convert):
    def change(X):
        out = np.empty(X.shape, object)
        for place, value in np.ndenumerate(X):
            out[place] = convert(value)
        return out

    return change


def _dates(X):
    return np.datetime64("2020-01-01", "s") + (X * 1000).astype("timedelta64[s]")


def _messy_csr(X):
    """Unsorted, with entries in two parts and zeros that are stored."""
    row, column = (v.ravel()[::-1] for v in np.indices(X.shape))
    value = X[row, column]
    row, column = np.tile(row, 2), np.tile(column, 2)
    value = np.concatenate([value - 1.0, np.ones(len(value))])
    order = np.argsort(row, kind="stable")
    indptr = np.searchsorted(row[order], np.arange(len(X) + 1))
    return sp.csr_matrix((value[order], column[order], indptr), shape=X.shape)


def _stored_zeros(X):
    S = sp.csr_array(X + (X == 0))
    S.data[:] = X.ravel()[: len(S.data)] if len(S.data) == X.size else S.data
    return S


def _wide_indices(X):
    S = sp.csr_matrix(X)
    S.indices, S.indptr = S.indices.astype(np.int64), S.indptr.astype(np.int64)
    return S


def _broken_csr(X):
    S = sp.csr_matrix(X)
    S.indices = S.indices.copy()
    if len(S.indices):
        S.indices[0] = 10**6
    return S


def _sparse_nan(X):
    S = sp.csr_array(X)
    S.data = S.data.copy()
    S.data[:1] = np.nan
    return S


def _names(X):
    return [f"c{j}" for j in range(X.shape[1])]


def _frame(X, **options):
    return pd.DataFrame(X, columns=_names(X), **options)


def _with(column):
    """A frame whose last column is made by ``column(n)``."""

    def change(X):
        frame = _frame(X)
        frame[frame.columns[-1]] = column(len(X))
        return frame

    return change


def _equal_names(X):
    return pd.DataFrame(X, columns=["c"] * X.shape[1])


def _polars_with(column):
    def change(X):
        return pl.DataFrame(X, _names(X)).with_columns(pl.Series("c0", column(len(X))))

    return change


class _Subclass(np.ndarray):
    """An array of a type of its own."""


LAYOUTS = {
    "Fortran order": (np.asfortranarray, SAME),
    "strided": (_strided, SAME),
    "backwards": (lambda X: X[::-1].copy()[::-1], SAME),
    "read-only": (_read_only, SAME),
    "memory map": (_mapped, SAME),
    "unaligned": (_unaligned, SAME),
    "big-endian": (lambda X: X.astype(">f8"), SAME),
    "subclass": (lambda X: X.view(_Subclass), SAME),
    "longdouble": (lambda X: X.astype(np.longdouble), SAME),
    "float32": (lambda X: X.astype(np.float32), ANY),
    "float16": (lambda X: X.astype(np.float16), ANY),
    "int8": (lambda X: np.round(X).astype(np.int8), ANY),
    "uint64": (lambda X: np.round(np.abs(X)).astype(np.uint64) + np.uint64(2**63), ANY),
    "bool": (lambda X: X > 0.7, ANY),
    "lists": (lambda X: X.tolist(), SAME),
    "tuples": (lambda X: tuple(map(tuple, X.tolist())), SAME),
    "list of arrays": (list, SAME),
    "objects that are floats": (_objects(float), SAME),
    "objects that are texts of numbers": (_objects(str), ANY),
    "Decimal": (_objects(Decimal), ANY),
    "Fraction": (_objects(Fraction), ANY),
    "texts": (lambda X: X.astype(str), ANY),
    "words": (_objects(lambda v: "word"), REFUSED),
    "bytes": (lambda X: X.astype(bytes), ANY),
    "None inside": (_objects(lambda v: None if v > 1 else v), ANY),
    "lists inside": (_objects(lambda v: [v]), REFUSED),
    "big integers": (_objects(lambda v: round(v * 64) * 10**400), ANY),
    "complex": (lambda X: X + 1j, REFUSED),
    "datetime64": (_dates, ANY),
    "timedelta64": (lambda X: (X * 1000).astype("timedelta64[s]"), ANY),
    "Python dates": (_objects(lambda v: datetime(2020, 1, 1) + timedelta(v)), REFUSED),
    "masked": (_masked, ANY),
    "matrix": (lambda X: np.matrix(X), ANY),
    "structured": (
        lambda X: np.array([tuple(r) for r in X], [(f"c{j}", float) for j in range(X.shape[1])]),
        REFUSED,
    ),
    "1-d": (lambda X: X[:, 0], REFUSED),
    "3-d": (lambda X: X[:, :, None], REFUSED),
    "0-d": (lambda X: np.array(1.0), REFUSED),
    "a number": (lambda X: 3.0, REFUSED),
    "None": (lambda X: None, REFUSED),
    "a text": (lambda X: "rows", REFUSED),
    "a dict": (lambda X: {"c": X[:, 0].tolist()}, REFUSED),
    "a set": (lambda X: set(X[:, 0].tolist()), REFUSED),
    "a range": (lambda X: range(len(X)), REFUSED),
    "a ragged list": (lambda X: [*X.tolist(), [1.0] * (X.shape[1] + 1)], REFUSED),
    "a function": (lambda X: len, REFUSED),
    "csr_matrix": (sp.csr_matrix, SAME),
    "csr_array": (sp.csr_array, SAME),
    "csc_array": (sp.csc_array, SAME),
    "coo_array": (sp.coo_array, SAME),
    "bsr_array": (sp.bsr_array, SAME),
    "lil_array": (sp.lil_array, SAME),
    "dok_array": (sp.dok_array, SAME),
    "dia_array": (sp.dia_array, SAME),
    "sparse, unsorted and twice": (_messy_csr, SAME),
    "sparse, zeros stored": (_stored_zeros, ANY),
    "sparse, 64-bit indices": (_wide_indices, SAME),
    "sparse, an index too large": (_broken_csr, REFUSED),
    "sparse with NaN": (_sparse_nan, REFUSED),
    "sparse of integers": (lambda X: sp.csr_array(np.round(X).astype(int)), ANY),
    "sparse of bools": (lambda X: sp.csr_array(X > 0.7), ANY),
    "sparse of complex": (lambda X: sp.csr_array(X + 1j), REFUSED),
    "sparse, all zero": (lambda X: sp.csr_array(X.shape), ANY),
    "sparse without rows": (lambda X: sp.csr_array((0, X.shape[1])), REFUSED),
    "sparse vector": (lambda X: sp.coo_array(X[:, 0]), REFUSED),
    "frame": (_frame, SAME),
    "frame, odd index": (lambda X: _frame(X, index=[7] * len(X)), SAME),
    "frame, index of pairs": (
        lambda X: _frame(X, index=pd.MultiIndex.from_arrays([[1] * len(X), range(len(X))])),
        SAME,
    ),
    "frame, names are numbers": (pd.DataFrame, SAME),
    "frame, names of two types": (
        lambda X: pd.DataFrame(X, columns=[0, *_names(X)[1:]]),
        ANY,
    ),
    "frame, equal names": (_equal_names, ANY),
    "frame, names of two levels": (
        lambda X: pd.DataFrame(X, columns=pd.MultiIndex.from_product([["a"], _names(X)])),
        ANY,
    ),
    "frame, nullable": (lambda X: _frame(X).astype("Float64"), SAME),
    "frame, Arrow": (lambda X: _frame(X).astype("float64[pyarrow]"), SAME),
    "frame, sparse columns": (lambda X: _frame(X).astype(pd.SparseDtype(float, 0.0)), SAME),
    "frame with missing": (
        _with(lambda n: pd.array([None, *[1.0] * (n - 1)], "Float64")),
        REFUSED,
    ),
    "frame with dates": (_with(lambda n: pd.date_range("2020", periods=n)), REFUSED),
    "frame with zones": (_with(lambda n: pd.date_range("2020", periods=n, tz="UTC")), REFUSED),
    "frame with categories": (
        _with(lambda n: pd.Categorical(["a", "b"] * n).take(np.arange(n))),
        REFUSED,
    ),
    "frame with texts": (_with(lambda n: ["word"] * n), REFUSED),
    "frame with lists": (_with(lambda n: [[1]] * n), REFUSED),
    "frame with periods": (_with(lambda n: pd.period_range("2020", periods=n, freq="D")), REFUSED),
    "series": (lambda X: pd.Series(X[:, 0]), REFUSED),
    "polars": (lambda X: pl.DataFrame(X, _names(X)), SAME),
    "polars with null": (_polars_with(lambda n: [None, *[1.0] * (n - 1)]), REFUSED),
    "polars with dates": (_polars_with(lambda n: [datetime(2020, 1, 1)] * n), REFUSED),
    "polars with texts": (_polars_with(lambda n: ["word"] * n), REFUSED),
    "Arrow table": (lambda X: pl.DataFrame(X, _names(X)).to_arrow(), ANY),
}


# -- weights ----------------------------------------------------------------------------------


def _one(value):
    def change(rng, n):
        weight = np.ones(n)
        weight[rng.integers(n)] = value
        return weight

    return change


WEIGHTS = {
    "all 1": (lambda rng, n: np.ones(n), SAME),
    "list": (lambda rng, n: [1] * n, SAME),
    "bool": (lambda rng, n: np.ones(n, bool), SAME),
    "series": (lambda rng, n: pd.Series(np.ones(n), index=range(5, 5 + n)), SAME),
    "a number": (lambda rng, n: 1.0, ANY),
    "all 1e300": (lambda rng, n: np.full(n, 1e300), ANY),
    "all 1e-300": (lambda rng, n: np.full(n, 1e-300), ANY),
    "all 5e-324": (lambda rng, n: np.full(n, 5e-324), ANY),
    "zeros": (lambda rng, n: np.zeros(n), REFUSED),
    "all negative": (lambda rng, n: -np.ones(n), REFUSED),
    "one zero": (_one(0.0), ANY),
    "one negative": (_one(-1.0), ANY),
    "one of 1e300": (_one(1e300), ANY),
    "one of 1e15": (_one(1e15), ANY),
    "one of 1e-300": (_one(1e-300), ANY),
    "one NaN": (_one(np.nan), REFUSED),
    "one infinite": (_one(np.inf), REFUSED),
    "whole": (lambda rng, n: rng.integers(1, 4, n), ANY),
    "all but one zero": (lambda rng, n: np.eye(n)[0], ANY),
    "all magnitudes": (lambda rng, n: 10.0 ** rng.uniform(-200, 200, n), ANY),
    "too few": (lambda rng, n: np.ones(n - 1), REFUSED),
    "too many": (lambda rng, n: np.ones(n + 1), REFUSED),
    "a column": (lambda rng, n: np.ones((n, 1)), ANY),
    "a square": (lambda rng, n: np.ones((n, n)), ANY),
    "words": (lambda rng, n: ["heavy"] * n, REFUSED),
    "None inside": (lambda rng, n: [None] * n, ANY),
    "complex": (lambda rng, n: np.ones(n) + 1j, REFUSED),
    "objects": (lambda rng, n: np.ones(n).astype(object), SAME),
}
