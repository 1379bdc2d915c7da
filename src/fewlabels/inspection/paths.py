"""What a setting does: the class prior, and the cost along a path."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Self

import numpy as np
import pandas as pd
from sklearn.base import BaseEstimator, clone

from .._typing import MatrixLike, VectorLike
from ..model_selection import bias_sensitivity, prior_sensitivity
from ._display import BLUE, GREY, ORANGE, Display, model_of, name_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes


class PriorSensitivityDisplay(Display):
    """How predictions depend on the class prior.

    Made by :meth:`from_estimator`. ``table`` comes from
    :func:`fewlabels.model_selection.prior_sensitivity`, the prior lies in ``interval``.
    """

    def __init__(self, table: pd.DataFrame, interval: tuple[float, float] | None = None) -> None:
        self.table, self.interval = table, interval

    @classmethod
    def from_estimator(
        cls,
        estimator: BaseEstimator,
        X: MatrixLike,
        y: VectorLike,
        priors: Sequence[float],
        *,
        ax: Axes | None = None,
    ) -> Self:
        """Refit under each prior and draw.

        Parameters
        ----------
        estimator, X, y, priors
            As in :func:`fewlabels.model_selection.prior_sensitivity`. Where the estimator is
            fitted and has estimated its prior, the interval is drawn as well.
        ax : matplotlib.axes.Axes, default=None
            Where to draw; None makes a new figure.
        """
        interval = getattr(model_of(estimator), "prior_interval_", None)
        return cls(prior_sensitivity(estimator, X, y, priors), interval).plot(ax=ax)

    def _draw(self, ax: Axes) -> None:
        table = self.table
        if self.interval is not None:
            ax.axvspan(*self.interval, color=GREY, alpha=0.3, label="interval of the estimate")
        ax.plot(table["prior"], table["prior"], ":", color="black", label="the prior itself")
        ax.plot(
            table["prior"],
            table["share_positive"],
            "o-",
            color=BLUE,
            label="share predicted positive",
        )
        base = table[table["base"]]
        ax.plot(
            base["prior"],
            base["share_positive"],
            "o",
            markersize=12,
            fillstyle="none",
            color=ORANGE,
            label="as fitted",
        )
        ax.set(xlabel="class prior", ylabel="share of the rows compared")
        ax.legend(fontsize="small")


class BiasSensitivityDisplay(Display):
    """How many decisions depend on the assumption that labels are random.

    Made by :meth:`from_estimator`. ``table`` comes from
    :func:`fewlabels.model_selection.bias_sensitivity`.
    """

    def __init__(self, table: pd.DataFrame) -> None:
        self.table = table

    @classmethod
    def from_estimator(
        cls,
        estimator: BaseEstimator,
        X: MatrixLike,
        y: VectorLike,
        bias: Sequence[float],
        *,
        ax: Axes | None = None,
    ) -> Self:
        """Refit with each bound and draw.

        Parameters
        ----------
        estimator, X, y, bias
            As in :func:`fewlabels.model_selection.bias_sensitivity`.
        ax : matplotlib.axes.Axes, default=None
            Where to draw; None makes a new figure.
        """
        return cls(bias_sensitivity(estimator, X, y, bias).table).plot(ax=ax)

    def _draw(self, ax: Axes) -> None:
        table, n = self.table, float(self.table.iloc[0][["positive", "negative"]].sum())
        positive, negative = table["positive"] / n, table["negative"] / n
        x = table["bias"]
        ax.fill_between(x, 0.0, positive, color=ORANGE, label="positive whatever the weights")
        ax.fill_between(x, positive, 1.0 - negative, color=GREY, alpha=0.4, label="undecided")
        ax.fill_between(x, 1.0 - negative, 1.0, color=BLUE, label="negative whatever the weights")
        for side in ("prior_low", "prior_high"):
            ax.plot(
                x,
                table[side],
                ":",
                color="black",
                label="range of the prior" if side == "prior_low" else None,
            )
        ax.set(xlabel="bound on selection bias", ylabel="share of the rows", ylim=(0.0, 1.0))
        ax.set(xlim=(float(x.min()), float(x.max())))
        ax.legend(fontsize="small")


class RegularizationPathDisplay(Display):
    """Support vectors and answers along the values of a cost parameter.

    Made by :meth:`from_estimator`. The ``table`` has as columns the ``parameter``,
    "support_vectors" and "share_positive", of the training rows with a positive decision.

    Examples
    --------
    >>> import numpy as np
    >>> from fewlabels import PUSVM
    >>> from fewlabels.inspection import RegularizationPathDisplay
    >>> rng = np.random.default_rng(0)
    >>> X = np.concatenate([rng.normal(2, 1, (80, 2)), rng.normal(-2, 1, (120, 2))])
    >>> y = np.r_[np.ones(40), np.zeros(160)]
    >>> display = RegularizationPathDisplay.from_estimator(
    ...     PUSVM(prior=0.25), X, y, parameter="lam", values=[0.1, 0.01])
    >>> len(display.table)
    2
    """

    def __init__(self, table: pd.DataFrame, parameter: str) -> None:
        self.table, self.parameter = table, parameter

    @classmethod
    def from_estimator(
        cls,
        estimator: BaseEstimator,
        X: MatrixLike,
        y: VectorLike | None = None,
        *,
        parameter: str,
        values: Sequence[float],
        ax: Axes | None = None,
    ) -> Self:
        """Fit along the values and draw.

        Each fit starts from the one before where the model can: ``PUSVM.path`` for "lam",
        ``S3VM.reprice`` for "C" and "C_star", which follows one minimum.

        Parameters
        ----------
        estimator : model
            It is left as it is.
        X, y
            Training rows, and labels as in ``fit``.
        parameter : str
            Name of a parameter that the estimator has: "C", "C_star", "nu", "lam".
        values : sequence of float
            Values, in the order of the path.
        ax : matplotlib.axes.Axes, default=None
            Where to draw; None makes a new figure.
        """
        if parameter not in estimator.get_params():
            raise ValueError(
                f"{name_of(estimator)} has no parameter {parameter!r}; pass one of its costs, "
                "such as 'C', 'C_star', 'nu' or 'lam'."
            )
        rows = []
        for value, model in zip(
            values, _models_along(estimator, X, y, parameter, values), strict=True
        ):
            rows.append(
                {
                    parameter: value,
                    "support_vectors": len(model.support_),
                    "share_positive": np.mean(model.decision_function(X) > 0.0),
                }
            )
        return cls(pd.DataFrame(rows), parameter).plot(ax=ax)

    def _draw(self, ax: Axes) -> None:
        x = self.table[self.parameter]
        ax.plot(x, self.table["support_vectors"], "o-", color=BLUE)
        ax.set_xscale("log")
        ax.set_xlabel(self.parameter)
        ax.set_ylabel("support vectors", color=BLUE)
        other = ax.twinx()
        other.plot(x, 100.0 * self.table["share_positive"], "s--", color=ORANGE)
        other.set_ylabel("% of the training rows with a positive score", color=ORANGE)
        other.set_ylim(0.0, 100.0)


def _models_along(
    estimator: BaseEstimator,
    X: MatrixLike,
    y: VectorLike | None,
    parameter: str,
    values: Sequence[float],
) -> Iterator[BaseEstimator]:
    """Yield a fitted model at each value."""
    if parameter == "lam" and hasattr(estimator, "path"):
        yield from estimator.path(X, y, lam=values)
        return
    if parameter in ("C", "C_star") and hasattr(estimator, "reprice"):
        model = clone(estimator).set_params(**{parameter: values[0]}).fit(X, y)
        yield model
        for value in values[1:]:
            yield model.reprice(**{parameter: value})
        return
    for value in values:
        yield clone(estimator).set_params(**{parameter: value}).fit(X, y)
