"""Names of the types that signatures use most.

Types say what an array holds, and docstrings say its shape. ``...Like`` is what users may pass;
the others are what is left once it has been checked.
"""

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import numpy.typing as npt
from scipy import sparse

if TYPE_CHECKING:
    import pandas as pd

FloatArray: TypeAlias = npt.NDArray[np.float64]
# Kernel values and rows may have single precision.
RealArray: TypeAlias = npt.NDArray[np.float32] | npt.NDArray[np.float64]
IntArray: TypeAlias = npt.NDArray[np.integer[Any]]
BoolArray: TypeAlias = npt.NDArray[np.bool_]
ObjectArray: TypeAlias = npt.NDArray[np.object_]
AnyArray: TypeAlias = npt.NDArray[Any]
# Rows of numbers after they have been checked.
RowMatrix: TypeAlias = npt.NDArray[Any] | sparse.csr_array
# Rows, labels and weights as users pass them, data frames and series included.
MatrixLike: TypeAlias = npt.ArrayLike | sparse.sparray | sparse.spmatrix
VectorLike: TypeAlias = npt.ArrayLike
# Classes as users pass them.
ClassesLike: TypeAlias = Sequence[Any] | AnyArray
PathLike: TypeAlias = str | os.PathLike[str]
# A table as users pass it: a file, a data frame or a matrix.
TableLike: TypeAlias = "PathLike | pd.DataFrame | MatrixLike"
# What estimators take as ``random_state``.
SeedLike: TypeAlias = int | np.random.RandomState | None
RandomStateLike: TypeAlias = int | np.random.RandomState | np.random.Generator | None
