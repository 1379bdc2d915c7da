"""Rows that are not in memory, as estimators find and read them."""

import numpy as np
import scipy.sparse as sp

from ..._threads import resolve_n_jobs
from ...kernels import RBF, Linear, Polynomial, kind_of, make_kernel
from ...training.elsewhere.files import FilePlace, file_of
from ...training.elsewhere.moments import SAMPLE, Moments, found_gamma
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


def what_is_missing(machine):
    """What a machine needs its rows in memory for, in one sentence; None for nothing."""
    parameters = machine.get_params(deep=False)
    kernel, kind = parameters["kernel"], kind_of(parameters["kernel"])
    if not isinstance(kernel, str) or kind not in (RBF, Linear, Polynomial):
        return "rows that are not in memory take kernel='rbf', 'poly' or 'linear'"
    if parameters.get("C_star") is not None and kind is not Linear:
        return "a semi-supervised machine of rows that are not in memory takes kernel='linear'"
    if kind is Polynomial and parameters["coef0"] < 0.0:
        return "rows that are not in memory take kernel='poly' with coef0 >= 0 only"
    if parameters.get("target_fpr") is None:
        parameters.pop("calibration", None)
    for name, allowed in _ALLOWED.items():
        value = parameters.get(name, allowed[0])
        if value not in allowed:
            return f"{name}={value!r} needs rows in memory; {name}={allowed[0]!r} does not"
    return None


def check_possible(machine):
    """Refuse a machine that needs its rows in memory."""
    missing = what_is_missing(machine)
    if missing is not None:
        raise ValueError(f"{missing}: change that, or pass rows in memory.")


def place_of(machine, X, sample_weight=None):
    """The ``FilePlace`` of mapped rows of more than ``cache_size``; None for any others.

    Rows for which a machine has to hold them are read as any others, and so are mapped rows that
    do not follow each other in their file.
    """
    file = file_of(X)
    if file is None or may_hold(machine, file) or what_is_missing(machine):
        return None
    weight = None
    if sample_weight is not None:
        weight, kept = check_weight(sample_weight, X)
        if kept is not None:
            everywhere = np.zeros(X.shape[0])
            everywhere[kept] = 1.0 if weight is None else weight
            weight = everywhere
    jobs = resolve_n_jobs(machine.n_jobs)
    return FilePlace(file, weight, n_jobs=jobs, cache_size=1e6 * machine.cache_size)


def may_hold(machine, file):
    """Whether rows of a file fit the machine's ``cache_size``."""
    return file.row_bytes * file.shape[0] <= 1e6 * machine.cache_size


def read_place(machine, place):
    """Set what follows from rows alone, as ``fit`` does; their ``Moments`` and the kernel."""
    machine._validate_params()
    check_possible(machine)
    moments = Moments.combined(place.ask(Moments.of))
    machine.shape_fit_ = tuple(place.shape)
    machine.n_features_in_ = place.shape[1]
    machine._deformed, machine.gamma_ = None, 0.0
    kind = kind_of(machine.kernel)
    if "gamma" in kind.takes:
        by_norms = machine.gamma == "distance" and not kind.is_similarity
        gamma = "scale" if by_norms else machine.gamma
        machine.gamma_ = found_gamma(gamma, moments, place)
    kernel = make_kernel(machine.kernel, machine.gamma_, machine.degree, machine.coef0, None)
    if isinstance(kernel, RBF) and not isinstance(machine.gamma, str):
        check_width(kernel, place.sample(SAMPLE))
    return moments, kernel


def in_pieces(machine, X, values):
    """``values`` of rows, those of a file that is mapped and larger than ``cache_size`` in pieces.

    None for any others.
    """
    file = file_of(X)
    if file is None or may_hold(machine, file):
        return None
    place = FilePlace(file, n_parts=max(1, -(-file.shape[0] // _SCORED)))
    parts = place.ask(lambda part: [values(_plain(rows)) for _, rows in part.pieces()])
    return np.concatenate([piece for part in parts for piece in part])


def _plain(rows):
    return sp.csr_array(rows) if sp.issparse(rows) else rows
