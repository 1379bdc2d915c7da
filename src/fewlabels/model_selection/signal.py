"""Whether the columns tell anything about the labels, before anything is said of rows."""

from math import comb
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp
from scipy.optimize import brentq
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.utils.extmath import safe_sparse_dot

from .._deadline import ENDLESS
from .._threads import one_blas_thread
from ..class_prior import split_labels
from ..labels.semi_supervised import places_of, read_semi_labels

# Most rows of either kind that take part, and most pairs of them.
MOST_ROWS, _MOST_PAIRS = 600, 8_000
# Orders of the labels; of few, where many orders do equally well and each costs little, more.
_SHUFFLES, _FEW, _SHUFFLES_OF_FEW = 199, 100, 1999
# The fewest that can tell, where time is short; so many are done before the clock is looked at.
_FEWEST_SHUFFLES = 99
# At most this share of shuffled orders may have an area as large as the labels' own.
_LEVEL = 0.015
# Half of a 90 % interval, in standard errors.
_HALF = 1.645
# Degrees of freedom of the ranking, as a share of the rarer kind's rows.
FREEDOM, _MOST_FREEDOM = 0.15, 30.0
# Differences below it are rounding.
_TIE = 1e-9


class Signal(NamedTuple):
    """Area under the ROC curve of rows held out, with its 90 % interval; chance is 0.5.

    Of labelled positive rows against the pile, of one class against the other, or the mean over
    several classes of each against the rest. ``found``: whether less than one in sixty shuffled
    orders of the ``labels`` reaches it.
    """

    area: float
    low: float
    high: float
    found: bool
    labels: int


