"""Warnings that point at the user's line, however deep in the library they are given."""

import inspect
import warnings
from pathlib import Path

import sklearn.base

# Files between the user's call and ours: this library, and what checks parameters for it.
_OURS = (str(Path(__file__).parent), sklearn.base.__file__)


def warn(message, category):
    """Warn at the line of the caller of this library."""
    frame, level = inspect.currentframe(), 1
    while frame is not None and frame.f_code.co_filename.startswith(_OURS):
        frame, level = frame.f_back, level + 1
    warnings.warn(message, category, stacklevel=level)
