"""Values of rows in collections, which stay lazy."""

import dask.array as da
import numpy as np
import pandas as pd
from dask import delayed


def mapped(machine, method, X, dtype, columns=None, **options):
    """``machine.method`` of the rows of a collection: a collection of the same kind.

    Where there are ``columns``, a row has a value for each.
    """
    if hasattr(X, "map_partitions") and not isinstance(X, da.Array):
        # Older data frames do not wait for delayed arguments.
        shape = 0 if columns is None else (0, len(columns))
        meta = _in_frame(np.empty(shape, dtype), None, method, columns)
        return X.map_partitions(_frame, machine, method, options, meta, columns, meta=meta)
    machine = delayed(machine, pure=True)
    if isinstance(X, da.Array):
        X = X.rechunk({1: -1}) if len(X.chunks[1]) > 1 else X
        shape = {"drop_axis": 1, "meta": np.empty(0, dtype)}
        if columns is not None:
            shape = {"chunks": (X.chunks[0], (len(columns),)), "meta": np.empty((0, 0), dtype)}
        return X.map_blocks(_values, machine, method, options, dtype=dtype, **shape)
    value = delayed(_values)
    parts = X if isinstance(X, list | tuple) else [X]
    found = [value(part, machine, method, options) for part in parts]
    return found if isinstance(X, list | tuple) else found[0]


def _values(X, machine, method, options):
    return getattr(machine, method)(X, **options)


def _frame(X, machine, method, options, nothing, columns):
    values = _values(X, machine, method, options) if len(X) else nothing.to_numpy()
    return _in_frame(values, X.index, method, columns)


def _in_frame(values, index, method, columns):
    if columns is None:
        return pd.Series(values, index=index, name=method)
    return pd.DataFrame(values, index=index, columns=columns)
