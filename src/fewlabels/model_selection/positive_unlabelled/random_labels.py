"""Whether the labelled positives look like a random sample of all positives.

The test estimates which unlabelled rows are positive, draws other labelled rows from all positives
at random, and repeats everything with these. A ridge regression scores rows that it wasn't trained
on, in closed form, so that repetitions cost little. They end as soon as the verdict is certain
(Besag & Clifford 1991), or when the time is over, which doesn't depend on the labels.
"""

from collections.abc import Iterable, Iterator
from numbers import Real
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp
from scipy.special import expit, logit
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_consistent_length

from ..._typing import (
    BoolArray,
    FloatArray,
    IntArray,
    MatrixLike,
    RandomStateLike,
    RowMatrix,
    VectorLike,
)
from ..._util.deadline import ENDLESS, Deadline
from ..._util.threads import one_blas_thread
from ...class_prior.methods._scores import logit_ranks
from ...class_prior.methods.saturated import Curves
from ...class_prior.prior import check_prior
from ...data.labels.positive_unlabelled import split_labels
from ...kernels.rows import checked_rows
from ...metrics.scores import roc_area

# Labelled rows that take part at most.
_MAX_LABELLED_ROWS = 500
# Unlabelled rows that take part at most.
_MAX_UNLABELLED_ROWS = 1500
# Features of the regression.
_N_FEATURES = 150
# Features of the second regression, which is fitted in every draw: the principal components that
# vary most. It keeps so few degrees of freedom that the others would be shrunk to nothing.
_N_LEADING_FEATURES = 50
# Degrees of freedom of the first regression at most.
_MAX_FREEDOM = 40.0
# Its degrees of freedom as a share of the labelled rows.
_FREEDOM_PER_LABEL = 0.5
# Degrees of freedom of the second regression.
_FREEDOM_OF_POSITIVES = 15.0
# Fewer rows of either kind say nothing about how labels were chosen.
_MIN_ROWS_PER_KIND = 10
# Fewer draws than this can only reject at 5 % if none of them is as extreme.
FEWEST_DRAWS = 39
# Rows of scores at which a smaller share is positive have no part in the second regression:
# negatives among them differ from labelled rows, however these were chosen.
_MIN_POSITIVE_SHARE = 0.3
# The second regression needs so much weight of labelled rows, and of others.
_MIN_WEIGHTS = (10.0, 5.0)
# Probabilities are at least this far from 0 and 1.
_MIN_PROBABILITY = 1e-6


class LabelledAtRandomTest(NamedTuple):
    """Result of :func:`labelled_at_random_test`.

    Attributes
    ----------
    rejected : bool
        Whether the labelled rows don't look like a random sample of the positives.
    p_value : float
        The larger one of the two comparisons' p-values: both have to reject.
    p_scores, p_features : float
        p-values of the comparison of scores and of the two-sample classifier.
    shift : float
        Probability that a labelled row has a greater score than an estimated positive: above 0.5
        if obvious positives were labelled more often, below if unusual ones were.
    prior : float
        Share of positives among the unlabelled rows, given or estimated.
    prior_is_known : bool
        Whether it was given.
    level : float
        The level of the test.
    n_labelled, n_unlabelled : int
        Rows that took part.
    n_draws : int
        Random sets of labelled rows that were drawn.
    """

    rejected: bool
    p_value: float
    p_scores: float
    p_features: float
    shift: float
    prior: float
    prior_is_known: bool
    level: float
    n_labelled: int
    n_unlabelled: int
    n_draws: int


