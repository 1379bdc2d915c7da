"""The machines that model files may hold."""

from __future__ import annotations

from typing import NamedTuple

# Plain data that skops can hold but does not know to be harmless.
_DATA = ["scipy.sparse._csr.csr_array", "scipy.sparse._csr.csr_matrix", "numpy.dtype"]


class Machine(NamedTuple):
    """A machine by its name on the command line.

    Attributes
    ----------
    estimator : str
        Name of the class.
    learns_from : {"normal", "positive", "classes"}
        Whether it takes the rows of one class, positive and unlabelled ones, or those of two
        classes and unlabelled ones.
    format_version : int
        The oldest format of model files that knows it.
    keeps_rows : bool
        Whether models hold their training rows unless told otherwise.
    """

    estimator: str
    learns_from: str
    format_version: int
    keeps_rows: bool = False


MACHINES = {
    "svdd": Machine("SVDD", "normal", 1),
    "one-class": Machine("OneClassSVM", "normal", 1),
    "pusvm": Machine("PUSVM", "positive", 2),
    "pu-ensemble": Machine("PUEnsemble", "positive", 3),
    "s3vm": Machine("S3VM", "classes", 3, keeps_rows=True),
}


def machines_from(*learns_from):
    """Names of the machines that learn from such rows."""
    return [name for name, machine in MACHINES.items() if machine.learns_from in learns_from]


def machine_class(name):
    """Estimator of that name on the command line."""
    from ... import estimators

    return getattr(estimators, MACHINES[name].estimator)


def trusted_types():
    """Types that a model file may hold besides those skops trusts, as it names them."""
    classes = [machine_class(name) for name in MACHINES]
    return [f"{cls.__module__}.{cls.__qualname__}" for cls in classes] + _DATA
