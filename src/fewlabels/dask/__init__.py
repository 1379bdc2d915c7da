"""Machines whose rows lie on a Dask cluster: ``pip install fewlabels[dask]``."""

try:
    import dask.array
    import dask.dataframe  # noqa: F401
    import distributed  # noqa: F401
except ImportError as error:
    raise ImportError(
        f"fewlabels.dask needs Dask, and {error.name} is not installed; "
        "pip install 'fewlabels[dask]'."
    ) from error

from .machines import DaskOneClassSVM, DaskPUSVM, DaskS3VM, DaskSVDD

__all__ = ["DaskOneClassSVM", "DaskPUSVM", "DaskS3VM", "DaskSVDD"]
