"""What fits cost, from fits of some rows, and how many rows the time is enough for."""

import contextlib
import math
import time
import warnings
from typing import NamedTuple

import numpy as np
from sklearn.base import BaseEstimator, clone

from ..._typing import FloatArray, IntArray, RowMatrix
from ...base.task import Task
from ...positive_unlabelled.base import prior_of
from ...tasks import task_of
from .encoding import Encoded

# Rows of the first fit, and the fewest that there have to be to try; how many times as many the
# next one has, also where fits are short, and the share of all rows that it has at most.
_FIRST, _FEWEST, _TIMES, _MANY_TIMES, _MOST = 500, 1_500, 2, 4, 0.7
# Share of the time from which on a fit is long enough to tell, and of so many at first.
_TELLING, _LONG, _COUNTED = 0.06, 0.3, 3
# Share of the time that a fit of all rows takes at most if no longer one need be tried.
_SAFE = 0.25
# What the seconds of a fit grow by, as powers of the number of rows: least, most, and usually.
_POWERS, _USUAL = (1.0, 2.3), 2.0
# Rows that the prior is estimated from at most, about; any prior; and the share of the time that
# is left for fits in any case.
_MOST_FOR_PRIOR, _ANY_PRIOR, _HALF = 3_500, 0.3, 0.5
# Rows that are learnt from in any case.
_LEAST = 500
# Seconds per cell that profiles and encoding take at least, and as a multiple of reading; the
# share of the time left that they may take, and rows that are encoded in any case.
_PER_CELL, _TIMES_READING, _ENCODING, _ENCODED = 2e-7, 3.0, 0.3, 5_000

# Rows of the fits, and how often each kernel value is evaluated until the end.
_FEW, _MORE = 2_500, 10_000
_ROUNDS = 4
# Rows that are scored for the time, and how often.
_TIMED, _REPEATS = 50_000, 3
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
        """Seconds of a fit of so many rows, about."""
        return self.seconds * (n_rows / self.rows) ** self.power

    def max_rows_within(self, seconds: float) -> int:
        """How many rows can be fitted in so many seconds, about."""
        return int(self.rows * (seconds / self.seconds) ** (1.0 / self.power))


def count_encodable_rows(n_rows: int, n_columns: int, read: float, left: float) -> int:
    """How many rows can be profiled and encoded, if reading them has taken ``read`` seconds."""
    expected = max(_TIMES_READING * read, _PER_CELL * n_rows * n_columns)
    allowed = _ENCODING * left
    if expected <= allowed:
        return n_rows
    return min(n_rows, max(_ENCODED, int(n_rows * allowed / expected)))


def estimate_cost(
    estimator: BaseEstimator, X: RowMatrix, y: IntArray | None, seconds: float
) -> CostModel | None:
    """The ``CostModel`` of a model on these rows; None where they are few, or it cannot be fitted.

    It is found by fits of more and more rows, until one takes a part of these seconds, or is so
    short that all rows can be fitted within them, however fast the seconds grow.
    """
    n_rows, size, before = X.shape[0], _FIRST, 0.0
    fits: list[tuple[int, float]] = []
    if n_rows < _FEWEST:
        return None
    if y is not None and getattr(estimator, "prior", None) == "estimate":
        before = _time_prior(estimator, X, y)
        estimator = clone(estimator).set_params(prior=_ANY_PRIOR)
    while size <= _MOST * n_rows:
        rows = choose_sample(y, n_rows, size, estimator.task)
        part = X[rows], None if y is None else y[rows]
        took = _time_fit(clone(estimator), *part)
        if took is None:
            return None  # the fit of all rows says what is wrong
        if fits and took > (len(rows) / fits[-1][0]) ** _POWERS[1] * fits[-1][1]:
            # Something was loaded first.
            again = _time_fit(clone(estimator), *part)
            took = took if again is None else min(took, again)
        fits.append((len(rows), took))
        if took > (_LONG if len(fits) < _COUNTED else _TELLING) * seconds:
            break
        if len(fits) >= _COUNTED and took * (n_rows / size) ** _POWERS[1] < _SAFE * seconds:
            break
        is_short = took * _MANY_TIMES ** _POWERS[1] < _TELLING * seconds
        size *= _MANY_TIMES if is_short else _TIMES
    fits = fits[1:] or fits  # the first one loads what others find in memory
    power = _USUAL if len(fits) < 2 else _estimate_power(*fits[-2:])
    return CostModel(*fits[-1], power, before)


