"""Accuracy by recalls of classes and by shares that are known as draws."""

import numpy as np
import pytest

from fewlabels.class_prior.label_ratio import draw_wide_shares, probability_at_random
from fewlabels.metrics.intervals import cross_fitted_interval, weighted_accuracy

EXACT = np.array([[0.97, 0.03]])


def test_a_random_sample_keeps_its_interval():
    for hits, n in (((20, 5), (30, 10)), ((40, 20), (40, 20)), ((0, 3), (12, 12))):
        found = weighted_accuracy(np.array(hits), np.array(n), EXACT, at_random=1.0)
        assert found.value == pytest.approx(sum(hits) / sum(n))
        expected = cross_fitted_interval(sum(hits), sum(n))
        assert (found.low, found.high) == pytest.approx(expected, abs=0.01)


def test_shares_weigh_the_recalls():
    found = weighted_accuracy(np.array([20, 0]), np.array([20, 20]), EXACT)
    assert found.value == pytest.approx(0.97)
    assert 0.75 < found.low < found.value <= found.high < 0.98
    unknown = np.random.default_rng(0).dirichlet([1, 1], 1000)
    found = weighted_accuracy(np.array([20, 0]), np.array([20, 20]), unknown)
    assert found.low < 0.1 and found.high > 0.9
    # Classes that are recognised alike need no shares.
    found = weighted_accuracy(np.array([90, 90]), np.array([100, 100]), unknown)
    assert found.high - found.low < 0.15


def test_the_interval_covers_as_often_as_it_says():
    rng, n, hits = np.random.default_rng(0), np.array([20, 20]), 0
    recalls, shares = np.array([0.85, 0.6]), np.array([[0.9, 0.1]])
    for _ in range(60):
        found = weighted_accuracy(rng.binomial(n, recalls), n, shares)
        hits += found.low <= float(shares[0] @ recalls) <= found.high
    assert hits >= 51


def test_a_class_without_held_out_rows_is_open():
    found = weighted_accuracy(np.array([10, 0]), np.array([10, 0]), np.array([[0.5, 0.5]]))
    assert found.low < 0.6 and found.high > 0.9


def test_labels_are_compared_with_what_a_random_sample_would_have():
    known = np.array([[0.9, 0.1]])
    assert probability_at_random(np.array([54, 6]), known) > 0.9
    assert probability_at_random(np.array([20, 40]), known) < 0.01
    # Twenty of each are no accident, unless half the rows are of each class, and then perhaps.
    assert probability_at_random(np.array([20, 20]), known) < 0.01
    assert 0.05 < probability_at_random(np.array([20, 20]), np.array([[0.5, 0.5]])) < 0.5
    assert probability_at_random(np.array([5, 5, 5, 5]), np.full((1, 4), 0.25)) < 0.1
    # Without any idea of the ratio, nothing contradicts labels of different numbers.
    unknown = np.random.default_rng(0).dirichlet([1, 1], 1000)
    assert probability_at_random(np.array([30, 8]), unknown) > 0.75


def test_labelled_rows_that_look_unlike_the_rest_are_no_random_sample():
    unknown = np.random.default_rng(0).dirichlet([1, 1], 1000)
    told = [
        probability_at_random(np.array([60, 5]), unknown, z) for z in (-3.0, 0.0, 2.0, 4.0, 60.0)
    ]
    # Labelled rows that look like the rest prove nothing: classes may look alike, too.
    assert told[0] == told[1] == probability_at_random(np.array([60, 5]), unknown) > 0.7
    assert told[1] > told[2] > 0.3 and told[3] < 0.01 and told[4] == 0.0


def test_few_labels_leave_all_shares_possible():
    replicates = np.full((40, 2), 0.5)
    few, many = (draw_wide_shares(np.array([n, n]), replicates) for n in (4, 400))
    assert np.mean(few[:, 0] != 0.5) == pytest.approx(0.375)
    assert np.mean(many[:, 0] != 0.5) < 0.01


def test_without_misses_the_accuracy_is_exactly_one():
    shares = np.random.default_rng(0).dirichlet([1, 1, 1], 999)
    n = np.array([5, 6, 7])
    found = weighted_accuracy(n, n, shares, 0.3)
    assert found.value == found.high == 1.0 and 0.5 < found.low < 1.0
    assert weighted_accuracy(0 * n, n, shares, 0.3).low == 0.0
