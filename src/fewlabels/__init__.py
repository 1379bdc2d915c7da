"""Learning when labels are scarce, exactly and at scale."""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ._versions import show_versions
    from .estimators import PUSVM, S3VM, SVDD, OneClassSVM, PUEnsemble, SVDDEnsemble
    from .io.stored import stored_rows
    from .jobs.encoder import TableEncoder
    from .jobs.table import fit_table, load
    from .labelling.notebook import label
    from .model_selection import tune

__version__ = "0.1.0"

# Where each public name lives. Imported on first use, so that the command line answers
# --help without loading scikit-learn.
_ESTIMATORS = ("PUSVM", "S3VM", "SVDD", "OneClassSVM", "PUEnsemble", "SVDDEnsemble")
_HOMES = {
    **dict.fromkeys(_ESTIMATORS, "fewlabels.estimators"),
    "TableEncoder": "fewlabels.jobs",
    "fit_table": "fewlabels.jobs",
    "label": "fewlabels.labelling",
    "load": "fewlabels.jobs",
    "show_versions": "fewlabels._versions",
    "stored_rows": "fewlabels.io.stored",
    "tune": "fewlabels.model_selection",
}

__all__ = [
    "PUSVM",
    "S3VM",
    "SVDD",
    "OneClassSVM",
    "PUEnsemble",
    "SVDDEnsemble",
    "TableEncoder",
    "__version__",
    "fit_table",
    "label",
    "load",
    "show_versions",
    "stored_rows",
    "tune",
]


def __getattr__(name):
    if name in _HOMES:
        return getattr(import_module(_HOMES[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__():
    return sorted(__all__)
