"""What fits cost, from fits of some rows, and how many rows the time is enough for."""

import contextlib
import math
import time
import warnings
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from sklearn.base import BaseEstimator, clone

from ..._typing import FloatArray, IntArray, RowMatrix
from ...base.task import Task
from ...positive_unlabelled.base import find_prior_for_fit
from ...tasks import task_of
from .encoding import EncodedRows

# Rows of the first fit.
_FIRST_FIT_ROWS = 500
# Rows of a table below which no fit is timed.
_MIN_ROWS_TO_MEASURE = 1_500
# How many times as many rows the next fit has.
_GROWTH = 2
# The same after a short fit.
_GROWTH_AFTER_SHORT_FIT = 4
# Share of all rows that a timed fit has at most.
_MAX_TIMED_SHARE = 0.7
# Share of the time from which on a fit is long enough to extrapolate from.
_LONG_ENOUGH_SHARE = 0.06
# The same for the first fits.
_LONG_ENOUGH_SHARE_AT_FIRST = 0.3
# How many of the fits are the first ones.
_N_FIRST_FITS = 3
# Share of the time that a fit of all rows takes at most if no longer fit need be timed.
_MAX_SAFE_SHARE = 0.25
# The seconds of a fit grow by a power of the number of rows: its range.
_POWER_RANGE = (1.0, 2.3)
# The power where one fit alone was timed.
_USUAL_POWER = 2.0
# Rows that the prior is estimated from at most, about.
_MAX_ROWS_FOR_PRIOR = 3_500
# A prior for timed fits, whose seconds hardly depend on it.
_PLACEHOLDER_PRIOR = 0.3
# Share of the time that is left for fits in any case.
_MIN_FIT_SHARE = 0.5
# Rows that are learned from in any case.
_MIN_ROWS = 500
# Seconds per cell that profiles and encoding take at least.
_MIN_SECONDS_PER_CELL = 2e-7
# Seconds that they take as a multiple of reading.
_SECONDS_PER_READING_SECOND = 3.0
# Share of the time left that they may take.
_MAX_ENCODING_SHARE = 0.3
# Rows that are encoded in any case.
_MIN_ENCODED_ROWS = 5_000
# Rows of the smaller of two fits of a sample.
_FEWER_TRIAL_ROWS = 2_500
# Rows of the larger one.
_TRIAL_ROWS = 10_000
# How often each kernel value is evaluated until the end of a fit.
_PASSES_OVER_KERNEL = 4
# Rows that are scored to measure the time.
_TIMED_ROWS = 50_000
# How often they are scored.
_N_TIMED_SCORINGS = 3
# Units of time, and how many of each make the next.
_UNITS = (("s", 60.0), ("min", 60.0), ("h", 24.0), ("days", 365.0), ("years", math.inf))


class CostModel(NamedTuple):
    """Seconds that a fit of some rows took, and the power of their number that it grows by.

    ``before`` are seconds of what is done once, before the first fit.
    """

    rows: int
    seconds: float
    power: float
    before: float = 0.0

    def predict_seconds(self, n_rows: int) -> float:
        """Return seconds of a fit of so many rows, about."""
        return self.seconds * (n_rows / self.rows) ** self.power

    def max_rows_within(self, seconds: float) -> int:
        """Return how many rows can be fitted in so many seconds, about."""
        return int(self.rows * (seconds / self.seconds) ** (1.0 / self.power))


def count_encodable_rows(n_rows: int, n_columns: int, read: float, left: float) -> int:
    """Count the rows that can be encoded, if reading them has taken ``read`` seconds."""
    expected = max(_SECONDS_PER_READING_SECOND * read, _MIN_SECONDS_PER_CELL * n_rows * n_columns)
    allowed = _MAX_ENCODING_SHARE * left
    if expected <= allowed:
        return n_rows
    return min(n_rows, max(_MIN_ENCODED_ROWS, int(n_rows * allowed / expected)))


