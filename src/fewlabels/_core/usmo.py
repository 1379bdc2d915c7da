"""Scans of USMO; see ``solvers.papers.usmo`` for the problem and the names."""

import ctypes
from ctypes import byref
from typing import NamedTuple

import numpy as np

from .._typing import FloatArray, IntArray
from .functions import Address, f64, f64_out, i64, i64_out
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


class Sample(NamedTuple):
    """One of the samples."""

    F: float
    sigma: float
    diagonal: float
    kink: float
    upper: float


class KernelRows(NamedTuple):
    """Stored kernel rows, and the place of each sample's row among them."""

    rows: FloatArray
    slot: IntArray


class Critical(NamedTuple):
    """The most critical values over the non-bound set, and the samples that have them."""

    values: FloatArray
    who: IntArray


class ScanOutput(NamedTuple):
    """Arrays that a scan changes.

    ``tally`` holds the decrease of the objective (added to) and the largest violation met
    (raised), ``need`` the samples whose rows are missing.
    """

    tally: FloatArray
    need: IntArray


def solve_pair(i: Sample, j: Sample, k_ij: float) -> tuple[float, ...]:
    """Solve the sub-problem (8) of a pair, and return new values and the decrease."""
    result = (ctypes.c_double * 3)()
    lib.fl_usmo_pair(
        i.F, j.F, i.sigma, j.sigma, i.diagonal, j.diagonal, k_ij,
        i.kink, i.upper, j.kink, j.upper, result,
    )  # fmt: skip
    return tuple(result)


def set_membership(u: int, inside: bool, members: IntArray, place: IntArray, count: int) -> int:
    """Put u into the non-bound set or take it out; returns its new size."""
    n = members.size
    return lib.fl_usmo_set_membership(u, inside, i64_out(members, n), i64_out(place, n), count)


def _pass_kernel_rows(stored: KernelRows, n: int) -> tuple[Address, int, Address]:
    """Return kernel rows as arguments."""
    rows, slot = stored
    if rows.ndim != 2 or rows.shape[1] < n:
        raise TypeError(f"the core needs rows of {n} kernel values, got {rows.shape}.")
    return f64(rows, rows.size), rows.shape[1], i64(slot, n)


def evaluate(chosen: IntArray, samples: Samples, stored: KernelRows) -> None:
    """Compute F of the ``chosen`` samples from their kernel rows, which must be stored."""
    n, m = samples.sigma.size, chosen.size
    lib.fl_usmo_evaluate(
        n, m, i64(chosen, m), f64(samples.sigma, n), f64(samples.linear, n),
        *_pass_kernel_rows(stored, n), f64_out(samples.F, n),
    )  # fmt: skip


def find_critical(samples: Samples, count: int) -> Critical:
    """Find the most critical values over the non-bound set."""
    critical = Critical(np.empty(4), np.zeros(4, np.int64))
    n = samples.sigma.size
    lib.fl_usmo_critical_values(
        i64(samples.members, n), count, f64(samples.sigma, n), f64(samples.kink, n),
        f64(samples.upper, n), f64(samples.F, n), f64_out(critical.values, 4),
        i64_out(critical.who, 4),
    )  # fmt: skip
    return critical


def scan_non_bound(
    samples: Samples,
    count: int,
    stored: KernelRows,
    tol: float,
    max_steps: int,
    output: ScanOutput,
) -> tuple[int, int, int]:
    """Solve most violating pairs of the non-bound set until tau-optimal: code, steps, count."""
    n, size, steps = samples.sigma.size, ctypes.c_int64(count), ctypes.c_int64()
    code = lib.fl_usmo_scan_non_bound(
        f64_out(samples.sigma, n), f64(samples.kink, n), f64(samples.upper, n),
        f64(samples.diagonal, n), f64_out(samples.F, n), i64_out(samples.members, n),
        i64_out(samples.place, n), byref(size), *_pass_kernel_rows(stored, n), tol, max_steps,
        f64_out(output.tally, 2), i64_out(output.need, 2), byref(steps),
    )  # fmt: skip
    return code, steps.value, size.value


def scan_whole(
    examined: range,
    critical: Critical,
    samples: Samples,
    count: int,
    stored: KernelRows,
    tol: float,
    max_steps: int,
    output: ScanOutput,
) -> tuple[int, int, int, int]:
    """Examine samples one at a time: code, steps, count and the next sample to examine.

    Returns before all are ``examined`` where kernel rows are missing or steps are spent.
    """
    n, size, steps = samples.sigma.size, ctypes.c_int64(count), ctypes.c_int64()
    following = ctypes.c_int64(examined.start)
    code = lib.fl_usmo_scan_whole(
        n, byref(following), examined.stop, f64_out(critical.values, 4),
        i64_out(critical.who, 4),
        f64_out(samples.sigma, n), f64(samples.kink, n), f64(samples.upper, n),
        f64(samples.linear, n), f64(samples.diagonal, n), f64_out(samples.F, n),
        i64_out(samples.members, n), i64_out(samples.place, n), byref(size),
        *_pass_kernel_rows(stored, n), tol, max_steps, f64_out(output.tally, 2),
        i64_out(output.need, 2), byref(steps),
    )  # fmt: skip
    return code, steps.value, size.value, following.value
