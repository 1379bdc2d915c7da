"""The C++ core, loaded with ctypes: one module per group of functions, arrays in and out.

``fewlabels.h`` documents the functions; ``core/`` in the repository has their source.
"""

from .library import LEVEL

__all__ = ["LEVEL"]
