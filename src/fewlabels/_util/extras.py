"""Packages that only some features need, and the sentence that says how to install them.

``pip install fewlabels`` brings the estimators, which need NumPy, SciPy and scikit-learn.
Everything else comes with an extra, named by what it is for. ``fewlabels[app]`` is the command
line with everything that it, tables and reports need.
"""

from importlib.util import find_spec

# The extra of pyproject.toml that installs a package.
EXTRAS = {
    "pandas": "tables",
    "pyarrow": "tables",
    "skops": "models",
    "matplotlib": "plots",
    "typer": "app",
    "rich": "app",
    "clarabel": "qp",
    "onnx": "onnx",
    "openpyxl": "xlsx",
    "duckdb": "duckdb",
    "starlette": "label",
    "uvicorn": "label",
    "dask": "dask",
    "distributed": "dask",
    "array_api_compat": "array-api",
    "river": "river",
}


class MissingExtra(ImportError):
    """A feature was used whose packages aren't installed."""


def require(feature: str, *packages: str, otherwise: str = "") -> None:
    """Raise an error that names the extra to install if a package is missing.

    Parameters
    ----------
    feature : str
        What needs the packages: the subject of the sentence, such as "fit_table".
    *packages : str
        Names of modules, keys of ``EXTRAS``.
    otherwise : str, default=""
        What to do instead: the rest of a sentence that begins with "or".

    Raises
    ------
    MissingExtra
        At least one of the packages isn't installed.
    """
    missing = [name for name in packages if not _is_installed(name)]
    if missing:
        extras = ",".join(dict.fromkeys(EXTRAS[name] for name in missing))
        which = " and ".join(filter(None, [", ".join(missing[:-1]), missing[-1]]))
        verb = "isn't" if len(missing) == 1 else "aren't"
        raise MissingExtra(
            f"{feature} needs {which}, which {verb} installed; run "
            f"pip install 'fewlabels[{extras}]'{otherwise and ', or ' + otherwise}."
        )


def _is_installed(name: str) -> bool:
    try:
        return find_spec(name) is not None
    except (ImportError, ValueError):
        return False
