"""The class prior with an interval, in one call."""

from dataclasses import dataclass
from numbers import Integral
from typing import Any, NamedTuple

import numpy as np
from scipy.stats import beta

from .._typing import FloatArray, MatrixLike, RandomStateLike, VectorLike
from .._util.deadline import ENDLESS, Deadline
from .._util.display import short_repr
from .._util.messages import ref
from .conventions import pooled_from_unlabeled
from .methods._base import FittedState, PriorEstimator
from .methods.best_bin import BestBin
from .methods.blanchard import Blanchard
from .methods.dedpul import DEDPUL
from .methods.kernel_mean import KM1, KM2
from .methods.lee_liu import LeeLiu
from .methods.pen_l1 import PenL1
from .methods.saturated import SaturatedLogistic
from .methods.tice import TIcE

# The estimator with the smallest mean absolute error on 25 data sets with known priors.
_AUTO = "saturated-logistic"
# With little time, rows of either kind to begin with.
_SAMPLE_SIZES = (300, 1000)
# How many times as long the next sample takes.
_TIME_FACTOR_OF_NEXT = 3.5

METHODS: dict[str, type[PriorEstimator[Any]]] = {
    "saturated-logistic": SaturatedLogistic,
    "best-bin": BestBin,
    "dedpul": DEDPUL,
    "blanchard": Blanchard,
    "lee-liu": LeeLiu,
    "penl1": PenL1,
    "km1": KM1,
    "km2": KM2,
    "tice": TIcE,
}


class PriorEstimate(NamedTuple):
    """An estimate of the class prior with its interval.

    Attributes
    ----------
    prior : float
        The estimate, strictly inside (0, 1).
    low, high : float
        Ends of the interval.
    confidence : float
        Its nominal coverage.
    method : str
        Name of the estimator.
    convention : str
        "unlabeled": share of positives among the unlabelled rows; "pooled": among all rows.
    replicates : ndarray of shape (n_bootstrap,)
        Estimates of the bootstrap samples, in the same convention.
    """

    prior: float
    low: float
    high: float
    confidence: float
    method: str
    convention: str
    replicates: FloatArray

    def __repr__(self) -> str:
        return short_repr(self)


@dataclass(frozen=True)
class PriorOptions:
    """Options of :func:`estimate_prior`."""

    method: str | PriorEstimator[Any] = "auto"
    confidence: float = 0.9
    n_bootstrap: int | None = None
    convention: str = "unlabeled"
    pos_label: object = None
    random_state: RandomStateLike = 0
    n_jobs: int | None = None


def estimate_prior(
    X: MatrixLike,
    y: VectorLike,
    method: str | PriorEstimator[Any] = "auto",
    *,
    confidence: float = 0.9,
    n_bootstrap: int | None = None,
    convention: str = "unlabeled",
    pos_label: object = None,
    random_state: RandomStateLike = 0,
    n_jobs: int | None = None,
) -> PriorEstimate:
    """Estimate the share of positives from positive and unlabelled rows, with an interval.

    Parameters
    ----------
    X : array-like or sparse matrix of shape (n, d)
        Rows.
    y : array-like of shape (n,)
        Labels, see ``split_labels``.
    method : str or PriorEstimator, default="auto"
        A key of ``METHODS``, or an estimator with its options; "auto" is the one that
        proved best on the benchmark.
    confidence : float, default=0.9
        Nominal coverage of the interval, in (0, 1).
    n_bootstrap : int or None, default=None
        Bootstrap samples of positive and unlabelled rows, >= 2; None takes 500 for "auto",
        fewer where every sample is a fit of its own.
    convention : {"unlabeled", "pooled"}, default="unlabeled"
        Share among the unlabelled rows, or among all rows.
    pos_label : label or None, default=None
        The positive class, where it is not the greater value of y.
    random_state : int, RandomState or None, default=0
        Seed.
    n_jobs : int or None, default=None
        Threads.

    Returns
    -------
    PriorEstimate
        Estimate, interval and replicates.

    Notes
    -----
    The interval are quantiles of the replicates (the estimate is always inside). It is never
    narrower than one for a share counted on the unlabelled rows. What is
    computed once (cross-fitted scores, kernel values) is not computed again for a
    bootstrap sample. For "auto" the replicates also vary the curve that the prior is read
    from, and how high it reaches, so that the interval shows how well these data determine it:
    on noise it reaches from nearly 0 to nearly 1, and ``prior`` means nothing. Coverage on real
    sets is in docs/benchmarks.md. For the other methods, which are estimates from
    above, it only shows how the estimate varies, not how far it is from the prior.

    More than ``max_rows`` positive or unlabelled rows are subsampled (3000 for "auto").

    Examples
    --------
    >>> import numpy as np
    >>> from fewlabels.class_prior import estimate_prior
    >>> rng = np.random.default_rng(0)
    >>> X = np.vstack([rng.normal(2, 1, (400, 2)), rng.normal(-2, 1, (700, 2))])
    >>> y = np.repeat([1, 0], [100, 1000])
    >>> estimate = estimate_prior(X, y)
    >>> bool(abs(estimate.prior - 0.3) < 0.1 and estimate.low < estimate.prior < estimate.high)
    True
    """
    options = PriorOptions(
        method, confidence, n_bootstrap, convention, pos_label, random_state, n_jobs
    )
    return estimate_within(ENDLESS, X, y, options)


