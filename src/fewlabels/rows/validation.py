"""Rows and weights that users pass, checked."""

from collections.abc import Mapping
from functools import lru_cache
from numbers import Real
from typing import Any, Protocol, TypeGuard

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator
from sklearn.utils._param_validation import validate_parameter_constraints

from .._typing import (
    AnyArray,
    FloatArray,
    IntArray,
    MatrixLike,
    RealArray,
    RowMatrix,
    VectorLike,
)
from ..data.checks import check_numbers
from ..data.labels.marks import read_anomalies
from ..kernels import Callable as CallableKernel
from ..kernels import KernelLike
from ..kernels.base import LARGEST
from ..kernels.operators.explicit import evaluate_formed
from ..kernels.rows import validated_rows
from .device import backend_of
from .memory import NOTHING_LEFT, MemorySource
from .source import ShardedSource

# Beyond the first, squares of numbers have no room in double precision. float32 rows with numbers
# beyond the second become float64.
_LARGEST_FLOAT32 = 1e15
# Below this all squares of numbers are zero.
_MIN_NUMBER = 1e-150
# The largest weight that costs and their sums can carry; its inverse is the smallest.
_MAX_WEIGHT = 1e250
# The largest ratio between weights.
_MAX_WEIGHT_RATIO = 1e30
# Differences between K[i, j] and K[j, i] that are rounding, relative to the largest value.
_MAX_ASYMMETRY = 1e-5
# Kernel values that are compared at a time.
_VALUES_AT_A_TIME = 4_000_000
# Rows between which a kernel function is compared with itself the other way round.
_N_ROWS_COMPARED = 200
_FLOATS = (np.dtype(np.float64), np.dtype(np.float32))
_TIME_TYPES = ("date", "time", "duration")
_MAX_INTEGER = 1e300  # whole numbers of Python go on
# Types of parameters that say all about them.
_PLAIN_TYPES = {str, int, float, bool, type(None), np.float64}


class KernelEstimator(Protocol):
    """An estimator with a kernel, as far as its rows are concerned."""

    kernel: KernelLike
    n_features_in_: int

    def _reason_for_memory(self, source: type[ShardedSource]) -> str | None:
        """Return what the model needs its rows in memory for, in one sentence."""


def fit_rows(
    estimator: KernelEstimator,
    X: MatrixLike,
    sample_weight: VectorLike | None,
    anomalies: VectorLike | None = None,
) -> MemorySource:
    """``MemorySource`` of what ``fit`` is given."""
    everything = check_rows(estimator, X, reset=True)
    if estimator.kernel == "precomputed":
        _check_symmetric(everything)
    weight, kept = check_weight(sample_weight, everything)
    mask = None if anomalies is None else read_anomalies(anomalies, everything.shape[0])
    rows = MemorySource(everything, weight, kept, estimator.kernel == "precomputed", mask)
    if callable(estimator.kernel):
        _check_function(CallableKernel(estimator.kernel), rows.X)
    return rows


def check_rows(estimator: KernelEstimator, X: MatrixLike, *, reset: bool) -> RowMatrix:
    """Return rows as a C-ordered float array or CSR array; float32 stays float32.

    With a precomputed kernel, ``X`` holds kernel values against the training rows.
    """
    precomputed = estimator.kernel == "precomputed"
    rows: RowMatrix
    if _is_plain(X, estimator, reset) and (largest := _largest(X)) <= LARGEST:
        rows = X  # validate_data would find no more
        if reset:
            estimator.n_features_in_ = X.shape[1]
    else:
        if (backend := backend_of(X)) is not None:
            raise ValueError(
                f"{type(estimator).__name__} takes NumPy rows here, not rows of {backend}; "
                "convert them to NumPy arrays."
            )
        _refuse_non_numbers(X)
        try:
            with np.errstate(invalid="ignore"):  # a sum of inf and -inf; both are refused
                rows = validated_rows(
                    estimator,
                    X,
                    reset=reset,
                    accept_sparse=False if precomputed else "csr",
                    dtype=[np.float64, np.float32],
                    order="C",
                )
        except ValueError as error:
            if "could not convert string" not in str(error):
                raise
            raise ValueError(
                f"X holds text ({error}); encode it, for example with fewlabels.TableEncoder, or "
                "pass the table to fewlabels.fit_table."
            ) from error
        largest = _largest(rows.data if sp.issparse(rows) else rows)
    if precomputed and reset and rows.shape[0] != rows.shape[1]:
        raise ValueError(
            f"kernel='precomputed' needs the square kernel matrix of the training rows; "
            f"the matrix given is {rows.shape[0]}x{rows.shape[1]}."
        )
    if largest > LARGEST:
        raise ValueError(
            f"X has numbers up to {largest:.3g}, and beyond {LARGEST:g} their squares overflow; "
            "scale the columns, and check for outliers."
        )
    if reset and not precomputed and 0.0 < largest < _MIN_NUMBER:
        raise ValueError(
            f"X has only numbers up to {largest:.3g}, whose squares underflow to 0; scale the "
            "columns."
        )
    must_widen = rows.dtype != float and largest > _LARGEST_FLOAT32
    return rows.astype(np.float64) if must_widen else rows


