"""Accuracy after labels whose class ratio is not the unlabelled rows' own."""

import numpy as np
import pytest
from scipy.stats import norm

from fewlabels import S3VM
from fewlabels._util.deadline import Deadline
from fewlabels.metrics.intervals import cross_fitted_interval
from fewlabels.pipeline.summary import findings
from fewlabels.pipeline.training.figures import shares_facts
from fewlabels.report.evidence.class_shares import ClassShares, class_shares
from fewlabels.report.evidence.held_out import HeldOutScores
from fewlabels.report.semi_supervised import describe_accuracy, estimate_rates
from fewlabels.tables.models.cautions import (
    RANDOM_OF_ALL,
    RANDOM_PER_CLASS,
    describe_assumption,
    list_cautions,
)

NAMES = ["no", "yes"]


def rows(seed, share, counts, area=0.97, n=400):
    """Rows, the truth, and labels of some 'no' and 'yes' rows, -1 for all others."""
    rng = np.random.default_rng(seed)
    truth = np.r_[np.repeat([0, 1], counts), (rng.random(n) < share).astype(int)]
    X = rng.normal(size=(len(truth), 4)) + np.sqrt(0.5) * norm.ppf(area) * truth[:, None]
    return X, truth, np.where(np.arange(len(truth)) < sum(counts), truth, -1)


def held_out(y, recognised):
    """Scores of all labelled rows, of which so many of each class are right."""
    labelled = np.flatnonzero(y >= 0)
    scores = np.zeros(len(labelled))
    for k, n_right in enumerate(recognised):
        own = np.flatnonzero(y[labelled] == k)
        sides = np.where(np.arange(len(own)) < n_right, 1.0, -1.0)
        scores[own] = sides if k else -sides
    return HeldOutScores(labelled, scores, 10, 10)


def test_equal_labels_of_a_rare_class():
    """20 of each are labelled, 3 % are 'yes', and a model that says 'no' to all is right."""
    held_before, held_after = 0, 0
    for seed in range(6):
        X, truth, y = rows(seed, 0.03, (20, 20), n=200)
        shares = class_shares(S3VM(), X, y, Deadline())
        assert shares.contradicts_labels
        held, right = held_out(y, (20, 0)), float(np.mean(truth[y < 0] == 0))
        before, after = (estimate_rates(held, y, NAMES, None, s)[0][0] for s in (None, shares))
        held_before += before.interval[0] <= right <= before.interval[1]
        held_after += after.interval[0] <= right <= after.interval[1]
        assert after.interval[0] > 0.6
        assert "weighted by an estimate" in after.source and RANDOM_PER_CLASS in after.source
    assert held_before == 0 and held_after >= 4


@pytest.mark.parametrize("share", [0.2, 0.3])
def test_far_too_many_labels_of_one_class(share):
    """60 'yes' and 5 'no' are labelled, most rows are 'no', and a model says 'yes' to all."""
    X, truth, y = rows(4, share, (5, 60))
    shares = class_shares(S3VM(), X, y, Deadline())
    (accuracy, *_), _ = estimate_rates(held_out(y, (0, 60)), y, NAMES, None, shares)
    right = float(np.mean(truth[y < 0] == 1))
    assert accuracy.interval[0] <= right <= accuracy.interval[1]


@pytest.mark.parametrize("counts", [(3, 40), (5, 60)])
def test_labelled_rows_that_look_unlike_the_rest_have_another_ratio(counts):
    """Few 'no' are labelled, many rows are, and a model says 'yes' to all."""
    kept, held = 0, 0
    for seed in range(6):
        X, truth, y = rows(seed, 0.2, counts, area=0.93)
        shares = class_shares(S3VM(), X, y, Deadline())
        assert shares.at_random < 0.1
        (accuracy, *_), _ = estimate_rates(held_out(y, (0, counts[1])), y, NAMES, None, shares)
        held += accuracy.interval[0] <= float(np.mean(truth[y < 0])) <= accuracy.interval[1]
        # Of a random sample with so few of one class, the labels' own ratio is kept.
        X, _, y = rows(seed, counts[1] / sum(counts), counts, area=0.93)
        kept += class_shares(S3VM(), X, y, Deadline()).at_random > 0.7
    assert kept >= 5 and held >= 5


