"""The class ratio where nearly all labels are of one class."""

import numpy as np
import pandas as pd
import pytest
from scipy.stats import norm

from fewlabels import S3VM, fit_table
from fewlabels.class_prior import label_shift
from fewlabels.class_prior.frequent_class import estimate_from_frequent_class, is_skewed
from fewlabels.class_prior.labelled_rows import measure_separation


def rows(seed, share, counts, area=0.95, n=500):
    """Rows, the truth, and labels of some rows of class 0 and 1, -1 for all others."""
    rng = np.random.default_rng(seed)
    truth = np.r_[np.repeat([0, 1], counts), (rng.random(n) < share).astype(int)]
    X = rng.normal(size=(len(truth), 5)) + np.sqrt(0.4) * norm.ppf(area) * truth[:, None]
    return X, truth, np.where(np.arange(len(truth)) < sum(counts), truth, -1)


@pytest.mark.parametrize("counts", [(4, 60), (60, 4), (2, 30)])
def test_the_frequent_class_tells_the_ratio(counts):
    """A few labels of the other class don't."""
    held, widths, frequent = 0, [], int(counts[1] > counts[0])
    for seed in range(5):
        share = 0.25 if frequent else 0.75
        X, truth, y = rows(seed, share, counts)
        found = estimate_from_frequent_class(X, y)
        assert found.shares.sum() == pytest.approx(1.0)
        np.testing.assert_allclose(found.replicates.sum(axis=1), 1.0)
        low, high = found.intervals[1]
        held += low <= truth[y < 0].mean() <= high
        widths.append(high - low)
        assert found.intervals[0] == pytest.approx([1.0 - high, 1.0 - low])
    assert held >= 4 and np.mean(widths) < 0.5


def test_intervals_have_the_confidence_that_was_passed():
    X, _, y = rows(1, 0.25, (5, 60))
    wide, narrow = (label_shift(X, y, confidence=level).intervals[1] for level in (0.9, 0.5))
    assert wide[0] < narrow[0] <= narrow[1] < wide[1]


def test_labels_at_random_keep_their_ratio():
    found = [estimate_from_frequent_class(*rows(seed, 0.9, (5, 45))[::2]) for seed in range(8)]
    assert sum(one is not None for one in found) <= 1


def test_classes_that_look_alike_tell_nothing():
    X, _, y = rows(0, 0.2, (5, 60), area=0.5)
    assert estimate_from_frequent_class(X, y) is None


def test_only_skewed_labels_of_two_classes_count():
    assert is_skewed(np.array([5, 60])) and is_skewed(np.array([30, 10]))
    assert not is_skewed(np.array([20, 10])) and not is_skewed(np.array([1, 19]))
    assert not is_skewed(np.array([60, 5, 5]))


def test_order_of_rows_changes_nothing(rng):
    X, _, y = rows(1, 0.25, (5, 60))
    order = rng.permutation(len(y))
    one, two = (estimate_from_frequent_class(*pair) for pair in ((X, y), (X[order], y[order])))
    np.testing.assert_array_equal(one.shares, two.shares)
    np.testing.assert_array_equal(label_shift(X, y).shares, one.shares)


def test_labelled_rows_are_told_from_the_rest_by_chance_alone_if_they_are_a_sample(rng):
    apart = []
    for _ in range(20):
        X = rng.normal(size=(300, 4))
        apart.append(measure_separation(X, np.where(np.arange(300) < 30, 0, -1)))
    assert abs(np.mean(apart)) < 1.0 and np.max(apart) < 3.5
    X[:30] += 1.5
    assert measure_separation(X, np.where(np.arange(300) < 30, 0, -1)) > 4.0
    assert (
        measure_separation(np.repeat(X[:1], 300, axis=0), np.where(np.arange(300) < 30, 0, -1))
        == 0.0
    )


@pytest.mark.filterwarnings("ignore:.* of the labels are of class")
def test_models_follow_the_ratio_of_the_rows():
    """60 rows of one class are labelled and 5 of the other, which most rows are of."""
    X, truth, y = rows(2, 0.25, (5, 60))
    free = y < 0
    model, held = S3VM().fit(X, y), S3VM(balance=True).fit(X, y)
    right = np.mean(model.predict(X[free]) == truth[free])
    assert right > max(0.7, 0.1 + np.mean(held.predict(X[free]) == truth[free]))
    frame = pd.DataFrame(X, columns=list("abcde"))
    frame["kind"] = np.where(free, None, np.where(truth == 1, "yes", "no"))
    fit = fit_table(frame, "kind", time_budget=10, report=False)
    answers = fit.predict(frame)["label"].to_numpy(dtype=object)[free]
    assert np.mean((answers == "yes") == (truth[free] == 1)) > 0.75
