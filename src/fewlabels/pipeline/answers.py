"""How scores are answered: names, labels and columns."""

from typing import NamedTuple

import numpy as np
import pyarrow as pa

from .._typing import BoolArray, FloatArray
from ..calibration.curve import class_of


class ClassAnswer(NamedTuple):
    """Labels and columns for scores of several classes: the label of the largest counts.

    ``labels`` names the classes; ``more`` is "probability", a column for each class, or
    None.
    """

    labels: tuple[str, ...]
    more: str | None = None

    @property
    def names(self) -> tuple[str, ...]:
        """Return what rows of the classes are called in counts."""
        return tuple(f"label '{name}'" for name in self.labels)

    @property
    def in_order(self) -> tuple[str, ...]:
        """Return labels in the order of the model's classes."""
        return self.labels

    @property
    def columns(self) -> list[str]:
        """Return names of the columns added to a table."""
        return ["score", "label", *(f"{self.more} {name}" for name in self.labels if self.more)]

    def arrays(self, scores: FloatArray, more: FloatArray | None = None) -> list[pa.Array]:
        """Arrow arrays for :attr:`columns`; rows without a score are blank in all."""
        unknown = np.isnan(scores).any(axis=1)
        codes = pa.array(class_of(scores).astype(np.int32), mask=unknown)
        labels = pa.array(self.labels, pa.string()).take(codes)
        arrays = [pa.array(scores.max(axis=1), from_pandas=True), labels]
        if more is not None and self.more:
            arrays += [pa.array(column, from_pandas=True) for column in more.T]
        return arrays

    def count_rows(self, scores: FloatArray) -> dict[str, int]:
        """Return rows by name, and those without a score."""
        known = ~np.isnan(scores).any(axis=1)
        of_class = np.bincount(class_of(scores[known]), minlength=len(self.labels))
        counts = *of_class.tolist(), int(np.sum(~known))
        return dict(zip((*self.names, "skipped"), counts, strict=True))


class Answer(NamedTuple):
    """Labels and columns for scores with one threshold.

    ``names`` are what rows above and below the threshold are called in counts (classes of the user
    in quotes, so that they are no others' names), ``labels`` their labels, "" for a blank.
    ``flag`` names a further column, True above the threshold, and ``more`` the column that says
    how sure a score is, "p_value" or "probability". ``cut`` is the largest p-value of a discovery,
    for a column of those; None for no such column.
    """

    names: tuple[str, str]
    labels: tuple[str, str]
    zero_is_above: bool
    flag: str | None = None
    more: str | None = None
    cut: float | None = None

    @property
    def in_order(self) -> tuple[str, str]:
        """Return labels below the threshold and above."""
        return self.labels[::-1]

    @property
    def columns(self) -> list[str]:
        """Return names of the columns added to a table."""
        listed = None if self.cut is None else "discovery"
        return ["score", "label", *filter(None, (self.flag, self.more, listed))]

    def above(self, scores: FloatArray) -> BoolArray:
        """Return which rows lie above the threshold."""
        return scores >= 0 if self.zero_is_above else class_of(scores) == 1

    def arrays(self, scores: FloatArray, more: FloatArray | None = None) -> list[pa.Array]:
        """Arrow arrays for :attr:`columns`; rows without a score are blank in all.

        Rows with the score -inf are below the threshold, and have no score either.
        """
        unknown = np.isnan(scores)
        above = self.above(scores)
        names = pa.array([name or None for name in self.labels], pa.string())
        codes = pa.array(np.where(above, 0, 1), pa.int32(), mask=unknown)
        scores = np.where(np.isneginf(scores), np.nan, scores)
        arrays = [pa.array(scores, from_pandas=True), names.take(codes)]
        if self.flag:
            arrays.append(pa.array(above, mask=unknown))
        if self.more:
            arrays.append(pa.array(more, from_pandas=True))
        if self.cut is not None and more is not None:
            arrays.append(pa.array(more <= self.cut, mask=unknown))
        return arrays

    def count_rows(self, scores: FloatArray) -> dict[str, int]:
        """Return rows by name, and those without a score."""
        above = int(np.count_nonzero(self.above(scores)))
        skipped = int(np.count_nonzero(np.isnan(scores)))
        counts = above, len(scores) - above - skipped, skipped
        return dict(zip((*self.names, "skipped"), counts, strict=True))
