"""The permutation test: noise, signals, too few labels, and the interval that decides."""

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score

from fewlabels.model_selection.permutation import NO_SIGNAL, SIGNAL, TOO_FEW, permutation_test


def parts_of(kinds, n_parts, rng):
    """Stratified parts."""
    parts = np.empty(len(kinds), int)
    for kind in np.unique(kinds):
        rows = rng.permutation(np.flatnonzero(kinds == kind))
        parts[rows] = np.arange(len(rows)) % n_parts
    return parts


def held_out(kinds, parts, X):
    """Scores by the difference of class means, each part's by the other parts."""
    scores = np.empty(len(kinds))
    for part in np.unique(parts):
        test, train = parts == part, parts != part
        means = [X[train & (kinds == kind)].mean(axis=0) for kind in (0, 1)]
        scores[test] = X[test] @ (means[1] - means[0])
    return scores


def run(seed, sizes, shift=0.0, n_parts=5):
    rng = np.random.default_rng(seed)
    kinds = np.repeat([0, 1], sizes)
    X = rng.normal(size=(len(kinds), 5))
    X[kinds == 1, 0] += shift
    parts = parts_of(kinds, n_parts, rng)
    return permutation_test(held_out(kinds, parts, X), kinds, parts, n_parts, sizes[1])


@pytest.mark.parametrize("sizes", [(180, 20), (240, 60), (300, 200), (10, 10), (100, 100)])
def test_noise_is_not_called_a_signal(sizes):
    found = [run(seed, sizes) for seed in range(40)]
    # 0.5 % of noise may be; models that share labels would make it 4 % without a correction.
    assert sum(one.outcome == SIGNAL for one in found) <= 2
    assert np.mean([one.area for one in found]) == pytest.approx(0.5, abs=0.05)
    spread = np.std([one.area for one in found])
    # The width comes from shuffled labels and counts shared labels.
    half = np.mean([one.high - one.low for one in found]) / 2
    if min(sizes) >= 20:
        assert half / 2.576 == pytest.approx(spread, rel=0.4)
    if min(sizes) >= 100:
        assert sum(one.outcome == NO_SIGNAL for one in found) >= 30
    if sizes == (10, 10):
        assert sum(one.outcome == TOO_FEW for one in found) >= 30


def test_a_signal_is_found_and_the_interval_agrees_with_the_outcome():
    for seed in range(20):
        assert run(seed, (200, 40), shift=2.0).outcome == SIGNAL
        for one in (run(seed, (200, 40), 0.7), run(seed, (12, 6), 3.0), run(seed, (90, 90), 0.2)):
            assert 0.0 <= one.low <= one.area <= one.high <= 1.0
            assert one.found == (one.low > 0.5)
            assert (one.outcome == NO_SIGNAL) == (one.low <= 0.5 and one.high < 0.7)


def test_five_labels_of_each_class_cannot_tell():
    kinds, parts = np.repeat([0, 1], 5), np.tile(np.arange(5), 2)
    found = permutation_test(kinds.astype(float), kinds, parts, 5, 10)
    assert found.area == found.high == 1.0 and found.outcome == TOO_FEW


def test_the_area_is_the_mean_over_parts_and_over_classes(rng):
    kinds, scores = np.arange(60) % 2, rng.normal(size=60)
    parts = np.arange(60) // 20
    areas = [roc_auc_score(kinds[parts == k], scores[parts == k]) for k in range(3)]
    assert permutation_test(scores, kinds, parts, 3, 60).area == pytest.approx(np.mean(areas))
    kinds, scores = np.arange(60) % 3, rng.normal(size=(60, 3))
    parts = np.arange(60) // 30
    areas = [
        roc_auc_score(kinds[parts == k] == c, scores[parts == k, c])
        for k in range(2) for c in range(3)
    ]  # fmt: skip
    assert permutation_test(scores, kinds, parts, 2, 60).area == pytest.approx(np.mean(areas))


def test_scores_that_are_all_equal_and_parts_of_one_kind():
    kinds = np.arange(40) % 2
    found = permutation_test(np.ones(40), kinds, np.arange(40) // 10, 4, 20)
    assert found.area == found.low == found.high == 0.5 and found.outcome == NO_SIGNAL
    assert permutation_test(np.ones(40), kinds, kinds, 2, 20) is None


def test_parts_that_were_not_scored_share_fewer_labels():
    kinds, parts = np.arange(200) % 2, np.arange(200) // 40
    scores = np.random.default_rng(0).normal(size=200)
    of_one = permutation_test(scores[:40], kinds[:40], parts[:40], 5, 100)
    alone = permutation_test(scores[:40], kinds[:40], parts[:40], 1, 100)
    assert of_one == alone
