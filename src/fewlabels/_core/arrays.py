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

# The start of a buffer. Taking it is several times faster than ``array.ctypes.data``, and refuses
# arrays that are not C-contiguous or not writable.
_Start = ctypes.c_char * 0
_get_start: Callable[..., Address] = _Start.from_buffer


def _writable_address_of(dtype: np.dtype[Any]) -> Callable[[AnyArray, int], Address]:
    def address(array: AnyArray, size: int) -> Address:
        if array.size != size or (array.dtype is not dtype and array.dtype != dtype):
            raise TypeError(_describe_mismatch(array, dtype, size))
        return _get_start(array)

    return address


def _readable_address_of(dtype: np.dtype[Any]) -> Callable[[AnyArray, int], Address]:
    def address(array: AnyArray, size: int) -> Address:
        if array.size != size or (array.dtype is not dtype and array.dtype != dtype):
            raise TypeError(_describe_mismatch(array, dtype, size))
        try:
            return _get_start(array)
        except TypeError:
            if not array.flags.c_contiguous:
                raise
            return array.ctypes.data  # read-only

    return address


def _describe_mismatch(array: AnyArray, dtype: np.dtype[Any], size: int) -> str:
    return f"the core needs {size} elements of {dtype}, got {array.size} of {array.dtype}."


def address_of(argument: Address) -> int:
    """Return the address in an argument that one of the functions below has made."""
    return argument if isinstance(argument, int) else ctypes.addressof(argument)


f32 = _readable_address_of(np.dtype(np.float32))
f64 = _readable_address_of(np.dtype(np.float64))
i32 = _readable_address_of(np.dtype(np.int32))
i64 = _readable_address_of(np.dtype(np.int64))
bools = _readable_address_of(np.dtype(np.bool_))
u8 = _readable_address_of(np.dtype(np.uint8))
u16 = _readable_address_of(np.dtype(np.uint16))
u32 = _readable_address_of(np.dtype(np.uint32))
f32_out = _writable_address_of(np.dtype(np.float32))
f64_out = _writable_address_of(np.dtype(np.float64))
i32_out = _writable_address_of(np.dtype(np.int32))
i64_out = _writable_address_of(np.dtype(np.int64))
