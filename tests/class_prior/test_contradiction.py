"""Labels that can't have been drawn at random are told from those that can."""

import numpy as np
import pytest

from fewlabels.class_prior.label_ratio import compare_label_ratio


def drawn(seed, share, counts, n=200, apart=4.0, n_classes=2):
    """Rows, and places of classes: ``counts`` labels of each, the others -1."""
    rng = np.random.default_rng(seed)
    shares = [1.0 - share, share] if n_classes == 2 else share
    free = rng.choice(n_classes, n, p=shares)
    truth = np.concatenate([np.repeat(np.arange(n_classes), counts), free])
    X = rng.normal(size=(len(truth), 4))
    X[:, 0] += apart * (truth == 1)
    X[:, 1] += apart * (truth == 2)
    return X, np.where(np.arange(len(truth)) < sum(counts), truth, -1), truth


def judged(X, place):
    return compare_label_ratio(X, place, np.ones(len(X)), np.unique(place[place >= 0]))


@pytest.mark.parametrize("counts", [(10, 10), (15, 5)])
def test_labels_drawn_per_class(counts):
    for seed in range(3):
        found = judged(*drawn(seed, 0.04, counts)[:2])
        assert found.is_contradicted and not found.is_doubtful
        assert found.shares[1] < 0.12 and found.intervals.shape == (2, 2)


def test_labels_drawn_at_random():
    used = 0
    for seed in range(8):
        rng = np.random.default_rng(seed)
        share = rng.uniform(0.1, 0.5)
        k = int(np.clip(rng.binomial(20, share), 2, 18))
        found = judged(*drawn(seed, share, (20 - k, k))[:2])
        used += found.is_contradicted
        if found.is_contradicted:  # by chance: then the estimate is the better one
            assert abs(found.shares[1] - share) < abs(k / 20 - share)
    assert used <= 2


def test_several_classes():
    X, place, _ = drawn(0, [0.9, 0.05, 0.05], (8, 8, 8), apart=4.0, n_classes=3)
    found = judged(X, place)
    assert found.is_contradicted and found.shares[0] > 0.8
    X, place, _ = drawn(0, [0.34, 0.33, 0.33], (8, 8, 8), apart=4.0, n_classes=3)
    assert not judged(X, place).is_contradicted


def test_what_cannot_be_judged():
    X, place, _ = drawn(0, 0.1, (10, 10))
    assert judged(X[:30], place[:30]).shares is None  # fewer unlabelled rows than labels
    place[1:10] = -1
    assert judged(X, place).shares is None  # one label of a class
    X, place, _ = drawn(0, 0.1, (10, 10))
    X[:10] = X[0]
    assert judged(X, place).shares is None  # copies


def test_weights_act_as_repetitions():
    X, place, _ = drawn(1, 0.04, (15, 5), n=200)
    weight = np.ones(len(X))
    weight[:40:3] = 2
    rows = np.repeat(np.arange(len(X)), weight.astype(int))
    one = compare_label_ratio(X, place, weight, np.arange(2))
    other = compare_label_ratio(X[rows], place[rows], np.ones(len(rows)), np.arange(2))
    np.testing.assert_allclose(one.shares, other.shares)
    assert one.is_contradicted == other.is_contradicted