def labelled_at_random_test(
    X: MatrixLike,
    y: VectorLike,
    *,
    prior: str | float = "estimate",
    level: float = 0.05,
    n_draws: int = 199,
    pos_label: object = None,
    random_state: RandomStateLike = 0,
) -> LabelledAtRandomTest:
    """Test whether the labelled positives are a random sample of all positives.

    Pass ``prior`` if you know it. Without it, only labels that no random choice explains at any
    prior are found. If obvious rows were labelled first, a smaller prior often explains the labels
    as well, and the test can't reject.

    Parameters
    ----------
    X : {array-like, sparse} of shape (n_samples, n_features)
        Rows as numbers; columns are standardised.
    y : array-like of shape (n_samples,)
        Labels of positive and unlabelled rows, see ``split_labels``.
    prior : "estimate" or float, default="estimate"
        Share of positives among the unlabelled rows, in (0, 1).
    level : float, default=0.05
        How often the test may reject random labels, in (0, 1).
    n_draws : int, default=199
        Random sets of labelled rows, >= 39; fewer are drawn once the test can't reject any more.
    pos_label : value of y or None, default=None
        The positive class, if it isn't the greater value of y.
    random_state : int, RandomState or None, default=0
        Seed.

    Returns
    -------
    LabelledAtRandomTest
        ``rejected`` and ``p_value``, among others.

    Raises
    ------
    ValueError
        Fewer than 10 labelled or unlabelled rows, or an argument out of range.

    Notes
    -----
    Scores are leave-one-out predictions of a ridge regression on Nystroem features of a Gaussian
    kernel. P(positive | score) of the unlabelled rows follows from the curves of
    :class:`fewlabels.class_prior.SaturatedLogistic`, moved to the prior if that is given. Two
    statistics compare the labelled rows with the unlabelled ones, weighted by this probability:
    the distance of Kolmogorov and Smirnov between their scores, and the ROC AUC of a weighted
    ridge regression that separates them, again leave-one-out, at scores where at least 30 % of the
    unlabelled rows are positive. For the distribution of the two under random labels, unlabelled
    rows become positive with their probability, as many rows as were labelled are drawn from all
    positives, and every step is repeated with these labels.

    The test rejects if both comparisons do, so two comparisons need no correction. Scores alone
    reject random labels too often on some real sets, where the curves fit badly.

    Draws end as soon as so many of them are at least as extreme as the labelled rows, in one of
    the comparisons, that the test can't reject any more. The p-value is then their share of the
    draws, which is valid (Besag & Clifford 1991). All draws would give the same verdict.

    At most 500 labelled and 1500 unlabelled rows take part.
    ``docs/guides/labels-not-at-random.md`` has the level and the power that were measured.

    References
    ----------
    Besag, J., Clifford, P. (1991). Sequential Monte Carlo p-values. Biometrika 78.

    Teisseyre, P., Furmanczyk, K., Mielniczuk, J. (2024). Verifying the selected completely at
    random assumption in positive-unlabeled learning. ECAI. (Labels drawn again among estimated
    positives.)

    Examples
    --------
    >>> import numpy as np
    >>> from fewlabels.model_selection import labelled_at_random_test
    >>> rng = np.random.default_rng(0)
    >>> positive, negative = rng.normal(2, 1, (400, 2)), rng.normal(-2, 1, (600, 2))
    >>> X = np.vstack([positive, negative])
    >>> y = np.zeros(1000)
    >>> y[:60] = 1  # a random sample of the 400 positives
    >>> bool(labelled_at_random_test(X, y, prior=0.36, n_draws=99).rejected)
    False
    >>> y[:400] = np.isin(np.arange(400), np.argsort(-positive.sum(axis=1))[:60])  # obvious ones
    >>> bool(labelled_at_random_test(X, y, prior=0.36, n_draws=99).rejected)
    True
    """
    found = labelled_at_random_within(
        ENDLESS,
        X,
        y,
        prior=prior,
        level=level,
        n_draws=n_draws,
        pos_label=pos_label,
        random_state=random_state,
    )
    assert found is not None  # there was all the time
    return found


def labelled_at_random_within(
    deadline: Deadline,
    X: MatrixLike,
    y: VectorLike,
    *,
    prior: str | float = "estimate",
    level: float = 0.05,
    n_draws: int = 199,
    pos_label: object = None,
    random_state: RandomStateLike = 0,
) -> LabelledAtRandomTest | None:
    """Test as :func:`labelled_at_random_test` does, with as many draws as there is time for.

    When the deadline comes, the draws so far count: when it comes doesn't depend on the labels, so
    their p-value is valid. Fewer than 39 draws give no verdict, unless the test couldn't reject
    any more.

    Parameters
    ----------
    deadline : Deadline
        When the test has to end.
    X, y, prior, level, n_draws, pos_label, random_state
        As of :func:`labelled_at_random_test`.

    Returns
    -------
    LabelledAtRandomTest or None
        None if there was no time for a verdict.
    """
    check_prior(prior)
    if not 0.0 < level < 1.0:
        raise ValueError(f"level={level!r} is not allowed; pass a number in (0, 1).")
    if not n_draws >= FEWEST_DRAWS:
        raise ValueError(f"n_draws={n_draws!r} is too few; pass a whole number >= {FEWEST_DRAWS}.")
    X = checked_rows(X, accept_sparse="csr", dtype=[np.float64, np.float32])
    check_consistent_length(X, y)
    positive, _ = split_labels(y, pos_label)
    rng = check_random_state(random_state)
    ours = _choose_sample(np.flatnonzero(positive), _MAX_LABELLED_ROWS, rng)
    others = _choose_sample(np.flatnonzero(~positive), _MAX_UNLABELLED_ROWS, rng)
    if min(len(ours), len(others)) < _MIN_ROWS_PER_KIND:
        raise ValueError(
            f"{positive.sum()} labelled and {np.sum(~positive)} unlabelled rows are too few to "
            f"test whether labels are random; pass at least {_MIN_ROWS_PER_KIND} of both."
        )
    labelled = np.arange(len(ours) + len(others)) < len(ours)
    with one_blas_thread():  # its matrices are small, and other programs may hold the other cores
        features = _make_features(X[np.concatenate([ours, others])], rng)
        if deadline.is_over():
            return None
        compare = LabelStatistics(
            features, len(ours), float(prior) if isinstance(prior, float | Real) else None
        )
        found, chance, shift = compare(labelled)
        drawn = (compare(mask)[0] for mask in _draw_labels(chance, labelled, n_draws, rng))
        p_values, n_drawn = sequential_p_values(found, drawn, n_draws, level, deadline)
    if p_values is None:
        return None
    p_value = max(p_values)
    return LabelledAtRandomTest(
        bool(p_value <= level),
        float(p_value),
        *p_values,
        shift,
        float(np.mean(chance)),
        isinstance(prior, float | Real),
        level,
        len(ours),
        len(others),
        n_drawn,
    )


