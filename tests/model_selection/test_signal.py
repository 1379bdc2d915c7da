"""Noise is found out, signals are found, and leaving out pairs is exact."""

import numpy as np
import pytest
import scipy.sparse as sp

from fewlabels import PUSVM, S3VM, SVDD, PUEnsemble
from fewlabels._deadline import Deadline
from fewlabels.model_selection import signal as signals
from fewlabels.model_selection.signal import find_signal


def pile(seed, shift=0.0, labels=30, n=200):
    rng = np.random.default_rng(seed)
    X, y = rng.normal(size=(n, 4)), (np.arange(n) < labels).astype(int)
    X[y == 1, 0] += shift
    return X, y


def two_classes(seed, shift=0.0, labels=40):
    X, _ = pile(seed)
    y = np.where(np.arange(len(X)) < labels, np.arange(len(X)) % 2, -1)
    X[y == 1, 0] += shift
    return X, y


@pytest.mark.parametrize(
    ("machine", "table"), [(PUSVM(), pile), (PUEnsemble(), pile), (S3VM(), two_classes)]
)
def test_noise_is_found_out_and_a_signal_is_found(machine, table):
    noise = [find_signal(machine, *table(seed)) for seed in range(20)]
    assert sum(one.found for one in noise) <= 1
    assert abs(np.mean([one.area for one in noise]) - 0.5) < 0.1
    assert sum(one.low <= 0.5 <= one.high for one in noise) >= 16
    clear = [find_signal(machine, *table(seed, shift=2.0)) for seed in range(5)]
    assert all(one.found and one.area > 0.7 for one in clear)
    assert all(0.0 <= one.low < one.area < one.high <= 1.0 for one in noise + clear)


def test_each_pair_is_ranked_by_the_rows_without_it(rng):
    X, y = pile(3, shift=1.0, labels=4, n=12)
    y = y.astype(float)
    smooth = signals.smoother(X, 12, 3.0)
    right, area = signals.areas(smooth, signals.pairs_left_out(smooth), y, rng)
    # The kernel and the ridge of the smoother: smooth = K (K + ridge)^-1.
    values, vectors = np.linalg.eigh(smooth)
    kernel = (vectors * (values / (1.0 - values))) @ vectors.T
    hits = np.zeros((4, 8))
    for i in range(4):
        for j in range(8):
            rest = np.setdiff1d(np.arange(12), [i, 4 + j])
            coef = np.linalg.solve(kernel[np.ix_(rest, rest)] + np.eye(10), (y - y.mean())[rest])
            hits[i, j] = kernel[i, rest] @ coef > kernel[4 + j, rest] @ coef
    assert area == pytest.approx(hits.mean())
    np.testing.assert_allclose(right, [*hits.mean(axis=1), *hits.mean(axis=0)])


def test_labels_as_the_machines_take_them():
    X, y = two_classes(1, shift=1.5)
    named = np.array(["no", "yes", None], dtype=object)[y]
    told = find_signal(S3VM(), X, y)
    assert told == find_signal(S3VM(unlabeled=None), X, named)
    assert told.labels == 40
    X, y = pile(1, shift=1.5)
    assert find_signal(PUSVM(), X, y) == find_signal(
        PUSVM(pos_label="a"), X, np.where(y, "a", "b")
    )
    assert find_signal(PUSVM(), sp.csr_array(X), y).area == pytest.approx(
        find_signal(PUSVM(), X, y).area
    )


def test_nothing_to_hold_out():
    X, y = pile(0, labels=1)
    assert find_signal(PUSVM(), X, y) is None
    assert find_signal(S3VM(), X, np.r_[0, 1, 1, np.full(197, -1)]) is None
    assert find_signal(SVDD(), X, None) is None


def test_columns_that_are_all_alike_and_many_rows(monkeypatch):
    told = find_signal(PUSVM(), np.ones((50, 2)), (np.arange(50) < 10).astype(int))
    assert told.area == 0.5 and not told.found
    monkeypatch.setattr(signals, "MOST_ROWS", 60)
    monkeypatch.setattr(signals, "_MOST_PAIRS", 1000)
    told = find_signal(PUSVM(), *pile(0, shift=1.5, labels=80, n=400))
    assert told.found and told.labels == 80


def test_a_deadline_takes_shuffled_labels_and_says_so():
    X, y = pile(0, shift=1.5, labels=40)
    end = Deadline(0.0)
    told, whole = find_signal(PUSVM(), X, y, deadline=end), find_signal(PUSVM(), X, y)
    (cut,) = end.cut
    assert cut == "99 of 199 shuffled orders of the labels in the check for a signal"
    assert told.found and told.area == whole.area
    assert not any(find_signal(PUSVM(), *pile(k), deadline=Deadline(0.0)).found for k in range(9))
