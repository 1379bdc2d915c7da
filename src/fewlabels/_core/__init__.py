"""The C++ core, loaded with ctypes: arrays in and out.

``functions`` has what every fit calls, and a module each what only some models call: paths,
forests, Shapley values, the scans of USMO.

``fewlabels.h`` documents the functions; ``core/`` in the repository has their source.
"""

from .library import LEVEL

__all__ = ["LEVEL"]
