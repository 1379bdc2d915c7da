"""The class prior of a positive-unlabelled problem: given and checked, or estimated."""

from typing import NamedTuple, Protocol

import numpy as np
import scipy.sparse as sp
from scipy.special import ndtri

from .._typing import BoolArray, FloatArray, IntArray, RowMatrix
from .._util.deadline import ENDLESS, Deadline
from .._util.messages import Message, ref
from .._util.warn import warn
from ..kernels import Kernel
from ..rows.row_order import value_order
from .estimate import PriorEstimate, PriorOptions, estimate_within
from .uncertainty import N_QUANTILES, is_determined, summarise_replicates

# An interval of the prior wider than this is worth a warning.
_WIDE = 0.4
# Fewer positive rows than this are none.
_NONE = 0.75
# Quantile of a normal distribution for an interval at 90 %.
_90 = 1.645


class Prior(NamedTuple):
    """A prior; where it was estimated, its interval and quantiles of its distribution."""

    prior: float
    interval: tuple[float, float] | None = None
    quantiles: FloatArray | None = None


class PriorRows(Protocol):
    """Positive and unlabelled rows of a problem, with their kernel and weights."""

    @property
    def X(self) -> RowMatrix: ...
    @property
    def kernel(self) -> Kernel: ...
    @property
    def positive(self) -> IntArray: ...
    @property
    def unlabeled(self) -> IntArray: ...
    @property
    def given_weight_positive(self) -> FloatArray: ...
    @property
    def weight_unlabeled(self) -> FloatArray: ...
    @property
    def factor(self) -> FloatArray | None: ...

    def largest_prior(self) -> float:
        """Return the largest prior that the similarities to the positive rows allow."""


def check_prior(prior: str | float) -> None:
    """Refuse what is neither "estimate" nor a number in (0, 1)."""
    if prior != "estimate" and (isinstance(prior, str) or not 0.0 < prior < 1.0):
        raise ValueError(
            Message(
                f"{ref('prior', prior)} is not allowed; pass the share of positives among the "
                "unlabelled rows, a number strictly between 0 and 1, or 'estimate'."
            )
        )


def find_prior(
    data: PriorRows, prior: str | float, seed: int, n_jobs: int | None, deadline: Deadline
) -> Prior:
    """Return the given Prior, with a warning if rows contradict it, or an estimate."""
    if not isinstance(prior, str):
        # A forest has seen the labels, and takes labelled rows for too much alike.
        largest = 1.0 if data.kernel.has_leaves else data.largest_prior()
        if prior > largest:
            warn(
                f"{ref('prior', float(prior))} contradicts the data but is used anyway: judging "
                f"by their similarity to the positive rows, at most {largest:.2g} of the "
                "unlabelled rows are positive. Pass a smaller prior or "
                f"{ref('prior', 'estimate')}, and check that the labelled positives are a random "
                "sample of all positives.",
                UserWarning,
            )
        return Prior(float(prior))
    return _make_prior(_estimate_from_data(data, seed, n_jobs, deadline), len(data.unlabeled))


def count_prior(propensity: FloatArray, weight: FloatArray, mass: float) -> Prior:
    """Return the Prior if labelled and unlabelled rows are one sample of known propensities.

    A labelled row of propensity e means ``(1 - e) / e`` unlabelled positives (Horvitz and
    Thompson 1952). That sum misses their number by a variance of ``sum (1 - e) / e`` over all
    positives, which ``sum (1 - e) / e^2`` over the labelled ones estimates. ``mass`` is the weight
    of the unlabelled rows.
    """
    hidden = weight * (1.0 - propensity) / propensity
    share, error = hidden.sum() / mass, np.sqrt(np.sum(hidden / propensity)) / mass
    if share >= 1.0:
        raise ValueError(
            f"the propensities imply {hidden.sum():.4g} positives among the unlabelled rows, and "
            f"there are {mass:.4g}; check that each is P(labelled | positive, x) or pass prior="
        )
    edge = 0.25 / mass
    low, high = np.clip([share - _90 * error, share + _90 * error], edge, 1.0 - edge)
    levels = (np.arange(N_QUANTILES) + 0.5) / N_QUANTILES
    quantiles = np.clip(share + error * ndtri(levels), edge, 1.0 - edge)
    return Prior(float(np.clip(share, edge, 1.0 - edge)), (float(low), float(high)), quantiles)