def estimate_cost(
    estimator: BaseEstimator, X: RowMatrix, y: IntArray | None, seconds: float
) -> CostModel | None:
    """Estimate the cost of a model on these rows; None if they are few or can't be fitted.

    It is found by fits of more and more rows, until one takes a part of these seconds, or is so
    short that all rows can be fitted within them, however fast the seconds grow.
    """
    n_rows, size, before = X.shape[0], _FIRST_FIT_ROWS, 0.0
    fits: list[tuple[int, float]] = []
    if n_rows < _MIN_ROWS_TO_MEASURE:
        return None
    if y is not None and getattr(estimator, "prior", None) == "estimate":
        before = _time_prior(estimator, X, y)
        estimator = clone(estimator).set_params(prior=_PLACEHOLDER_PRIOR)
    while size <= _MAX_TIMED_SHARE * n_rows:
        rows = choose_sample(y, n_rows, size, estimator.task)
        part = X[rows], None if y is None else y[rows]
        took = _time_fit(clone(estimator), *part)
        if took is None:
            return None  # the fit of all rows says what is wrong
        if fits and took > (len(rows) / fits[-1][0]) ** _POWER_RANGE[1] * fits[-1][1]:
            # Something was loaded first.
            again = _time_fit(clone(estimator), *part)
            took = took if again is None else min(took, again)
        fits.append((len(rows), took))
        if (
            took
            > (_LONG_ENOUGH_SHARE_AT_FIRST if len(fits) < _N_FIRST_FITS else _LONG_ENOUGH_SHARE)
            * seconds
        ):
            break
        if (
            len(fits) >= _N_FIRST_FITS
            and took * (n_rows / size) ** _POWER_RANGE[1] < _MAX_SAFE_SHARE * seconds
        ):
            break
        is_short = took * _GROWTH_AFTER_SHORT_FIT ** _POWER_RANGE[1] < _LONG_ENOUGH_SHARE * seconds
        size *= _GROWTH_AFTER_SHORT_FIT if is_short else _GROWTH
    fits = fits[1:] or fits  # the first one loads what others find in memory
    power = _USUAL_POWER if len(fits) < 2 else _estimate_power(*fits[-2:])
    return CostModel(*fits[-1], power, before)


def _time_fit(estimator: BaseEstimator, X: RowMatrix, y: IntArray | None) -> float | None:
    """Return seconds that a fit takes; None where it is refused."""
    since = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            estimator.fit(X, *(() if y is None else (y,)))
        except ValueError:
            return None
    return max(time.perf_counter() - since, 1e-4)


def _time_prior(estimator: BaseEstimator, X: RowMatrix, y: IntArray) -> float:
    """Return seconds that the estimate of the prior takes, which is from a sample of the rows."""
    rows = choose_sample(y, X.shape[0], _MIN_ROWS_TO_MEASURE, estimator.task)
    since = time.perf_counter()
    with warnings.catch_warnings(), contextlib.suppress(ValueError):
        warnings.simplefilter("ignore")
        find_prior_for_fit(clone(estimator), X[rows], y[rows])
    return (time.perf_counter() - since) * min(_MAX_ROWS_FOR_PRIOR, X.shape[0]) / len(rows)


def _estimate_power(before: tuple[int, float], last: tuple[int, float]) -> float:
    power = math.log(last[1] / before[1]) / math.log(last[0] / before[0])
    return float(np.clip(power, *_POWER_RANGE))


def count_affordable_rows(cost: CostModel | None, n_rows: int, seconds: float, method: str) -> int:
    """Count the rows that a model can learn from so that all fits end in these seconds."""
    if cost is None:
        return n_rows
    each = max(seconds - cost.before, _MIN_FIT_SHARE * seconds) / task_of(method).fits
    if cost.predict_seconds(n_rows) <= each:
        return n_rows
    return min(n_rows, max(_MIN_ROWS, cost.max_rows_within(each)))