def sequential_p_values(
    found: tuple[float, float],
    drawn: Iterable[tuple[float, float]],
    n_draws: int,
    level: float,
    deadline: Deadline,
) -> tuple[tuple[float, float] | None, int]:
    """Compare two statistics with draws until the verdict is certain, or the time is over.

    Both have to be significant, so the first that can't be ends the draws. If h of l draws are at
    least as extreme then, its p-value is h / l (Besag & Clifford 1991), or (1 + h) / (1 + all
    draws) if that is more. Without such an end, p-values are (1 + h) / (1 + l), also if the time
    is over after l draws, since that doesn't depend on the labels.

    Parameters
    ----------
    found : tuple of float
        The statistics of the labels.
    drawn : iterable of tuple of float
        The statistics of ``n_draws`` random labels, computed when they are asked for.
    n_draws : int
        Number of draws.
    level : float
        Level of the test.
    deadline : Deadline
        When no further draw is begun.

    Returns
    -------
    p_values : tuple of float, or None
        None if the time was over before 39 draws and before the verdict was certain.
    n_drawn : int
        Draws that were made.
    """
    reached, n_drawn = np.zeros(2, dtype=int), 0
    for statistics in () if deadline.is_over() else drawn:
        reached += np.greater_equal(statistics, found)
        n_drawn += 1
        if (1 + reached.max()) / (n_draws + 1) > level:
            ended = np.maximum(reached / n_drawn, (1 + reached) / (1 + n_draws))
            so_far = (1 + reached) / (1 + n_drawn)
            p_scores, p_features = np.where(reached == reached.max(), ended, so_far)
            return (float(p_scores), float(p_features)), n_drawn
        if deadline.is_over():
            break
    if n_drawn < FEWEST_DRAWS:
        return None, n_drawn
    p_scores, p_features = (1 + reached) / (1 + n_drawn)
    return (float(p_scores), float(p_features)), n_drawn


def _choose_sample(rows: IntArray, most: int, rng: np.random.RandomState) -> IntArray:
    return rows if len(rows) <= most else np.sort(rng.choice(rows, most, replace=False))


def _draw_labels(
    chance: FloatArray, labelled: BoolArray, n_draws: int, rng: np.random.RandomState
) -> Iterator[BoolArray]:
    """Yield random sets of labelled rows among all positives, as masks."""
    ours, others = np.flatnonzero(labelled), np.flatnonzero(~labelled)
    for _ in range(n_draws):
        positives = np.concatenate([ours, others[rng.uniform(size=len(others)) < chance]])
        drawn = np.zeros(len(labelled), dtype=bool)
        drawn[rng.choice(positives, len(ours), replace=False)] = True
        yield drawn


