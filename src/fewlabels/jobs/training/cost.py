"""What a fit of all rows will cost, from fits of some."""

import math
import time
from typing import NamedTuple

import numpy as np
from sklearn.base import clone

# Rows of the fits, and how often each kernel value is evaluated until the end.
_FEW, _MORE = 2_500, 10_000
_ROUNDS = 4
# Rows that are scored for the time, and how often.
_TIMED, _REPEATS = 50_000, 3
_UNITS = (("s", 60.0), ("min", 60.0), ("h", 24.0), ("days", 365.0), ("years", math.inf))


class Cost(NamedTuple):
    """Expected numbers of a fit."""

    support_vectors: float
    seconds: float

    def words(self):
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


def expected_cost(estimator, X, n_rows):
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
    each = min(_seconds(machine, rows) for _ in range(_REPEATS)) / (_TIMED * counts[1])
    power = 1.0
    if sizes[1] > sizes[0]:
        power = math.log(counts[1] / counts[0]) / math.log(sizes[1] / sizes[0])
    vectors = counts[1] * (n_rows / sizes[1]) ** min(1.0, max(0.0, power))
    vectors = max(vectors, n_rows * (estimator.nu or 0.0))
    return Cost(vectors, _ROUNDS * each * n_rows * vectors)


def _seconds(machine, rows):
    since = time.perf_counter()
    machine.decision_function(rows)
    return time.perf_counter() - since
