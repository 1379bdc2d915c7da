"""What scores mean: counts, labels and columns of the machines."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pyarrow as pa

from ..io.models.machines import MACHINES


class Answer(NamedTuple):
    """How scores are answered.

    ``names`` are what rows above and below the threshold are called in counts (classes of the user
    in quotes, so that they are no others' names), ``labels`` their labels, "" for a blank.
    ``flag`` is the name of a further column, True above the threshold, and ``more`` that of the
    one that says how sure a score is, "p_value" or "probability".
    """

    names: tuple[str, str]
    labels: tuple[str, str]
    zero_is_above: bool
    flag: str | None = None
    more: str | None = None

    @property
    def columns(self):
        """Names of the columns added to a table."""
        return ["score", "label", *filter(None, (self.flag, self.more))]

    def above(self, scores):
        """Which rows lie above the threshold."""
        return scores >= 0 if self.zero_is_above else scores > 0

    def arrays(self, scores, more=None):
        """Arrow arrays for :attr:`columns`; rows without a score are blank in all."""
        unknown = np.isnan(scores)
        above = self.above(scores)
        names = pa.array([name or None for name in self.labels], pa.string())
        codes = pa.array(np.where(above, 0, 1), pa.int32(), mask=unknown)
        arrays = [pa.array(scores, from_pandas=True), names.take(codes)]
        if self.flag:
            arrays.append(pa.array(above, mask=unknown))
        if self.more:
            arrays.append(pa.array(more, from_pandas=True))
        return arrays

    def count(self, scores):
        """Rows by name, and those without a score."""
        above = int(np.count_nonzero(self.above(scores)))
        skipped = int(np.count_nonzero(np.isnan(scores)))
        counts = above, len(scores) - above - skipped, skipped
        return dict(zip((*self.names, "skipped"), counts, strict=True))


def answer_of(metadata, more=None):
    """How the model that says this of itself answers; ``more`` says how sure a score is."""
    if MACHINES[metadata["machine"]].learns_from == "normal":
        return Answer(("inside", "outside"), ("inside", "outside"), True, more=more)
    training = metadata["training"]
    if MACHINES[metadata["machine"]].learns_from == "classes":
        first, second = training["classes"]
        names = f"label '{second}'", f"label '{first}'"
        return Answer(names, (second, first), False, more=more)
    return Answer(
        ("positive", "not_positive"),
        (training["positive"], training["unlabeled"]),
        False,
        flag="positive",
        more=more,
    )
