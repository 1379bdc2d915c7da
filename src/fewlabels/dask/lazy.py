"""Values of rows in collections, which stay lazy."""

import dask.array as da
import numpy as np
import pandas as pd
from dask import delayed


def mapped(machine, method, X, dtype, n_columns=None, **options):
    """``machine.method`` of the rows of a collection: a collection of the same kind."""
    machine = delayed(machine, pure=True)
    if isinstance(X, da.Array):
        X = X.rechunk({1: -1}) if len(X.chunks[1]) > 1 else X
        shape = {"drop_axis": 1} if n_columns is None else {"chunks": (X.chunks[0], (n_columns,))}
        meta = np.empty((0,) if n_columns is None else (0, 0), dtype)
        return X.map_blocks(
            _values, machine, method, options, dtype=dtype, meta=meta, **shape,
        )  # fmt: skip
    if hasattr(X, "map_partitions"):
        if n_columns is None:
            meta = pd.Series([], dtype=dtype, name=method)
        else:
            meta = pd.DataFrame({k: pd.Series([], dtype=dtype) for k in range(n_columns)})
        return X.map_partitions(_frame, machine, method, options, dtype, n_columns, meta=meta)
    value = delayed(_values)
    parts = X if isinstance(X, list | tuple) else [X]
    found = [value(part, machine, method, options) for part in parts]
    return found if isinstance(X, list | tuple) else found[0]


def _values(X, machine, method, options):
    return getattr(machine, method)(X, **options)


def _frame(X, machine, method, options, dtype, n_columns):
    if n_columns is None:
        values = _values(X, machine, method, options) if len(X) else np.empty(0, dtype)
        return pd.Series(values, index=X.index, name=method)
    values = _values(X, machine, method, options) if len(X) else np.empty((0, n_columns), dtype)
    return pd.DataFrame(values, index=X.index)
