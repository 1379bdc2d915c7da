"""What a search has found: candidates, choice, reason, cost, picture."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Self, TypeAlias

import pandas as pd
from pandas.api.types import is_numeric_dtype
from scipy.stats import norm

from ..._typing import FloatArray, MatrixLike, VectorLike
from ..._util.extras import require
from ...base.kernel_estimator import KernelEstimator

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# What ended a search before all candidates were scored, if anything.
StopReason: TypeAlias = Literal["", "time budget", "Ctrl-C"]
SETTINGS_KEPT = "The given settings are kept:"
# Up to this ratio of its ends an axis has numbers between the powers of ten too.
_WIDE = 100.0
# Half the width of a 95 % interval, in standard errors.
_HALF_WIDTH_IN_ERRORS = norm.ppf(0.975)


class SearchCurve(NamedTuple):
    """Columns of the candidates that a picture shows."""

    x: str
    y: str
    lines: list[str]
    title: str


class UnlabeledRows(NamedTuple):
    """Effect of the unlabelled rows on the accuracy on held-out labels.

    Attributes
    ----------
    gain, low, high : float
        Difference in accuracy to the same model learned from the labels alone, and the ends of its
        95 % interval.
    used : bool
        Whether the model that was chosen gives them a cost.
    """

    gain: float
    low: float
    high: float
    used: bool

    @classmethod
    def from_error(cls, gain: float, error: float, used: bool) -> Self:
        """Return the gain with its interval, from its standard error."""
        half = _HALF_WIDTH_IN_ERRORS * error
        return cls(gain, gain - half, gain + half, used)

    def __str__(self) -> str:
        helps = "may help or not"
        if self.low > 0.0:
            helps = "help"
        if self.high < 0.0:
            helps = "do harm"
        taken = "are used" if self.used else "are not used"
        return (
            f"Unlabelled rows {helps}: they change held-out accuracy by {self.gain:+.3f}, "
            f"compared with the labels only (95 % interval {self.low:+.3f} to {self.high:+.3f}). "
            f"They {taken}."
        )


class Decision(NamedTuple):
    """Settings that a search chose, the reason, and the table of its candidates.

    ``weight`` and ``fit``, if there are any, replace the weights and the fit of the model.
    """

    settings: dict[str, Any]
    reason: str
    candidates: pd.DataFrame
    curve: SearchCurve
    weight: FloatArray | None = None
    fit: Callable[[Any, MatrixLike, VectorLike, VectorLike | None], None] | None = None
    unlabeled: UnlabeledRows | None = None


@dataclass(eq=False, repr=False)
class TuningResult:
    """Result of ``tune``: the candidates, the choice, its cost and the reason.

    Attributes
    ----------
    candidates : pandas.DataFrame
        One row per setting; ``chosen`` marks the one that was taken. The other columns depend
        on the model.
    chosen : dict
        Parameters that were set, by name (of the last step of a pipeline).
    reason : str
        Why these.
    stopped : {"", "time budget", "Ctrl-C"}
        What ended the search before all candidates were tried, if anything.
    seconds, fit_seconds : float
        Seconds of everything, and of the fit of the choice alone.
    fits, kernel_values, fit_kernel_values : int
        Models fitted, the choice included; kernel values that all fits and the fit of the choice
        evaluated (PUEnsemble: in its second stage only).
    curve : SearchCurve
        Which columns :meth:`plot` draws.
    unlabeled_rows : UnlabeledRows or None
        Of an S3VM, what the unlabelled rows change in the accuracy on held-out labels, if that
        was compared.
    """

    candidates: pd.DataFrame
    chosen: dict[str, Any]
    reason: str
    stopped: StopReason
    seconds: float
    fit_seconds: float
    fits: int
    kernel_values: int
    fit_kernel_values: int
    curve: SearchCurve
    unlabeled_rows: UnlabeledRows | None = None

    @property
    def trim(self) -> float:
        """Share of the rows that was left out of training, by distance to their neighbours."""
        if "factor" not in self.candidates:
            return 0.0
        return float(self.candidates.loc[self.candidates["chosen"], "trim"].iloc[0])

    def __repr__(self) -> str:
        settings = ", ".join(
            f"{name}={value:.3g}" if isinstance(value, float) else f"{name}={value!r}"
            for name, value in self.chosen.items()
        )
        ended = f", ended by {self.stopped}" if self.stopped else ""
        return (
            f"{settings or 'settings as given'} ({len(self.candidates)} candidates, {self.fits} "
            f"fit{'s' * (self.fits != 1)}, {self.seconds:.1f} s{ended}). {self.reason}"
        )

    def __getstate__(self) -> dict[str, object]:
        """Return arrays, numbers and texts, which skops and other versions of pandas read."""
        columns = {
            name: column.to_numpy() if is_numeric_dtype(column) else column.to_list()
            for name, column in self.candidates.items()
        }
        return {
            **self.__dict__,
            "candidates": columns,
            "curve": list(self.curve),
            "unlabeled_rows": self.unlabeled_rows and list(self.unlabeled_rows),
        }

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self.candidates = pd.DataFrame(state["candidates"])
        self.curve = SearchCurve(*state["curve"])
        change = state["unlabeled_rows"]
        self.unlabeled_rows = change and UnlabeledRows(*change)

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the search with Matplotlib on ``ax`` (None: a new figure), which is returned."""
        require("drawing", "matplotlib")
        from matplotlib.ticker import LogLocator, NullFormatter

        if ax is None:
            from matplotlib import pyplot as plt

            _, ax = plt.subplots(layout="constrained")
        x, y, lines, title = self.curve
        table = self.candidates.dropna(subset=[y])
        if table.empty:
            ax.text(0.5, 0.5, "no candidate was compared", ha="center", transform=ax.transAxes)
            return ax
        groups = table.groupby(lines, sort=False, dropna=False) if lines else [((), table)]
        for key, group in groups:
            label = ", ".join(
                value if isinstance(value, str) else f"{name.replace('_', ' ')} {value:.3g}"
                for name, value in zip(lines, key, strict=True)
                if value == value  # not NaN
            )
            if group[x].isna().all():
                for value in group[y]:
                    colour = ax.plot([], [])[0].get_color()
                    ax.axhline(value, color=colour, linestyle=":", label=label)
                continue
            group = group.sort_values(x)
            ax.errorbar(group[x], group[y], group.get("standard_error"), marker="o", label=label)
        taken = table[table["chosen"]].dropna(subset=[x])
        ax.plot(
            taken[x],
            taken[y],
            "o",
            markersize=14,
            fillstyle="none",
            color="black",
            label="chosen",
            linestyle="none",
        )
        if table[x].notna().any():
            ax.set_xscale("log")
            ax.xaxis.set_major_formatter("{x:g}")
            ax.xaxis.set_minor_locator(LogLocator(subs=(2.0, 5.0)))
            lowest, highest = ax.get_xlim()
            ax.xaxis.set_minor_formatter("{x:g}" if highest < _WIDE * lowest else NullFormatter())
        ax.set(xlabel=x.replace("_", " "), ylabel=y.replace("_", " "), title=title)
        ax.legend(fontsize="small")
        return ax


def left_out_share(model: KernelEstimator) -> float:
    """Return the share of the rows that ``tune`` left out of a model's training, if it did."""
    found = getattr(model, "tuning_", None)
    return 0.0 if found is None else found.trim
