"""Labels that people give in the browser, one exact update after the other."""

from enum import StrEnum
from importlib import import_module
from typing import Any

from .._util.extras import require
from .query_options import Ask as Ask

# Imported on first use: the page takes libraries that nothing else does.
_HOMES = {"Labelling": "notebook", "label": "notebook", "Session": "session"}

# The kernels of the model that chooses rows.
Kernel = StrEnum("Kernel", ["trees", "linear", "rbf"])

__all__ = [*_HOMES]


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        require(f"fewlabels.labelling.{name}", "pandas", "pyarrow")
        return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
