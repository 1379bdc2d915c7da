"""The function that a model has learned, at rows on a device."""

import numpy as np

from ..fitted import ClassFunctions
from ..gram import RowMap
from .backend import plain_rows
from .values import add_products, columns_of, linear_products, own_values, prepared


def values_at(backend, name, function, X, n_features):
    """Values of a ``Function`` at rows of an array, in float64, where the rows are.

    ``name`` is the model's. Rows so far away that float32, or a kernel, has ended go to the
    host.
    """
    is_mapped = all(kernel.is_mapped or kernel.is_linear for kernel in function.kernels)
    if isinstance(function, ClassFunctions) or not is_mapped:
        raise ValueError(
            f"this {name} scores NumPy rows only; array API rows need kernel='rbf', 'poly', "
            "'sigmoid' or 'linear' and at most two classes."
        )
    X, xp = plain_rows(backend, X), backend.xp
    if X.shape[1] != n_features:
        raise ValueError(
            f"X has {X.shape[1]} features, but {name} is expecting {n_features} features as input."
        )
    if not bool(xp.all(xp.isfinite(X))):
        raise ValueError("Input X contains NaN or infinity; every number must be finite.")
    value = _sums(backend, function, X) + float(function.bias)
    if function.self_weight:
        own = own_values(backend, function.kernel, X, function.shift)
        value = value - float(function.self_weight) * own
    far = ~xp.isfinite(value)
    far = backend.places(far | (value < function.tail) if function.tail else far)
    if far.shape[0]:
        there = function(np.array(backend.numpy(xp.take(X, far, axis=0))))
        value = backend.put(value, far, backend.array(there))
    near = xp.abs(value - float(function.boundary)) <= function.rounding
    return xp.where(near, backend.array(float(function.boundary)), value)


def _sums(backend, function, X):
    if function.kernels[0].is_linear:
        return linear_products(backend, X, function.shift, function.weights)
    value = backend.zeros(X.shape[0])
    for k in np.flatnonzero(function.coef.any(axis=1)):
        dtype = np.float64 if function.float64 else np.float32
        row_map = RowMap.restored(function.kernels[k], function.center, dtype)
        columns = columns_of(backend, row_map, *row_map.prepare(function.vectors))
        value = add_products(
            backend,
            row_map.kernel,
            prepared(backend, row_map, X),
            columns,
            backend.array(function.coef[k], float),
            value,
        )
    return value
