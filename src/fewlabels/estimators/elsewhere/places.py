"""Rows that are not in memory, as estimators find and read them."""

import numpy as np
import scipy.sparse as sp

from ..._threads import resolve_n_jobs
from ...arrays import home_of
from ...arrays.home import plain_rows
from ...kernels import RBF, Linear, Polynomial, kind_of, make_kernel
from ...kernels.width import rule_for
from ...training.elsewhere.files import FilePlace, file_of
from ...training.elsewhere.moments import SAMPLE, Moments, found_gamma
from ...training.elsewhere.place import Place
from ..rows import check_weight, check_width

# What parameters may be where rows are not in memory; the first is what to change them to.
_ALLOWED = {
    "solver": ("auto", "decomposition", "cccp"),
    "calibration": ("split", "auto"),
    "loss": ("double-hinge",),
    "probability": (None,),
}
# Rows of a piece that is scored at a time.
_SCORED = 250_000


def what_is_missing(machine, place=Place):
    """What a model needs its rows in memory for, in one sentence; None for nothing."""
    are, instead = place.are, place.instead
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


def check_possible(machine, place):
    """Refuse a model that needs its rows in memory."""
    missing = what_is_missing(machine, place)
    if missing is not None:
        raise ValueError(f"{missing}: change that, or pass {place.instead}.")


def place_of(machine, X, sample_weight=None):
    """The place of mapped rows of more than ``cache_size``, or of arrays that compute elsewhere.

    None for any others. Rows for which a model has to hold them are read as any others, and so
    are mapped rows that do not follow each other in their file.
    """
    home = home_of(X)
    if home is not None:
        from ...arrays.place import ArrayPlace

        if hasattr(machine, "C_star"):
            raise ValueError(f"{type(machine).__name__} takes NumPy rows, not rows of {home}.")
        if hasattr(machine, "feature_names_in_"):
            del machine.feature_names_in_
        jobs = resolve_n_jobs(machine.n_jobs)
        return ArrayPlace(home, plain_rows(home, X), _everywhere(sample_weight, X), jobs)
    file = file_of(X)
    if file is None or may_hold(machine, file) or what_is_missing(machine):
        return None
    weight, jobs = _everywhere(sample_weight, X), resolve_n_jobs(machine.n_jobs)
    return FilePlace(file, weight, n_jobs=jobs, cache_size=1e6 * machine.cache_size)


def _everywhere(sample_weight, X):
    """Weights of all rows, 0 for those that do not count; None where they are all 1."""
    home = home_of(sample_weight)
    weight, kept = check_weight(sample_weight if home is None else home.numpy(sample_weight), X)
    if kept is None:
        return weight
    everywhere = np.zeros(X.shape[0])
    everywhere[kept] = 1.0 if weight is None else weight
    return everywhere


def may_hold(machine, file):
    """Whether rows of a file fit the model's ``cache_size``."""
    return file.row_bytes * file.shape[0] <= 1e6 * machine.cache_size


def read_place(machine, place):
    """Set what follows from rows alone, as ``fit`` does; their ``Moments`` and the kernel."""
    machine._validate_params()
    check_possible(machine, place)
    moments = Moments.combined(place.ask(Moments.of))
    machine.shape_fit_ = tuple(place.shape)
    machine.n_features_in_ = place.shape[1]
    machine._deformed, machine.gamma_ = None, 0.0
    kind = kind_of(machine.kernel)
    if "gamma" in kind.takes:
        machine.gamma_ = found_gamma(rule_for(kind, machine.gamma), moments, place)
    kernel = make_kernel(machine.kernel, machine.gamma_, machine.degree, machine.coef0, None)
    if kernel.of_distance and not isinstance(machine.gamma, str):
        check_width(kernel, place.sample(SAMPLE))
    return moments, kernel


def is_in_pieces(machine, X):
    """Whether rows are those of a file that is mapped and larger than ``cache_size``."""
    file = file_of(X)
    return file is not None and not may_hold(machine, file)


def in_pieces(X, values):
    """``values`` of rows of a mapped file, piece by piece."""
    file = file_of(X)
    place = FilePlace(file, n_parts=max(1, -(-file.shape[0] // _SCORED)))
    parts = place.ask(lambda part: [values(_plain(rows)) for _, rows in part.pieces()])
    return np.concatenate([piece for part in parts for piece in part])


def _plain(rows):
    return sp.csr_array(rows) if sp.issparse(rows) else rows
