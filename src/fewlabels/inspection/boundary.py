"""The plane of two columns: boundary, margin, rows and support vectors."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np
import pandas as pd
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from .._typing import BoolArray, FloatArray, IntArray, MatrixLike, VectorLike
from ..base.locking import take_snapshot
from ._display import BLUE, GREY, ORANGE, Display, model_of, name_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes


class DecisionGrid(NamedTuple):
    """Decisions at the points of a grid, whose coordinates are ``first`` and ``second``."""

    first: FloatArray
    second: FloatArray
    decision: FloatArray


class BoundaryDisplay(Display):
    """Decision function over the plane, with the rows and the support vectors.

    Made by :meth:`from_estimator`. ``grid`` has the decisions at points of the plane, ``X`` are
    the training rows, ``kinds`` the names of kinds of rows with masks, ``support`` the support
    vectors' indices, ``margin`` is where the margin's lines lie (or None), ``title`` the
    picture's and ``names`` the columns'.

    Examples
    --------
    >>> import numpy as np
    >>> from fewlabels import SVDD
    >>> from fewlabels.inspection import BoundaryDisplay
    >>> X = np.random.default_rng(0).normal(size=(100, 2))
    >>> display = BoundaryDisplay.from_estimator(SVDD(C=0.1).fit(X), X)
    >>> display.ax_.get_title()
    'SVDD'
    """

    _SIZE = (6.4, 5.2)

    def __init__(
        self,
        grid: DecisionGrid,
        X: FloatArray,
        kinds: list[tuple[str, BoolArray]],
        support: IntArray,
        margin: float | None,
        title: str,
        names: tuple[str, ...] = ("", ""),
    ) -> None:
        self.grid = grid
        self.X, self.kinds, self.support = X, kinds, support
        self.margin, self.title, self.names = margin, title, names

    @classmethod
    def from_estimator(
        cls,
        estimator: BaseEstimator,
        X: MatrixLike,
        y: VectorLike | None = None,
        *,
        n_grid: int = 150,
        ax: Axes | None = None,
    ) -> Self:
        """Draw a fitted model.

        Parameters
        ----------
        estimator : fitted model, or Pipeline that ends in one
            Of two columns.
        X : array-like of shape (n_samples, 2)
            The rows it was fitted to, in that order; a ValueError says that these are others.
        y : array-like of shape (n_samples,), default=None
            Labels as in ``fit``; each has its colour, and unlabelled rows are grey.
        n_grid : int, default=150
            Points of the grid in each direction.
        ax : matplotlib.axes.Axes, default=None
            Where to draw; None makes a new figure.
        """
        check_is_fitted(model_of(estimator))
        estimator = take_snapshot(estimator)
        model = model_of(estimator)
        rows = np.asarray(X, dtype=float)
        if rows.ndim != 2 or rows.shape[1] != 2:
            raise ValueError(
                f"X has shape {rows.shape}, but the plot needs exactly two columns; pass a model "
                "fitted to two."
            )
        if len(rows) != model.shape_fit_[0]:
            raise ValueError(
                f"X has {len(rows)} rows, but {name_of(estimator)} was fitted to "
                f"{model.shape_fit_[0]}; pass the training rows."
            )
        low, high = rows.min(axis=0), rows.max(axis=0)
        room = 0.08 * np.where(high > low, high - low, 1.0)
        points = np.linspace(low - room, high + room, n_grid)
        first, second = np.meshgrid(*points.T)
        grid = np.column_stack([first.ravel(), second.ravel()])
        columns = getattr(X, "columns", None)
        if columns is not None:
            grid = pd.DataFrame(grid, columns=list(columns))
        decision = estimator.decision_function(grid).reshape(first.shape)
        if not np.isfinite(decision).all():
            raise ValueError(
                f"the threshold of this {name_of(estimator)} is infinite (too few calibration "
                "rows for target_fpr), so there is no boundary to draw."
            )
        names = ("", "") if columns is None else tuple(str(name) for name in columns)
        return cls(
            DecisionGrid(first, second, decision),
            rows,
            _masks_of_kinds(model, y, len(rows)),
            np.asarray(model.support_),
            1.0 if hasattr(model, "classes_") else None,
            name_of(estimator),
            names,
        ).plot(ax=ax)

    def _draw(self, ax: Axes) -> None:
        grid = self.grid
        size = float(np.abs(grid.decision).max()) or 1.0
        ax.contourf(*grid, levels=np.linspace(-size, size, 25), cmap="RdBu", alpha=0.5)
        ax.contour(*grid, levels=[0.0], colors="black", linewidths=1.6)
        if self.margin is not None and size > self.margin:
            lines = [-self.margin, self.margin]
            ax.contour(*grid, levels=lines, colors="black", linewidths=0.8, linestyles="--")
        # As the areas: the positive class, which comes last, is blue.
        colours = (BLUE, ORANGE)
        for k, (label, chosen) in enumerate(reversed(self.kinds)):
            style: dict[str, Any] = dict(s=9, color=GREY)
            if label.startswith("labelled"):
                style = dict(s=55, color=colours[k % 2], edgecolors="white", zorder=3)
            ax.scatter(*self.X[chosen].T, label=label, **style)
        across, up = self.X[self.support].T
        ax.scatter(
            across,
            up,
            s=60,
            facecolors="none",
            edgecolors="black",
            linewidths=0.7,
            label=f"support vectors ({len(self.support)})",
        )
        ax.set(title=self.title, xlabel=self.names[0], ylabel=self.names[1])
        ax.legend(fontsize="small", framealpha=0.9)


def _masks_of_kinds(
    model: BaseEstimator, y: VectorLike | None, n: int
) -> list[tuple[str, BoolArray]]:
    """Return names and masks of the kinds of rows."""
    if y is None:
        return [("training rows", np.ones(n, bool))]
    y = np.asarray(y)
    classes = getattr(model, "classes_", np.array([value for value in y if value == value]))
    if hasattr(model, "prior_"):
        classes = classes[1:]
    known = [(f"labelled {value}", y == value) for value in np.unique(classes)]
    others = ~np.any([mask for _, mask in known], axis=0)
    return [("unlabelled", others), *known] if others.any() else known
