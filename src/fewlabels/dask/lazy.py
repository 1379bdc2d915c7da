"""Values of rows in collections, which stay lazy."""

import dask.array as da
import numpy as np
import pandas as pd
from dask import delayed


def mapped(machine, method, X, dtype, **options):
    """``machine.method`` of the rows of a collection: a collection of the same kind."""
    if hasattr(X, "map_partitions") and not isinstance(X, da.Array):
        # Older data frames do not wait for delayed arguments.
        meta = pd.Series([], dtype=dtype, name=method)
        return X.map_partitions(_frame, machine, method, options, dtype, meta=meta)
    machine = delayed(machine, pure=True)
    if isinstance(X, da.Array):
        X = X.rechunk({1: -1}) if len(X.chunks[1]) > 1 else X
        return X.map_blocks(
            _values, machine, method, options, dtype=dtype, drop_axis=1, meta=np.empty(0, dtype)
        )
    value = delayed(_values)
    parts = X if isinstance(X, list | tuple) else [X]
    found = [value(part, machine, method, options) for part in parts]
    return found if isinstance(X, list | tuple) else found[0]


def _values(X, machine, method, options):
    return getattr(machine, method)(X, **options)


def _frame(X, machine, method, options, dtype):
    values = _values(X, machine, method, options) if len(X) else np.empty(0, dtype)
    return pd.Series(values, index=X.index, name=method)