def _make_features(X: RowMatrix, rng: np.random.RandomState) -> FloatArray:
    """Return Nystroem features of standardised columns, with mean 0."""
    from sklearn.kernel_approximation import Nystroem  # slow to import
    from sklearn.preprocessing import MaxAbsScaler, StandardScaler

    X = MaxAbsScaler().fit_transform(X) if sp.issparse(X) else StandardScaler().fit_transform(X)
    spread = X.max(axis=0) - X.min(axis=0)
    varying = max(1, int(np.sum((spread.toarray() if sp.issparse(spread) else spread) > 0)))
    n_features = min(_N_FEATURES, X.shape[0] // 2)
    basis = Nystroem(gamma=1.0 / varying, n_components=n_features, random_state=rng)
    values = basis.fit_transform(X)
    return values - values.mean(axis=0)


class LabelStatistics:
    """Both statistics of a mask of labelled rows; ``prior`` is None if it isn't known."""

    def __init__(self, features: FloatArray, n_labelled: int, prior: float | None) -> None:
        self.prior = prior
        self.left, size, _ = np.linalg.svd(features, full_matrices=False)
        self.leading = (self.left * size)[:, :_N_LEADING_FEATURES]
        freedom = min(_MAX_FREEDOM, _FREEDOM_PER_LABEL * n_labelled)
        self.shrunk = size**2 / (size**2 + find_ridge(size**2, freedom))
        self.leverage = np.einsum("ij,j,ij->i", self.left, self.shrunk, self.left)
        self.leverage += 1.0 / len(features)

    def __call__(self, labelled: BoolArray) -> tuple[tuple[float, float], FloatArray, float]:
        """Return statistics, P(positive) of the unlabelled rows, and the shift of scores."""
        scores = logit_ranks(self.predict_left_out(labelled.astype(float)), labelled)
        chance = self._estimate_chance(scores, labelled)
        weight = np.ones(len(labelled))
        weight[~labelled] = chance
        largest, shift = compare_scores(scores, labelled, weight)
        likely = scores >= np.min(
            scores[~labelled], where=chance >= _MIN_POSITIVE_SHARE, initial=np.inf
        )
        area = self._separate_labelled(labelled, np.where(likely, weight, 0.0))
        return (largest, area), chance, shift

    def predict_left_out(self, y: FloatArray) -> FloatArray:
        """Return predictions of labels y, each without its row."""
        fitted = self.left @ (self.shrunk * (self.left.T @ (y - y.mean()))) + y.mean()
        return (fitted - self.leverage * y) / (1.0 - self.leverage)

    def _estimate_chance(self, scores: FloatArray, labelled: BoolArray) -> FloatArray:
        chance = Curves(scores, labelled).posterior()
        if self.prior is None:
            return chance
        size = logit(np.clip(chance, _MIN_PROBABILITY, 1.0 - _MIN_PROBABILITY))
        low = -50.0
        high = 50.0
        for _ in range(50):  # the constant that makes the mean the prior
            middle = 0.5 * (low + high)
            is_low = expit(size + middle).mean() < self.prior
            low, high = (middle, high) if is_low else (low, middle)
        return expit(size + high)

    def _separate_labelled(self, labelled: BoolArray, weight: FloatArray) -> float:
        """Return the ROC AUC of labelled against other positives, leave-one-out."""
        used, fewest = weight > 0.0, _MIN_WEIGHTS
        if weight[labelled].sum() < fewest[0] or weight[~labelled].sum() < fewest[1]:
            return 0.5
        F, y, w = self.leading[used], np.where(labelled[used], 0.5, -0.5), weight[used].copy()
        for side in (y > 0, y < 0):
            w[side] *= 0.5 * len(w) / w[side].sum()
        F = F - (w @ F) / w.sum()
        A = (F * w[:, None]).T @ F
        spread = np.maximum(np.linalg.eigvalsh(A), 0.0)
        A[np.diag_indices(len(A))] += find_ridge(spread, _FREEDOM_OF_POSITIVES)
        B = np.linalg.solve(A, F.T)
        own = np.minimum(w * np.einsum("ij,ji->i", F, B), 0.95)
        return roc_area((F @ (B @ (w * y)) - own * y) / (1.0 - own), y > 0, w)


def find_ridge(spread: FloatArray, freedom: float) -> float:
    """Return the ridge that leaves so many degrees of freedom, at most half of all."""
    freedom = min(freedom, 0.5 * np.sum(spread > 1e-12 * spread.max(initial=0.0)))
    low, high = 1e-12, max(1e-6, float(spread.sum()) / max(freedom, 1e-9))
    for _ in range(60):
        middle = np.sqrt(low * high)
        is_low = np.sum(spread / (spread + middle)) > freedom
        low, high = (middle, high) if is_low else (low, middle)
    return high


def compare_scores(
    scores: FloatArray, labelled: BoolArray, weight: FloatArray
) -> tuple[float, float]:
    """Return the Kolmogorov-Smirnov distance, and how often labelled rows have greater scores."""
    values, place = np.unique(scores, return_inverse=True)
    ours = np.bincount(place, labelled, len(values)) / labelled.sum()
    others = np.bincount(place, weight * ~labelled, len(values)) / weight[~labelled].sum()
    largest = float(np.abs(np.cumsum(ours - others)).max())
    return largest, float(ours @ (np.cumsum(others) - 0.5 * others))
