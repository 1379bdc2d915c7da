"""Passes over all variables of a problem and their penalties, and over groups of equal rows."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from typing import Protocol

import numpy as np

from .._typing import BoolArray, FloatArray, IntArray
from .arrays import address_of, bools, f64, f64_out, i64
from .library import CONSTANTS, lib

# Totals that ``survey`` computes: sums over the variables first, and then extremes and counts.
SUM = CONSTANTS["SUM"]  # sum of a
REACH = CONSTANTS["REACH"]  # sum of |a|
PRODUCT = CONSTANTS["PRODUCT"]  # sum of a g
PENALTY = CONSTANTS["PENALTY"]  # sum of the penalties
SQUARES = CONSTANTS["SQUARES"]  # sum of |size| a^2
BETWEEN = CONSTANTS["BETWEEN"]  # sum of the rates of variables between breakpoints
LOWEST_UP = CONSTANTS["LOWEST_UP"]  # lowest rate to the right
HIGHEST_DOWN = CONSTANTS["HIGHEST_DOWN"]  # highest rate to the left
LARGEST = CONSTANTS["LARGEST"]  # largest |a|
N_BETWEEN = CONSTANTS["N_BETWEEN"]  # number of variables between breakpoints
N_USED = CONSTANTS["N_USED"]  # number of variables that are not zero
N_OUTSIDE = CONSTANTS["N_OUTSIDE"]  # number of variables outside their interval
N_SUMS = CONSTANTS["N_SUMS"]  # number of sums
N_TOTALS = CONSTANTS["N_TOTALS"]  # number of totals
#: The most kinks that a penalty may have.
N_KINKS = CONSTANTS["N_KINKS"]
_Pointers = ctypes.c_void_p * CONSTANTS["N_PENALTY"]


class HasPieces(Protocol):
    """The penalties of all variables: a ``Penalty``."""

    @property
    def pieces(self) -> Pieces:
        """The arrays of the penalties, as one argument."""


class Pieces:
    """The arrays of a ``Penalty`` as one argument, whose addresses are taken once.

    Parameters
    ----------
    arrays : sequence of ndarrays of shape (n,)
        The ends of N_KINKS + 1 pieces, and then their slopes.
    """

    def __init__(self, arrays: Sequence[FloatArray]) -> None:
        self.n = arrays[0].size
        self._arrays = arrays  # kept alive
        places: dict[int, int] = {}  # padding repeats some
        for array in arrays:
            if id(array) not in places:
                places[id(array)] = address_of(f64(array, self.n))
        self._struct = _Pointers(*[places[id(array)] for array in arrays])

    def pointers_for(self, n: int) -> ctypes.Array[ctypes.c_void_p]:
        """Return the argument, for ``n`` variables."""
        if n != self.n:
            raise TypeError(f"the core needs penalties of {n} variables, got {self.n}.")
        return self._struct


def survey(
    penalty: Pieces,
    size: FloatArray,
    a: FloatArray,
    g: FloatArray,
    rates: FloatArray,
    totals: FloatArray,
) -> None:
    """Fill ``rates`` (``g`` plus the slopes to the right and to the left) and the totals."""
    n = a.size
    lib.fl_survey(
        n, penalty.pointers_for(n), f64(size, n), f64(a, n), f64(g, n), f64_out(rates, 2 * n),
        f64_out(totals, N_TOTALS),
    )  # fmt: skip


def gap(
    penalty: Pieces,
    ridge: FloatArray,
    a: FloatArray,
    g: FloatArray,
    multiplier: float,
    implied: tuple[float, float, float, float],
) -> float:
    """Return the sum of ``h_i(a_i) - min h_i`` (``DualProblem.duality_gap``), or inf.

    ``implied`` is what the equality implies for infinite ends (``Extent.implied``).
    """
    n, result = a.size, ctypes.c_double()
    lib.fl_gap(
        n, penalty.pointers_for(n), f64(ridge, n), f64(a, n), f64(g, n),
        multiplier, *implied, ctypes.byref(result),
    )  # fmt: skip
    return result.value


def set_to_minimiser(
    penalty: Pieces,
    ridge: FloatArray,
    multiplier: float,
    smooth: FloatArray,
    held: BoolArray,
    a: FloatArray,
) -> float:
    """Set every variable that is not held to its optimum at ``multiplier``.

    a_i minimises ``phi_i(a) + (smooth_i - multiplier) a + ridge_i a^2 / 2``. Where that would be
    infinite the variable stays put. Returns the sum of all variables.
    """
    n, result = a.size, ctypes.c_double()
    lib.fl_settle(
        n, penalty.pointers_for(n), f64(ridge, n), multiplier, f64(smooth, n), bools(held, n),
        f64_out(a, n), ctypes.byref(result),
    )  # fmt: skip
    return result.value


def group_sums(group: IntArray, values: FloatArray, totals: FloatArray) -> None:
    """Add ``values`` to the totals of their groups, with compensation; infinite ones too."""
    n, n_groups = group.size, totals.size
    lib.fl_group_sums(
        n, i64(group, n), f64(values, n), n_groups, f64_out(totals, n_groups),
        f64_out(np.empty(n_groups), n_groups),
    )  # fmt: skip


def share_out(
    lower: FloatArray,
    upper: FloatArray,
    group: IntArray,
    amount: FloatArray,
    near: FloatArray,
    a: FloatArray,
) -> None:
    """Fill ``a`` from ``lower`` to ``upper``, one variable of a group after the other.

    ``amount`` says how far all variables of a group are above their lower ends; within ``near``
    of an end they are on it.
    """
    n, n_groups = group.size, amount.size
    lib.fl_share_out(
        n, f64(lower, n), f64(upper, n), i64(group, n), n_groups, f64(amount, n_groups),
        f64(near, n_groups), f64_out(a, n), f64_out(np.empty(2 * n_groups), 2 * n_groups),
    )  # fmt: skip
