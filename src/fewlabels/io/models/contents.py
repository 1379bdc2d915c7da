"""What model files may hold, and what they say first of all."""

import sys
from importlib import import_module

from ...tasks.machines import MACHINES, machine_class

# Plain data that skops can hold but does not know to be harmless.
_DATA = ["scipy.sparse._csr.csr_array", "scipy.sparse._csr.csr_matrix", "numpy.dtype"]
# Parts of this package whose classes are what machines and their values are made of.
_PARTS = ("baselines", "estimators", "fitted", "io.encoding", "kernels", "problem", "streams")


def no_signal(training):
    """The headline of a training whose columns do not tell its labels; None for any other."""
    return (training.get("signal") or {}).get("headline")


def cautions(training):
    """What to say of a training before anything else: sentences without their full stops."""
    signal = training.get("signal") or {}
    labels = training.get("labels_at_random") or {}
    sentences = (
        training.get("prior_contradiction"), signal.get("headline"), labels.get("caution"),
        signal.get("caution"),
    )  # fmt: skip
    return [sentence for sentence in sentences if sentence]


def trusted_types():
    """Types that a model file may hold besides those skops trusts; made without being called."""
    from .. import encoding

    for part in (".rare", ".texts", ".truth"):
        import_module(part, encoding.__name__)
    package = __name__.partition(".")[0]
    for name in MACHINES:
        machine_class(name)  # and with it what it is made of
    parts = tuple(f"{package}.{part}." for part in _PARTS)
    return _DATA + [
        f"{name}.{value.__qualname__}"
        for name, module in list(sys.modules.items())
        if name.startswith(parts)
        for value in vars(module).values()
        if isinstance(value, type) and value.__module__ == name
    ]