@pytest.mark.parametrize(("share", "counts"), [(0.4, (23, 15)), (0.1, (54, 6)), (0.5, (28, 32))])
def test_random_labels_keep_their_accuracy(share, counts):
    X, _, y = rows(1, share, counts)
    shares = class_shares(S3VM(), X, y, Deadline())
    assert not shares.contradicts_labels
    (accuracy, *_), _ = estimate_rates(held_out(y, counts), y, NAMES, None, shares)
    assert accuracy.interval == cross_fitted_interval(sum(counts), sum(counts))


def test_labels_of_several_classes():
    rng = np.random.default_rng(0)
    truth = np.r_[np.repeat([0, 1, 2], 10), rng.choice(3, 400, p=[0.05, 0.05, 0.9])]
    X = rng.normal(size=(len(truth), 4))
    X[np.arange(len(truth)), truth] += 4.0
    y = np.where(np.arange(len(truth)) < 30, truth, -1)
    shares = class_shares(S3VM(), X, y, Deadline())
    assert shares.contradicts_labels
    for mean, low, high in shares.ends[:2]:
        assert low <= 0.06 and mean < 0.25 and high < 0.5


def test_a_ratio_that_was_given_counts_as_known():
    X, _, y = rows(0, 0.03, (20, 20))
    model = S3VM(class_ratio=0.03).fit(X, y)
    shares = class_shares(model, X, y, Deadline(0))
    np.testing.assert_allclose(shares.draws, [[0.97, 0.03]])
    assert shares.contradicts_labels


def test_few_labels_of_a_class_count_as_they_are():
    X, _, y = rows(0, 0.03, (40, 3))
    shares = class_shares(S3VM(), X, y, Deadline())
    assert shares.at_random == 1.0 and not shares.contradicts_labels
    assert shares.ends[1, 1] < 3 / 43 < shares.ends[1, 2]


def test_without_time_equal_labels_leave_the_accuracy_open():
    """Nobody knows the ratio of rows that there is no time to look at."""
    rng = np.random.default_rng(0)
    y = np.r_[np.repeat(np.arange(4), 8), np.full(200, -1)]
    deadline = Deadline(0)
    shares = class_shares(S3VM(), rng.normal(size=(len(y), 3)), y, deadline)
    assert deadline.cut and shares.contradicts_labels
    wide = ClassShares(np.array([20, 20]), rng.dirichlet([1, 1], 500), 0.0)
    y = np.repeat([0, 1], 20)
    accuracy = estimate_rates(held_out(y, (20, 0)), y, NAMES, None, wide)[0][0]
    assert not accuracy.is_determined and np.ptp(accuracy.interval) > 0.7
    assert "is between" in describe_accuracy(accuracy, is_weighted=True)


def training(shares, predicted, expected=None):
    return {
        "classes": NAMES,
        "rows_unlabeled": sum(predicted.values()),
        "unlabeled_predicted": predicted,
        "class_shares": shares_facts(shares, NAMES),
        "expected": expected or {},
        "converged": True,
    }


def test_a_class_that_is_never_predicted_is_named():
    X, _, y = rows(0, 0.03, (20, 20))
    shares = class_shares(S3VM(), X, y, Deadline())
    (caution,) = list_cautions(training(shares, {"no": 400, "yes": 0}))
    assert caution.startswith("No row is predicted 'yes', although about ")
    assert caution.endswith("%) are expected")
    assert not list_cautions(training(shares, {"no": 390, "yes": 10}))
    # Labels that are a random sample say it as well.
    shares = class_shares(S3VM(), *rows(0, 0.05, (40, 3))[::2], Deadline())
    assert list_cautions(training(shares, {"no": 400, "yes": 0}))


def test_what_the_accuracy_assumes_is_printed():
    X, _, y = rows(0, 0.03, (20, 20))
    weighted = class_shares(S3VM(), X, y, Deadline())
    at_random = weighted._replace(at_random=1.0)
    rate = {"accuracy": {"value": None, "low": 0.1, "high": 0.95}}
    for shares, words in ((weighted, RANDOM_PER_CLASS), (at_random, RANDOM_OF_ALL)):
        facts = training(shares, {"no": 390, "yes": 10}, rate)
        assert describe_assumption(facts) == words
        lines = dict(findings({"training": facts}))
        assert lines["assumes"].startswith(words)
        assert lines["accuracy"] == "not determined by the data (90 % CI 0.1 to 0.95)"
