"""How long updates of a stream take."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Self

import numpy as np
from sklearn.base import BaseEstimator

from .._typing import AnyArray, RowMatrix, VectorLike
from ._display import BLUE, ORANGE, Display

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_LINES = {"median": 50.0, "99th percentile": 99.0}


class LatencyDisplay(Display):
    """Seconds of every update against the rows held.

    Made by :meth:`from_stream`; ``rows`` are held after each update, which took ``seconds``.

    Examples
    --------
    >>> import numpy as np
    >>> from fewlabels import S3VM
    >>> from fewlabels.inspection import LatencyDisplay
    >>> rng = np.random.default_rng(0)
    >>> X = np.concatenate([rng.normal(-1, 1, (60, 2)), rng.normal(1, 1, (60, 2))])
    >>> y = np.repeat([0, 1], 60)
    >>> y[5:60] = y[65:] = -1
    >>> display = LatencyDisplay.from_stream(S3VM().fit(X, y), rng.normal(size=(20, 2)))
    >>> int(display.rows[-1])
    140
    """

    def __init__(self, rows: VectorLike, seconds: VectorLike) -> None:
        self.rows, self.seconds = np.asarray(rows), np.asarray(seconds)

    @classmethod
    def from_stream(
        cls,
        estimator: BaseEstimator,
        X: RowMatrix,
        y: AnyArray | None = None,
        *,
        block: int = 1,
        ax: Axes | None = None,
    ) -> Self:
        """Add rows to a model and draw how long that took.

        Parameters
        ----------
        estimator : fitted model with ``partial_fit``
            It has the rows afterwards.
        X : {array-like, sparse} of shape (n_samples, n_features)
            Rows to add, in this order.
        y : array-like of shape (n_samples,), default=None
            Their labels, as ``partial_fit`` takes them.
        block : int, default=1
            Rows at a time.
        ax : matplotlib.axes.Axes, default=None
            Where to draw; None makes a new figure.
        """
        rows, seconds = [], []
        for first in range(0, X.shape[0], block):
            some = slice(first, first + block)
            labels = () if y is None else (y[some],)
            started = time.perf_counter()
            estimator.partial_fit(X[some], *labels)
            seconds.append(time.perf_counter() - started)
            rows.append(estimator.shape_fit_[0])
        return cls(rows, seconds).plot(ax=ax)

    def _draw(self, ax: Axes) -> None:
        milliseconds = 1e3 * self.seconds
        ax.plot(self.rows, milliseconds, ".", markersize=3, color=BLUE)
        for (name, level), style in zip(_LINES.items(), ("-", "--"), strict=True):
            value = np.percentile(milliseconds, level)
            ax.axhline(value, color=ORANGE, linestyle=style, label=f"{name} {value:.3g} ms")
        ax.set_yscale("log")
        ax.set(xlabel="rows held", ylabel="milliseconds per update")
        ax.legend(fontsize="small")
