"""The range of the class prior if labelled rows aren't quite a random sample."""

from typing import Any

import numpy as np

from .._typing import FloatArray, MatrixLike, RandomStateLike, VectorLike
from .methods.saturated import Curves, SaturatedLogistic

# Shares of the labelled rows at which their weight may change.
_CUT_SHARES = np.linspace(0.1, 0.9, 9)


def prior_bounds(
    X: MatrixLike,
    y: VectorLike,
    bias: VectorLike,
    *,
    pos_label: object = None,
    random_state: RandomStateLike = 0,
    n_jobs: int | None = None,
) -> FloatArray:
    """Return the smallest and largest prior under bounded selection bias.

    Each labelled row may weigh up to ``bias`` times as much, or as little, as in a random sample
    of the positives. Among such weights, those that change once along the score matter most for
    the prior: the obvious positives were labelled too often, or too rarely.

    Parameters
    ----------
    X : array-like or sparse matrix of shape (n_samples, n_features)
        Rows.
    y : array-like of shape (n_samples,)
        Labels, see ``split_labels``.
    bias : float or array-like of shape (n_bounds,)
        Bounds on the factor, >= 1.
    pos_label : label or None, default=None
        The positive class, if it isn't the greater value of y.
    random_state : int, RandomState or None, default=0
        Seed.
    n_jobs : int or None, default=None
        Threads.

    Returns
    -------
    ndarray of shape (2,) or (n_bounds, 2)
        The range of the estimate for each bound. It doesn't include sampling error.

    Examples
    --------
    >>> import numpy as np
    >>> from fewlabels.class_prior import prior_bounds
    >>> rng = np.random.default_rng(0)
    >>> X = np.vstack([rng.normal(2, 1, (400, 2)), rng.normal(-2, 1, (700, 2))])
    >>> y = np.repeat([1, 0], [100, 1000])
    >>> low, high = prior_bounds(X, y, 2.0)
    >>> bool(0.1 < low < 0.3 < high < 0.4)
    True
    """
    bounds = np.atleast_1d(np.asarray(bias, dtype=float))
    if not np.all((bounds >= 1.0) & np.isfinite(bounds)):
        raise ValueError(f"bias={bias!r} is not allowed; pass finite numbers >= 1.")
    options = {"pos_label": pos_label, "random_state": random_state, "n_jobs": n_jobs}
    curves = fit_prior_curves(X, y, **options)
    priors = np.array([_range_of_estimates(curves, bound) for bound in bounds])
    return priors[0] if np.ndim(bias) == 0 else priors


def fit_prior_curves(X: MatrixLike, y: VectorLike, **options: Any) -> Curves:
    """Fit a ``SaturatedLogistic`` with these options, and return its ``Curves``."""
    return SaturatedLogistic(**options)._fit_state(X, y)[0]


def _range_of_estimates(curves: Curves, bound: float) -> tuple[float, float]:
    """Return the smallest and largest estimate over weights that change once along the score."""
    found = [curves.prior()]
    if bound > 1.0:
        cuts = np.unique(np.quantile(curves.bin_p, _CUT_SHARES))
        for is_high in (curves.bin_p >= cut for cut in cuts):
            if is_high.all():
                continue
            for factor in (bound, 1.0 / bound):
                found.append(curves.with_weights(np.where(is_high, factor, 1.0 / factor)).prior())
    return min(found), max(found)