def choose_sample(y: IntArray | None, n_rows: int, size: int, task: Task) -> IntArray:
    """Return positions of rows drawn at random, in order: labelled ones first, up to half of them.

    ``y`` are labels as the model takes them. Every class keeps two rows.
    """
    rng = np.random.default_rng(0)
    if size >= n_rows:
        return np.arange(n_rows)
    if y is None:
        return np.sort(rng.choice(n_rows, size, replace=False))
    is_labelled = task.is_known(y)
    labelled, others = np.flatnonzero(is_labelled), np.flatnonzero(~is_labelled)
    room = max(size // 2, size - len(others))
    if len(labelled) > room:
        labelled = rng.permutation(labelled)
        labelled = labelled[np.argsort(_order_within_class(y[labelled]), kind="stable")[:room]]
    others = rng.choice(others, min(len(others), size - len(labelled)), replace=False)
    return np.sort(np.concatenate([labelled, others]))


def _order_within_class(labels: IntArray) -> FloatArray:
    """Order rows: the first two of every class, then in proportion."""
    turns = np.zeros(len(labels))
    for label in np.unique(labels):
        rows = np.flatnonzero(labels == label)
        turns[rows] = (np.arange(len(rows)) + 0.5) / len(rows)
        turns[rows[:2]] = 0.0
    return turns


def take_subset(encoded: EncodedRows, rows: IntArray) -> EncodedRows:
    """Return the encoded rows at some positions."""
    found = encoded.found
    inputs = found.rows
    found = found._replace(
        rows=inputs.iloc[rows] if hasattr(inputs, "iloc") else inputs[rows],
        y=None if found.y is None else found.y[rows],
        numbers=found.numbers[rows],
        aside=None if found.aside is None else found.aside[rows],
    )
    weighing = encoded.weighing
    if weighing is not None:
        weighing = weighing._replace(rows=weighing.rows[rows])
    return replace(encoded, found=found, X=encoded.X[rows], weighing=weighing)


class Cost(NamedTuple):
    """Expected numbers of a fit."""

    support_vectors: float
    seconds: float

    def words(self) -> str:
        """Return the time, and the support vectors that explain it, rounded."""
        vectors = f"(about {float(f'{self.support_vectors:.1g}'):,.0f} support vectors)"
        if self.seconds < 1.0:
            return f"less than a second {vectors}"
        amount = self.seconds
        for unit, following in _UNITS:  # noqa: B007
            if amount < 1.5 * following:
                break
            amount /= following
        return f"about {float(f'{amount:.1g}'):,.0f} {unit} {vectors}"


def predict_cost(estimator: BaseEstimator, X: RowMatrix, n_rows: int) -> Cost:
    """Return the ``Cost`` of fitting a model of one class to so many rows such as a sample X.

    Support vectors grow by a power of the number of rows, which two fits show; the time follows
    from the kernel values between them and all rows.
    """
    sizes = [min(size, X.shape[0]) for size in (_FEWER_TRIAL_ROWS, _TRIAL_ROWS)]
    order = np.random.default_rng(0).permutation(X.shape[0])
    trial = clone(estimator).set_params(target_fpr=None)
    counts = []
    for size in sizes:
        rows = X[order[:size]]
        counts.append(len(trial.fit(rows).support_))
    rows = rows[np.random.default_rng(0).integers(0, rows.shape[0], _TIMED_ROWS)]
    each = min(_time_scoring(trial, rows) for _ in range(_N_TIMED_SCORINGS)) / (
        _TIMED_ROWS * counts[1]
    )
    power = 1.0
    if sizes[1] > sizes[0]:
        power = math.log(counts[1] / counts[0]) / math.log(sizes[1] / sizes[0])
    vectors = counts[1] * (n_rows / sizes[1]) ** min(1.0, max(0.0, power))
    vectors = max(vectors, n_rows * (estimator.nu or 0.0))
    return Cost(vectors, _PASSES_OVER_KERNEL * each * n_rows * vectors)


def _time_scoring(estimator: BaseEstimator, rows: RowMatrix) -> float:
    since = time.perf_counter()
    estimator.decision_function(rows)
    return time.perf_counter() - since
