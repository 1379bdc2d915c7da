"""Kernels that the user gives: as a matrix, or as a function."""

from __future__ import annotations

import collections.abc
from dataclasses import dataclass
from typing import Any, ClassVar

from .base import FormedKernel, Kernel


@dataclass(frozen=True)
class Precomputed(Kernel):
    """The user passes the kernel matrix itself in place of the rows."""

    name: ClassVar = "precomputed"

    def diagonal(self, X):
        raise TypeError("a precomputed kernel has no values but those of the matrix given.")


@dataclass(frozen=True)
class Callable(FormedKernel):
    """``function(X, Z)`` returns the matrix of kernel values, shape (len(X), len(Z))."""

    function: collections.abc.Callable[[Any, Any], Any]

    def values(self, X, Z):
        return self.function(X, Z)
