"""Curves from scores to probabilities, fitted with a prior or to a few labels; bins of them."""

from collections.abc import Callable, Iterable
from dataclasses import replace

import numpy as np
from scipy.optimize import brentq, minimize_scalar
from scipy.special import expit, log_softmax, logit, softmax
from sklearn.isotonic import isotonic_regression

from .._typing import BoolArray, FloatArray, IntArray, VectorLike
from .curve import ClassCurves, Curve

# Scores and their weights.
Weighted = tuple[FloatArray, FloatArray]

# Logarithms of slopes that are tried.
_LOG_SLOPES = np.linspace(np.log(0.02), np.log(100.0), 18)
# What is thought of a slope before seeing scores: its logarithm is normal with this mean, per
# standard deviation of the unlabelled scores (PU) or per unit of f (labels), and deviation 1.
_LOG_SLOPE_OF_PRIOR, _LOG_SLOPE_OF_LABELS = 0.7, 0.0
# Deviation of an intercept before seeing labels.
_INTERCEPT = 2.0
# Priors nearer to 0 and 1 are taken for this.
_LEAST = 1e-12
_NEWTON_STEPS = 60
_EXACT = 1e-14
# Newton's method for several classes ends where a step would gain less, relative to the objective.
_GAIN = 1e-20
# A step is halved, at most so often, ...
_MAX_HALVINGS = 40
# ... until it gains this part of what its slope promises, ...
_SUFFICIENT_DECREASE = 1e-4
# ... but for rounding of this size, relative to the objective.
_ROUNDING = 1e-13
# The logarithm of the slope moves by so much at most in a step.
_MAX_STEP = 2.0
# Scores of all weightings together.
_MOST_AT_ONCE = 2**21
# Scores, and values of an isotonic function, that are nearer than this, relative to the largest,
# are equal.
_SAME = 1e-9
# A step of the search for intercepts that give shares is exact when means are so near to these.
_EXACT_SHARE, _STEPS = 1e-13, 500
# Priors that a curve is averaged over, and distinct unlabelled scores that each takes at most.
N_PRIORS, _MOST_SCORES = 8, 1000


def curve_with_prior(positive: Weighted, unlabeled: Weighted, prior: float, kind: str) -> Curve:
    """Fit the Curve of a positive-unlabelled problem.

    From scores of positive and of unlabelled rows that were not trained on, each with weights. The
    q of one form that maximises ``sum_P log q(score)`` with a mean of ``prior`` over the
    unlabelled scores: ``q / prior`` is the ratio of densities of greatest likelihood (KLIEP,
    Sugiyama et al. 2008). "isotonic" is the mean of the best increasing function and the best
    sigmoid.
    """
    prior = float(np.clip(prior, _LEAST, 1.0 - _LEAST))
    (scores, weight), (others, mass) = positive, (unlabeled[0], unlabeled[1] / unlabeled[1].sum())
    center, spread = mean_and_spread(others, mass)
    s, u = (scores - center) / spread, (others - center) / spread

    def at(log_slope: float) -> tuple[float, float]:
        slope = np.exp(log_slope)
        intercept, moved = _intercept(u, mass, slope, prior)
        z = slope * s + intercept
        value = weight @ np.logaddexp(0.0, -z)
        change = -weight @ (expit(-z) * (s + moved)) * slope
        away = log_slope - _LOG_SLOPE_OF_PRIOR
        return value + 0.5 * away**2, change + away

    slope = np.exp(_minimise_log_slope(at))
    curve = Curve(
        float(slope / spread),
        float(_intercept(u, mass, slope, prior)[0] - slope * center / spread),
        kind=kind,
    )
    if kind == "isotonic":
        knots, values = _steps(positive, unlabeled, [prior])
        return replace(curve, knots=knots, values=values)
    return curve


