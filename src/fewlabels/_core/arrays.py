"""NumPy arrays as arguments of the C++ core: type, size and layout are checked here alone.

Each function takes an array and the number of elements it must have, and returns its address. The
names ending in ``_out`` are for arrays that are written to.
"""

import ctypes
from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np

from .._typing import AnyArray

#: Where an array begins, as ctypes takes it.
Address: TypeAlias = ctypes.Array[ctypes.c_char] | int

_FLOAT32, _FLOAT64 = np.dtype(np.float32), np.dtype(np.float64)
_INT32, _INT64, _BOOL = np.dtype(np.int32), np.dtype(np.int64), np.dtype(np.bool_)

# The start of a buffer. Taking it is several times faster than ``array.ctypes.data``, and refuses
# arrays that are not C-contiguous or not writable.
_Start = ctypes.c_char * 0
_start: Callable[..., Address] = _Start.from_buffer


def _out(dtype: np.dtype[Any]) -> Callable[[AnyArray, int], Address]:
    def address(array: AnyArray, size: int) -> Address:
        if array.size != size or (array.dtype is not dtype and array.dtype != dtype):
            raise TypeError(_mismatch(array, dtype, size))
        return _start(array)

    return address


def _in(dtype: np.dtype[Any]) -> Callable[[AnyArray, int], Address]:
    def address(array: AnyArray, size: int) -> Address:
        if array.size != size or (array.dtype is not dtype and array.dtype != dtype):
            raise TypeError(_mismatch(array, dtype, size))
        try:
            return _start(array)
        except TypeError:
            if not array.flags.c_contiguous:
                raise
            return array.ctypes.data  # read-only

    return address


def _mismatch(array: AnyArray, dtype: np.dtype[Any], size: int) -> str:
    return f"the core needs {size} elements of {dtype}, got {array.size} of {array.dtype}."


def address_of(argument: Address) -> int:
    """The address in an argument that one of the functions below has made, as a number."""
    return argument if isinstance(argument, int) else ctypes.addressof(argument)


f32, f64, i32, i64, bools = (_in(dtype) for dtype in (_FLOAT32, _FLOAT64, _INT32, _INT64, _BOOL))
u8, u16, u32 = (_in(np.dtype(name)) for name in ("u1", "u2", "u4"))
f32_out, f64_out, i32_out, i64_out = (
    _out(dtype) for dtype in (_FLOAT32, _FLOAT64, _INT32, _INT64)
)
