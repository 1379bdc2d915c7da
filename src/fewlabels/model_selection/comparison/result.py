"""What a comparison with baselines has found."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from ..._util.extras import require
from .folds import MOST_ROWS

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from ...baselines.methods import ComparedMethod
    from .method_comparison import MethodComparison


@dataclass(eq=False, repr=False)
class BaselineComparison:
    """Result of ``compare_with_baselines``: an estimator next to simpler methods.

    Attributes
    ----------
    table : pandas.DataFrame
        One row per method, the best first: ``name``; ``ours``; ``score``, NaN where it is not
        known; ``low`` and ``high``, its 90 % interval; ``seconds`` of a fit and its
        predictions, on average; ``note``.
    differences : pandas.DataFrame
        One row per baseline: ``name``; ``difference``, the score of ours less its score on the
        same folds; ``standard_error``; ``low`` and ``high``, intervals that hold all differences
        at once with 95 % confidence; ``ahead``, whether the baseline's score is the greater one;
        ``clear``, whether the interval excludes 0.
    measure : str
        What the score is.
    verdict : str
        What follows, in one or two sentences.
    outcome : {"better", "worse", "undecided", "unknown"}
        "better": significantly better than all baselines compared; "worse": a baseline is
        significantly better; "undecided": neither; "unknown": nothing could be measured.
    worse_than : list of str
        Baselines that are significantly better, the best first.
    protocol : str
        How it was measured, and what was left out.
    stopped : {"", "time budget", "Ctrl-C"}
        What ended the comparison early, if anything.
    seconds : float
        Seconds of everything.
    agreement : pandas.DataFrame or None
        Without labels: one row per method, ``name``; ``false_alarms``, the share of held-out rows
        called outside; ``asked``; ``rank_correlation`` with ours.
    disagreements : pandas.DataFrame or None
        Without labels: rows that the methods rank most differently: ``row``, position in X;
        ``ours`` and ``baselines``, ranks as shares, 0 the most unusual (the baselines' mean).
    offer : str
        Where another method is clearly ahead: its name as a model, for ``fewlabels fit
        --method`` and, of the methods in ``fewlabels.baselines``, as their ``method``, or the
        name of a candidate; else "".
    folds : int
        Folds that the methods compared have in common.
    rows : int
        Different rows that were held out in them: an early end leaves a part.
    details : object or None
        What the methods gave on the folds; it isn't stored with a pickled comparison.
    """

    table: pd.DataFrame
    differences: pd.DataFrame
    measure: str
    verdict: str
    outcome: str
    worse_than: list[str]
    protocol: str
    stopped: str
    seconds: float
    agreement: pd.DataFrame | None = None
    disagreements: pd.DataFrame | None = None
    offer: str = ""
    folds: int = 0
    rows: int = 0
    details: MethodComparison | None = field(default=None, repr=False)

    @property
    def preferred(self) -> ComparedMethod | None:
        """The method to deliver: ours, unless one that can be a model is better.

        Most have to be clearly better. None where nothing was measured, or the comparison was
        loaded from a file.
        """
        return None if self.details is None else self.details.preferred()

    @property
    def clearly_better(self) -> ComparedMethod | None:
        """The method to offer if ours is kept: ours, unless another model is clearly better."""
        return None if self.details is None else self.details.preferred(clearly=True)

    def seconds_of(self, method: ComparedMethod, n_rows: int) -> float:
        """Return about how many seconds a model by one of the methods takes for so many rows."""
        of_fold = self.table.set_index("name").loc[method.name, "seconds"]
        return float(of_fold) * method.fits * max(1.0, n_rows / MOST_ROWS)

    def with_winner(self, method: ComparedMethod) -> BaselineComparison:
        """Return the comparison with another method in the place of ours."""
        assert self.details is not None  # the caller took the method from it
        return self.details.result(self, method)

    def __getstate__(self) -> dict[str, object]:
        """Return the state without the measured scores, which hold the rows."""
        return {**self.__dict__, "details": None}

    def __repr__(self) -> str:
        ended = f", ended by {self.stopped}" if self.stopped else ""
        return f"{self.verdict} ({len(self.table)} methods, {self.seconds:.1f} s{ended})"

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw scores with intervals, else rank correlations, on ``ax`` (None: a new figure)."""
        if ax is None:
            require("drawing", "matplotlib")
            from matplotlib import pyplot as plt

            _, ax = plt.subplots(layout="constrained")
        table, value, label = self.table.dropna(subset="score"), "score", self.measure
        if table.empty and self.agreement is not None:
            table, value = self.agreement, "rank_correlation"
            label = "rank correlation with ours"
        places = np.arange(len(table))[::-1]
        for place, (_, line) in zip(places, table.iterrows(), strict=True):
            color = "tab:blue" if line.get("ours", False) else "tab:gray"
            ax.plot(line[value], place, "o", color=color)
            if "low" in line:
                ax.plot([line["low"], line["high"]], [place, place], color=color)
        ax.set_yticks(places, table["name"])
        ax.set(xlabel=label, title="The estimator and baselines")
        return ax
