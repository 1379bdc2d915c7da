"""Rows that compute where they are: arrays of the array API, such as torch's or CuPy's."""

from .backend import ArrayBackend, backend_of

__all__ = ["ArrayBackend", "backend_of"]