def _time_fit(machine: BaseEstimator, X: RowMatrix, y: IntArray | None) -> float | None:
    """Seconds that a fit takes; None where it is refused."""
    since = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            machine.fit(X, *(() if y is None else (y,)))
        except ValueError:
            return None
    return max(time.perf_counter() - since, 1e-4)


def _time_prior(estimator: BaseEstimator, X: RowMatrix, y: IntArray) -> float:
    """Seconds that the estimate of the prior takes, which is from a sample of the rows."""
    rows = choose_sample(y, X.shape[0], _FEWEST, estimator.task)
    since = time.perf_counter()
    with warnings.catch_warnings(), contextlib.suppress(ValueError):
        warnings.simplefilter("ignore")
        prior_of(clone(estimator), X[rows], y[rows])
    return (time.perf_counter() - since) * min(_MOST_FOR_PRIOR, X.shape[0]) / len(rows)


def _estimate_power(before: tuple[int, float], last: tuple[int, float]) -> float:
    power = math.log(last[1] / before[1]) / math.log(last[0] / before[0])
    return float(np.clip(power, *_POWERS))


def count_affordable_rows(
    cost: CostModel | None, n_rows: int, seconds: float, machine: str
) -> int:
    """How many of the rows a model can learn from so that all fits end in these seconds."""
    if cost is None:
        return n_rows
    each = max(seconds - cost.before, _HALF * seconds) / task_of(machine).fits
    if cost.predict_seconds(n_rows) <= each:
        return n_rows
    return min(n_rows, max(_LEAST, cost.max_rows_within(each)))


def choose_sample(y: IntArray | None, n_rows: int, size: int, task: Task) -> IntArray:
    """Positions of rows drawn at random, in order: labelled ones first, up to half of them.

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
    """When each row has its turn: the first two of every class, then in proportion."""
    turns = np.zeros(len(labels))
    for label in np.unique(labels):
        rows = np.flatnonzero(labels == label)
        turns[rows] = (np.arange(len(rows)) + 0.5) / len(rows)
        turns[rows[:2]] = 0.0
    return turns


def take_subset(encoded: Encoded, rows: IntArray) -> Encoded:
    """What was ``Encoded``, of some of its rows alone."""
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
    return encoded._replace(found=found, X=encoded.X[rows], weighing=weighing)


class Cost(NamedTuple):
    """Expected numbers of a fit."""

    support_vectors: float
    seconds: float

    def words(self) -> str:
        """The time, and why it takes that long, in words that promise no more than they can."""
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
    """The ``Cost`` of fitting a model of one class to so many rows such as a sample X.

    Support vectors grow by a power of the number of rows, which two fits show; the time follows
    from the kernel values between them and all rows.
    """
    sizes = [min(size, X.shape[0]) for size in (_FEW, _MORE)]
    order = np.random.default_rng(0).permutation(X.shape[0])
    machine = clone(estimator).set_params(target_fpr=None)
    counts = []
    for size in sizes:
        rows = X[order[:size]]
        counts.append(len(machine.fit(rows).support_))
    rows = rows[np.random.default_rng(0).integers(0, rows.shape[0], _TIMED)]
    each = min(_time_scoring(machine, rows) for _ in range(_REPEATS)) / (_TIMED * counts[1])
    power = 1.0
    if sizes[1] > sizes[0]:
        power = math.log(counts[1] / counts[0]) / math.log(sizes[1] / sizes[0])
    vectors = counts[1] * (n_rows / sizes[1]) ** min(1.0, max(0.0, power))
    vectors = max(vectors, n_rows * (estimator.nu or 0.0))
    return Cost(vectors, _ROUNDS * each * n_rows * vectors)


def _time_scoring(machine: BaseEstimator, rows: RowMatrix) -> float:
    since = time.perf_counter()
    machine.decision_function(rows)
    return time.perf_counter() - since
