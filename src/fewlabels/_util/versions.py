"""What is installed: for bug reports."""

import platform
import sys
from importlib.metadata import PackageNotFoundError, version

from .._core import LEVEL
from .threads import resolve_n_jobs

_PACKAGES = (
    "numpy",
    "scipy",
    "scikit-learn",
    "joblib",
    "threadpoolctl",
    "pandas",
    "pyarrow",
    "polars",
    "skops",
    "typer",
    "rich",
    "matplotlib",
    "dask",
    "duckdb",
    "onnx",
    "starlette",
)


def show_versions() -> None:
    """Print the versions of fewlabels, its compiled core, Python and the packages it uses.

    Paste the output into bug reports.

    Examples
    --------
    >>> import fewlabels
    >>> fewlabels.show_versions()  # doctest: +ELLIPSIS
    fewlabels ...
    """
    lines = {
        "fewlabels": _version("fewlabels"),
        "compiled core": LEVEL,
        "python": sys.version.split()[0],
        "platform": platform.platform(),
        "cores": resolve_n_jobs(None),
        **{name: _version(name) for name in _PACKAGES},
    }
    width = max(map(len, lines))
    print("\n".join(f"{name:{width}}  {value}" for name, value in lines.items()))


def _version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return "not installed"