def curve_with_priors(
    positive: Weighted, unlabeled: Weighted, quantiles: VectorLike, kind: str
) -> Curve:
    """Average ``curve_with_prior`` over the priors of a distribution, as one Curve.

    The distribution is given by quantiles of equal weight. Many unlabelled scores take bins, since
    there is a curve for each of several priors.
    """
    priors = priors_of(quantiles)
    binned = _binned(unlabeled[0], unlabeled[1] / unlabeled[1].sum())
    curves = [curve_with_prior(positive, binned, prior, "sigmoid") for prior in priors]
    slopes, intercepts = np.array([(one.slope, one.intercept) for one in curves]).T
    curve = Curve(slopes, intercepts, kind=kind)
    if kind == "isotonic":
        knots, values = _steps(positive, unlabeled, priors)
        return replace(curve, knots=knots, values=values)
    return curve


def priors_of(quantiles: VectorLike) -> FloatArray:
    """Return a few priors of equal weight that stand for the quantiles, with the same mean."""
    groups = np.array_split(np.asarray(quantiles, dtype=float), N_PRIORS)
    return np.clip([part.mean() for part in groups], _LEAST, 1.0 - _LEAST)


def _binned(scores: FloatArray, mass: FloatArray) -> Weighted:
    """Return means and weights of bins of scores; the scores themselves where they are few."""
    values, _, total, bins = equal_bins(scores, mass, _MOST_SCORES, 1.0)
    if len(values) <= _MOST_SCORES:
        return values, total
    _, place = np.unique(bins, return_inverse=True)
    in_bin = np.bincount(place, weights=total).astype(float)
    return np.bincount(place, weights=total * values) / in_bin, in_bin


def _steps(
    positive: Weighted, unlabeled: Weighted, priors: Iterable[float]
) -> tuple[FloatArray, FloatArray]:
    """Return knots and values of the best increasing function, averaged over priors."""
    (scores, weight), others = positive, unlabeled[0]
    knots, group = _distinct(others)
    mass = np.asarray(np.bincount(group, weights=unlabeled[1] / unlabeled[1].sum()), dtype=float)
    # A positive score counts at the next unlabelled one, or at the last.
    rounding = _SAME * np.abs(knots).max()
    place = np.minimum(np.searchsorted(knots + rounding, scores), len(knots) - 1)
    found: FloatArray = np.bincount(place, weights=weight, minlength=len(knots)) / weight.sum()
    centers, ratio = _isotonic(knots, found / mass, mass)
    values = [
        _scale_to_mean(centers, np.minimum(prior * ratio, 1.0), knots, mass, prior)
        for prior in priors
    ]
    return centers, np.mean(values, axis=0)


def curve_of_labels(
    scores: FloatArray,
    positive: BoolArray,
    weight: FloatArray,
    kind: str,
    unlabeled: Weighted | None = None,
    share: float | None = None,
) -> Curve:
    """Fit the Curve of labelled rows that were not trained on; weights act as repetitions.

    The sigmoid of greatest posterior density: the slope is lognormal around 1, the intercept
    normal around 0, so that few labels do not give certainties. "isotonic" is the mean of the
    isotonic regression and of the sigmoid. A ``share`` in (0, 1) is the mean probability over the
    unlabelled rows, whose scores and weights are ``unlabeled``.
    """
    y = positive.astype(float)
    if share is not None and unlabeled is not None:
        u, mass = unlabeled[0], unlabeled[1] / unlabeled[1].sum()

    def intercept_at(slope: float) -> tuple[float, float]:
        if share is not None:
            return _intercept(u, mass, slope, share)
        return _free_intercept(slope * scores, y, weight), 0.0

    def at(log_slope: float) -> tuple[float, float]:
        slope = np.exp(log_slope)
        intercept, moved = intercept_at(slope)
        z = slope * scores + intercept
        value = weight @ (np.logaddexp(0.0, z) - y * z)
        change = weight @ ((expit(z) - y) * (scores + moved)) * slope
        if share is None:
            value += 0.5 * (intercept / _INTERCEPT) ** 2
        away = log_slope - _LOG_SLOPE_OF_LABELS
        return value + 0.5 * away**2, change + away

    slope = np.exp(_minimise_log_slope(at))
    curve = Curve(float(slope), float(intercept_at(slope)[0]), kind=kind)
    if kind == "isotonic" and len(scores):
        knots, values = isotonic(scores, y, weight)
        if share is not None:
            values = _scale_to_mean(knots, values, u, mass, share)
        return replace(curve, knots=knots, values=values)
    return curve


