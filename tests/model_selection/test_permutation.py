"""The permutation test: noise, signals, too few labels, and the interval that decides."""

import numpy as np
import pytest
from scipy.stats import norm
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
            assert one.beats_chance == (one.low > 0.5)
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


def test_parts_of_one_kind():
    kinds = np.arange(40) % 2
    assert permutation_test(np.ones(40), kinds, kinds, 2, 20) is None


@pytest.mark.parametrize("prior", [0.0, None, 0.5])
@pytest.mark.parametrize("of_size", [400, 12])
def test_a_model_that_says_nothing_measures_nothing(of_size, prior):
    rng, parts = np.random.default_rng(2), np.arange(of_size) // 4 % 3
    kinds, rare = np.arange(of_size) % 2, np.arange(of_size) < 5
    rounding = 1.0 + 1e-16 * rng.normal(size=of_size)
    for scores in (np.zeros(of_size), parts - 7.0, parts + rounding, np.full(of_size, -1e300)):
        found = permutation_test(
            scores, kinds, parts, 3, of_size // 2, prior=prior, rows=np.zeros(of_size)
        )
        assert found[:4] == (0.5, 0.0, 1.0, TOO_FEW)
        # A few rows of their own are no answer about the others.
        found = permutation_test(scores + rare, kinds, parts, 3, of_size // 2, prior=prior)
        assert found.outcome == TOO_FEW and found.low < 0.3 and found.high > 0.7
    found = permutation_test(np.zeros((of_size, 2)), kinds, parts, 3, of_size // 2)
    assert found[:4] == (0.5, 0.0, 1.0, TOO_FEW)


def test_equal_scores_of_equal_rows_and_of_a_signal_are_answers():
    rng, parts, kinds = np.random.default_rng(1), np.arange(400) // 4 % 5, np.arange(400) % 2
    rows = rng.integers(0, 2, 400)
    assert permutation_test(rows, kinds, parts, 5, 200).outcome == TOO_FEW
    found = permutation_test(rows, kinds, parts, 5, 200, rows=rows)
    assert found.outcome == NO_SIGNAL and found.high < 0.6
    one = (np.arange(400) == 7).astype(int)  # as good as constant
    assert permutation_test(one, kinds, parts, 5, 200, rows=one).outcome == TOO_FEW
    flags = (rng.random(400) < np.where(kinds == 1, 0.5, 0.02)).astype(float)
    found = permutation_test(flags, kinds, parts, 5, 200)
    assert found.outcome == SIGNAL and found.low > 0.6


def beside_unlabelled(seed, area, share, n_labels, prior):
    """A test of scores with a ROC AUC among rows of which a share is positive."""
    rng = np.random.default_rng(seed)
    kinds = np.repeat([1, 0], [n_labels, 600])
    is_own = (kinds == 1) | (rng.random(len(kinds)) < share)
    scores = rng.normal(size=len(kinds)) + np.sqrt(2.0) * norm.ppf(area) * is_own
    parts = parts_of(kinds, 5, rng)
    return permutation_test(scores, kinds, parts, 5, n_labels, prior=prior)


@pytest.mark.parametrize("area", [0.75, 0.95])
@pytest.mark.parametrize("share", [0.3, 0.7, 0.95])
def test_positives_among_the_unlabelled_rows_hide_no_model(area, share):
    for seed, n_labels in enumerate((40, 120)):
        known = beside_unlabelled(seed, area, share, n_labels, share)
        assert known.outcome != NO_SIGNAL and known.best == 1.0 - share / 2.0
        unknown = beside_unlabelled(seed, area, share, n_labels, None)
        assert unknown[:3] == known[:3] and unknown.best is None
        assert unknown.outcome != NO_SIGNAL or unknown.up_to < share


@pytest.mark.parametrize(("n_labels", "fewest"), [(40, 2), (60, 3), (120, 4)])
def test_noise_is_no_signal_up_to_a_share(n_labels, fewest):
    found = [beside_unlabelled(seed, 0.5, 0.0, n_labels, None) for seed in range(6)]
    silent = [one for one in found if one.outcome == NO_SIGNAL]
    assert len(silent) >= fewest
    for one in silent:
        assert one.up_to == pytest.approx(min(1.0, (0.7 - one.high) / 0.2)) and one.up_to > 0.1
    known = [beside_unlabelled(seed, 0.5, 0.0, n_labels, 0.02) for seed in range(6)]
    assert sum(one.outcome == NO_SIGNAL for one in known) >= len(silent)
    assert all(one.up_to is None and one.best == 0.99 for one in known)


def test_labelled_rows_that_avoid_the_lowest_scores_are_a_hint():
    # A tenth of the unlabelled rows lies below all positives, which are spread like the others.
    kinds = np.repeat([1, 0], [90, 1000])
    scores = np.r_[np.linspace(0.1, 1.0, 90), np.linspace(0.0, 1.0, 1000)]
    parts = np.arange(1090) % 5
    found = permutation_test(scores, kinds, parts, 5, 90, prior=None)
    assert found.low < 0.5 < found.high < 0.68 and found.outcome == TOO_FEW


def test_parts_that_were_not_scored_share_fewer_labels():
    kinds, parts = np.arange(200) % 2, np.arange(200) // 40
    scores = np.random.default_rng(0).normal(size=200)
    of_one = permutation_test(scores[:40], kinds[:40], parts[:40], 5, 100)
    alone = permutation_test(scores[:40], kinds[:40], parts[:40], 1, 100)
    assert of_one == alone