def estimate_prior_of_rows(
    X: RowMatrix, positive: BoolArray, seed: int, n_jobs: int | None
) -> Prior:
    """Return the Prior estimated from rows as they are."""
    options = PriorOptions(random_state=seed, n_jobs=n_jobs)
    found = estimate_within(ENDLESS, X, positive, options)
    return _make_prior(found, int(np.sum(~positive)))


def describe_doubts(found: PriorEstimate, n_unlabeled: int) -> str:
    """Return the objection to a ``PriorEstimate`` among the unlabelled rows; "" for none."""
    if found.prior * n_unlabeled < _NONE < n_unlabeled / 20:
        return (
            f"the class prior is estimated as {found.prior:.2g}, less than one row: no "
            "unlabelled row looks like a random draw of the positive ones. If some should be "
            "positive, the labelled positives are not a random sample of all positives; pass "
            f"{ref('prior', ...)}"
        )
    if found.high - found.low <= _WIDE:
        return ""
    ends = f"{found.confidence:.0%} interval [{found.low:.3g}, {found.high:.3g}]"
    advice = (
        f"pass {ref('prior', ...)} if you know the share of positives among the unlabelled rows, "
        "or label more rows."
    )
    if is_determined((found.low, found.high)):
        return f"the class prior is uncertain: {found.prior:.3g}, {ends}; {advice}"
    return (
        f"the class prior is uncertain: {ends}, so these data don't determine it, and the "
        f"threshold uses {found.prior:.3g}; {advice}"
    )


def _make_prior(found: PriorEstimate, n_unlabeled: int) -> Prior:
    """Return the Prior of an estimate, with a warning if it is uncertain."""
    message = describe_doubts(found, n_unlabeled)
    if message:
        warn(message, UserWarning)
    quantiles = summarise_replicates(found.replicates, n_unlabeled)
    return Prior(found.prior, (found.low, found.high), quantiles)


def _estimate_from_data(
    data: PriorRows, seed: int, n_jobs: int | None, deadline: Deadline
) -> PriorEstimate:
    """Run ``estimate_prior`` on the rows of ``data``, within the time there is.

    Rows are put into an order that depends on their values alone, and a row of weight k is
    repeated k times, so that neither the order of rows nor weights in place of repetitions
    change the estimate. Under a precomputed kernel the similarities to the positive rows
    represent the columns. Factors from propensities weigh the positive rows' scores.
    """
    X = data.X
    if data.kernel.is_matrix:
        columns = data.positive[np.argsort(_sum_rows(X, data.positive), kind="stable")]
        X = X[:, columns]
    positive, weight = np.zeros(X.shape[0], dtype=bool), np.empty(X.shape[0])
    positive[data.positive] = True
    weight[data.positive] = data.given_weight_positive
    weight[data.unlabeled] = data.weight_unlabeled
    rows = value_order(X, positive, weight)
    X = sp.csr_array(X) if sp.issparse(X) else X
    is_weighted = data.kernel.is_matrix or bool((weight != 1.0).any())
    factor = None
    if data.factor is not None:
        factors = np.ones(X.shape[0])
        factors[data.positive] = data.factor
        factor = factors[rows][positive[rows]]
    return estimate_within(
        deadline,
        X[rows],
        positive[rows],
        options=PriorOptions(random_state=seed, n_jobs=n_jobs),
        factor=factor,
        is_weighted=is_weighted,
    )


def _sum_rows(X: FloatArray, columns: IntArray) -> FloatArray:
    """Return sums that do not depend on the order of the columns."""
    return np.sort(X[columns][:, columns], axis=1).sum(axis=1)