def mean_and_spread(scores: FloatArray, weight: FloatArray) -> tuple[float, float]:
    """Return weighted mean and standard deviation; 1 for the latter if all scores are alike."""
    mean = float(np.average(scores, weights=weight))
    spread = float(np.sqrt(np.average((scores - mean) ** 2, weights=weight)))
    alike = spread <= _SAME * float(np.abs(scores).max(initial=0.0))
    return mean, 1.0 if alike else spread


def equal_bins(
    values: FloatArray, weight: FloatArray, n_bins: int, whole: float | None = None
) -> tuple[FloatArray, IntArray, FloatArray, IntArray]:
    """Return distinct values, which of them each value is, their weights, and their bins.

    At most ``n_bins`` bins of about equal weight, by the middle; ``whole`` is the weights' exact
    sum.
    """
    distinct, group = np.unique(values, return_inverse=True)
    total = np.asarray(np.bincount(group, weights=weight), dtype=float)
    middle = (np.cumsum(total) - 0.5 * total) / (total.sum() if whole is None else whole)
    return distinct, group, total, np.minimum((middle * n_bins).astype(np.intp), n_bins - 1)


def _minimise_log_slope(at: Callable[[float], tuple[float, float]]) -> float:
    """Find the log slope at which ``at``, a value and its derivative, is smallest."""
    values = [at(x)[0] for x in _LOG_SLOPES]
    k = int(np.argmin(values))
    low, high = _LOG_SLOPES[max(0, k - 1)], _LOG_SLOPES[min(len(values) - 1, k + 1)]
    if at(low)[1] >= 0.0:
        return low
    if at(high)[1] <= 0.0:
        return high
    return brentq(lambda x: at(x)[1], low, high, xtol=1e-13, rtol=1e-14)


def _intercept(u: FloatArray, mass: FloatArray, slope: float, mean: float) -> tuple[float, float]:
    """Solve ``mean of expit(slope u + b) = mean`` for b; return b and its derivative in slope."""
    z = slope * u
    low, high = logit(mean) - z.max(), logit(mean) - z.min()
    b = float(np.clip(logit(mean) - mass @ z, low, high))
    for _ in range(_NEWTON_STEPS):
        q = expit(z + b)
        mean_error, rate = mass @ q - mean, mass @ (q * (1.0 - q))
        low, high = (b, high) if mean_error < 0.0 else (low, b)
        then = b - mean_error / rate if rate > 0.0 else low
        if not low < then < high:
            then = 0.5 * (low + high)
        if abs(then - b) <= _EXACT * max(1.0, abs(b)):
            break
        b = then
    q = expit(z + b)
    rate = q * (1.0 - q) * mass
    return b, -float(rate @ u) / max(float(rate.sum()), np.finfo(float).tiny)


def _free_intercept(z: FloatArray, y: FloatArray, weight: FloatArray) -> float:
    """Find the b of greatest posterior density."""

    def change(b: float) -> float:
        return weight @ (expit(z + b) - y) + b / _INTERCEPT**2

    # Residuals are between -1 and 1.
    far = 1.0 + weight.sum() * _INTERCEPT**2
    return brentq(change, -far, far, xtol=1e-14, rtol=1e-14) if len(z) else 0.0


def _distinct(scores: FloatArray) -> tuple[FloatArray, IntArray]:
    """Return scores that differ by more than rounding, and which of them each score is."""
    order = np.argsort(scores)
    ascending = scores[order]
    new = np.diff(ascending, prepend=-np.inf) > _SAME * np.abs(scores).max()
    group = np.empty(len(scores), dtype=np.intp)
    group[order] = np.cumsum(new) - 1
    return ascending[new], group


