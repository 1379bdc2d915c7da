"""How a fit came to its end."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Self

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from .._typing import FloatArray
from ._display import Display, model_of, name_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_AXES = {"seconds": "seconds", "kernel_values": "kernel values evaluated", "round": "round"}


class ConvergenceDisplay(Display):
    """Violation of the optimality conditions over the rounds of one or more fits.

    Made by :meth:`from_estimator`. ``curves`` are (cost so far, violation) by name, ``against``
    says what the cost is, ``tol`` where the fit was to stop.

    Examples
    --------
    >>> import numpy as np
    >>> from fewlabels import SVDD
    >>> from fewlabels.inspection import ConvergenceDisplay
    >>> X = np.random.default_rng(0).normal(size=(3000, 3))
    >>> display = ConvergenceDisplay.from_estimator(SVDD(C=0.1).fit(X))
    >>> display.ax_.get_yscale()
    'log'
    """

    def __init__(
        self,
        curves: dict[str, tuple[FloatArray, FloatArray]],
        against: str = "seconds",
        tol: float | None = None,
    ) -> None:
        self.curves, self.against, self.tol = curves, against, tol

    @classmethod
    def from_estimator(
        cls,
        *estimators: BaseEstimator,
        against: str = "seconds",
        names: Sequence[str] | None = None,
        ax: Axes | None = None,
    ) -> Self:
        """Draw the history of fitted models.

        Parameters
        ----------
        *estimators : fitted models, or Pipelines that end in one
            With rounds in their ``history_``.
        against : {"seconds", "kernel_values", "round"}, default="seconds"
            The horizontal axis.
        names : sequence of str, default=None
            Names of the curves; None takes the classes'.
        ax : matplotlib.axes.Axes, default=None
            Where to draw; None makes a new figure.
        """
        if against not in _AXES:
            raise ValueError(f"against={against!r} is not valid; pass one of {list(_AXES)}.")
        names = [name_of(estimator) for estimator in estimators] if names is None else names
        curves: dict[str, tuple[FloatArray, FloatArray]] = {}
        for name, estimator in zip(names, estimators, strict=True):
            check_is_fitted(model_of(estimator))
            history = getattr(model_of(estimator), "history_", [])
            entries = [entry for entry in history if {"violation", against} <= entry.keys()]
            if not entries:
                raise ValueError(
                    f"{name} has no rounds in its history (path following and closed forms have "
                    "none); pass a model fitted with solver='decomposition' or 'cccp'."
                )
            curves[name if name not in curves else f"{name} ({len(curves)})"] = (
                np.array([entry[against] for entry in entries], dtype=float),
                np.array([entry["violation"] for entry in entries], dtype=float),
            )
        tols = {model_of(estimator).tol for estimator in estimators}
        return cls(curves, against, tols.pop() if len(tols) == 1 else None).plot(ax=ax)

    def _draw(self, ax: Axes) -> None:
        for name, (cost, violation) in self.curves.items():
            ax.plot(cost, np.where(violation > 0.0, violation, np.nan), marker=".", label=name)
        if self.tol is not None:
            ax.axhline(self.tol, color="black", linestyle=":", label=f"tol = {self.tol:g}")
        ax.set_yscale("log")
        ax.set(xlabel=_AXES[self.against], ylabel="largest violation at the round's start")
        ax.legend(fontsize="small")
