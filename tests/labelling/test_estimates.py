"""Figures over random rows hold: against sums over all samples, and against the truth."""

import numpy as np
import pytest
from numpy.linalg import norm as norm2
from scipy.stats import binom, norm

from fewlabels.labelling.estimates import (
    advise_stopping,
    estimate_share,
    estimate_shares,
    list_positives,
)


@pytest.mark.parametrize("n", [1, 7, 30, 120])
def test_intervals_hold_for_every_share(n):
    intervals = [estimate_share(hits, n) for hits in range(n + 1)]
    for p in np.linspace(0.001, 0.999, 60):
        held = [p >= one.low and p <= one.high for one in intervals]
        assert binom.pmf(np.arange(n + 1), n, p)[held].sum() >= 0.95
    assert all(one.low <= one.value <= one.high for one in intervals)


def test_errors_of_machines_that_share_labels_are_less_certain():
    """Two samples of n, of rows and of labels, make the interval that of n / 2 rows."""
    assert estimate_share(10, 40, 40)[2:] == estimate_share(5, 20)[2:]
    assert estimate_share(10, 40, 40)[:2] == (10, 40) and estimate_share(
        10, 40, np.inf
    ) == estimate_share(10, 40)
    widths = [one.high - one.low for one in (estimate_share(3, 50, m) for m in (20, 40, 400))]
    assert widths == sorted(widths, reverse=True)
    assert estimate_share(0, 50, 40).low == 0.0 and estimate_share(50, 50, 40).high == 1.0


def test_error_intervals_hold_the_error_of_the_machine():
    """Means of two normal classes are learnt from labels: errors of five-fold fits."""
    rng, held, bare = np.random.default_rng(0), 0, 0
    for _ in range(150):
        y = np.arange(40) % 2
        X = rng.normal(size=(40, 8)) + 0.6 * y[:, None]
        wrong = 0
        for k in range(5):
            fold = np.arange(40) // 2 % 5 == k
            w, b = _plane(X[~fold], y[~fold])
            wrong += np.sum((X[fold] @ w + b > 0) != y[fold])
        w, b = _plane(X, y)
        truth = (norm.sf(-b / norm2(w)) + norm.cdf(-(b + 0.6 * w.sum()) / norm2(w))) / 2
        wide, as_plain = estimate_share(wrong, 40, 32), estimate_share(wrong, 40)
        held += wide.low <= truth <= wide.high
        bare += as_plain.low <= truth <= as_plain.high
    assert held / 150 >= 0.95 and bare < held


def _plane(X, y):
    a, b = X[y == 0].mean(axis=0), X[y == 1].mean(axis=0)
    return b - a, -(b - a) @ (a + b) / 2


def test_nothing_is_known_of_no_rows():
    nothing = estimate_share(0, 0)
    assert nothing.value is None and (nothing.low, nothing.high) == (0.0, 1.0)
    shares = estimate_shares(["a", "b", "a"], ["a", "b", "c"])
    assert [shares[name].hits for name in "abc"] == [2, 1, 0]


@pytest.mark.parametrize("separation", [0.0, 2.0, 4.0])
def test_lists_keep_their_rate(separation):
    rng, rate, wrong, lengths = np.random.default_rng(0), 0.2, [], []
    for _ in range(60):
        positive = rng.random(3000) < 0.2
        scores = rng.normal(size=3000) + separation * positive
        sample = rng.choice(3000, 300, replace=False)
        free = np.setdiff1d(np.arange(3000), sample)
        found = list_positives(scores, free, scores[sample], positive[sample], 3000, rate)
        lengths.append(len(found.rows))
        wrong.append(np.mean(~positive[found.rows]) if found.rows else 0.0)
        assert found.rows == free[np.argsort(-scores[free], kind="stable")][: lengths[-1]].tolist()
        assert bool(found.why) == (not found.rows)
    assert np.mean(wrong) <= rate
    assert np.median(lengths) > 200 if separation == 4.0 else True
    assert np.mean(np.array(lengths) > 0) < 0.3 if separation == 0.0 else True


def test_few_rows_promise_nothing():
    scores = np.arange(100.0)
    assert list_positives(scores, np.arange(100), [], [], 100, 0.1).rows == []
    assert list_positives(scores, np.arange(100), [99.0], [True], 100, 0.1).rows == []


def test_advice():
    low, high = estimate_share(2, 50), estimate_share(0, 10)
    assert not advise_stopping(None, 50, low).stop
    assert not advise_stopping(0.001, 10, high).stop
    assert "20 labels of random rows" in advise_stopping(0.0, 10, high).words
    assert not advise_stopping(0.05, 50, low).stop
    advice = advise_stopping(0.004, 50, low)
    assert advice.stop and "0.4 points" in advice.words