def isotonic(
    scores: FloatArray, y: FloatArray, weight: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Fit the increasing function of scores nearest to ``y``; return its steps."""
    places, group = np.unique(scores, return_inverse=True)
    mass = np.asarray(np.bincount(group, weights=weight), dtype=float)
    return _isotonic(places, np.bincount(group, weights=weight * y) / mass, mass)


def _isotonic(
    places: FloatArray, targets: FloatArray, mass: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Return centres and values of the steps of the increasing function nearest ``targets``."""
    fitted = isotonic_regression(targets, sample_weight=mass)
    rises = np.diff(fitted) > _SAME * np.abs(fitted).max(initial=0.0)
    step = np.concatenate([[0], np.cumsum(rises)])
    whole = np.bincount(step, weights=mass)
    centers = np.bincount(step, weights=mass * places) / whole
    return centers, np.bincount(step, weights=mass * fitted) / whole


def _scale_to_mean(
    knots: FloatArray, values: FloatArray, places: FloatArray, mass: FloatArray, mean: float
) -> FloatArray:
    """Scale values and cut them at 1, so that their mean over ``places`` is ``mean``."""

    def mean_error(log_factor: float) -> float:
        return mass @ np.interp(places, knots, np.minimum(1.0, np.exp(log_factor) * values)) - mean

    some = values > 0.0
    if not some.any():
        return np.full_like(values, mean)
    least = values[some].min()
    ends = np.log(0.5 * mean / values.max()), -np.log(least)
    if mean_error(ends[1]) >= 0.0:
        return np.minimum(1.0, np.exp(brentq(mean_error, *ends, xtol=1e-14, rtol=1e-14)) * values)
    one, rest = (mass @ np.interp(places, knots, ends) for ends in (some * 1.0, ~some * 1.0))
    return np.where(some, 1.0, (mean - one) / rest)


# -- several classes ------------------------------------------------------------------------------


def curves_of_classes(
    scores: FloatArray,
    place: IntArray,
    weight: FloatArray,
    kind: str,
    unlabeled: Weighted | None = None,
    shares: FloatArray | None = None,
    usual: float | None = None,
) -> ClassCurves:
    """Fit the ``ClassCurves`` of labelled rows that were not trained on; weights count rows.

    ``scores`` are of shape (n, n_classes), ``place`` the class of each row. The softmax of
    greatest posterior density: the slope is lognormal around one at which a row on its own
    model's margin is as sure as of two classes, intercepts are normal around 0. "isotonic" is
    the mean of the isotonic regressions of each class and of the softmax. ``shares`` are the mean
    probabilities over the unlabelled rows, whose scores and weights are ``unlabeled``. ``usual``
    is the logarithm of the slope that others are distributed around, where scores are no decisions
    of models.
    """
    n_classes = scores.shape[1]
    usual = np.log(0.5 * (1.0 + np.log(n_classes - 1))) if usual is None else usual
    hit = np.arange(n_classes) == place[:, None]
    if shares is None:
        slopes, intercepts = softmax_slopes(scores, place, weight[None], usual)
        slope, intercept = float(slopes[0]), intercepts[0]
    else:
        assert unlabeled is not None
        free, mass = unlabeled[0], unlabeled[1] / unlabeled[1].sum()

        def value(log_slope: float) -> float:
            intercept = _intercepts(np.exp(log_slope) * free, mass, shares)
            z = np.exp(log_slope) * scores + intercept
            loss = -(weight @ np.sum(log_softmax(z, axis=1), axis=1, where=hit))
            return (
                loss + 0.5 * (log_slope - usual) ** 2 + 0.5 * np.sum((intercept / _INTERCEPT) ** 2)
            )

        found = minimize_scalar(value, bounds=(usual - 5.0, usual + 5.0))
        slope = float(np.exp(found.x))
        intercept = _intercepts(slope * free, mass, shares)
    curves = ClassCurves(slope, intercept, kind=kind)
    if kind == "isotonic" and len(scores):
        steps = [isotonic(f, h * 1.0, weight) for f, h in zip(scores.T, hit.T, strict=True)]
        curves = replace(curves, steps=tuple(steps))
    return curves


def softmax_slopes(
    scores: FloatArray, place: IntArray, weights: FloatArray, usual: float
) -> tuple[FloatArray, FloatArray]:
    """Find slopes and intercepts of greatest posterior density for several weightings.

    Newton's method on log slope s and intercepts b of

        min over s, b of -sum_i w_i log softmax(exp(s) f_i + b)[y_i]
                         + (s - usual)^2 / 2 + |b|^2 / (2 B^2),

    for all weightings at once. In s this isn't convex where rows are on the wrong side; there the
    curvature without the gradient's part is used.

    Parameters
    ----------
    scores : ndarray of shape (n, n_classes)
        Scores f.
    place : ndarray of int of shape (n,)
        Classes y.
    weights : ndarray of shape (n_weightings, n)
        Weights w, >= 0.
    usual : float
        Logarithm of the slope that others are distributed around.

    Returns
    -------
    slopes : ndarray of shape (n_weightings,)
    intercepts : ndarray of shape (n_weightings, n_classes)
    """
    n_classes = scores.shape[1]
    several = max(1, _MOST_AT_ONCE // max(1, scores.size))
    if len(weights) > several:
        parts = np.split(weights, range(several, len(weights), several))
        found = [softmax_slopes(scores, place, part, usual) for part in parts]
        slopes, intercepts = (np.concatenate(one) for one in zip(*found, strict=True))
        return slopes, intercepts
    hit = (np.arange(n_classes) == place[:, None]) * 1.0
    at = np.zeros((len(weights), 1 + n_classes))
    at[:, 0] = usual
    eye = np.eye(n_classes) / _INTERCEPT**2

    def logs_of(at: FloatArray) -> FloatArray:
        return log_softmax(np.exp(at[:, 0])[:, None, None] * scores + at[:, None, 1:], axis=2)

    def value(at: FloatArray, logs: FloatArray) -> FloatArray:
        loss = -np.einsum("bn,bnk,nk->b", weights, logs, hit)
        away = (at[:, 0] - usual) ** 2 + np.sum((at[:, 1:] / _INTERCEPT) ** 2, axis=1)
        return loss + 0.5 * away

    logs = logs_of(at)
    now = value(at, logs)
    for _ in range(_NEWTON_STEPS):
        p = np.exp(logs)
        slope = np.exp(at[:, 0])
        residual = weights[:, :, None] * (p - hit)
        along = slope * np.einsum("bnk,nk->b", residual, scores)
        change = np.column_stack([along + at[:, 0] - usual, residual.sum(axis=1)])
        change[:, 1:] += at[:, 1:] / _INTERCEPT**2
        # The softmax has the derivatives diag(p) - p p'.
        wp = weights[:, :, None] * p
        mean = np.einsum("bnk,nk->bn", p, scores)
        curvature = np.zeros((len(at), 1 + n_classes, 1 + n_classes))
        bent = np.einsum("bnk,nk,nk->b", wp, scores, scores) - np.sum(weights * mean**2, axis=1)
        curvature[:, 0, 0] = 1.0 + slope**2 * bent + np.maximum(along, 0.0)
        mixed = slope[:, None] * np.einsum("bnk,bnk->bk", wp, scores - mean[:, :, None])
        curvature[:, 0, 1:] = curvature[:, 1:, 0] = mixed
        curvature[:, 1:, 1:] = -np.einsum("bnk,bnl->bkl", wp, p) + eye
        curvature[:, 1:, 1:] += np.einsum("bnk,kl->bkl", wp, np.eye(n_classes))
        step = -np.linalg.solve(curvature, change[:, :, None])[:, :, 0]
        step *= np.minimum(1.0, _MAX_STEP / np.maximum(np.abs(step[:, :1]), _MAX_STEP))
        slack = np.sum(step * change, axis=1)  # twice what a step gains, below 0
        if np.all(-slack <= _GAIN * np.maximum(1.0, now)):
            break
        for _ in range(_MAX_HALVINGS):
            logs = logs_of(at + step)
            then = value(at + step, logs)
            worse = ~(
                then <= now + _SUFFICIENT_DECREASE * slack + _ROUNDING * np.maximum(1.0, now)
            )
            if not worse.any():
                break
            step[worse] *= 0.5
            slack[worse] *= 0.5
        at, now = at + step, then
    return np.exp(at[:, 0]), at[:, 1:]


def _intercepts(z: FloatArray, mass: FloatArray, shares: FloatArray) -> FloatArray:
    """Solve for the b of mean 0 for which the mean of softmax(z + b) over rows is ``shares``."""
    b = np.log(shares)
    for _ in range(_STEPS):
        means = mass @ softmax(z + b, axis=1)
        change = np.log(shares) - np.log(np.maximum(means, np.finfo(float).tiny))
        b = b + change
        if np.abs(change).max() <= _EXACT_SHARE:
            break
    return b - b.mean()
