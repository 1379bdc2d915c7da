"""Models whose rows lie on a Dask cluster: ``pip install fewlabels[dask]``."""

from .._util.extras import require

require("fewlabels.dask", "dask", "distributed", "pandas", "pyarrow")

from .models import DaskOneClassSVM, DaskPUSVM, DaskS3VM, DaskSVDD

__all__ = ["DaskOneClassSVM", "DaskPUSVM", "DaskS3VM", "DaskSVDD"]
