"""Kernel values on a device, one product of matrices and a map of its entries, and their sums."""

from typing import Protocol, cast

import numpy as np

from ..._typing import AnyArray, FloatArray, RealArray, RowMatrix
from ...kernels import MAPPED, Map
from ...kernels.base import Kernel, MappedKernel
from ...kernels.operators import RowMap
from ...kernels.operators.rows import find_far_rows
from ...kernels.parameters import list_kinds
from ...kernels.rows import compute_far_exponent
from .backend import ArrayBackend, DeviceArray, plain_rows

# Kernel values that a processor computes at a time: as few as its cache holds. This takes half the
# time of four million.
_VALUES_AT_A_TIME_ON_CPU = 200_000
# Kernel values at a time that keep another device busy.
_VALUES_AT_A_TIME_ON_DEVICE = 32_000_000
# Numbers at a time where rows are prepared.
_NUMBERS_AT_A_TIME = 16_000_000
# Half the squared norm beyond which ``RowMap`` gives rows fewer digits, or cuts them off.
_FAR = 1e14


class KernelFunction(Protocol):
    """The function of a model, as ``fewlabels.base.solution.Function`` describes it."""

    @property
    def kernels(self) -> tuple[Kernel, ...]: ...
    @property
    def kernel(self) -> Kernel: ...
    @property
    def vectors(self) -> RowMatrix: ...
    @property
    def coef(self) -> FloatArray: ...
    @property
    def bias(self) -> float: ...
    @property
    def self_weight(self) -> float: ...
    @property
    def shift(self) -> FloatArray | None: ...
    @property
    def center(self) -> FloatArray | None: ...
    @property
    def float64(self) -> bool | None: ...
    @property
    def boundary(self) -> float: ...
    @property
    def rounding(self) -> float: ...
    @property
    def tail(self) -> float: ...
    @property
    def weights(self) -> FloatArray | None: ...
    def __call__(self, X: AnyArray) -> FloatArray: ...


class ClassKernelFunctions(Protocol):
    """The functions of several classes, ``fewlabels.base.solution.ClassFunctions``."""

    @property
    def kernels(self) -> tuple[Kernel, ...]: ...
    @property
    def bias(self) -> FloatArray: ...


