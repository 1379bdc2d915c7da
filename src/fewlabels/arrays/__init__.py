"""Rows that compute where they are: arrays of the array API, such as torch's or CuPy's."""

from .home import Home, home_of

__all__ = ["Home", "home_of"]
