"""Where the sources are, parsed once."""

import ast
import importlib
import pkgutil
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).resolve().parents[2]
PACKAGE = REPOSITORY / "src" / "fewlabels"


@pytest.fixture(scope="session")
def repository():
    return REPOSITORY


@pytest.fixture(scope="session")
def trees():
    """Every source file of the package: path relative to it, and its syntax tree."""
    return {
        path.relative_to(PACKAGE).as_posix(): ast.parse(path.read_text(encoding="utf-8"))
        for path in sorted(PACKAGE.rglob("*.py"))
    }


@pytest.fixture(scope="session")
def modules():
    """Every module of the package, imported."""
    import fewlabels

    found = [fewlabels]
    for info in pkgutil.walk_packages(fewlabels.__path__, "fewlabels."):
        if not info.name.endswith("__main__"):
            found.append(importlib.import_module(info.name))
    return found