def parts_of(n: int, entries: int, most: int) -> list[slice]:
    """Return slices of n rows of so many entries each."""
    step = max(1, most // max(1, entries))
    return [slice(first, min(n, first + step)) for first in range(0, n, step)]


def prepare_rows(backend: ArrayBackend, row_map: RowMap, X: DeviceArray) -> DeviceArray:
    """Rows as ``RowMap.prepare`` makes them, with their term and 1 as two further columns."""
    xp, kernel = backend.xp, row_map.kernel
    dtype = backend.float64 if row_map.dtype == np.float64 else backend.float32
    center = None if row_map.center is None else backend.array(row_map.center)
    found = []
    for part in parts_of(X.shape[0], X.shape[1], _NUMBERS_AT_A_TIME):
        rows = backend.exactly(X[part, :])
        rows = rows if center is None else rows - center
        rows = xp.astype(float(kernel.factor) * rows, dtype)
        term = xp.zeros(rows.shape[0], dtype=dtype, device=backend.device)
        if kernel.of_distance:
            exact = backend.exactly(rows)
            exact = -0.5 * xp.sum(exact * exact, axis=1)
            far = backend.places(~(exact >= -_FAR))
            term = xp.astype(exact, dtype)
            if far.shape[0]:
                _prepare_far(backend, row_map, X[part, :], (rows, term), far)
        columns = xp.stack([term, xp.ones_like(term)], axis=1)
        found.append(xp.concat([rows, columns], axis=1))
    return found[0] if len(found) == 1 else xp.concat(found, axis=0)


def _prepare_far(
    backend: ArrayBackend,
    row_map: RowMap,
    X: DeviceArray,
    prepared: tuple[DeviceArray, DeviceArray],
    far: DeviceArray,
) -> None:
    """Rows that are too far away to be prepared as the others are."""
    rows, term = prepared
    places = backend.numpy(far).tolist()
    taken = backend.numpy(backend.xp.take(X, far, axis=0))
    for place, row, value in zip(places, *row_map.prepare(taken), strict=True):
        rows[place, :] = backend.array(row)
        term[place] = float(value)


def columns_of(
    backend: ArrayBackend, row_map: RowMap, rows: RowMatrix, term: RealArray
) -> DeviceArray:
    """Prepared columns of NumPy, such that rows times these give what a kernel is a map of."""
    rows = rows if isinstance(rows, np.ndarray) else rows.toarray()
    ones = np.ones_like(term)
    term = term + term.dtype.type(row_map.kernel.coef0)
    return backend.array(np.ascontiguousarray(np.column_stack([rows, ones, term]).T))


def mapped(backend: ArrayBackend, kernel: MappedKernel, z: DeviceArray) -> DeviceArray:
    """Return kernel values from inner products."""
    return kernel.mapped(backend.xp, z)


def add_products(
    backend: ArrayBackend,
    kernel: MappedKernel,
    rows: DeviceArray,
    columns: DeviceArray,
    coef: DeviceArray,
    out: DeviceArray,
) -> DeviceArray:
    """``out += K(rows, columns) @ coef``, of float64 sums; both are prepared."""
    most = _VALUES_AT_A_TIME_ON_CPU if backend.is_processor else _VALUES_AT_A_TIME_ON_DEVICE
    for part in parts_of(rows.shape[0], columns.shape[1], most):
        values = mapped(backend, kernel, rows[part, :] @ columns)
        out[part] += backend.exactly(values) @ coef
    return out


def linear_products(
    backend: ArrayBackend, X: DeviceArray, shift: FloatArray | None, weights: FloatArray
) -> DeviceArray:
    """``(X - shift) @ weights`` in float64."""
    xp, found = backend.xp, []
    weights = backend.array(weights, float)
    shift = None if shift is None else backend.array(shift, float)
    for part in parts_of(X.shape[0], X.shape[1], _NUMBERS_AT_A_TIME):
        rows = backend.exactly(X[part, :])
        found.append((rows if shift is None else rows - shift) @ weights)
    return found[0] if len(found) == 1 else xp.concat(found)


def diagonal_values(
    backend: ArrayBackend, kernel: MappedKernel, X: DeviceArray, shift: FloatArray | None = None
) -> DeviceArray:
    """Return K(x, x) of every row, in float64."""
    xp, found = backend.xp, []
    if kernel.is_similarity:
        return xp.ones(X.shape[0], dtype=backend.float64, device=backend.device)
    shift = None if shift is None else backend.array(shift, float)
    for part in parts_of(X.shape[0], X.shape[1], _NUMBERS_AT_A_TIME):
        rows = backend.exactly(X[part, :])
        rows = rows if shift is None else rows - shift
        inner = float(kernel.factor) ** 2 * xp.sum(rows * rows, axis=1) + float(kernel.coef0)
        found.append(mapped(backend, kernel, inner))
    return found[0] if len(found) == 1 else xp.concat(found)


# -- a function -----------------------------------------------------------------------------------


def values_at(
    backend: ArrayBackend,
    name: str,
    function: KernelFunction | ClassKernelFunctions,
    X: DeviceArray,
    n_features: int,
) -> DeviceArray:
    """Return values of a ``Function`` at rows of an array, in float64, where the rows are.

    ``name`` is the model's. Rows so far away that float32, or a kernel, has ended go to the
    host.
    """
    is_known = all(
        isinstance(kernel, MappedKernel)
        and (kernel.is_mapped or kernel.is_linear)
        and kernel.map in set(Map)
        for kernel in function.kernels
    )
    has_several = np.ndim(function.bias) > 0  # functions, one for each class
    if has_several or not is_known:
        raise ValueError(
            f"this {name} scores NumPy rows only; array API rows need {list_kinds(MAPPED)} and at "
            "most two classes."
        )
    function = cast(KernelFunction, function)
    X, xp = plain_rows(backend, X), backend.xp
    if X.shape[1] != n_features:
        raise ValueError(
            f"X has {X.shape[1]} features, but {name} is expecting {n_features} features as input."
        )
    if not bool(xp.all(xp.isfinite(X))):
        raise ValueError("Input X contains NaN or infinity; every number must be finite.")
    value, beyond = _sum_terms(backend, function, X)
    value = value + float(function.bias)
    if function.self_weight:
        assert isinstance(function.kernel, MappedKernel)
        own = diagonal_values(backend, function.kernel, X, function.shift)
        value = value - float(function.self_weight) * own
    far = ~xp.isfinite(value)
    far = far | (value < function.tail) if function.tail else far
    far = backend.places(far | beyond if beyond is not None else far)
    if far.shape[0]:
        there = function(np.array(backend.numpy(xp.take(X, far, axis=0))))
        value = backend.put(value, far, backend.array(there))
    near = xp.abs(value - float(function.boundary)) <= function.rounding
    return xp.where(near, backend.array(float(function.boundary)), value)


def _sum_terms(
    backend: ArrayBackend, function: KernelFunction, X: DeviceArray
) -> tuple[DeviceArray, DeviceArray | None]:
    if function.kernels[0].is_linear:
        assert function.weights is not None
        return linear_products(backend, X, function.shift, function.weights), None
    value, beyond = backend.zeros(X.shape[0]), None
    for k in np.flatnonzero(function.coef.any(axis=1)):
        dtype = np.float64 if function.float64 else np.float32
        kernel = function.kernels[k]
        assert isinstance(kernel, MappedKernel)
        row_map = RowMap.restore(kernel, function.center, dtype)
        vectors, term = row_map.prepare(function.vectors)
        columns = columns_of(backend, row_map, vectors, term)
        rows = prepare_rows(backend, row_map, X)
        coef = backend.array(function.coef[k], float)
        value = add_products(backend, row_map.kernel, rows, columns, coef, value)
        if len(find_far_rows(row_map.kernel, term, X.shape[1])):
            is_far = rows[:, -2] < -compute_far_exponent(X.shape[1])
            beyond = is_far if beyond is None else beyond | is_far
    return value, beyond
