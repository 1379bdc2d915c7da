"""What drives the scores of rows: contributions of columns, as a table and as a picture."""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Real
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from .._typing import AnyArray, FloatArray
from ._display import axes_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@dataclass(eq=False, repr=False)
class Explanation:
    """Contributions of columns to decisions.

    Attributes
    ----------
    columns : list of str
        What contributes: columns, or groups of them.
    contributions : ndarray of shape (n_rows, n_columns)
        Shapley values. ``contributions[i].sum() == decision[i] - base``, up to rounding.
    standard_errors : ndarray of shape (n_rows, n_columns)
        Of sampling orders of the columns; 0 where the values are exact.
    decision : ndarray of shape (n_rows,)
        ``decision_function`` of the rows.
    base : float or ndarray of shape (n_rows,)
        Its mean over the background rows; for several classes, the mean of each row's class.
    method : {"exact", "permutations"}
        How the contributions were found.
    values : DataFrame of shape (n_rows, n_columns)
        What the rows have in these columns; for a group, as text.
    usual : list
        What is usual in the background: the median of numbers, the most frequent of others;
        None for a group of several columns.
    n_background : int
        Background rows used.
    classes : ndarray of shape (n_rows,) or None
        Of a model of several classes, the class whose decision is explained of each row.
    """

    columns: list[str]
    contributions: FloatArray
    standard_errors: FloatArray
    decision: FloatArray
    base: float | FloatArray
    method: str
    values: pd.DataFrame
    usual: list[object]
    n_background: int
    classes: AnyArray | None = None

    def __repr__(self) -> str:
        n, d = self.contributions.shape
        return (
            f"Explanation of {n} row{'s' * (n != 1)} by {d} column{'s' * (d != 1)} ({self.method},"
            f" {self.n_background} background rows, base {np.mean(self.base):.3g})"
        )

    def base_of(self, row: int = 0) -> float:
        """Return the base that one row's contributions start from."""
        return float(np.broadcast_to(self.base, len(self.decision))[self._place(row)])

    def frame(self, row: int = 0) -> pd.DataFrame:
        """Return one row's contributions, the largest first.

        Parameters
        ----------
        row : int, default=0
            Position of the row among those explained.

        Returns
        -------
        pandas.DataFrame
            Columns ``column``, ``value``, ``usual``, ``contribution``, ``standard_error``.
        """
        row = self._place(row)
        table = pd.DataFrame(
            {
                "column": self.columns,
                "value": pd.Series(
                    [self.values.iloc[row, k] for k in range(len(self.columns))], dtype=object
                ),
                "usual": pd.Series(self.usual, dtype=object),
                "contribution": self.contributions[row],
                "standard_error": self.standard_errors[row],
            }
        )
        order = np.argsort(-np.abs(self.contributions[row]), kind="stable")
        return table.iloc[order].reset_index(drop=True)

    def reasons(self, row: int = 0, n: int = 3) -> list[str]:
        """Name the columns that move a row's decision away from the base.

        Parameters
        ----------
        row : int, default=0
            Position of the row among those explained.
        n : int, default=3
            Most columns to name.

        Returns
        -------
        list of str
            Such as "age = 93 (median 40)" or "town = Rome (most often Paris)"; only columns that
            push in the direction in which the row's decision differs from the base, and by more
            than a hundredth of the largest.
        """
        row = self._place(row)
        side = 1.0 if self.decision[row] >= self.base_of(row) else -1.0
        pushing = self.frame(row)
        push = side * pushing["contribution"]
        pushing = pushing[push > 0.01 * push.max()] if push.max() > 0 else pushing[:0]
        return [
            f"{name} = {_format_value(value)}" + _usual_in_brackets(usual)
            for name, value, usual in pushing[["column", "value", "usual"]].head(n).values
        ]

    def plot(self, row: int = 0, ax: Axes | None = None, n: int = 10) -> Axes:
        """Draw one row's contributions as bars on Matplotlib axes, which are returned.

        Parameters
        ----------
        row : int, default=0
            Position of the row among those explained.
        ax : matplotlib.axes.Axes, default=None
            Where to draw; None makes a new figure.
        n : int, default=10
            Most bars; the other columns are one bar.
        """
        row = self._place(row)
        ax = axes_of(ax)
        table = self.frame(row)
        rest = table[n:]
        labels = [f"{c} = {_format_value(v)}" for c, v in table[["column", "value"]][:n].values]
        lengths = list(table["contribution"][:n])
        errors = list(table["standard_error"][:n])
        if len(rest):
            labels.append(f"{len(rest)} others")
            lengths.append(rest["contribution"].sum())
            errors.append(0.0)
        places = np.arange(len(labels))[::-1]
        colors = ["tab:blue" if length >= 0 else "tab:red" for length in lengths]
        error = errors if np.any(errors) else None
        ax.barh(places, lengths, xerr=error, color=colors)
        ax.set_yticks(places, labels)
        ax.axvline(0.0, color="black", linewidth=0.8)
        ax.set(
            xlabel=f"contribution to the decision (usual value {self.base_of(row):.3g})",
            title=f"decision {self.decision[row]:.3g}",
        )
        return ax

    def _place(self, row: int) -> int:
        n = len(self.decision)
        if not -n <= row < n:
            raise ValueError(f"row={row} is not among the {n} rows explained; pass 0 to {n - 1}.")
        return row % n


def _usual_in_brackets(usual: object) -> str:
    """Return the usual value and its meaning in brackets; "" if there is none."""
    if usual is None:
        return ""
    word = "median" if isinstance(usual, Real) else "most often"
    return f" ({word} {_format_value(usual)})"


def _format_value(value: object) -> str:
    """Write a value for people."""
    if isinstance(value, float | np.floating):
        return f"{value:.4g}"
    return str(value)
