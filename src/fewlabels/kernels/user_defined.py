"""Kernels that the user gives: as a matrix, or as a function."""

import collections.abc
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp

from .._typing import FloatArray, RowMatrix
from .base import FormedKernel, Kernel
from .rows import canonical


@dataclass(frozen=True)
class Precomputed(Kernel):
    """The user passes the kernel matrix itself in place of the rows."""

    name: ClassVar = "precomputed"
    is_matrix: ClassVar = True

    def diagonal(self, X: RowMatrix) -> FloatArray:
        raise TypeError("a precomputed kernel has no values beyond the given matrix.")


@dataclass(frozen=True)
class Callable(FormedKernel):
    """``function(X, Z)`` returns the matrix of kernel values, shape (len(X), len(Z))."""

    function: collections.abc.Callable[[Any, Any], Any]

    def values(self, X: RowMatrix, Z: RowMatrix) -> RowMatrix:
        values, shape = self._call(X, Z), (X.shape[0], Z.shape[0])
        if not sp.issparse(values):
            values = np.asarray(values)
            values = values if np.iscomplexobj(values) else values.astype(float, copy=False)
        if values.shape != shape:
            raise ValueError(
                f"the kernel function returned an array of shape {values.shape} for {shape[0]} "
                f"and {shape[1]} rows; it must return shape {shape}."
            )
        is_complex = np.iscomplexobj(values)
        if is_complex or not np.all(np.isfinite(values.data if sp.issparse(values) else values)):
            what = "complex" if is_complex else "NaN or infinite"
            raise ValueError(
                f"the kernel function returned {what} values; it must return finite numbers for "
                "every pair of rows."
            )
        return values

    def _call(self, X: RowMatrix, Z: RowMatrix) -> RowMatrix:
        try:
            return self.function(canonical(X), canonical(Z))
        except TypeError as error:
            if (
                error.__traceback__ and error.__traceback__.tb_next is not None
            ):  # an error within the function
                raise
            raise TypeError(
                f"the kernel function can't be called with two arrays of rows ({error}); it must "
                "take X and Z and return the matrix of kernel values."
            ) from error
