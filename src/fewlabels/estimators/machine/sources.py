"""Where the rows are that users pass."""

from typing import Any

import numpy as np

from ..._threads import resolve_n_jobs
from ...arrays import backend_of
from ...arrays.backend import plain_rows
from ...kernels import RBF, Linear, Polynomial, kind_of
from ...rows.files import FileSource, file_of
from ...rows.source import ShardedSource
from ..rows import check_weight, fit_rows

# What parameters may be where rows are not in memory; the first is what to change them to.
_ALLOWED = {
    "solver": ("auto", "decomposition", "cccp"),
    "calibration": ("split", "auto"),
    "loss": ("double-hinge",),
    "probability": (None,),
}
# Rows of a piece that is scored at a time.
_SCORED = 250_000


def what_is_missing(machine, source=ShardedSource):
    """What a model needs its rows in memory for, in one sentence; None for nothing."""
    are, instead = source.are, source.instead
    parameters = machine.get_params(deep=False)
    kernel, kind = parameters["kernel"], kind_of(parameters["kernel"])
    if not isinstance(kernel, str) or kind not in (RBF, Linear, Polynomial):
        return f"{are} take kernel='rbf', 'poly' or 'linear'"
    if parameters.get("C_star") is not None and kind is not Linear:
        return f"S3VM with {are} takes kernel='linear'"
    if kind is Polynomial and parameters["coef0"] < 0.0:
        return f"{are} take kernel='poly' with coef0 >= 0 only"
    if isinstance(parameters.get("class_ratio"), str):
        return f"class_ratio='estimate' needs {instead}"
    if parameters.get("target_fpr") is None:
        parameters.pop("calibration", None)
    for name, allowed in _ALLOWED.items():
        value = parameters.get(name, allowed[0])
        if value not in allowed:
            return f"{name}={value!r} needs {instead}; {name}={allowed[0]!r} does not"
    return None


def check_possible(machine, source, anomalies=None):
    """Refuse a model that needs its rows in memory, or ``anomalies``."""
    if anomalies is not None:
        raise ValueError(
            f"{source.are} don't take confirmed anomalies (anomalies=...); pass {source.instead}, "
            "or fit without anomalies."
        )
    missing = what_is_missing(machine, source)
    if missing is not None:
        raise ValueError(f"{missing}: change that, or pass {source.instead}.")


def source_of(machine, X, sample_weight=None, anomalies=None):
    """The ``RowSource`` of what ``fit`` is given.

    Mapped rows of more than ``cache_size`` stay in their file, and arrays that compute elsewhere
    where they are. All others are in memory, as are rows of a file for which a model has to hold
    them, or that don't follow each other there. A source is taken as it is.
    """
    if isinstance(X, ShardedSource):
        if sample_weight is not None:
            raise ValueError("X is a source of rows, so sample_weight belongs to its shards.")
        source: Any = X
    else:
        source = _sharded(machine, X, sample_weight)
    if source is None:
        return fit_rows(machine, X, sample_weight, anomalies)
    check_possible(machine, source, anomalies)
    machine.n_features_in_ = source.shape[1]
    return source


def _sharded(machine, X, sample_weight):
    backend = backend_of(X)
    if backend is not None:
        from ...arrays.source import ArraySource

        if hasattr(machine, "C_star"):
            raise ValueError(f"{type(machine).__name__} takes NumPy rows, not rows of {backend}.")
        if hasattr(machine, "feature_names_in_"):
            del machine.feature_names_in_
        jobs = resolve_n_jobs(machine.n_jobs)
        return ArraySource(backend, plain_rows(backend, X), _everywhere(sample_weight, X), jobs)
    file = file_of(X)
    if file is None or may_hold(machine, file) or what_is_missing(machine):
        return None
    weight, jobs = _everywhere(sample_weight, X), resolve_n_jobs(machine.n_jobs)
    return FileSource(file, weight, n_jobs=jobs, cache_size=1e6 * machine.cache_size)


def is_outside(X):
    """Whether rows are neither NumPy's nor what is read as such."""
    return isinstance(X, ShardedSource) or backend_of(X) is not None


def read_all(X, rows=None):
    """The rows of X in memory, unless they are known: an array of NumPy or CSR."""
    if rows is not None:
        return rows
    return X.take(X.indices) if isinstance(X, ShardedSource) else backend_of(X).numpy(X)


def _everywhere(sample_weight, X):
    """Weights of all rows, 0 for those that do not count; None where they are all 1."""
    backend = backend_of(sample_weight)
    weight, kept = check_weight(
        sample_weight if backend is None else backend.numpy(sample_weight), X
    )
    if kept is None:
        return weight
    everywhere = np.zeros(X.shape[0])
    everywhere[kept] = 1.0 if weight is None else weight
    return everywhere


def may_hold(machine, file):
    """Whether rows of a file fit the model's ``cache_size``."""
    return file.row_bytes * file.shape[0] <= 1e6 * machine.cache_size


def source_to_score(machine, X):
    """The ``ShardedSource`` of rows that are scored in pieces; None for all others.

    Those are rows of a file that is mapped and larger than ``cache_size``.
    """
    if isinstance(X, ShardedSource):
        return X
    file = file_of(X)
    if file is None or may_hold(machine, file):
        return None
    return FileSource(file, n_shards=max(1, -(-file.shape[0] // _SCORED)))
