"""Where the path of an S3VM begins: at a solution, row by row, or at a small C*."""

from __future__ import annotations

import numpy as np

from ..gram import Expansion
from ..solvers.path import PathFollower

# C* at which its path begins, as a share of the final one.
_FIRST_C_STAR = 2.0**-9
# Variables whose sum misses zero by this share of them do not come from a solution.
_OFF_BALANCE = 1e-9


def at_solution(stream):
    """A path that takes over ``stream.start`` and makes it exact, and its places."""
    start, places = stream.start, stream.places
    label = stream.label[places]
    free = label == 0
    a, sign = np.zeros(len(places)), np.ones(len(places))
    known = places < len(start["a"])  # others came later
    a[known], sign[known] = start["a"][places[known]], start["sign"][places[known]]
    side = np.where(free, np.where(sign < 0, -1.0, 1.0), label)
    price = stream.weight[places] * np.where(free, stream.C_star, stream.C)
    a = side * np.clip(side * a, 0.0, price)
    virtual, target = start["virtual"], stream.target()
    sum_a, size = float(a.sum()), float(np.abs(a).sum())
    if target is not None and free.any():
        if abs(sum_a + virtual) > _OFF_BALANCE * size:
            virtual = -sum_a
    elif abs(sum_a) > _OFF_BALANCE * size:
        # The larger side gives way: from a sum of zero every problem can be reached.
        larger = a * sum_a > 0.0
        a[larger] *= 1.0 - abs(sum_a) / np.abs(a[larger]).sum()
        virtual = 0.0
    path = PathFollower(stream.kernel, **stream.options)
    path.load(
        stream.kernel_rows(places), stream.penalties(places), a, start["multiplier"],
        signs=np.where(free, side, 0).astype(int), virtual=virtual, target=target,
    )  # fmt: skip
    return path, places


def row_by_row(stream):
    """Labelled rows, then the others one by one, those first that f tells apart best."""
    path, given, free = _labelled(stream, stream.options["balance"])
    if len(free):
        f = Expansion(
            stream.kernel, stream.kernel_rows(given), path.a, n_jobs=stream.options["n_jobs"]
        )(stream.kernel_rows(free))
        free = free[np.argsort(-np.abs(f - path.multiplier), kind="stable")]
        path.add(stream.kernel_rows(free), stream.penalties(free), block=False)
    return path, np.concatenate([given, free])


def by_C_star(stream):
    """All rows at a small C*, which then moves steadily to its value."""
    balance = stream.options["balance"]
    path, given, free = _labelled(stream, balance and "keep")
    if len(free):
        C_star = _FIRST_C_STAR * stream.C_star
        path.add(stream.kernel_rows(free), stream.penalties(free, C_star=C_star))
        path.move(np.arange(len(given), len(path)), stream.penalties(free))
    path.balance = balance
    return path, np.concatenate([given, free])


def _labelled(stream, balance):
    """The machine of the labelled rows, and the places of both kinds of rows."""
    places = stream.places
    is_free = stream.label[places] == 0
    given, free = places[~is_free], places[is_free]
    path = PathFollower(stream.kernel, **{**stream.options, "balance": balance})
    path.add(stream.kernel_rows(given), stream.penalties(given), target=stream.target())
    return path, given, free
