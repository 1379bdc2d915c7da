"""What the pictures share."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Self

from sklearn.base import BaseEstimator
from sklearn.pipeline import Pipeline

from .._util.extras import require

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Blue and orange are told apart by colour-blind readers, and in grey.
BLUE = "#2a6f97"
ORANGE = "#e07a1f"
GREY = "0.6"


def axes_of(ax: Axes | None, figsize: tuple[float, float] | None = None) -> Axes:
    """Return the axes to draw on, by default in a new figure."""
    if ax is not None:
        return ax
    require("drawing", "matplotlib")
    from matplotlib import pyplot as plt

    return plt.subplots(figsize=figsize, layout="constrained")[1]


def model_of(estimator: BaseEstimator) -> BaseEstimator:
    """Return the model itself, the last step of a pipeline."""
    return estimator[-1] if isinstance(estimator, Pipeline) else estimator


def name_of(estimator: BaseEstimator) -> str:
    """Return the class name of the model."""
    return type(model_of(estimator)).__name__


class Display(ABC):
    """A picture: made by a class method, drawn on ``ax_`` of ``figure_`` by ``_draw``."""

    _SIZE: tuple[float, float] | None = None  # inches; None for Matplotlib's own

    def plot(self, ax: Axes | None = None) -> Self:
        """Draw.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, default=None
            Where to draw; None makes a new figure.
        """
        ax = axes_of(ax, self._SIZE)
        self._draw(ax)
        self.ax_, self.figure_ = ax, ax.figure
        return self

    @abstractmethod
    def _draw(self, ax: Axes) -> None:
        """Draw on these axes."""
