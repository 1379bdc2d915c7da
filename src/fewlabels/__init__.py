"""Learning when labels are scarce, exactly and at scale."""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ._util.versions import show_versions
    from .labelling.notebook import label
    from .model_selection import tune
    from .one_class.one_class_svm import OneClassSVM
    from .one_class.svdd import SVDD
    from .one_class.svdd_ensemble import SVDDEnsemble
    from .pipeline.encoder import TableEncoder
    from .pipeline.table import fit_table, load
    from .positive_unlabelled.pu_ensemble import PUEnsemble
    from .positive_unlabelled.pusvm import PUSVM
    from .semi_supervised.s3vm import S3VM
    from .tables.stored import stored_rows

__version__ = "0.1.0"

# Where each public name lives. Imported on first use, so that the command line answers
# --help without loading scikit-learn.
_HOMES = {
    "PUSVM": "fewlabels.positive_unlabelled.pusvm",
    "S3VM": "fewlabels.semi_supervised.s3vm",
    "SVDD": "fewlabels.one_class.svdd",
    "OneClassSVM": "fewlabels.one_class.one_class_svm",
    "PUEnsemble": "fewlabels.positive_unlabelled.pu_ensemble",
    "SVDDEnsemble": "fewlabels.one_class.svdd_ensemble",
    "TableEncoder": "fewlabels.pipeline",
    "fit_table": "fewlabels.pipeline",
    "label": "fewlabels.labelling",
    "load": "fewlabels.pipeline",
    "show_versions": "fewlabels._util.versions",
    "stored_rows": "fewlabels.tables.stored",
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


def __getattr__(name: str) -> object:
    if name in _HOMES:
        return getattr(import_module(_HOMES[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
