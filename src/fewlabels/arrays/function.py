"""The function that a model has learned, at rows on a device."""

import numpy as np

from ..fitted import ClassFunctions
from ..gram import RowMap
from .home import plain_rows
from .values import add_products, columns_of, linear_products, own_values, prepared


def values_at(home, name, function, X, n_features):
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
    X, xp = plain_rows(home, X), home.xp
    if X.shape[1] != n_features:
        raise ValueError(
            f"X has {X.shape[1]} features, but {name} is expecting {n_features} features as input."
        )
    if not bool(xp.all(xp.isfinite(X))):
        raise ValueError("Input X contains NaN or infinity; every number must be finite.")
    value = _sums(home, function, X) + float(function.bias)
    if function.self_weight:
        own = own_values(home, function.kernel, X, function.shift)
        value = value - float(function.self_weight) * own
    far = ~xp.isfinite(value)
    far = home.places(far | (value < function.tail) if function.tail else far)
    if far.shape[0]:
        there = function(np.array(home.numpy(xp.take(X, far, axis=0))))
        value = home.put(value, far, home.array(there))
    near = xp.abs(value - float(function.boundary)) <= function.rounding
    return xp.where(near, home.array(float(function.boundary)), value)


def _sums(home, function, X):
    if function.kernels[0].is_linear:
        return linear_products(home, X, function.shift, function.weights)
    value = home.zeros(X.shape[0])
    for k in np.flatnonzero(function.coef.any(axis=1)):
        dtype = np.float64 if function.float64 else np.float32
        row_map = RowMap.restored(function.kernels[k], function.center, dtype)
        columns = columns_of(home, row_map, *row_map.prepare(function.vectors))
        value = add_products(
            home, row_map.kernel, prepared(home, row_map, X), columns,
            home.array(function.coef[k], float), value,
        )  # fmt: skip
    return value
