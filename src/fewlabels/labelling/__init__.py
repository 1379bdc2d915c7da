"""Labels that people give in the browser, one exact update after the other."""

from enum import StrEnum
from importlib import import_module

from .._extras import require

# Imported on first use: the page takes libraries that nothing else does.
_HOMES = {"Labelling": "notebook", "label": "notebook", "Session": "session"}

# Which rows can come next, and the kernels of the model that chooses them.
Ask = StrEnum(
    "Ask", ["mixed", "uncertain", "typical", "diverse", "positives", "anomalies", "random"]
)
Kernel = StrEnum("Kernel", ["trees", "linear", "rbf"])

__all__ = [*_HOMES]


def __getattr__(name):
    if name in _HOMES:
        require(f"fewlabels.labelling.{name}", "pandas", "pyarrow")
        return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__():
    return sorted(__all__)