def find_signal(machine, X, y, random_state=0, weights=(1.0,), deadline=ENDLESS):
    """A ``Signal`` for labels as the machine takes them; None where no pair can be held out.

    Not of the machine, whose settings were chosen by these very labels: rows are ranked by ridge
    regression on a linear and a Gaussian kernel together, each pair of rows by the regression of
    all others (leave-pair-out, Airola et al. 2011), which has no bias for labels that mean
    nothing. In closed form this takes one factorisation for all shuffled labels. Of several
    ``weights`` of the columns the best counts, with shuffled labels too. What is left out when
    the deadline comes is said there.
    """
    if machine.learns_from == "normal":
        return None
    others = []
    if machine.learns_from == "classes":
        label, classes, _ = read_semi_labels(y, machine.unlabeled)
        place = places_of(label, len(classes))
        # The greater of two classes comes first.
        kinds = [np.flatnonzero(place == k) for k in range(len(classes))][::-1]
        others = [np.flatnonzero(place < 0)]
    else:
        positive = split_labels(y, machine.pos_label)[0]
        kinds = [np.flatnonzero(kind) for kind in (positive, ~positive)]
    sizes = [len(rows) for rows in kinds]
    # Where no order of so few labels could be one in sixty, nothing can be found.
    if comb(sum(sizes), max(sizes)) < 1.0 / _LEVEL or sorted(sizes)[-2] < 2:
        return None
    if len(kinds) == 2 and min(sizes) < 2:
        return None
    rng = np.random.default_rng(random_state)
    labels = sum(sizes) if others else sizes[0]
    most = MOST_ROWS if len(kinds) == 2 else max(2, 2 * MOST_ROWS // len(kinds))
    kinds = [rng.choice(rows, min(len(rows), most), replace=False) for rows in kinds]
    others = [rng.choice(rows, min(len(rows), MOST_ROWS), replace=False) for rows in others]
    sizes = [len(rows) for rows in kinds]
    y = np.repeat(np.arange(len(kinds))[::-1], sizes).astype(float)
    shuffles = _SHUFFLES_OF_FEW if len(y) <= _FEW and len(kinds) == 2 else _SHUFFLES
    shuffled = [rng.permutation(y) for _ in range(shuffles)]
    with one_blas_thread():
        fewest = min(size for size in sizes if size > 1)
        rows = X[np.concatenate([*kinds, *others])]
        freedom = FREEDOM * fewest * (len(kinds) - 1)
        smooth = [smoother(weighed(rows, one), len(y), freedom) for one in weights]
        pairs = [(one, pairs_left_out(one)) for one in smooth]
        found = [_best_areas(pairs, y, rng)]
        for order in shuffled:
            if len(found) > _FEWEST_SHUFFLES and deadline.is_over():
                deadline.cut.append(
                    f"{len(found) - 1} of {shuffles} shuffled orders of the labels in the check "
                    "for a signal"
                )
                break
            found.append(_best_areas(pairs, order, rng))
    of_rows, area = found[0]
    chance = np.array([other for _, other in found[1:]])
    # Of few labels many orders tie: half of them count.
    as_large = np.sum(chance > area) + 0.5 * np.sum(chance == area)
    p = (1 + as_large) / (1 + len(chance))
    delong = 0.0
    if len(kinds) == 2:
        delong = sum(np.var(of_rows[y == k], ddof=1) / np.sum(y == k) for k in (0, 1))
    else:
        delong = np.var(of_rows, ddof=1) / len(y)
    half = _HALF * float(np.sqrt(max(delong, np.var(chance))))
    return Signal(area, max(0.0, area - half), min(1.0, area + half), bool(p <= _LEVEL), labels)


def weighed(rows, weights):
    """Rows, sparse or not, with their columns multiplied."""
    return rows.multiply(weights).tocsr() if sp.issparse(rows) else rows * weights


def _best_areas(smoothers, y, rng):
    area_of = areas if y.max() <= 1.0 else mean_areas
    return max((area_of(*one, y, rng) for one in smoothers), key=lambda found: found[1])


def smoother(X, n, freedom):
    """The matrix that ridge regression makes of labels of the first n rows.

    With so many degrees of freedom. Directions in which other rows, without labels, are spread
    count more, as a kernel's square has them.
    """
    everything = 0.0
    for part in (np.asarray(safe_sparse_dot(X, X.T, dense_output=True), float), rbf_kernel(X)):
        part = part - part.mean(axis=0) - part.mean(axis=1)[:, None] + part.mean()
        everything = everything + _of_unit_trace(part)
    kernel = everything[:n, :n]
    if n < len(everything):
        spread = everything[:n] @ everything[:, :n]
        kernel = _of_unit_trace(kernel) + _of_unit_trace(spread)
    values, vectors = np.linalg.eigh(kernel)
    values = np.clip(values, 0.0, None)
    freedom = min(freedom, _MOST_FREEDOM, 0.5 * np.sum(values > 1e-9))
    if freedom <= 0.0:
        return np.zeros_like(kernel)

    def off(log_ridge):
        return np.sum(values / (values + np.exp(log_ridge))) - freedom

    ridge = np.exp(brentq(off, np.log(values[-1]) - 40.0, np.log(np.sum(values) / freedom) + 1.0))
    return (vectors * (values / (values + ridge))) @ vectors.T


def _of_unit_trace(kernel):
    return kernel / max(np.trace(kernel), np.finfo(float).tiny)


def pairs_left_out(smooth):
    """Weight P_ij of row i's residual in what the regression without i and j says apart."""
    a, b = 1.0 - np.diag(smooth), -smooth
    with np.errstate(divide="ignore", invalid="ignore"):
        return (a + b) / (a[:, None] * a - b * b)


def mean_areas(smooth, weight, y, rng):
    """The same for each of several classes against the rest, on average."""
    kinds, sizes = np.unique(y, return_counts=True)
    found = [areas(smooth, weight, (y == k) * 1.0, rng) for k in kinds[sizes > 1]]
    of_rows, means = zip(*found, strict=True)
    return np.mean(of_rows, axis=0), float(np.mean(means))


def areas(smooth, weight, y, rng):
    """How often each row is on the right side of rows of the other kind, and the mean of it."""
    left = y - y.mean()
    left = left - smooth @ left
    ours, others = np.flatnonzero(y == 1), np.flatnonzero(y == 0)
    if len(ours) * len(others) > _MOST_PAIRS:
        i, j = rng.choice(ours, _MOST_PAIRS), rng.choice(others, _MOST_PAIRS)
    else:
        i, j = np.repeat(ours, len(others)), np.tile(others, len(ours))
    apart = 1.0 - weight[i, j] * left[i] + weight[j, i] * left[j]
    right = (apart > _TIE) + 0.5 * (np.abs(apart) <= _TIE)
    total = np.bincount(i, right, len(y)) + np.bincount(j, right, len(y))
    return total / np.maximum(np.bincount(np.r_[i, j], minlength=len(y)), 1), float(right.mean())
