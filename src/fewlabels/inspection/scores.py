"""Distributions of scores, with the threshold."""

from __future__ import annotations

from typing import TYPE_CHECKING, Self

import numpy as np
from sklearn.base import BaseEstimator

from .._typing import FloatArray, MatrixLike, VectorLike
from ._display import BLUE, GREY, ORANGE, axes_of, name_of
from .histogram import bin_edges, draw

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_COLOURS = (BLUE, ORANGE, GREY, "black")


class ScoreDisplay:
    """Histogram of scores for each kind of rows, with the threshold.

    Made by :meth:`from_estimator`. ``groups`` are the scores of each kind of rows, the label
    changes at the ``threshold``, ``title`` is the picture's.

    Examples
    --------
    >>> import numpy as np
    >>> from fewlabels import OneClassSVM
    >>> from fewlabels.inspection import ScoreDisplay
    >>> rng = np.random.default_rng(0)
    >>> model = OneClassSVM(target_fpr=0.05).fit(rng.normal(size=(200, 2)))
    >>> kinds = np.repeat(["normal", "other"], [80, 20])
    >>> rows = rng.normal(size=(100, 2)) + np.where(kinds == "other", 3, 0)[:, None]
    >>> sorted(ScoreDisplay.from_estimator(model, rows, kinds).groups)
    ['normal', 'other']
    """

    def __init__(
        self, groups: dict[str, FloatArray], threshold: float = 0.0, title: str = ""
    ) -> None:
        self.groups, self.threshold, self.title = groups, threshold, title

    @classmethod
    def from_estimator(
        cls,
        estimator: BaseEstimator,
        X: MatrixLike,
        y: VectorLike | None = None,
        *,
        bins: int = 40,
        ax: Axes | None = None,
    ) -> Self:
        """Draw the decision function of rows.

        Parameters
        ----------
        estimator : fitted model, or Pipeline that ends in one
            Any with ``decision_function``.
        X : {array-like, sparse} of shape (n_samples, n_features)
            Rows, best such as it was not trained on: the scores of training rows flatter it.
        y : array-like of shape (n_samples,), default=None
            Kinds of rows; each value has its own histogram.
        bins : int, default=40
            Bins of the histogram.
        ax : matplotlib.axes.Axes, default=None
            Where to draw; None makes a new figure.
        """
        scores = estimator.decision_function(X)
        groups = {"rows": scores}
        if y is not None:
            y = np.asarray(y)
            groups = {str(value): scores[y == value] for value in np.unique(y)}
        return cls(groups, title=name_of(estimator)).plot(bins=bins, ax=ax)

    def plot(self, *, bins: int = 40, ax: Axes | None = None) -> Self:
        """Draw.

        Parameters
        ----------
        bins : int, default=40
            Bins of the histogram.
        ax : matplotlib.axes.Axes, default=None
            Where to draw; None makes a new figure.
        """
        ax = axes_of(ax)
        edges = bin_edges(self.groups.values(), bins, threshold=self.threshold)
        for k, (name, scores) in enumerate(self.groups.items()):
            draw(
                ax,
                scores,
                edges,
                alpha=0.6,
                color=_COLOURS[k % len(_COLOURS)],
                label=f"{name} ({len(scores):,})",
            )
        ax.axvline(self.threshold, color="black", linewidth=1.2, label="threshold")
        ax.set(xlabel="score", ylabel="% of the rows of its kind", title=self.title)
        ax.legend(fontsize="small")
        self.ax_, self.figure_ = ax, ax.figure
        return self