def _check_symmetric(K: RealArray) -> None:
    """Refuse a kernel matrix that isn't symmetric: no problem has it, and no certificate holds."""
    apart, size = _asymmetry(K)
    if apart > _MAX_ASYMMETRY * size:
        raise ValueError(
            f"the kernel matrix isn't symmetric: K[i, j] and K[j, i] differ by up to {apart:.3g}, "
            f"and its largest value is {size:.3g}. Pass (K + K.T) / 2, or check how it was made."
        )


def _check_function(kernel: CallableKernel, X: RowMatrix) -> None:
    """Refuse a kernel function that isn't symmetric between some of the rows."""
    n = X.shape[0]
    some = X[np.linspace(0, n - 1, min(n, _N_ROWS_COMPARED)).astype(np.intp)]
    apart, size = _asymmetry(evaluate_formed(kernel, some, some))
    if apart > _MAX_ASYMMETRY * size:
        raise ValueError(
            f"the kernel function isn't symmetric: K(x, z) and K(z, x) differ by up to "
            f"{apart:.3g}, and the largest value is {size:.3g}. Return the mean of both, or check "
            "the function."
        )


def _asymmetry(K: RealArray) -> tuple[float, float]:
    """Return the largest difference between K[i, j] and K[j, i], and the largest value."""
    apart, size, step = 0.0, 0.0, max(1, _VALUES_AT_A_TIME // len(K))
    for first in range(0, len(K), step):
        some = K[first : first + step, first:]
        with np.errstate(over="ignore"):
            differences = np.abs(some - K[first:, first : first + step].T)
        apart, size = max(apart, float(differences.max())), max(size, _largest(some))
    return apart, size


def _is_plain(X: object, estimator: KernelEstimator, reset: bool) -> TypeGuard[AnyArray]:
    """Return whether rows are a plain array of numbers, as wide as rows have been so far."""
    return (
        type(X) is np.ndarray
        and X.dtype in _FLOATS
        and X.ndim == 2
        and X.flags.c_contiguous
        and X.size > 0
        and not hasattr(estimator, "feature_names_in_")
        and (reset or X.shape[1] == estimator.n_features_in_)
    )


def _largest(numbers: AnyArray) -> float:
    """Return the largest number, by its size; NaN where one is."""
    return float(max(numbers.max(initial=0.0), -numbers.min(initial=0.0)))


def _refuse_non_numbers(X: MatrixLike) -> None:
    """Equal names, and dates, which would become numbers in silence."""
    names = X.column_names if hasattr(X, "column_names") else getattr(X, "columns", ())
    if len(set(names)) < len(names):
        raise ValueError("columns of X share a name; rename them so that each name occurs once.")
    types = getattr(X, "dtypes", getattr(X, "dtype", ())) if hasattr(X, "shape") else ()
    types = types if np.iterable(types) else [types]
    odd = [str(t) for t in types if any(word in str(t).lower() for word in _TIME_TYPES)]
    if odd:
        raise TypeError(
            f"X has dates or times ({odd[0]}); drop them, or convert them to numbers, such as "
            "days since a date."
        )


def check_weight(
    sample_weight: VectorLike | None, X: RowMatrix
) -> tuple[FloatArray | None, IntArray | None]:
    """Return weights of the rows that count and their indices; None where all count, and alike."""
    if sample_weight is None:
        return None, None
    if isinstance(sample_weight, Real):
        sample_weight = np.full(X.shape[0], float(sample_weight))
    weight = check_numbers(
        sample_weight, dtype=np.float64, ensure_2d=False, input_name="sample_weight"
    )
    if weight.shape != (X.shape[0],):
        raise ValueError(
            f"sample_weight has shape {weight.shape}; it needs one number per row of X, "
            f"shape ({X.shape[0]},)."
        )
    kept = np.flatnonzero(weight > 0)
    if len(kept) == 0:
        raise ValueError(NOTHING_LEFT)
    weight = weight[kept]
    least, most = weight.min(), weight.max()
    if not (
        1.0 / _MAX_WEIGHT <= least and most <= _MAX_WEIGHT and most <= _MAX_WEIGHT_RATIO * least
    ):
        raise ValueError(
            f"sample_weight goes from {least:.3g} to {most:.3g}; keep positive weights within a "
            f"factor of {_MAX_WEIGHT_RATIO:g}, and between {1.0 / _MAX_WEIGHT:g} and "
            f"{_MAX_WEIGHT:g}."
        )
    return (
        None if np.all(weight == 1.0) else weight,
        None if len(kept) == X.shape[0] else kept,
    )


def to_python_number(value: Any) -> Any:
    """Return a number of NumPy as Python's.

    A bound such as 1e300 overflows in single precision.
    """
    return value.item() if isinstance(value, np.number) else value


def check_values(
    kind: type[object], constraints: Mapping[str, object], values: Mapping[str, object]
) -> None:
    """Refuse parameters by name that an estimator of some kind cannot have."""
    if _PLAIN_TYPES.issuperset(map(type, values.values())):
        # mypy doesn't see that classes are hashable.
        _check_plain(kind, tuple(values), *values.values())  # type: ignore[arg-type]
    else:
        values = {name: to_python_number(value) for name, value in values.items()}
        validate_parameter_constraints(constraints, values, kind.__name__)
    for name in ("C", "C_star", "lam", "gamma", "coef0"):
        value = values.get(name)
        if isinstance(value, int) and abs(value) > _MAX_INTEGER:
            raise ValueError(f"{name} is too large for double precision; pass a smaller one.")


@lru_cache(1024, typed=True)
def _check_plain(kind: type[BaseEstimator], names: tuple[str, ...], *values: object) -> None:
    """Check parameters, the same ones once."""
    by_name = dict(zip(names, values, strict=True))
    validate_parameter_constraints(kind._parameter_constraints, by_name, kind.__name__)


def check_parameters(estimator: BaseEstimator) -> None:
    """Refuse parameters that ``fit`` would refuse, before the time for a search is spent."""
    estimator._validate_params()


def memory_requirement(estimator: KernelEstimator) -> str | None:
    """Return what a model needs its rows in memory for, in one sentence; None for nothing."""
    return estimator._reason_for_memory(ShardedSource)


def is_out_of_core(X: object) -> bool:
    """Return whether rows are neither NumPy's nor read as such."""
    return isinstance(X, ShardedSource) or backend_of(X) is not None


def load_rows(X: object, rows: RowMatrix | None = None) -> RowMatrix:
    """Return the rows of X in memory, unless they are known: an array of NumPy or CSR."""
    if rows is not None:
        return rows
    if isinstance(X, ShardedSource):
        return X.take(X.indices)
    backend = backend_of(X)
    assert backend is not None
    return backend.numpy(X)


def read_weights(sample_weight: VectorLike | None, X: RowMatrix) -> FloatArray | None:
    """Return weights of all rows, 0 for those that do not count; None where they are all 1."""
    backend = backend_of(sample_weight)
    weight, kept = check_weight(
        sample_weight if backend is None else backend.numpy(sample_weight), X
    )
    if kept is None:
        return weight
    everywhere = np.zeros(X.shape[0])
    everywhere[kept] = 1.0 if weight is None else weight
    return everywhere
