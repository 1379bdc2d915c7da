"""How predictions depend on a bound on selection bias."""

from dataclasses import dataclass
from numbers import Real

import numpy as np
import pandas as pd
from sklearn.base import clone
from sklearn.pipeline import Pipeline
from sklearn.utils import _safe_indexing

from ..._typing import BoolArray, FloatArray, IntArray, MatrixLike, VectorLike
from ..._util.deadline import ENDLESS, Deadline
from ..._util.display import short_repr
from ...class_prior import prior_bounds
from ...data.labels.positive_unlabelled import split_labels
from ...kernels.rows import canonical
from ...metrics._sample import is_label
from ...positive_unlabelled.pusvm import PUSVM

# Bounds that are tried unless others are given.
_BOUNDS = (1.0, 1.25, 1.5, 2.0, 3.0, 5.0)


@dataclass(frozen=True, eq=False)
class BiasSensitivity:
    """Result of :func:`bias_sensitivity`.

    Attributes
    ----------
    table : DataFrame
        A row per bound: ``bias``; ``prior_low`` and ``prior_high``, the range of the prior;
        ``positive``, ``negative`` and ``undecided``, how many of the compared rows are positive
        (negative) at this and every smaller bound, and how many aren't either.
    base : ndarray of bool of shape (n_rows,)
        Which rows are positive without bias.
    changes_at : ndarray of shape (n_rows,)
        The smallest bound at which the row's class may be another one; infinity if it never is.
    rows : ndarray of int of shape (n_rows,)
        Positions of the compared rows: in X, whose unlabelled rows they are, or in X_eval.
    """

    table: pd.DataFrame
    base: BoolArray
    changes_at: FloatArray
    rows: IntArray

    def __repr__(self) -> str:
        return short_repr(self)

    @property
    def robust_positives(self) -> BoolArray:
        """Mask of the compared rows that are positive under every bound, shape (n_rows,).

        ``found.rows[found.robust_positives]`` are their positions.
        """
        return self.base & np.isinf(self.changes_at)

    def first_to_change(self, n: int = 10) -> IntArray:
        """Return the compared rows whose class changes at the smallest bounds.

        ``found.rows[found.first_to_change()]`` are their positions.

        Parameters
        ----------
        n : int, default=10
            At most so many rows.

        Returns
        -------
        ndarray of int of shape (n_changing,)
            Places among the compared rows, those that change first in front.
        """
        order = np.argsort(self.changes_at, kind="stable")[:n]
        return order[np.isfinite(self.changes_at[order])]


def bias_sensitivity(
    estimator: PUSVM | Pipeline,
    X: MatrixLike,
    y: VectorLike,
    bias: VectorLike = _BOUNDS,
    X_eval: MatrixLike | None = None,
) -> BiasSensitivity:
    """Refit with bounds on selection bias, and compare the predictions.

    Use it if obvious positives may have been labelled first, and you don't know the propensities.
    A bound of 2 means that no positive was more than twice as likely to be labelled, or half as
    likely, as under random labelling. At each bound, the model is fitted for the smallest and the
    largest prior that :func:`fewlabels.class_prior.prior_bounds` allows. A row whose class is the
    same in all fits doesn't depend on the assumption, up to that bound.

    Parameters
    ----------
    estimator : PUSVM, or Pipeline that ends in one
        What to fit; it is left as it is. If it has a number as its prior, the prior isn't varied.
    X : {array-like, sparse} of shape (n_samples, n_features)
        Training rows.
    y : array-like of shape (n_samples,)
        Labels of positive and unlabelled rows, see ``split_labels``.
    bias : array-like of shape (n_bounds,), default=(1.0, 1.25, 1.5, 2.0, 3.0, 5.0)
        Bounds, >= 1; 1 is always among them.
    X_eval : {array-like, sparse} of shape (n_rows, n_features), default=None
        Rows whose predictions are compared; None takes the unlabelled training rows.

    Returns
    -------
    BiasSensitivity
        The ``table``, ``robust_positives`` and ``first_to_change``, and the positions of the
        compared ``rows``.

    Raises
    ------
    ValueError
        If the estimator has no bound on bias, or a bound is below 1.

    Examples
    --------
    >>> import numpy as np
    >>> from fewlabels import PUSVM
    >>> from fewlabels.model_selection import bias_sensitivity
    >>> rng = np.random.default_rng(0)
    >>> X = np.concatenate([rng.normal(2, 1, (80, 2)), rng.normal(-2, 1, (120, 2))])
    >>> y = np.r_[np.ones(40), np.zeros(160)]  # 40 of the 80 positives are labelled
    >>> found = bias_sensitivity(PUSVM(prior=0.25), X, y, bias=[1.5, 3])
    >>> found.table[["bias", "positive", "undecided"]]
       bias  positive  undecided
    0   1.0        40          0
    1   1.5        39          1
    2   3.0        39          1
    """
    return bias_sensitivity_within(ENDLESS, estimator, X, y, bias, X_eval)


