"""The machines that model files may hold."""

from __future__ import annotations

# Plain data that skops can hold but does not know to be harmless.
_DATA = ["scipy.sparse._csr.csr_array", "scipy.sparse._csr.csr_matrix"]

MACHINES = {"svdd": "SVDD", "one-class": "OneClassSVM"}


def machine_class(name):
    """Estimator of that name on the command line."""
    from .. import estimators

    return getattr(estimators, MACHINES[name])


def trusted_types():
    """Types that a model file may hold besides those skops trusts, as it names them."""
    classes = [machine_class(name) for name in MACHINES]
    return [f"{cls.__module__}.{cls.__qualname__}" for cls in classes] + _DATA
