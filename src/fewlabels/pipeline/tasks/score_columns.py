"""The columns that scores become: score, label, and how sure the model is."""

from __future__ import annotations

from typing import NamedTuple, TypeAlias

import numpy as np
import pyarrow as pa

from ..._typing import BoolArray, FloatArray
from ...calibration.curve import class_of


class ClassColumns(NamedTuple):
    """Columns for scores of several classes: the label of the largest counts.

    ``labels`` names the classes in the model's order; ``extra`` is "probability", a column for
    each class, or None.
    """

    labels: tuple[str, ...]
    extra: str | None = None

    @property
    def sides(self) -> tuple[str, ...]:
        """Return what rows of the classes are called in counts."""
        return tuple(f"label '{name}'" for name in self.labels)

    @property
    def labels_in_order(self) -> tuple[str, ...]:
        """Return labels in the order of the model's classes."""
        return self.labels

    @property
    def names(self) -> list[str]:
        """Return names of the columns added to a table."""
        return ["score", "label", *(f"{self.extra} {name}" for name in self.labels if self.extra)]

    def describe(self, scores: FloatArray, extra: FloatArray | None = None) -> dict[str, pa.Array]:
        """Return the columns of rows by name; rows without a score are blank in all."""
        unknown = np.isnan(scores).any(axis=1)
        codes = pa.array(class_of(scores).astype(np.int32), mask=unknown)
        labels = pa.array(self.labels, pa.string()).take(codes)
        arrays = [pa.array(scores.max(axis=1), from_pandas=True), labels]
        if extra is not None and self.extra:
            arrays += [pa.array(column, from_pandas=True) for column in extra.T]
        return dict(zip(self.names, arrays, strict=True))

    def count_rows(self, scores: FloatArray) -> dict[str, int]:
        """Return rows by side, and those without a score."""
        known = ~np.isnan(scores).any(axis=1)
        of_class = np.bincount(class_of(scores[known]), minlength=len(self.labels))
        counts = *of_class.tolist(), int(np.sum(~known))
        return dict(zip((*self.sides, "skipped"), counts, strict=True))


class ThresholdColumns(NamedTuple):
    """Columns for scores with one threshold.

    ``sides`` are what rows above and below the threshold are called in counts (classes of the user
    in quotes, so that they are no others' names), ``labels`` their labels, "" for a blank.
    ``flag`` names a further column, True above the threshold, and ``extra`` the column that says
    how sure a score is, "p_value" or "probability". ``cut`` is the largest p-value of a discovery,
    for a column of those; None for no such column.
    """

    sides: tuple[str, str]
    labels: tuple[str, str]
    zero_is_above: bool
    flag: str | None = None
    extra: str | None = None
    cut: float | None = None

    @property
    def labels_in_order(self) -> tuple[str, str]:
        """Return labels below the threshold and above."""
        return self.labels[::-1]

    @property
    def names(self) -> list[str]:
        """Return names of the columns added to a table."""
        listed = None if self.cut is None else "discovery"
        return ["score", "label", *filter(None, (self.flag, self.extra, listed))]

    def above(self, scores: FloatArray) -> BoolArray:
        """Return which rows lie above the threshold."""
        return scores >= 0 if self.zero_is_above else class_of(scores) == 1

    def describe(self, scores: FloatArray, extra: FloatArray | None = None) -> dict[str, pa.Array]:
        """Return the columns of rows by name; rows without a score are blank in all.

        Rows with the score -inf are below the threshold, and have no score either.
        """
        unknown = np.isnan(scores)
        above = self.above(scores)
        labels = pa.array([name or None for name in self.labels], pa.string())
        codes = pa.array(np.where(above, 0, 1), pa.int32(), mask=unknown)
        scores = np.where(np.isneginf(scores), np.nan, scores)
        arrays = [pa.array(scores, from_pandas=True), labels.take(codes)]
        if self.flag:
            arrays.append(pa.array(above, mask=unknown))
        if self.extra:
            arrays.append(pa.array(extra, from_pandas=True))
        if self.cut is not None and extra is not None:
            arrays.append(pa.array(extra <= self.cut, mask=unknown))
        return dict(zip(self.names, arrays, strict=True))

    def count_rows(self, scores: FloatArray) -> dict[str, int]:
        """Return rows by side, and those without a score."""
        above = int(np.count_nonzero(self.above(scores)))
        skipped = int(np.count_nonzero(np.isnan(scores)))
        counts = above, len(scores) - above - skipped, skipped
        return dict(zip((*self.sides, "skipped"), counts, strict=True))


ScoreColumns: TypeAlias = ThresholdColumns | ClassColumns
