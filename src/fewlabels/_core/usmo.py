"""Scans of USMO; see ``solvers.papers.usmo`` for the problem and the names."""

import ctypes
from ctypes import byref
from typing import NamedTuple

from .._typing import FloatArray, IntArray
from .arrays import Address, f64, f64_out, i64, i64_out
from .library import CONSTANTS, lib

#: How scans end.
DONE = CONSTANTS["DONE"]  # tau-optimal
STEP_LIMIT = CONSTANTS["STEP_LIMIT"]  # after as many steps as allowed
NEED_ROWS = CONSTANTS["MISSING"]  # kernel rows are missing
STUCK = CONSTANTS["STUCK"]  # rounding allows no step


class Samples(NamedTuple):
    """The samples as arrays: their variables, what belongs to them, and the non-bound set."""

    sigma: FloatArray
    kink: FloatArray
    upper: FloatArray
    linear: FloatArray
    diagonal: FloatArray
    F: FloatArray
    members: IntArray
    place: IntArray


def solve_pair(
    F_i: float,
    F_j: float,
    sigma_i: float,
    sigma_j: float,
    k_ii: float,
    k_jj: float,
    k_ij: float,
    kink_i: float,
    upper_i: float,
    kink_j: float,
    upper_j: float,
) -> tuple[float, ...]:
    """Solve the sub-problem (8) of a pair, and return new values and the decrease."""
    result = (ctypes.c_double * 3)()
    lib.fl_usmo_pair(
        F_i, F_j, sigma_i, sigma_j, k_ii, k_jj, k_ij, kink_i, upper_i, kink_j, upper_j, result
    )
    return tuple(result)


def set_membership(u: int, inside: bool, members: IntArray, place: IntArray, count: int) -> int:
    """Put u into the non-bound set or take it out; returns its new size."""
    n = members.size
    return lib.fl_usmo_set_membership(u, inside, i64_out(members, n), i64_out(place, n), count)


def _pass_kernel_rows(rows: FloatArray, slot: IntArray, n: int) -> tuple[Address, int, Address]:
    """Return kernel rows as arguments."""
    if rows.ndim != 2 or rows.shape[1] < n:
        raise TypeError(f"the core needs rows of {n} kernel values, got {rows.shape}.")
    return f64(rows, rows.size), rows.shape[1], i64(slot, n)


def evaluate(chosen: IntArray, samples: Samples, rows: FloatArray, slot: IntArray) -> None:
    """Compute F of the ``chosen`` samples from their kernel rows, which must be stored."""
    n, m = samples.sigma.size, chosen.size
    lib.fl_usmo_evaluate(
        n, m, i64(chosen, m), f64(samples.sigma, n), f64(samples.linear, n),
        *_pass_kernel_rows(rows, slot, n), f64_out(samples.F, n),
    )  # fmt: skip


def critical_values(samples: Samples, count: int, critical: FloatArray, who: IntArray) -> None:
    """Find the most critical values over the non-bound set, and the samples that have them."""
    n = samples.sigma.size
    lib.fl_usmo_critical_values(
        i64(samples.members, n), count, f64(samples.sigma, n), f64(samples.kink, n),
        f64(samples.upper, n), f64(samples.F, n), f64_out(critical, 4), i64_out(who, 4),
    )  # fmt: skip


def scan_non_bound(
    samples: Samples,
    count: int,
    rows: FloatArray,
    slot: IntArray,
    tol: float,
    max_steps: int,
    tally: FloatArray,
    need: IntArray,
) -> tuple[int, int, int]:
    """Solve most violating pairs of the non-bound set until tau-optimal: code, steps, count.

    ``tally`` holds the decrease of the objective (added to) and the largest violation met
    (raised), ``need`` the samples whose rows are missing.
    """
    n, size, steps = samples.sigma.size, ctypes.c_int64(count), ctypes.c_int64()
    code = lib.fl_usmo_scan_non_bound(
        f64_out(samples.sigma, n), f64(samples.kink, n), f64(samples.upper, n),
        f64(samples.diagonal, n), f64_out(samples.F, n), i64_out(samples.members, n),
        i64_out(samples.place, n), byref(size), *_pass_kernel_rows(rows, slot, n), tol, max_steps,
        f64_out(tally, 2), i64_out(need, 2), byref(steps),
    )  # fmt: skip
    return code, steps.value, size.value


def scan_whole(
    position: int,
    last: int,
    critical: FloatArray,
    who: IntArray,
    samples: Samples,
    count: int,
    rows: FloatArray,
    slot: IntArray,
    tol: float,
    max_steps: int,
    tally: FloatArray,
    need: IntArray,
) -> tuple[int, int, int, int]:
    """Examine samples one at a time: code, steps, count and the next sample to examine."""
    n, size, steps = samples.sigma.size, ctypes.c_int64(count), ctypes.c_int64()
    following = ctypes.c_int64(position)
    code = lib.fl_usmo_scan_whole(
        n, byref(following), last, f64_out(critical, 4), i64_out(who, 4),
        f64_out(samples.sigma, n), f64(samples.kink, n), f64(samples.upper, n),
        f64(samples.linear, n), f64(samples.diagonal, n), f64_out(samples.F, n),
        i64_out(samples.members, n), i64_out(samples.place, n), byref(size),
        *_pass_kernel_rows(rows, slot, n), tol, max_steps, f64_out(tally, 2), i64_out(need, 2),
        byref(steps),
    )  # fmt: skip
    return code, steps.value, size.value, following.value
