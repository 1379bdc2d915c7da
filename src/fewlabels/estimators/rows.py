"""Rows and weights that users pass, checked."""

from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from numbers import Real

import numpy as np
import scipy.sparse as sp
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils._param_validation import validate_parameter_constraints
from sklearn.utils.validation import check_array, validate_data

from .._warn import warn
from ..arrays import home_of
from ..gram.equal_rows import distinct
from ..gram.static.explicit import formed_values
from ..gram.tiles.features import middle
from ..kernels import Callable, Map, center_of, centered
from ..kernels.base import squared_norms
from ..labels.anomalies import read_anomalies
from ..options.words import Message, ref

# Beyond the first, squares of numbers have no room in double precision. float32 rows with numbers
# beyond the second become float64.
_LARGEST, _LARGEST_FLOAT32 = 1e150, 1e15
# Below this all squares are zero. Weights that costs, their sums and their ratios can carry.
_SMALLEST, _HEAVIEST, _APART = 1e-150, 1e250, 1e30
_EPSILON = float(np.finfo(float).eps)
# Differences between K[i, j] and K[j, i] that are rounding, relative to the largest value; numbers
# compared at a time.
_ASYMMETRIC, _AT_A_TIME = 1e-5, 4_000_000
# Rows between which a kernel function is compared with itself the other way round.
_ROWS_COMPARED = 200
_FLOATS = (np.dtype(np.float64), np.dtype(np.float32))
_OF_TIME = ("date", "time", "duration")
_ANY_NUMBER = 1e300  # whole numbers of Python go on
# Types of parameters that say all about them.
_PLAIN = {str, int, float, bool, type(None), np.float64}
# Rows that the spread of all is estimated from.
_SAMPLE = 256
# Digits that a sum of kernel values may lose without a word, as a share of the coefficients.
_LOST = 1e-6
_NOTHING_LEFT = "Invalid input - all samples have zero or negative weights."


@dataclass(frozen=True, eq=False)
class FitRows:
    """Rows of a fit."""

    everything: np.ndarray  # all rows, or a CSR array
    weight: np.ndarray | None  # of the rows that count; None when they are all 1
    kept: np.ndarray | None  # indices of these, the rows of positive weight; None for all
    is_matrix: bool = False  # rows are those of a kernel matrix
    anomalies: np.ndarray | None = None  # mask of all rows; None without confirmed anomalies
    X: np.ndarray = field(init=False)  # the rows that count; of a matrix, their columns

    def __post_init__(self):
        X = self.everything
        if self.kept is not None:
            X = X[self.kept][:, self.kept] if self.is_matrix else X[self.kept]
        object.__setattr__(self, "X", X)

    @property
    def indices(self):
        """Indices of the rows that count."""
        return np.arange(self.X.shape[0]) if self.kept is None else self.kept

    @cached_property
    def weights(self):
        """Weights of the rows that count."""
        return np.ones(self.X.shape[0]) if self.weight is None else self.weight

    @cached_property
    def anomaly(self):
        """Mask of the confirmed anomalies among the rows that count; None without any."""
        if self.anomalies is None:
            return None
        mask = self.anomalies if self.kept is None else self.anomalies[self.kept]
        if mask.all():
            raise ValueError(
                "anomalies marks every weighted row as a confirmed anomaly, but a one-class "
                "model needs normal rows; pass at least one."
            )
        return mask if mask.any() else None

    @cached_property
    def mass(self):
        """What normal rows weigh together."""
        weights = self.weights if self.anomaly is None else self.weights[~self.anomaly]
        return float(weights.sum())

    @property
    def numbers(self):
        """Numbers of the rows that count, by name, as a ``Formulation`` takes them."""
        numbers = {"weight": self.weights}
        return numbers if self.anomaly is None else numbers | {"anomaly": self.anomaly}

    def normal(self):
        """Normal rows that count, and their weights (None when they are all 1)."""
        if self.anomaly is None:
            return self.X, self.weight
        places = np.flatnonzero(~self.anomaly)
        return self.X[places], None if self.weight is None else self.weight[places]

    def spread(self, values):
        """Values of the rows that count, at all rows; 0 for the others."""
        if self.kept is None:
            return values
        everywhere = np.zeros(self.everything.shape[0])
        everywhere[self.kept] = values
        return everywhere

    def without(self, mask):
        """The same where some of all rows do not count."""
        chosen = np.flatnonzero(~mask[self.indices])
        if not len(chosen):
            raise ValueError(_NOTHING_LEFT)
        weight = None if self.weight is None else self.weight[chosen]
        return replace(self, weight=weight, kept=self.indices[chosen])