def estimate_within(
    deadline: Deadline,
    X: MatrixLike,
    y: VectorLike,
    options: PriorOptions = PriorOptions(),
    *,
    factor: FloatArray | None = None,
    is_weighted: bool = False,
) -> PriorEstimate:
    """Run ``estimate_prior``, on a sample of the rows if the deadline leaves no time for more.

    ``factor`` has weights of the positive rows, for "auto" only. ``is_weighted``: whether rows
    repeat as often as they count, so that they are no copies.
    """
    confidence = options.confidence
    convention = options.convention
    n_bootstrap = options.n_bootstrap
    if not 0.0 < confidence < 1.0:
        raise ValueError(f"confidence={confidence!r} is not a share; pass a number in (0, 1).")
    if convention not in ("unlabeled", "pooled"):
        raise ValueError(
            f"convention={convention!r} is not valid; pass 'unlabeled' (share among the "
            "unlabelled rows) or 'pooled' (share among all rows)."
        )
    if n_bootstrap is not None and not (
        isinstance(n_bootstrap, int | Integral) and n_bootstrap >= 2
    ):
        raise ValueError(f"n_bootstrap={n_bootstrap!r} is too few; pass an integer >= 2 or None.")
    name, estimator = _make_estimator(options)
    state, sizes, rng = _fit_in_time(estimator, X, y, deadline, (factor, is_weighted))
    n_bootstrap = n_bootstrap or estimator._n_bootstrap
    replicates = estimator._replicate(state, sizes, rng, n_bootstrap)
    low, high = make_interval(estimator.prior_, replicates, confidence, estimator.n_unlabeled_)
    values = [estimator.prior_, low, high]
    if convention == "pooled":
        counts = estimator.n_positive_, estimator.n_unlabeled_
        values = [pooled_from_unlabeled(v, *counts) for v in values]
        replicates = (counts[0] + replicates * counts[1]) / sum(counts)
    return PriorEstimate(values[0], values[1], values[2], confidence, name, convention, replicates)


def _fit_in_time(
    estimator: PriorEstimator[Any],
    X: MatrixLike,
    y: VectorLike,
    deadline: Deadline,
    weighting: tuple[FloatArray | None, bool],
) -> FittedState[Any]:
    """Fit an estimator to as many rows as there is time for; return state, sizes and generator."""
    most = estimator.max_rows
    for rows in _SAMPLE_SIZES if deadline.has_end else ():
        if rows >= (np.shape(y)[0] if most is None else most):
            break
        seconds = deadline.left()
        fitted = estimator.set_params(max_rows=rows)._fit_state(X, y, *weighting)
        estimator.set_params(max_rows=most)
        if max(estimator.n_positive_, estimator.n_unlabeled_) <= rows:
            return fitted
        seconds -= deadline.left()
        if _TIME_FACTOR_OF_NEXT * seconds >= deadline.left():
            deadline.cut.append(
                f"the class prior was estimated from at most {rows} positive and {rows} "
                f"unlabelled rows (pass {ref('prior', ...)} if you know it)"
            )
            return fitted
    return estimator._fit_state(X, y, *weighting)


def _make_estimator(options: PriorOptions) -> tuple[str, PriorEstimator[Any]]:
    method = options.method
    if isinstance(method, PriorEstimator):
        return type(method).__name__, method
    name = _AUTO if method == "auto" else method
    if name not in METHODS:
        raise ValueError(
            f"method={method!r} is not known; pass 'auto', one of {', '.join(METHODS)}, "
            "or an estimator of fewlabels.class_prior."
        )
    estimator = METHODS[name](pos_label=options.pos_label, random_state=options.random_state)
    if "n_jobs" in estimator.get_params():
        estimator.set_params(n_jobs=options.n_jobs)
    return name, estimator


def make_interval(
    prior: float, replicates: FloatArray, confidence: float, n_unlabeled: int
) -> tuple[float, float]:
    """Return quantiles of the replicates, widened to hold the estimate itself.

    At the edge of what a method can return, all replicates may agree. The interval is never
    narrower than one for a share that was counted on the unlabelled rows (Clopper and Pearson).
    """
    tail = 0.5 - confidence / 2.0
    low, high = np.quantile(replicates, [tail, 1.0 - tail])
    count = prior * n_unlabeled
    low = min(low, prior, beta.ppf(tail, count, n_unlabeled - count + 1.0))
    high = max(high, prior, beta.ppf(1.0 - tail, count + 1.0, n_unlabeled - count))
    return float(low), float(high)
