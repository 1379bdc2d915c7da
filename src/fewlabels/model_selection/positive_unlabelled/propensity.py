"""Propensities estimated from the features that decided which positives were labelled."""

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
from scipy.special import expit
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_consistent_length

from ..._typing import BoolArray, FloatArray, MatrixLike, RandomStateLike, RowMatrix, VectorLike
from ..._util.warn import warn
from ...class_prior.bounds import fit_prior_curves
from ...class_prior.methods.saturated import Curves
from ...class_prior.prior import check_prior
from ...data.checks import check_numbers
from ...data.labels.positive_unlabelled import split_labels
from ...kernels.rows import checked_rows

# Features of the classifier.
_N_FEATURES = 100
# Ridge of the classifier, per row.
_RIDGE_OF_CLASSIFIER = 2e-3
# Ridge of the regression of labelling, per row.
_RIDGE_OF_PROPENSITY = 1e-3
# EM ends when no row's probability changes by more, or after so many rounds.
_EM_TOLERANCE = 1e-3
_MAX_EM_ROUNDS = 60
# Rounds at the beginning that keep the prior of the start.
_ROUNDS_WITH_FIXED_PRIOR = 10
# A labelled row counts at most so many times as often as the median one, for the prior.
_MAX_WEIGHT_RATIO = 10.0
_NEWTON_STEPS = 4
# Rows that the models are fitted to at most.
_MAX_ROWS = 4000
# The estimate is uncertain if starts suggest priors that differ by more ...
_MAX_PRIOR_RANGE = 0.1
# ... and have a log likelihood that is this close to the best.
_LIKELIHOOD_TOLERANCE = 1e-3
# Propensities are at least this far from 0 and 1.
_MIN_PROPENSITY = 1e-4


@dataclass(frozen=True, eq=False, repr=False)
class PropensityEstimate:
    """Result of :func:`estimate_propensity`.

    Attributes
    ----------
    propensity : ndarray of shape (n_samples,)
        P(labelled | positive, x) of all rows, in (0, 1).
    coef : ndarray of shape (n_selection_features,)
        Change of the log odds of being labelled per standard deviation of each feature.
    intercept : float
        Log odds at the mean of the features.
    prior : float
        Share of positives among the unlabelled rows, given or estimated.
    log_likelihoods, priors : ndarray of shape (n_starts,)
        What each start reached, best first.
    """

    propensity: FloatArray
    coef: FloatArray
    intercept: float
    prior: float
    log_likelihoods: FloatArray
    priors: FloatArray

    def __repr__(self) -> str:
        low, high = np.quantile(self.propensity, [0.05, 0.95])
        return (
            f"PropensityEstimate(prior={self.prior:.3g}, {len(self.propensity)} propensities, "
            f"90 % of them {low:.2g} to {high:.2g})"
        )