def fit_rows(estimator, X, sample_weight, anomalies=None):
    """``FitRows`` from what ``fit`` is given."""
    everything = check_rows(estimator, X, reset=True)
    if estimator.kernel == "precomputed":
        _check_symmetric(everything)
    weight, kept = check_weight(sample_weight, everything)
    mask = read_anomalies(anomalies, everything.shape[0])
    rows = FitRows(everything, weight, kept, estimator.kernel == "precomputed", mask)
    if callable(estimator.kernel):
        _check_function(Callable(estimator.kernel), rows.X)
    return rows


def check_rows(estimator, X, *, reset):
    """Rows as a C-ordered float array or CSR array; float32 stays float32.

    With a precomputed kernel, ``X`` holds kernel values against the training rows.
    """
    precomputed = estimator.kernel == "precomputed"
    largest = _largest(X) if _is_plain(estimator, X, reset) else np.nan
    if largest <= _LARGEST:  # nor would validate_data find more
        if reset:
            estimator.n_features_in_ = X.shape[1]
    else:
        if (home := home_of(X)) is not None:
            raise ValueError(
                f"{type(estimator).__name__} takes NumPy rows here, not rows of {home}; convert "
                "them to NumPy arrays."
            )
        _refuse_what_is_no_number(X)
        try:
            X = validate_data(
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
        largest = _largest(X.data if sp.issparse(X) else X)
    if precomputed and reset and X.shape[0] != X.shape[1]:
        raise ValueError(
            f"kernel='precomputed' needs the square kernel matrix of the training rows; "
            f"the matrix given is {X.shape[0]}x{X.shape[1]}."
        )
    if largest > _LARGEST:
        raise ValueError(
            f"X has numbers up to {largest:.3g}, and beyond {_LARGEST:g} their squares overflow; "
            "scale the columns, and check for outliers."
        )
    if reset and not precomputed and 0.0 < largest < _SMALLEST:
        raise ValueError(
            f"X has only numbers up to {largest:.3g}, whose squares underflow to 0; scale the "
            "columns."
        )
    return X.astype(np.float64) if X.dtype != float and largest > _LARGEST_FLOAT32 else X


def _check_symmetric(K):
    """Refuse a kernel matrix that isn't symmetric: no problem has it, and no certificate holds."""
    apart, size = _asymmetry(K)
    if apart > _ASYMMETRIC * size:
        raise ValueError(
            f"the kernel matrix isn't symmetric: K[i, j] and K[j, i] differ by up to {apart:.3g}, "
            f"and its largest value is {size:.3g}. Pass (K + K.T) / 2, or check how it was made."
        )


def _check_function(kernel, X):
    """Refuse a kernel function that isn't symmetric between some of the rows."""
    n = X.shape[0]
    some = X[np.linspace(0, n - 1, min(n, _ROWS_COMPARED)).astype(np.intp)]
    apart, size = _asymmetry(formed_values(kernel, some, some))
    if apart > _ASYMMETRIC * size:
        raise ValueError(
            f"the kernel function isn't symmetric: K(x, z) and K(z, x) differ by up to "
            f"{apart:.3g}, and the largest value is {size:.3g}. Return the mean of both, or check "
            "the function."
        )


def _asymmetry(K):
    """What K[i, j] and K[j, i] differ by at most, and the largest value."""
    apart, size, step = 0.0, 0.0, max(1, _AT_A_TIME // len(K))
    for first in range(0, len(K), step):
        some = K[first : first + step, first:]
        with np.errstate(over="ignore"):
            differences = np.abs(some - K[first:, first : first + step].T)
        apart, size = max(apart, float(differences.max())), max(size, _largest(some))
    return apart, size


def _is_plain(estimator, X, reset):
    """Whether rows are a plain array of numbers, of as many columns as rows have had so far."""
    return (
        type(X) is np.ndarray
        and X.dtype in _FLOATS
        and X.ndim == 2
        and X.flags.c_contiguous
        and X.size > 0
        and not hasattr(estimator, "feature_names_in_")
        and (reset or X.shape[1] == estimator.n_features_in_)
    )


def _largest(numbers):
    """The largest number, by its size; NaN where one is."""
    return float(max(numbers.max(initial=0.0), -numbers.min(initial=0.0)))


def _refuse_what_is_no_number(X):
    """Equal names, dates, which would become numbers in silence, and broken CSR arrays."""
    names = X.column_names if hasattr(X, "column_names") else getattr(X, "columns", ())
    if len(set(names)) < len(names):
        raise ValueError("columns of X share a name; rename them so that each name occurs once.")
    types = getattr(X, "dtypes", getattr(X, "dtype", ())) if hasattr(X, "shape") else ()
    types = types if np.iterable(types) else [types]
    odd = [str(t) for t in types if any(word in str(t).lower() for word in _OF_TIME)]
    if odd:
        raise TypeError(
            f"X has dates or times ({odd[0]}); drop them, or convert them to numbers, such as "
            "days since a date."
        )
    if sp.issparse(X) and hasattr(X, "check_format"):
        try:
            X.check_format(full_check=True)
        except ValueError as error:
            raise ValueError(
                f"the sparse X is invalid ({error}); rebuild it from rows, columns and values."
            ) from error


def check_powers(kernel, X):
    """Refuse rows whose powers are too large for double precision."""
    if kernel.is_mapped and kernel.map is Map.POWER:
        with np.errstate(all="ignore"):
            largest = np.abs(kernel.diagonal(X)).max(initial=0.0)
        if not largest <= _LARGEST:
            raise ValueError(
                f"kernel values reach {largest:.3g}, beyond what can be squared in double "
                "precision; scale the columns, or lower degree or gamma."
            )


def check_width(kernel, X):
    """Refuse a kernel so narrow that of most distinct rows no digit of its values is right."""
    entries = X.data if sp.issparse(X) else X.ravel()
    together = float(np.einsum("i,i->", entries, entries))  # without the threads of BLAS
    if _digits_left(kernel, together, X):
        return
    rows = distinct(X)
    center = center_of(X) if sp.issparse(X) else middle(rows)
    norms = squared_norms(centered(rows, center))
    if not _digits_left(kernel, float(np.median(norms)), X):
        raise ValueError(
            Message(
                f"{ref('gamma', kernel.gamma)} is so large that kernel values of these rows are "
                "rounding errors; pass a smaller gamma."
            )
        )


def _digits_left(kernel, norm, X):
    return kernel.rounding(norm, X.shape[1])[0] * _EPSILON <= 1.0


def warn_of_lost_digits(gram, coef, unit, tol):
    """Warn if rounding of kernel values moves ``unit K coef`` by more than a tolerance."""
    lost = unit * gram.lost(coef)
    if lost > max(tol, _LOST * unit * np.abs(coef).sum()):
        warn(
            f"kernel values of these rows lost precision: scores may be off by {lost:.2g}. "
            "Groups of rows are very far apart for this gamma; check for outliers, scale the "
            "columns or pass a smaller gamma.",
            ConvergenceWarning,
        )


def check_weight(sample_weight, X):
    """Weights of the rows that count and their indices; None where all count, and alike."""
    if sample_weight is None:
        return None, None
    if isinstance(sample_weight, Real):
        sample_weight = np.full(X.shape[0], float(sample_weight))
    weight = check_array(
        sample_weight, dtype=np.float64, ensure_2d=False, input_name="sample_weight"
    )
    if weight.shape != (X.shape[0],):
        raise ValueError(
            f"sample_weight has shape {weight.shape}; it needs one number per row of X, "
            f"shape ({X.shape[0]},)."
        )
    kept = np.flatnonzero(weight > 0)
    if len(kept) == 0:
        raise ValueError(_NOTHING_LEFT)
    weight = weight[kept]
    least, most = weight.min(), weight.max()
    if not (1.0 / _HEAVIEST <= least and most <= _HEAVIEST and most <= _APART * least):
        raise ValueError(
            f"sample_weight goes from {least:.3g} to {most:.3g}; keep positive weights within a "
            f"factor of {_APART:g}, and between {1.0 / _HEAVIEST:g} and {_HEAVIEST:g}."
        )
    return (
        None if np.all(weight == 1.0) else weight,
        None if len(kept) == X.shape[0] else kept,
    )


def check_values(kind, constraints, values):
    """Refuse parameters by name that an estimator of some kind cannot have."""
    if all(type(value) in _PLAIN for value in values.values()):
        _check_plain(kind, tuple(values), *values.values())
    else:
        validate_parameter_constraints(constraints, values, kind.__name__)
    for name in ("C", "C_star", "lam", "gamma", "coef0"):
        value = values.get(name)
        if isinstance(value, int) and abs(value) > _ANY_NUMBER:
            raise ValueError(f"{name} is too large for double precision; pass a smaller one.")


@lru_cache(1024, typed=True)
def _check_plain(kind, names, *values):
    """Check parameters, the same ones once."""
    values = dict(zip(names, values, strict=True))
    validate_parameter_constraints(kind._parameter_constraints, values, kind.__name__)


def spread_over(n):
    """Numbers of a few of n rows, from the first to the last."""
    return np.unique(np.linspace(0, n - 1, min(n, _SAMPLE)).astype(np.intp))


def check_parameters(estimator):
    """Refuse parameters that ``fit`` would refuse, before the time for a search is spent."""
    estimator._validate_params()
