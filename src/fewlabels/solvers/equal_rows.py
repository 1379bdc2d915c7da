"""Equal rows as one row with their penalties together: a smaller problem, and the way back.

Only the sum of the variables of equal rows matters to K. Where their slopes are the same, what the
best way of sharing it out costs is again such a penalty: breakpoints add up. So do the
inverses of ridges, where breakpoints are in that ratio.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from .._typing import FloatArray, VectorLike
from ..kernels.operators.equal_rows import DuplicateRows
from ..problem import DualProblem
from ..problem.penalty import group_sums
from .run import Result

# Slopes, and breakpoints times ridges, that differ by this share of the largest are equal.
_ROUNDING = 1e-13
# Kinds of penalties that equal rows may have; rows of more kinds stay by themselves.
_MOST_KINDS = 8


def merge_equal_rows(problem: DualProblem) -> MergedProblem | None:
    """Return the ``MergedProblem`` of a problem; None where no rows are known to be equal."""
    if problem.gram.copies is None:
        return None
    copies = _split_by_kind(problem, problem.gram.copies)
    return MergedProblem(problem, copies) if len(copies.first) < problem.n else None


class MergedProblem:
    """A ``problem`` over distinct rows: with the objective, violation and gap of the whole."""

    def __init__(self, whole: DualProblem, copies: DuplicateRows) -> None:
        self.whole, self.copies = whole, copies
        first, ridge = copies.first, whole.ridge
        if ridge.any():
            with np.errstate(divide="ignore"):
                ridge = 1.0 / group_sums(copies, 1.0 / ridge)
        else:
            ridge = ridge[first]
        self.problem = DualProblem(
            whole.gram.take(first),
            whole.penalty.merge_equal_rows(copies),
            whole.total,
            whole.scale,
            ridge,
        )

    def to_merged(self, start: VectorLike | Result | None) -> FloatArray | Result | None:
        """Return a start of the whole problem, as one of this."""
        if start is None:
            return None
        if isinstance(start, Result):
            return self.to_merged_result(start)
        return self._group_sums(np.asarray(start, dtype=float))

    def to_merged_result(self, start: Result) -> Result:
        """Return a Result of the whole problem, as a start of this."""
        a, first, together = start.a, self.copies.first, self._group_sums(start.a)
        gradient = start.gradient[first] - self.whole.ridge[first] * a[first]
        return replace(start, a=together, gradient=gradient + self.problem.ridge * together)

    def _group_sums(self, a: FloatArray) -> FloatArray:
        p = self.problem.penalty
        return np.clip(group_sums(self.copies, a), p.lower, p.upper)

    def to_whole(self, result: Result) -> Result:
        """Return a Result of this problem, as one of the whole.

        At most one of several equal rows lies between breakpoints; with a ridge, all have a part.
        """
        of, p, ridge = self.copies.of, self.whole.penalty, self.whole.ridge
        a = p.share_out(result.a, self.copies)
        if ridge.any():
            with np.errstate(divide="ignore"):
                part = (result.a * self.problem.ridge)[of] / ridge
            a = np.where(ridge > 0.0, np.clip(part, p.lower, p.upper), a)
        return replace(result, a=a, gradient=result.gradient[of])


def _split_by_kind(problem: DualProblem, copies: DuplicateRows) -> DuplicateRows:
    """Return the copies whose penalties have the same slopes, and breakpoints in one ratio."""
    p, ridge, n = problem.penalty, problem.ridge, problem.n
    slopes = list(p.slopes)
    marks = [is_bent & (kink < 0.0) for kink, is_bent, _ in p.iterate_kinks()]
    marks.append(p.upper <= 0.0)
    if ridge.any():
        marks.append(ridge > 0.0)
        with np.errstate(invalid="ignore"):  # an end of 0 or inf is in any ratio
            slopes += [np.nan_to_num(end * ridge) for end in p.ends]
    slopes = [values for values in slopes if values.min() < values.max()]
    marks = [values for values in marks if values.any() and not values.all()]
    tolerances = [_ROUNDING * float(np.abs(values).max()) for values in slopes]
    first_equal, place = np.arange(n), np.empty(len(copies.first), np.intp)
    remaining = np.flatnonzero(np.isfinite(p.lower))
    for _ in range(_MOST_KINDS):
        if not len(remaining):
            break
        of = copies.of[remaining]
        place[of[::-1]] = remaining[::-1]
        first_alike = place[of]
        same = np.ones(len(remaining), bool)
        for values, tolerance in zip(slopes, tolerances, strict=True):
            same &= np.abs(values[remaining] - values[first_alike]) <= tolerance
        for mark in marks:
            same &= mark[remaining] == mark[first_alike]
        first_equal[remaining[same]] = first_alike[same]
        remaining = remaining[~same]
    return DuplicateRows.by_first(first_equal)