def bias_sensitivity_within(
    deadline: Deadline,
    estimator: PUSVM | Pipeline,
    X: MatrixLike,
    y: VectorLike,
    bias: VectorLike = _BOUNDS,
    X_eval: MatrixLike | None = None,
) -> BiasSensitivity:
    """Refit with bounds as :func:`bias_sensitivity` does, the smallest first, until the deadline.

    Parameters
    ----------
    deadline : Deadline
        When no larger bound is begun, nor one that would end later if it took as long as the
        longest so far. The table has the bounds that were reached.
    estimator, X, y, bias, X_eval
        As of :func:`bias_sensitivity`.

    Returns
    -------
    BiasSensitivity
    """
    model, rows, X_eval = _split_pipeline(estimator, canonical(X), y, canonical(X_eval))
    if "bias" not in model.get_params():
        raise ValueError(
            f"{type(model).__name__} has no parameter bias; pass a PUSVM, or a Pipeline that ends "
            "in one."
        )
    bounds = np.unique(np.append(np.asarray(bias, dtype=float), 1.0))
    if not np.all((bounds >= 1.0) & np.isfinite(bounds)):
        raise ValueError(f"bias={bias!r} is not allowed; pass finite numbers >= 1.")
    positive, classes = split_labels(y, model.pos_label)
    places, compared = np.flatnonzero(~positive), X_eval
    if X_eval is None:
        compared = _safe_indexing(rows, places)
    base = clone(model).set_params(bias=1.0).fit(rows, y)
    if isinstance(model.prior, float | Real):
        ranges = np.full((len(bounds), 2), float(model.prior))
    else:
        ranges = prior_bounds(
            rows,
            y,
            bounds,
            pos_label=model.pos_label,
            random_state=model.random_state or 0,
            n_jobs=model.n_jobs,
        )
        # The model's own estimate may differ a little, as it doesn't depend on the rows' order.
        edge = min(base.prior_, 0.25 / np.sum(~positive))
        ranges = np.clip(ranges + base.prior_ - ranges[0].mean(), edge, 1.0 - edge)
    answer = is_label(base.predict(compared), classes[1])
    low, high = answer.copy(), answer.copy()
    changes_at, longest = np.full(len(answer), np.inf), 0.0
    lines: list[list[float]] = []
    for bound, priors in zip(bounds, ranges, strict=True):
        left = deadline.left()
        if lines and left <= longest:
            break
        for fitted in _fit_at_ends(model, rows, y, bound, priors) if bound > 1.0 else ():
            found = is_label(fitted.predict(compared), classes[1])
            low, high = low & found, high | found
        changed = np.where(answer, ~low, high)
        changes_at[changed & np.isinf(changes_at)] = bound
        counts = [int(low.sum()), int(np.sum(~high)), int(np.sum(high & ~low))]
        lines.append([bound, *priors, *counts])
        longest = max(longest, left - deadline.left()) if deadline.has_end else 0.0
    names = ["bias", "prior_low", "prior_high", "positive", "negative", "undecided"]
    places = places if X_eval is None else np.arange(len(answer))
    return BiasSensitivity(pd.DataFrame(lines, columns=names), answer, changes_at, places)


def _split_pipeline(
    estimator: PUSVM | Pipeline, X: MatrixLike, y: VectorLike, X_eval: MatrixLike | None
) -> tuple[PUSVM, MatrixLike, MatrixLike | None]:
    """Return the model without a pipeline's other steps, and rows as it takes them."""
    if not isinstance(estimator, Pipeline):
        return clone(estimator), X, X_eval
    if len(estimator) == 1:
        return _split_pipeline(estimator[-1], X, y, X_eval)
    steps = clone(estimator[:-1])
    rows = steps.fit_transform(X, y)
    return clone(estimator[-1]), rows, None if X_eval is None else steps.transform(X_eval)


def _fit_at_ends(
    model: PUSVM, X: MatrixLike, y: VectorLike, bound: float, priors: FloatArray
) -> list[PUSVM]:
    """Fit models at the ends of the range of the prior."""
    model = clone(model).set_params(bias=bound)
    return model.path(X, y, prior=np.unique(priors))
