"""The only door to Numba: how compiled functions are built, cached and typed.

Rules (checked by ``tests/meta``):

* every compiled function is made by :func:`jit`, lazily, so that importing the
  package compiles nothing;
* a compiled function calls only compiled functions of its own file. Numba's disk
  cache is keyed by the source of the caller's file alone, so a helper in another
  file could change without its callers being recompiled;
* the global interpreter lock is released, so that Python threads run compiled
  code in parallel (see ``_threads``); Numba's own parallel layers are not used:
  they kill forked children or abort when entered from two threads.
"""

import numba
from llvmlite import ir
from numba.core import types
from numba.extending import intrinsic, overload

# Allowed only where kernel values are evaluated or compared for selection. No set
# contains "ninf" or "afn": infinite bounds carry meaning in this library.
KERNEL_MATH = frozenset({"contract", "nsz", "arcp"})
SUM_MATH = KERNEL_MATH | {"reassoc"}
REDUCTION_MATH = frozenset({"contract", "nsz", "nnan"})


def jit(fastmath=False, inline="never"):
    """Decorate a function for compilation on first use, cached on disk.

    ``fastmath``: the LLVM flags allowed in it; ``inline`` "always": Numba puts it into callers.
    """
    flags = set(fastmath) if fastmath else False
    options = dict(nogil=True, error_model="numpy", fastmath=flags, inline=inline)

    def decorate(function):
        try:
            return numba.njit(cache=True, **options)(function)
        except RuntimeError:
            # No writable place for a cache (read-only install and home folder):
            # compile in every process rather than fail at import.
            return numba.njit(**options)(function)

    return decorate


def compiled_as(function, fastmath=False):
    """Decorate a factory: for the types of the arguments, what to compile for ``function``."""
    options = {"fastmath": set(fastmath)} if fastmath else {}
    return overload(function, jit_options=options, inline="always")


def is_float32(numba_type):
    """Whether a Numba type is a float32 scalar."""
    return numba_type == types.float32


@intrinsic
def float32_from_bits(typingctx, bits):
    """Reinterpret an int32 as the float32 with the same bits."""
    signature = types.float32(types.int32)

    def codegen(context, builder, signature, args):
        return builder.bitcast(args[0], ir.FloatType())

    return signature, codegen


@intrinsic
def float64_from_bits(typingctx, bits):
    """Reinterpret an int64 as the float64 with the same bits."""
    signature = types.float64(types.int64)

    def codegen(context, builder, signature, args):
        return builder.bitcast(args[0], ir.DoubleType())

    return signature, codegen