def estimate_propensity(
    X: MatrixLike,
    y: VectorLike,
    selection: MatrixLike,
    *,
    prior: str | float = "estimate",
    n_starts: int = 4,
    pos_label: object = None,
    random_state: RandomStateLike = 0,
) -> PropensityEstimate:
    """Estimate how likely each positive was to be labelled, from a few named features.

    Use it if you know which features decided which positives were labelled, such as age and
    region, but not how. Pass the result to ``PUSVM(sampling="one-sample").fit(X, y,
    propensity=found.propensity)``.

    Two models take turns (Bekker and Davis 2020): a classifier of positives from all features, and
    a logistic regression of labelling among positives on the named ones. Labels alone hardly tell
    few positives, often labelled, from many that rarely are. So the level of the propensities
    follows from the prior: pass it if you know it, or it is estimated with the present weights in
    every round. The likelihood has several maxima and this finds a local one, the best of several
    starts. A warning says if other starts that fit nearly as well imply another prior.

    Parameters
    ----------
    X : {array-like, sparse} of shape (n_samples, n_features)
        Rows of one sample, some of whose positives are labelled.
    y : array-like of shape (n_samples,)
        Labels, see ``split_labels``.
    selection : array-like of shape (n_samples, n_selection_features)
        Features that labelling depended on.
    prior : "estimate" or float, default="estimate"
        Share of positives among the unlabelled rows, in (0, 1). If you know it, pass it to the
        model, too: otherwise that counts the positives from the propensities.
    n_starts : int, default=4
        Starts, >= 1.
    pos_label : value of y or None, default=None
        The positive class, if it isn't the greater value of y.
    random_state : int, RandomState or None, default=0
        Seed of the features of the classifier, and of the sample of more than 4000 rows.

    Returns
    -------
    PropensityEstimate
        ``propensity`` of all rows, the coefficients, and what each start reached.

    Raises
    ------
    ValueError
        If arguments don't match, or rows of one kind are missing.

    References
    ----------
    Bekker, J., Robberechts, P., Davis, J. (2019). Beyond the selected completely at random
    assumption for learning from positive and unlabeled data. ECML PKDD.

    Bekker, J., Davis, J. (2020). Learning from positive and unlabeled data: a survey. Machine
    Learning 109.

    Examples
    --------
    >>> import numpy as np
    >>> from fewlabels.model_selection import estimate_propensity
    >>> rng = np.random.default_rng(0)
    >>> truth = np.repeat([True, False], [600, 900])
    >>> X = np.where(truth[:, None], 2.0, -2.0) * [1.0, 0.0] + rng.normal(size=(1500, 2))
    >>> chance = 1.0 / (1.0 + np.exp(-2.0 * X[:, 1]))  # labelling depends on the second column
    >>> y = (truth & (rng.uniform(size=1500) < chance)).astype(int)
    >>> found = estimate_propensity(X, y, X[:, [1]])
    >>> bool(np.abs(found.propensity - chance)[y == 1].mean() < 0.1)
    True
    """
    X = checked_rows(X, accept_sparse="csr", dtype=[np.float64, np.float32])
    selection = check_numbers(selection, dtype=np.float64, input_name="selection")
    check_consistent_length(X, y, selection)
    if not n_starts >= 1:
        raise ValueError(f"n_starts={n_starts!r} is too few; pass a whole number >= 1.")
    check_prior(prior)
    labelled, _ = split_labels(y, pos_label)
    rng = check_random_state(random_state)
    spread = selection.std(axis=0)
    Z = (selection - selection.mean(axis=0)) / np.where(spread > 0, spread, np.inf)
    sample = np.arange(len(Z))
    if len(sample) > _MAX_ROWS:
        others = rng.permutation(np.flatnonzero(~labelled))[: _MAX_ROWS // 2]
        ours = rng.permutation(np.flatnonzero(labelled))[: _MAX_ROWS // 2]
        sample = np.sort(np.concatenate([ours, others]))
    shared = _PropensityProblem(X[sample], Z[sample], labelled[sample], prior, rng)
    ends = [shared.solve(start) for start in shared.starts(n_starts)]
    ends.sort(key=lambda end: -end[0])
    likelihoods, priors = (np.array([end[k] for end in ends]) for k in (0, 1))
    close = priors[likelihoods >= likelihoods[0] - _LIKELIHOOD_TOLERANCE]
    if np.ptp(close) > _MAX_PRIOR_RANGE:
        warn(
            "the propensities are uncertain: starts that explain the labels equally well imply "
            f"that between {close.min():.2f} and {close.max():.2f} of the unlabelled rows are "
            "positive. Pass prior=... if you know it, or name fewer features.",
            UserWarning,
        )
    beta = ends[0][2]
    # From a sample of either kind: more unlabelled rows mean more positives without a label.
    level = beta[-1] - np.log(np.sum(~labelled) / np.sum(labelled)) + shared.log_odds
    propensity = np.clip(expit(Z @ beta[:-1] + level), _MIN_PROPENSITY, 1.0 - _MIN_PROPENSITY)
    return PropensityEstimate(
        propensity, beta[:-1], float(level), float(priors[0]), likelihoods, priors
    )


def _make_features(X: RowMatrix, rng: np.random.RandomState) -> FloatArray:
    """Return standardised columns, if there are few, and Nystroem features, with a constant."""
    from sklearn.kernel_approximation import Nystroem  # slow to import
    from sklearn.preprocessing import MaxAbsScaler, StandardScaler

    X = MaxAbsScaler().fit_transform(X) if sp.issparse(X) else StandardScaler().fit_transform(X)
    n_features = min(_N_FEATURES, X.shape[0] // 2)
    basis = Nystroem(gamma=1.0 / X.shape[1], n_components=n_features, random_state=rng)
    parts = [basis.fit_transform(X), np.ones((X.shape[0], 1))]
    if not sp.issparse(X) and X.shape[1] <= _N_FEATURES:
        parts.insert(0, X / np.sqrt(X.shape[1]))
    return np.hstack(parts)


class _PropensityProblem:
    """The data that all starts share; ``prior`` is a number or "estimate"."""

    def __init__(
        self,
        X: RowMatrix,
        Z: FloatArray,
        labelled: BoolArray,
        prior: str | float,
        rng: np.random.RandomState,
    ) -> None:
        self.F, self.Z = _make_features(X, rng), np.column_stack([Z, np.ones(len(Z))])
        self.labelled, self.prior = labelled, prior
        self.curves: Curves | None = None
        self.n_hidden = int(np.sum(~labelled))
        self.log_odds = float(np.log(self.n_hidden / labelled.sum()))
        if prior == "estimate":
            self.curves = fit_prior_curves(X, labelled, random_state=rng, max_rows=None)

    def starts(self, n_starts: int) -> list[float]:
        """Return priors to start from."""
        if self.curves is None:
            return [float(self.prior)]
        return [self.curves.prior(), *np.linspace(0.6, 0.2, n_starts)[: n_starts - 1]]

    def solve(self, start: float) -> tuple[float, float, FloatArray]:
        """Return log likelihood per row, prior and propensity coefficients from one start."""
        labelled, prior = self.labelled, float(start)
        alpha, beta = np.zeros(self.F.shape[1]), np.zeros(self.Z.shape[1])
        positive, target = np.where(labelled, 1.0, prior), labelled.astype(float)
        for number in range(_MAX_EM_ROUNDS):
            alpha = _fit_logistic(
                self.F, positive, np.ones(len(target)), alpha, _RIDGE_OF_CLASSIFIER
            )
            beta = _fit_logistic(self.Z, target, positive, beta, _RIDGE_OF_PROPENSITY)
            if self.curves is not None and number >= _ROUNDS_WITH_FIXED_PRIOR:
                prior = self._estimate_prior(beta)
            beta[-1] = self._find_level(beta, prior)
            e = expit(self.Z @ beta)
            before, (positive, f) = positive, self._posterior(self.F @ alpha, e, prior)
            if (
                number > _ROUNDS_WITH_FIXED_PRIOR
                and np.abs(positive - before).max() < _EM_TOLERANCE
            ):
                break
        both = np.clip(f * e, 1e-12, 1.0 - 1e-12)
        value = float(np.mean(np.where(labelled, np.log(both), np.log1p(-both))))
        return value, prior, beta

    def _estimate_prior(self, beta: FloatArray) -> float:
        e = np.clip(expit(self.Z[self.labelled] @ beta), _MIN_PROPENSITY, 1.0 - _MIN_PROPENSITY)
        weight = (1.0 - e) / e
        assert self.curves is not None
        return self.curves.with_weights(
            np.minimum(weight, _MAX_WEIGHT_RATIO * np.median(weight))
        ).prior()

    def _find_level(self, beta: FloatArray, prior: float) -> float:
        """Return the constant at which labelled rows represent as many as the prior implies."""
        z = self.Z[self.labelled, :-1] @ beta[:-1]
        return float(np.log(np.sum(np.exp(-z)) / (prior * self.n_hidden)))

    def _posterior(
        self, score: FloatArray, e: FloatArray, prior: float
    ) -> tuple[FloatArray, FloatArray]:
        """Return P(positive) with and without the label; the first has the prior as its mean."""
        low, high = -50.0, 50.0
        for _ in range(50):
            middle = 0.5 * (low + high)
            f = expit(score + middle)
            hidden = (f * (1.0 - e) / np.maximum(1.0 - f * e, 1e-12))[~self.labelled]
            low, high = (middle, high) if hidden.mean() < prior else (low, middle)
        found = np.ones(len(score))
        found[~self.labelled] = hidden
        return found, f


def _fit_logistic(
    features: FloatArray, target: FloatArray, weight: FloatArray, start: FloatArray, ridge: float
) -> FloatArray:
    """Take a few Newton steps of a logistic regression with soft targets; the constant is last."""
    penalty = np.full(features.shape[1], ridge * len(features))
    penalty[-1] = 1e-9 * len(features)
    t = start
    for _ in range(_NEWTON_STEPS):
        q = expit(features @ t)
        slope = features.T @ (weight * (q - target)) + penalty * t
        bend = (features.T * (weight * np.maximum(q * (1.0 - q), 1e-6))) @ features
        bend[np.diag_indices(len(bend))] += penalty
        step = np.linalg.solve(bend, slope)
        t = t - step * min(1.0, 5.0 / max(1e-12, np.abs(step).max()))
    return t
